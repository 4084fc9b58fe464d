/* SPDX-License-Identifier: MIT */
/*
 * sync.cpp - mutexes, condition variables, semaphores, latches, barriers, once, Full/Empty words.
 */
#include "check.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace
{

/* Run fn(i) in n threads and join them. */
template <class F>
void in_threads(int n, F fn)
{
    std::vector<pirn::thread> threads;
    for (int i = 0; i < n; i++) {
        threads.emplace_back(fn, i);
    }
    for (pirn::thread &t : threads) {
        t.join();
    }
}

} // namespace

TEST(mutex_excludes_when_contended)
{
    pirn::mutex mutex;
    int n = 0;
    in_threads(20, [&](int) {
        for (int i = 0; i < 100; i++) {
            std::lock_guard<pirn::mutex> guard(mutex);
            int seen = n;
            if (i % 10 == 0) {
                pirn::this_thread::yield();
            }
            n = seen + 1;
        }
    });
    CHECK(n == 2000);
    CHECK(mutex.try_lock() && !mutex.try_lock());
    mutex.unlock();
}

TEST(mutex_excludes_when_kernel_threads_lock_it_too)
{
    pirn::mutex mutex;
    int n = 0;
    auto body = [&] {
        for (int i = 0; i < 200; i++) {
            std::lock_guard<pirn::mutex> guard(mutex);
            n++;
        }
    };
    {
        kernel_thread foreign(body);
        in_threads(4, [&](int) { body(); });
    }
    CHECK(n == 1000);
}

TEST(mutexes_are_locked_together_when_scoped)
{
    pirn::mutex a, b;
    int n = 0;
    in_threads(8, [&](int i) {
        pirn::mutex &first = i % 2 != 0 ? a : b, &second = i % 2 != 0 ? b : a;
        for (int k = 0; k < 50; k++) {
            std::scoped_lock guard(first, second);
            n++;
        }
    });
    CHECK(n == 400);
}

TEST(timed_mutex_gives_up_when_held)
{
    pirn::timed_mutex mutex;
    std::unique_lock<pirn::timed_mutex> held(mutex);
    pirn::latch gave_up(1);
    pirn::thread t([&] {
        CHECK(!mutex.try_lock_for(soon));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + soon));
        gave_up.count_down();
        std::unique_lock<pirn::timed_mutex> lock(mutex, far);
        CHECK(lock.owns_lock());
    });
    gave_up.wait();
    pirn::this_thread::sleep_for(soon);
    held.unlock();
    t.join();
}

TEST(shared_mutex_admits_readers_together_when_no_writer)
{
    pirn::shared_mutex mutex;
    pirn::barrier<> inside(5);
    in_threads(5, [&](int) {
        std::shared_lock<pirn::shared_mutex> lock(mutex);
        inside.arrive_and_wait();
        CHECK(!mutex.try_lock());
    });
    CHECK(mutex.try_lock() && !mutex.try_lock_shared());
    mutex.unlock();
}

TEST(shared_mutex_excludes_when_writers_write)
{
    pirn::shared_mutex mutex;
    int a = 0, b = 0;
    in_threads(10, [&](int i) {
        for (int k = 0; k < 50; k++) {
            if (i % 5 == 0) {
                std::lock_guard<pirn::shared_mutex> lock(mutex);
                a++;
                pirn::this_thread::yield();
                b++;
            } else {
                std::shared_lock<pirn::shared_mutex> lock(mutex);
                CHECK(a == b);
                pirn::this_thread::yield();
                CHECK(a == b);
            }
        }
    });
    CHECK(a == 100);
}

TEST(shared_timed_mutex_gives_up_when_held)
{
    pirn::shared_timed_mutex mutex;
    mutex.lock();
    pirn::latch gave_up(1);
    pirn::thread t([&] {
        CHECK(!mutex.try_lock_for(soon) && !mutex.try_lock_shared_for(soon));
        auto until = std::chrono::steady_clock::now() + soon;
        CHECK(!mutex.try_lock_until(until) && !mutex.try_lock_shared_until(until));
        gave_up.count_down();
        CHECK(mutex.try_lock_shared_for(far));
        mutex.unlock_shared();
    });
    gave_up.wait();
    pirn::this_thread::sleep_for(soon);
    mutex.unlock();
    t.join();
}

