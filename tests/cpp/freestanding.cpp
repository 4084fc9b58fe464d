/* SPDX-License-Identifier: MIT */
/*
 * freestanding.cpp - pirn.hpp without exceptions and run-time types: on boards, and on Linux with
 * -fno-exceptions. Its only output is "done"; an argument chooses a case that ends the program.
 */
#include "freestanding.hpp"

#include <string.h>

#include "common/options.h"
#include <pirn/objects.hpp>

static unsigned calls;

static void call()
{
    calls++;
}

static void test_thread_runs_callable_whatever_its_size()
{
    unsigned sum = 0;
    pirn::thread small([&sum] { sum = 1; });
    CHECK(small.joinable());
    small.join();
    CHECK(sum == 1 && !small.joinable());
    unsigned numbers[16];
    for (unsigned i = 0; i < 16; i++) {
        numbers[i] = i;
    }
    pirn::thread large([numbers, &sum] {
        for (unsigned n : numbers) {
            sum += n;
        }
    });
    pirn::thread moved(static_cast<pirn::thread &&>(large));
    CHECK(!large.joinable());
    moved.join();
    CHECK(sum == 121);
    pirn::thread(call).join();
    void (&named)() = call;
    pirn::thread(named).join();
    CHECK(calls == 2);
}

/* Two may end at once: the creator's, and the thread's copy of it. */
struct counted {
    static unsigned alive;
    unsigned *runs;
    char more[24] = {};

    explicit counted(unsigned *r) : runs(r) { count(1); }
    counted(const counted &other) : runs(other.runs) { count(1); }
    ~counted() { count(-1U); }
    void operator()() { ++*runs; }
    static void count(unsigned n) { __atomic_fetch_add(&alive, n, __ATOMIC_RELAXED); }
};
unsigned counted::alive;

static void test_thread_destroys_its_callable()
{
    unsigned runs = 0;
    {
        pirn::jthread thread{counted(&runs)};
    }
    CHECK(runs == 1 && counted::alive == 0);
    pirn::thread none;
    CHECK(none.start({1}, counted(&runs)) == -EINVAL);
    CHECK(runs == 1 && counted::alive == 0 && !none.joinable());
}

static void test_start_says_why_when_there_is_no_thread()
{
    pirn::thread thread;
    CHECK(thread.start({1}, call) == -EINVAL);
    pirn::binary_semaphore go(0);
    pirn::thread_attributes attributes;
    attributes.name = "named";
    const char *name = nullptr;
    CHECK(thread.start(attributes, [&go, &name] {
        name = pirn_name(pirn::this_thread::native_handle());
        go.acquire();
    }) == 0);
    CHECK(thread.start({}, call) == -EBUSY);
    CHECK(!thread.try_join_for(5 * millisecond));
    CHECK(strcmp(pirn_name(thread.native_handle()), "named") == 0);
    go.release();
    CHECK(thread.try_join_until(PIRN_FOREVER) && name != nullptr);
}

static void test_mutex_excludes()
{
    pirn::mutex mutex;
    volatile unsigned count = 0;
    in_threads<4>([&](unsigned) {
        for (unsigned i = 0; i < 200; i++) {
            pirn::lock_guard guard(mutex);
            const unsigned seen = count;
            pirn::this_thread::yield();
            count = seen + 1;
        }
    });
    CHECK(count == 800);
}

static void test_unique_lock_knows_whether_it_owns()
{
    pirn::timed_mutex mutex;
    pirn::unique_lock lock(mutex, pirn::defer_lock);
    CHECK(!lock && lock.try_lock() && lock.owns_lock());
    bool got[3] = {true, true, true};
    pirn::thread([&] {
        pirn::unique_lock other(mutex, pirn::defer_lock);
        got[0] = other.try_lock();
        got[1] = other.try_lock_for(5 * millisecond);
    }).join();
    lock.unlock();
    pirn::thread([&] { got[2] = pirn::unique_lock(mutex).owns_lock(); }).join();
    CHECK(!got[0] && !got[1] && got[2] && mutex.try_lock());
    mutex.unlock();
}

static void test_condition_variable_takes_turns()
{
    pirn::mutex mutex;
    pirn::condition_variable changed;
    unsigned turn = 0;
    in_threads<3>([&](unsigned me) {
        for (unsigned i = 0; i < 100; i++) {
            pirn::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn % 3 == me; });
            turn++;
            changed.notify_all();
        }
    });
    CHECK(turn == 300);
    pirn::unique_lock lock(mutex);
    CHECK(changed.wait_for(lock, millisecond) == pirn::cv_status::timeout && lock.owns_lock());
    CHECK(!changed.wait_for(lock, millisecond, [] { return false; }));
    CHECK(changed.wait_for(lock, PIRN_FOREVER, [] { return true; }));
}

static void test_semaphore_counts()
{
    pirn::counting_semaphore<> items(0), room(3);
    unsigned ring[3], sum = 0;
    pirn::thread consumer([&] {
        for (unsigned i = 0; i < 100; i++) {
            items.acquire();
            sum += ring[i % 3];
            room.release();
        }
    });
    for (unsigned i = 0; i < 100; i++) {
        room.acquire();
        ring[i % 3] = i;
        items.release();
    }
    consumer.join();
    CHECK(sum == 4950 && !items.try_acquire() && !items.try_acquire_for(millisecond));
    items.release(2);
    CHECK(items.try_acquire() && items.try_acquire_for(millisecond) && !items.try_acquire());
}

