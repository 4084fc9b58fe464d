/* SPDX-License-Identifier: MIT */
/*
 * cxx.cpp - C++ programs: std::thread and friends, exceptions that are being handled while the
 * thread waits, pthread_exit through frames with destructors, call_once left by an exception.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

namespace
{

using namespace std::chrono_literals;

void test_std_thread_mutex_and_condition_variable()
{
    std::mutex mutex;
    std::condition_variable turn;
    int next = 0;
    std::vector<std::thread> threads;
    for (int me = 0; me < 8; me++) {
        threads.emplace_back([&, me] {
            for (int round = 0; round < 50; round++) {
                std::unique_lock lock(mutex);
                turn.wait(lock, [&] { return next % 8 == me; });
                next++;
                turn.notify_all();
            }
        });
    }
    for (auto &t : threads) {
        t.join();
    }
    CHECK_EQ(next, 400);
}

void test_timed_waits()
{
    std::timed_mutex timed;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock held(timed);
    auto begin = std::chrono::steady_clock::now();
    std::thread([&] { CHECK(!timed.try_lock_for(5ms)); }).join();
    std::unique_lock lock(mutex);
    CHECK(!never.wait_for(lock, 5ms, [] { return false; }));
    std::this_thread::sleep_for(5ms);
    CHECK(std::chrono::steady_clock::now() - begin >= 15ms);
}

void test_futures_and_shared_mutexes()
{
    std::shared_mutex shared;
    long value = 0;
    std::vector<std::future<long>> results;
    for (int i = 0; i < 20; i++) {
        results.push_back(std::async(std::launch::async, [&, i] {
            if (i % 4 == 0) {
                std::unique_lock lock(shared);
                value++;
            }
            std::shared_lock lock(shared);
            return value >= 0 ? 1L : 0L;
        }));
    }
    long sum = 0;
    for (auto &r : results) {
        sum += r.get();
    }
    CHECK_EQ(sum, 20);
    CHECK_EQ(value, 5);
}

/* Threads that wait inside a catch block; each has its own exceptions. */
void handles(int id, int depth)
{
    try {
        throw std::runtime_error(std::to_string(id * 100 + depth));
    } catch (const std::runtime_error &) {
        std::this_thread::yield();
        if (depth > 0) {
            handles(id, depth - 1);
        }
        std::this_thread::sleep_for(100us);
        try {
            throw;
        } catch (const std::runtime_error &again) {
            CHECK_EQ(std::stoi(again.what()), id * 100 + depth);
        }
    }
}

void test_exceptions_belong_to_their_thread()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++) {
        threads.emplace_back([i] {
            for (int round = 0; round < 20; round++) {
                handles(i, 3);
            }
        });
    }
    handles(99, 3);
    for (auto &t : threads) {
        t.join();
    }
}

std::atomic<int> destroyed;

struct counts {
    ~counts() { destroyed++; }
};

volatile bool exits = true;

void leaves(int depth)
{
    counts here;
    if (depth > 0) {
        leaves(depth - 1);
    } else if (exits) {
        pthread_exit(reinterpret_cast<void *>(3L));
    }
}

void *leaves_through_catch(void *)
{
    try {
        leaves(4);
    } catch (...) {
        destroyed += 100;
        throw;
    }
    return nullptr;
}

void test_pthread_exit_runs_destructors()
{
    destroyed = 0;
    CHECK_EQ(reinterpret_cast<long>(join(start(leaves_through_catch, nullptr))), 3);
    CHECK_EQ(destroyed, 105);
}

pthread_once_t once = PTHREAD_ONCE_INIT;
int attempts;

void fails_first()
{
    if (++attempts == 1) {
        throw std::runtime_error("first");
    }
}

void test_once_is_repeated_after_an_exception()
{
    bool caught = false;
    try {
        pthread_once(&once, fails_first);
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught);
    pthread_once(&once, fails_first);
    pthread_once(&once, fails_first);
    CHECK_EQ(attempts, 2);
}

} // namespace

int main()
{
    RUN(test_std_thread_mutex_and_condition_variable);
    RUN(test_timed_waits);
    RUN(test_futures_and_shared_mutexes);
    RUN(test_exceptions_belong_to_their_thread);
    RUN(test_pthread_exit_runs_destructors);
    RUN(test_once_is_repeated_after_an_exception);
    return 0;
}