TEST(condition_passes_all_items_when_buffer_is_bounded)
{
    pirn::mutex mutex;
    pirn::condition_variable not_empty, not_full;
    std::deque<int> buffer;
    long long total = 0;
    in_threads(8, [&](int i) {
        for (int k = 1; k <= 100; k++) {
            std::unique_lock<pirn::mutex> lock(mutex);
            if (i % 2 == 0) {
                not_full.wait(lock, [&] { return buffer.size() < 3; });
                buffer.push_back(k);
                not_empty.notify_one();
            } else {
                not_empty.wait(lock, [&] { return !buffer.empty(); });
                total += buffer.front();
                buffer.pop_front();
                not_full.notify_one();
            }
        }
    });
    CHECK(total == 4 * 5050 && buffer.empty());
}

TEST(condition_times_out_when_nobody_notifies)
{
    pirn::timed_mutex mutex;
    pirn::condition_variable changed;
    std::unique_lock<pirn::timed_mutex> lock(mutex);
    auto begin = std::chrono::steady_clock::now();
    CHECK(changed.wait_for(lock, soon) == pirn::cv_status::timeout);
    CHECK(std::chrono::steady_clock::now() - begin >= soon && lock.owns_lock());
    CHECK(changed.wait_until(lock, std::chrono::system_clock::now() + soon) ==
          pirn::cv_status::timeout);
    CHECK(!changed.wait_for(lock, soon, [] { return false; }));
    CHECK(!changed.wait_until(lock, begin, [] { return false; }));
    CHECK(changed.wait_until(lock, begin, [] { return true; }));
    lock.unlock();
    CHECK(throws(std::errc::operation_not_permitted, [&] { changed.wait(lock); }));
}

TEST(condition_wakes_all_when_notified)
{
    pirn::mutex mutex;
    pirn::condition_variable changed;
    bool open = false;
    int woken = 0;
    pirn::thread opener([&] {
        pirn::this_thread::sleep_for(soon);
        std::lock_guard<pirn::mutex> guard(mutex);
        open = true;
        changed.notify_all();
    });
    in_threads(20, [&](int i) {
        std::unique_lock<pirn::mutex> lock(mutex);
        if (i % 3 == 0) {
            changed.wait(lock, [&] { return open; });
        } else if (i % 3 == 1) {
            CHECK(changed.wait_for(lock, far, [&] { return open; }));
        } else {
            auto until = std::chrono::system_clock::now() + far;
            CHECK(changed.wait_until(lock, until, [&] { return open; }));
        }
        woken++;
    });
    opener.join();
    CHECK(woken == 20);
}

TEST(semaphore_limits_when_contended)
{
    pirn::counting_semaphore<3> places(3);
    std::atomic<int> inside{0};
    in_threads(12, [&](int) {
        for (int k = 0; k < 50; k++) {
            places.acquire();
            CHECK(++inside <= 3);
            pirn::this_thread::yield();
            inside--;
            places.release();
        }
    });
    CHECK(places.try_acquire() && places.try_acquire() && places.try_acquire());
    CHECK(!places.try_acquire() && !places.try_acquire_for(soon));
    CHECK(!places.try_acquire_until(std::chrono::system_clock::now() + soon));
}

TEST(semaphore_wakes_many_when_released_by_many)
{
    pirn::counting_semaphore<> semaphore(0);
    pirn::thread releaser([&] { semaphore.release(10); });
    in_threads(10, [&](int) { CHECK(semaphore.try_acquire_for(far)); });
    releaser.join();
    CHECK(!semaphore.try_acquire());
}

TEST(semaphore_throws_when_value_is_out_of_range)
{
    CHECK(throws(std::errc::invalid_argument, [] { pirn::binary_semaphore bad(2); }));
    CHECK(throws(std::errc::invalid_argument, [] { pirn::counting_semaphore<> bad(-1); }));
    pirn::counting_semaphore<> full(pirn::counting_semaphore<>::max());
    CHECK(throws(std::errc::value_too_large, [&] { full.release(); }));
}