static void test_barrier_and_latch_let_all_go_on()
{
    pirn::barrier barrier(4);
    pirn::latch ended(4);
    unsigned arrived[4] = {}, last[4] = {};
    bool together = true;
    in_threads<4>([&](unsigned me) {
        for (unsigned phase = 1; phase <= 50; phase++) {
            __atomic_store_n(&arrived[me], phase, __ATOMIC_RELAXED);
            last[me] += barrier.arrive_and_wait();
            for (const unsigned &other : arrived) {
                if (__atomic_load_n(&other, __ATOMIC_RELAXED) < phase) {
                    __atomic_store_n(&together, false, __ATOMIC_RELAXED);
                }
            }
        }
        ended.arrive_and_wait();
    });
    ended.wait();
    CHECK(together && ended.try_wait());
    CHECK(last[0] + last[1] + last[2] + last[3] == 50);
}

static void test_shared_mutex_admits_readers()
{
    pirn::shared_mutex mutex;
    pirn::latch inside(2);
    bool written = true;
    in_threads<2>([&](unsigned) {
        pirn::shared_lock lock(mutex);
        inside.arrive_and_wait();
    });
    {
        pirn::shared_lock lock(mutex);
        pirn::thread([&] { written = mutex.try_lock() || mutex.try_lock_for(millisecond); }).join();
    }
    CHECK(!written && mutex.try_lock() && !mutex.try_lock_shared());
    mutex.unlock();
}

static void test_call_once_calls_once_and_all_wait()
{
    pirn::once_flag flag;
    unsigned count = 0;
    bool late = false;
    in_threads<4>([&](unsigned) {
        pirn::call_once(flag, [&] {
            pirn::this_thread::sleep_for(millisecond);
            count++;
        });
        if (count != 1) {
            __atomic_store_n(&late, true, __ATOMIC_RELAXED);
        }
    });
    CHECK(count == 1 && !late);
}

static void test_fe_hands_over()
{
    pirn::fe<int> word;
    int sum = 0, value = 0;
    CHECK(!word.take_until(value, pirn_now() + millisecond) && !word.full());
    pirn::thread reader([&] {
        for (int i = 0; i < 100; i++) {
            sum += word.take();
        }
    });
    for (int i = 0; i < 100; i++) {
        word.write(-i);
    }
    reader.join();
    CHECK(sum == -4950 && word.write_until(7, 0) && !word.write_until(8, 0));
    CHECK(word.read_until(value, 0) && value == 7 && word.read() == 7);
}

static void test_event_flags_pass_events()
{
    pirn::event_flags events;
    uint32_t got = 0;
    CHECK(!events.try_wait(1) && !events.wait_until(0, 3, pirn::flags::all));
    pirn::thread setter([&events] { events.set(5); });
    CHECK(events.wait(1 | 4, pirn::flags::all | pirn::flags::clear) == 5);
    setter.join();
    CHECK(events.get() == 0 && events.set(2) == 0 && events.clear(1) == 2);
    CHECK(events.wait_for(0, 3, pirn::flags::any, &got) && got == 2);
}

static void test_message_queue_passes_messages()
{
    struct message {
        int number;
        char text[3];
    };
    pirn::message_queue<message, 2> queue;
    message m{};
    CHECK(queue.capacity() == 2 && !queue.try_receive(m) && !queue.receive_for(0, m));
    pirn::thread sender([&queue] {
        for (int i = 0; i < 50; i++) {
            queue.send({i, "ab"});
        }
    });
    for (int i = 0; i < 50; i++) {
        queue.receive(m);
        CHECK(m.number == i && m.text[1] == 'b');
    }
    sender.join();
    CHECK(queue.try_send(m) && queue.send_until(0, m) && !queue.try_send(m) && queue.size() == 2);
}

static void test_timer_calls()
{
    pirn::binary_semaphore rang(0);
    unsigned rings = 0;
    pirn::timer timer([&] {
        if (++rings == 3) {
            rang.release();
        }
    });
    timer.start_every(millisecond);
    rang.acquire();
    timer.stop_sync();
    CHECK(rings >= 3 && !timer.stop());
    const unsigned before = rings;
    timer.start_after(0);
    timer.start_at(PIRN_FOREVER);
    timer.stop_sync();
    CHECK(rings - before <= 1);
}

static const struct {
    const char *name;
    void (*run)();
} ends[] = {
    {"join", [] { pirn::thread().join(); }},
    {"forget", [] { pirn::thread thread([] {}); }},
    {"stack", [] { pirn::thread thread({1}, [] {}); }},
    {"unlock",
     [] {
         pirn::mutex mutex;
         pirn::unique_lock(mutex, pirn::defer_lock).unlock();
     }},
    {"barrier", [] { pirn::barrier none(0); }},
    {"flags", [] { pirn::event_flags().wait(0); }},
};

static void end(const char *how)
{
    ends[OPERAND_CHOICE("END", how, ends)].run();
    printf("it did not end: %s\n", how);
    exit(1);
}

int main(int argc, char **argv)
{
    const option_page page = {"Tests of the C++ API without exceptions.", "[END]", nullptr};
    const char *how = options_parse(argc, argv, &page)[0];
    if (how != nullptr) {
        end(how);
    }
    test_thread_runs_callable_whatever_its_size();
    test_thread_destroys_its_callable();
    test_start_says_why_when_there_is_no_thread();
    test_mutex_excludes();
    test_unique_lock_knows_whether_it_owns();
    test_condition_variable_takes_turns();
    test_semaphore_counts();
    test_barrier_and_latch_let_all_go_on();
    test_shared_mutex_admits_readers();
    test_call_once_calls_once_and_all_wait();
    test_fe_hands_over();
    test_event_flags_pass_events();
    test_message_queue_passes_messages();
    test_timer_calls();
    puts("done");
    return 0;
}
