/* SPDX-License-Identifier: MIT */
/*
 * exceptions.cpp - a thread has its own exception state: the exceptions that it has caught and not
 * left (for `throw;` and std::current_exception), and the count of those in flight.
 *
 * Every test yields, sleeps or waits inside catch blocks, and inside destructors that run while an
 * exception is in flight, in several threads at once. The checks detect a state that the threads of
 * a worker share, or that stays behind when a thread moves to another worker.
 */
#include "check.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

constexpr int many = 40, rounds = 10;

struct error {
    int thread, round, level;

    bool operator==(const error &o) const
    {
        return thread == o.thread && round == o.round && level == o.level;
    }
};

/* Let others run: by a yield, a sleep, or a wait that another thread ends. */
void step_aside(int how)
{
    static pirn::mutex mutex;
    if (how % 16 == 0) {
        pirn::this_thread::sleep_for(std::chrono::microseconds(how % 64));
    } else if (how % 5 == 0) {
        std::lock_guard<pirn::mutex> guard(mutex);
        pirn::this_thread::yield();
    } else {
        pirn::this_thread::yield();
    }
}

bool current_is(const error &expected)
{
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const error &e) {
        return e == expected;
    }
}

void catch_nested(int thread, int round, int level)
{
    const error expected{thread, round, level};
    try {
        step_aside(thread + round);
        throw expected;
    } catch (const error &e) {
        CHECK(e == expected && std::uncaught_exceptions() == 0);
        step_aside(thread + round + level);
        CHECK(e == expected && current_is(expected));
        if (level < 3) {
            catch_nested(thread, round, level + 1);
        }
        CHECK(current_is(expected));
        try {
            step_aside(round);
            throw; /* the innermost one still being handled: e */
        } catch (const error &again) {
            CHECK(&again == &e);
        }
        CHECK(current_is(expected));
    }
}

/* Its destructor steps aside, with one exception more in flight than at its construction. */
struct unwound {
    int how, in_flight;

    unwound(int its_how, int its_in_flight) : how(its_how), in_flight(its_in_flight) {}

    ~unwound()
    {
        CHECK(std::uncaught_exceptions() == in_flight);
        step_aside(how);
        CHECK(std::uncaught_exceptions() == in_flight);
        if (in_flight < 3) {
            try {
                unwound inner(how + 1, in_flight + 1);
                throw how;
            } catch (int value) {
                step_aside(how);
                CHECK(value == how && std::uncaught_exceptions() == in_flight);
            }
        }
        CHECK(std::uncaught_exceptions() == in_flight);
    }
};

void unwind(int thread, int round)
{
    try {
        unwound guard(thread + round, 1);
        throw error{thread, round, 0};
    } catch (const error &e) {
        CHECK(e == error{thread, round, 0} && std::uncaught_exceptions() == 0);
    }
    CHECK(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

/* Run fn(i) in n threads, which all exist before the first continues, and join them. */
template <class F>
void in_threads(int n, F fn)
{
    pirn::latch all(n);
    std::vector<pirn::thread> threads;
    for (int i = 0; i < n; i++) {
        threads.emplace_back([&all, &fn, i] {
            all.arrive_and_wait();
            fn(i);
            CHECK(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
        });
    }
    for (pirn::thread &t : threads) {
        t.join();
    }
}

} // namespace

TEST(exception_is_right_when_switched_in_catch)
{
    in_threads(many, [](int i) {
        for (int round = 0; round < rounds; round++) {
            catch_nested(i, round, 0);
        }
    });
}

TEST(exceptions_in_flight_are_right_when_switched_in_destructor)
{
    in_threads(many, [](int i) {
        for (int round = 0; round < rounds; round++) {
            unwind(i, round);
        }
    });
}

TEST(exception_is_right_when_main_handles_one_meanwhile)
{
    pirn::latch started(4);
    std::atomic<bool> end{false};
    std::vector<pirn::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&, i] {
            started.count_down();
            for (int round = 0; !end; round++) {
                catch_nested(i, round, 2);
                unwind(i, round);
            }
        });
    }
    started.wait();
    for (int round = 0; round < rounds; round++) {
        catch_nested(-1, round, 0);
        unwind(-1, round);
    }
    end = true;
    for (pirn::thread &t : threads) {
        t.join();
    }
}

/* Threads without exception state of their own run between the two. */
TEST(exception_is_right_when_plain_threads_run_between)
{
    struct plain {
        static void *main(void *end)
        {
            while (!static_cast<std::atomic<bool> *>(end)->load()) {
                pirn_yield();
            }
            return nullptr;
        }
    };
    std::atomic<bool> end{false};
    pirn_thread_t threads[3];
    for (pirn_thread_t &t : threads) {
        CHECK(pirn_create(&t, nullptr, plain::main, &end) == 0);
    }
    in_threads(4, [](int i) {
        for (int round = 0; round < rounds; round++) {
            catch_nested(i, round, 0);
            unwind(i, round);
        }
    });
    pirn::thread other([] { catch_nested(-2, 0, 0); });
    catch_nested(-1, 0, 0);
    other.join();
    end = true;
    for (pirn_thread_t &t : threads) {
        CHECK(pirn_join(t, nullptr) == 0);
    }
}

/* Keep a worker busy and sleep, repeatedly: threads that are ready meanwhile move elsewhere. */
static void disturb(const std::atomic<bool> &end)
{
    while (!end) {
        const auto busy = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
        while (std::chrono::steady_clock::now() < busy) {
        }
        pirn::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

/* Until the thread has moved, however long a busy machine takes. */
TEST(exception_is_rethrown_when_another_worker_runs_the_thread)
{
    std::atomic<bool> moved{!test_threads_migrate()};
    in_threads(4, [&](int i) {
        if (i != 0) {
            disturb(moved);
            return;
        }
        try {
            try {
                throw std::runtime_error(std::to_string(i));
            } catch (const std::exception &) {
                const int before = pirn_cpu_self();
                while (!moved) {
                    step_aside(16 + i);
                    moved = moved || pirn_cpu_self() != before;
                }
                throw;
            }
        } catch (const std::runtime_error &e) {
            CHECK(e.what() == std::to_string(i));
        }
    });
}

TEST(exception_travels_when_pointer_is_passed_on)
{
    pirn::fe<const std::exception_ptr *> box;
    pirn::thread thrower([&box] {
        try {
            throw error{1, 2, 3};
        } catch (...) {
            std::exception_ptr caught = std::current_exception();
            box.write(&caught);
            while (box.full()) {
                pirn::this_thread::yield();
            }
        }
    });
    pirn::thread catcher([&box] {
        try {
            std::rethrow_exception(*box.read());
        } catch (const error &e) {
            step_aside(1);
            CHECK(e == error{1, 2, 3});
        }
        box.purge();
    });
    catcher.join();
    thrower.join();
}

TEST(exceptions_are_separate_when_kernel_threads_throw_too)
{
    kernel_thread foreign([] {
        for (int round = 0; round < rounds; round++) {
            catch_nested(-3, round, 0);
            unwind(-3, round);
        }
    });
    in_threads(4, [](int i) {
        for (int round = 0; round < rounds; round++) {
            catch_nested(i, round, 0);
        }
    });
}
