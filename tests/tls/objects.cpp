/* SPDX-License-Identifier: MIT */
/*
 * objects.cpp - thread_local objects: made in the thread that first uses them, destroyed when it
 * ends, in the reverse order, before the destructors of its keys; and exceptions that are being
 * handled, or thrown and not caught yet, while other threads run.
 */
#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../posix/check.h"

namespace
{

constexpr int threads = 16;

std::atomic<int> made, destroyed;

struct counted {
    pthread_t owner = pthread_self();
    std::string text = "as new";
    counted() { made++; }
    ~counted()
    {
        CHECK(pthread_equal(owner, pthread_self()));
        sched_yield(); /* a destructor may let others run, too */
        CHECK(pthread_equal(owner, pthread_self()));
        destroyed++;
    }
};

thread_local counted object;
thread_local int plain = 3;
thread_local std::vector<int> list;

void *uses_objects(void *arg)
{
    CHECK_EQ(plain, 3);
    CHECK(list.empty());
    CHECK(object.text == "as new");
    for (int i = 0; i < 50; i++) {
        plain = i;
        object.text = std::to_string(i + 1000 * (long)arg);
        list.push_back(i);
        sched_yield();
        CHECK_EQ(plain, i);
        CHECK_EQ(list.size(), i + 1);
        CHECK(object.text == std::to_string(i + 1000 * (long)arg));
    }
    return nullptr;
}

void test_objects_live_as_long_as_their_thread()
{
    for (int life = 1; life <= 3; life++) {
        pthread_t t[threads];
        for (long i = 0; i < threads; i++) {
            t[i] = start(uses_objects, (void *)i);
        }
        for (auto i : t) {
            join(i);
        }
        CHECK_EQ(made, threads * life);
        CHECK_EQ(destroyed, threads * life);
    }
}

void *exits_with_objects(void *arg)
{
    object.text = "left by pthread_exit";
    pthread_exit(arg);
}

void test_objects_are_destroyed_when_the_thread_calls_pthread_exit()
{
    int before = destroyed;
    for (int i = 0; i < threads; i++) {
        join(start(exits_with_objects, nullptr));
    }
    CHECK_EQ(destroyed, before + threads);
}

void *detached_with_objects(void *arg)
{
    pthread_detach(pthread_self());
    object.text = "left by a detached thread";
    return arg;
}

void test_objects_of_detached_threads_are_destroyed()
{
    int before = destroyed;
    for (int i = 0; i < threads; i++) {
        start(detached_with_objects, nullptr);
    }
    while (destroyed != before + threads) {
        sched_yield();
    }
}

/* The order of events in the thread that ends. */
struct sequence {
    std::string text;
};

sequence *written;
pthread_key_t key;

struct writes_at_end {
    char name;
    explicit writes_at_end(char n) : name(n) {}
    ~writes_at_end() { written->text += name; }
};

/* `later` is made while the destructor of `earlier` runs: it is destroyed, too. */
struct makes_another {
    ~makes_another()
    {
        static thread_local writes_at_end later('d');
        written->text += later.name == 'd' ? 'c' : '?';
    }
};

void *ends_in_order(void *arg)
{
    thread_local writes_at_end first('a'), second('b');
    thread_local makes_another third;
    (void)first;
    (void)second;
    (void)third;
    OK(pthread_setspecific(key, "k"));
    return arg;
}

void test_objects_are_destroyed_in_reverse_order_and_before_keys()
{
    OK(pthread_key_create(&key, [](void *value) { written->text += static_cast<char *>(value); }));
    for (int i = 0; i < threads; i++) {
        sequence mine;
        written = &mine;
        join(start(ends_in_order, nullptr));
        CHECK(mine.text == "cdbak");
    }
    OK(pthread_key_delete(key));
}

/* Handled while others run: nested, rethrown, and held by exception_ptr. */
void handles(int id, int depth)
{
    try {
        throw std::runtime_error(std::to_string(id * 100 + depth));
    } catch (const std::runtime_error &) {
        std::exception_ptr self = std::current_exception();
        sched_yield();
        if (depth > 0) {
            handles(id, depth - 1);
        }
        if (depth == 2) {
            usleep(100);
        }
        CHECK(self == std::current_exception());
        try {
            throw;
        } catch (const std::runtime_error &again) {
            CHECK_EQ(std::stoi(again.what()), id * 100 + depth);
        }
    }
}

/* Not caught yet: destructors that run during unwinding let others run. */
struct yields_in_destructor {
    int before = std::uncaught_exceptions();
    ~yields_in_destructor()
    {
        int now = std::uncaught_exceptions();
        CHECK_EQ(now, before + 1);
        sched_yield();
        CHECK_EQ(std::uncaught_exceptions(), now);
    }
};

void *throws(void *arg)
{
    int id = (int)(long)arg;
    for (int i = 0; i < 20; i++) {
        handles(id, 4);
        try {
            yields_in_destructor a, b;
            throw id;
        } catch (int caught) {
            CHECK_EQ(caught, id);
        }
        CHECK_EQ(std::uncaught_exceptions(), 0);
        CHECK(!std::current_exception());
    }
    return nullptr;
}

void test_exceptions_in_flight_belong_to_their_thread()
{
    pthread_t t[threads];
    for (long i = 0; i < threads; i++) {
        t[i] = start(throws, (void *)i);
    }
    throws((void *)50L);
    for (auto i : t) {
        join(i);
    }
}

void test_std_threads_have_objects()
{
    int before = destroyed;
    std::vector<std::thread> all;
    for (long i = 0; i < threads; i++) {
        all.emplace_back([i] { uses_objects((void *)i); });
    }
    for (auto &t : all) {
        t.join();
    }
    CHECK_EQ(destroyed, before + threads);
}

} // namespace

int main()
{
    RUN(test_objects_live_as_long_as_their_thread);
    RUN(test_objects_are_destroyed_when_the_thread_calls_pthread_exit);
    RUN(test_objects_of_detached_threads_are_destroyed);
    RUN(test_objects_are_destroyed_in_reverse_order_and_before_keys);
    RUN(test_exceptions_in_flight_belong_to_their_thread);
    RUN(test_std_threads_have_objects);
    return 0;
}