TEST(latch_opens_when_counted_down)
{
    for (int round = 0; round < 20; round++) {
        auto gate = std::make_unique<pirn::latch>(4);
        pirn::latch all(3);
        std::vector<pirn::thread> threads;
        for (int i = 0; i < 3; i++) {
            threads.emplace_back([&] {
                gate->count_down();
                all.arrive_and_wait();
            });
        }
        CHECK(!gate->try_wait());
        gate->arrive_and_wait();
        gate.reset(); /* at once: the last access of the others is over */
        for (pirn::thread &t : threads) {
            t.join();
        }
        CHECK(all.try_wait());
    }
    CHECK(throws(std::errc::invalid_argument, [] { pirn::latch bad(-1); }));
}

TEST(barrier_completes_each_phase_when_all_arrive)
{
    constexpr int count = 6, phases = 20;
    int completed = 0;
    auto complete = [&completed]() noexcept { completed++; };
    pirn::barrier<decltype(complete)> barrier(count, complete);
    pirn::barrier<> checked(count);
    std::atomic<int> arrived{0};
    in_threads(count, [&](int i) {
        for (int phase = 0; phase < phases; phase++) {
            arrived++;
            if (i == 0) {
                auto token = barrier.arrive();
                pirn::this_thread::yield();
                barrier.wait(std::move(token));
            } else {
                barrier.arrive_and_wait();
            }
            CHECK(completed == phase + 1 && arrived >= count * (phase + 1));
            checked.arrive_and_wait();
        }
    });
}

TEST(barrier_goes_on_with_the_rest_when_one_drops)
{
    pirn::barrier<> barrier(4);
    std::atomic<int> rounds{0};
    in_threads(4, [&](int i) {
        for (int k = 0; k < 10; k++) {
            if (i == k % 4 && k < 2) {
                barrier.arrive_and_drop();
                return;
            }
            barrier.arrive_and_wait();
            rounds++;
        }
    });
    CHECK(rounds == 10 + 10 + 1);
    CHECK(throws(std::errc::invalid_argument, [] { pirn::barrier<> bad(-1); }));
}

TEST(call_once_calls_once_when_contended)
{
    pirn::once_flag flag;
    int calls = 0;
    in_threads(10, [&](int) {
        pirn::call_once(
            flag,
            [&](int by) {
                pirn::this_thread::yield();
                calls += by;
            },
            1);
        CHECK(calls == 1);
    });
}

TEST(call_once_tries_again_when_it_threw)
{
    pirn::once_flag flag;
    std::atomic<int> attempts{0}, caught{0};
    in_threads(6, [&](int) {
        try {
            pirn::call_once(flag, [&] {
                pirn::this_thread::yield();
                if (++attempts < 4) {
                    throw attempts.load();
                }
            });
        } catch (int) {
            caught++;
        }
    });
    CHECK(attempts == 4 && caught == 3);
}

TEST(fe_passes_values_when_contended)
{
    pirn::fe<int> word;
    std::atomic<int> total{0};
    in_threads(8, [&](int i) {
        for (int k = 1; k <= 100; k++) {
            if (i % 2 == 0) {
                word.write(k);
            } else {
                total += word.take();
            }
        }
    });
    CHECK(total == 4 * 5050 && !word.full());
}

TEST(fe_keeps_types_when_plain)
{
    struct point {
        short x, y;
        bool operator==(const point &o) const { return x == o.x && y == o.y; }
    };
    pirn::fe<point> at(point{-1, 2});
    CHECK(at.full() && at.read() == point{-1, 2} && at.take() == point{-1, 2} && !at.full());
    pirn::fe<double> number(0.5);
    number.overwrite(-0.25);
    CHECK(number.read() == -0.25);
    number.purge();
    CHECK(!number.full());
    pirn::fe<void *> pointer;
    pointer.write(&number);
    CHECK(pointer.take() == &number);
}

TEST(fe_gives_up_when_time_is_over)
{
    pirn::fe<int> word;
    auto later = [] { return std::chrono::system_clock::now() + soon; };
    CHECK(!word.read_for(soon) && !word.take_for(soon));
    CHECK(!word.read_until(later()) && !word.take_until(later()));
    CHECK(word.write_for(5, soon) && !word.write_for(6, soon) && !word.write_until(6, later()));
    CHECK(word.read_for(far) == 5 && word.read_until(later()) == 5 && word.take_for(far) == 5);
    CHECK(word.write_until(7, later()) && word.take_until(later()) == 7);
}
