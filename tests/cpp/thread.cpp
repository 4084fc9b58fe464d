/* SPDX-License-Identifier: MIT */
/*
 * thread.cpp - thread, jthread, this_thread.
 */
#include "check.hpp"

#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

using namespace std::chrono_literals;

TEST(thread_runs_callable_when_started)
{
    int ran = 0;
    pirn::thread t([&ran] { ran = 1; });
    CHECK(t.joinable());
    t.join();
    CHECK(ran == 1 && !t.joinable());
}

static int sum;

static void add_up(int a, const int &b, std::unique_ptr<int> c)
{
    sum = a + b + *c;
}

TEST(thread_copies_and_moves_arguments_when_started)
{
    int b = 20;
    pirn::thread t(add_up, 1, b, std::make_unique<int>(300));
    b = 0;
    t.join();
    CHECK(sum == 321);

    struct counter {
        int n = 0;
        void add(int by) { n += by; }
    } counter;
    pirn::thread member(&counter::add, &counter, 7);
    member.join();
    int by_reference = 0;
    pirn::thread reference([](int &n) { n = 9; }, std::ref(by_reference));
    reference.join();
    CHECK(counter.n == 7 && by_reference == 9);

    std::string result;
    pirn::thread moved([text = std::make_unique<std::string>("moved"), &result]() mutable {
        result = std::move(*text);
    });
    moved.join();
    CHECK(result == "moved");
}

static void do_nothing() {}

/* An operator new of the test could count, but the sanitizers have their own. */
template <class F>
static constexpr bool needs_no_allocation(const F &)
{
    return pirn::detail::fits_pointer<pirn::detail::bound<F>>;
}

TEST(thread_needs_no_allocation_when_callable_is_small)
{
    int n = 0, m = 0;
    auto small = [&n] { n++; };
    auto large = [&n, &m] { n += ++m; };
    CHECK(needs_no_allocation(&do_nothing) && needs_no_allocation(small));
    CHECK(!needs_no_allocation(large));
    pirn::thread function(do_nothing), one(small);
    one.join();
    pirn::thread two(large);
    two.join();
    function.join();
    CHECK(n == 2);
}

TEST(thread_frees_callable_when_it_ends)
{
    auto shared = std::make_shared<int>(5);
    pirn::thread t([shared](int) {}, 1);
    t.join();
    CHECK(shared.use_count() == 1);
}

TEST(thread_moves_when_assigned)
{
    pirn::thread a([] { pirn::this_thread::yield(); }), b;
    pirn::thread::id id = a.get_id();
    CHECK(id != pirn::thread::id() && b.get_id() == pirn::thread::id());
    b = std::move(a);
    CHECK(!a.joinable() && b.get_id() == id);
    swap(a, b);
    CHECK(a.get_id() == id && !b.joinable());
    pirn::thread c(std::move(a));
    c.join();
    CHECK(c.get_id() == pirn::thread::id());
}

TEST(thread_ids_differ_when_threads_differ)
{
    std::unordered_set<pirn::thread::id> ids{pirn::this_thread::get_id()};
    std::vector<pirn::thread> threads;
    for (int i = 0; i < 50; i++) {
        threads.emplace_back([] {});
        CHECK(ids.insert(threads.back().get_id()).second);
    }
    for (pirn::thread &t : threads) {
        t.join();
    }
    pirn::thread::id inside, outside;
    pirn::thread t([&inside] { inside = pirn::this_thread::get_id(); });
    outside = t.get_id();
    t.join();
    std::ostringstream text;
    text << outside;
    CHECK(inside == outside && ids.count(inside) == 0 && text.str().find('.') != std::string::npos);
    CHECK((inside < *ids.begin()) != (inside > *ids.begin()));
}

TEST(thread_join_throws_when_impossible)
{
    pirn::thread none;
    CHECK(throws(std::errc::invalid_argument, [&] { none.join(); }));
    CHECK(throws(std::errc::invalid_argument, [&] { none.detach(); }));
    pirn::thread self;
    pirn::binary_semaphore started(0);
    self = pirn::thread([&] {
        started.acquire();
        CHECK(throws(std::errc::resource_deadlock_would_occur, [&] { self.join(); }));
    });
    started.release();
    self.join();
}

TEST(thread_stays_joinable_when_join_times_out)
{
    pirn::binary_semaphore end(0);
    pirn::thread t([&end] { end.acquire(); });
    CHECK(!t.try_join_for(soon) && t.joinable());
    CHECK(!t.try_join_until(std::chrono::system_clock::now() + soon) && t.joinable());
    end.release();
    CHECK(t.try_join_for(far) && !t.joinable());
}

TEST(thread_goes_on_when_detached)
{
    pirn::latch done(1);
    pirn::thread t([&done] { done.count_down(); });
    t.detach();
    CHECK(!t.joinable());
    done.wait();
}

TEST(thread_has_attributes_when_given)
{
    pirn::thread_attributes attributes;
    attributes.stack_size = 256 * 1024;
    attributes.name = "painter";
    bool named = false;
    pirn::thread t(
        attributes,
        [&named](int) {
            volatile char deep[128 * 1024];
            std::memset(const_cast<char *>(deep), 1, sizeof(deep));
            named =
                std::strcmp(pirn_name(pirn_self()), "painter") == 0 && deep[sizeof(deep) - 1] == 1;
        },
        1);
    t.join();
    CHECK(named);
    attributes.stack_size = 1;
    CHECK(throws(std::errc::invalid_argument, [&] { pirn::thread(attributes, do_nothing); }));
}

TEST(thread_has_producers_when_added)
{
    pirn::binary_semaphore end(0);
    pirn::jthread producer([&end] { end.acquire(); });
    pirn::jthread consumer([&] {
        pirn::this_thread::add_producer(producer.native_handle());
        CHECK(pirn_affinity_del(producer.native_handle()) == 0);
        pirn::this_thread::add_producer(producer.native_handle());
        pirn::this_thread::del_producer(producer.native_handle());
        CHECK(pirn_affinity_del(producer.native_handle()) == -ENOENT);
        pirn::this_thread::add_producer(producer.native_handle());
    });
    pirn::jthread last([&end] { end.acquire(); });
    last.add_producer(producer.native_handle());
    CHECK(pirn_affinity_del_from(last.native_handle(), producer.native_handle()) == 0);
    last.add_producer(producer.native_handle());
    last.del_producer(producer.native_handle());
    CHECK(pirn_affinity_del_from(last.native_handle(), producer.native_handle()) == -ENOENT);
    consumer.join();
    end.release();
    end.release();
}

TEST(thread_producer_throws_when_impossible)
{
    pirn::binary_semaphore end(0);
    auto wait = [&end] { end.acquire(); };
    pirn::jthread a(wait), b(wait);
    const pirn_thread_t self = pirn_self();
    pirn::thread none;
    CHECK(throws(std::errc::no_such_process, [&] { none.add_producer(self); }));
    CHECK(throws(std::errc::no_such_process, [&] { a.add_producer(none.native_handle()); }));
    CHECK(throws(std::errc::no_such_process, [&] { a.del_producer(none.native_handle()); }));
    CHECK(throws(std::errc::no_such_process,
                 [] { pirn::this_thread::add_producer(pirn::thread::native_handle_type()); }));
    CHECK(throws(std::errc::invalid_argument, [&] { a.add_producer(a.native_handle()); }));
    CHECK(throws(std::errc::invalid_argument, [&] { pirn::this_thread::add_producer(self); }));
    CHECK(throws(std::errc::no_such_file_or_directory, [&] { a.del_producer(b.native_handle()); }));
    CHECK(throws(std::errc::no_such_file_or_directory,
                 [&] { pirn::this_thread::del_producer(a.native_handle()); }));
    a.add_producer(b.native_handle());
    b.add_producer(self);
    CHECK(throws(std::errc::too_many_symbolic_link_levels,
                 [&] { pirn::this_thread::add_producer(a.native_handle()); }));
    end.release();
    end.release();
}

TEST(thread_producer_throws_when_there_are_too_many)
{
    pirn::latch end(1);
    pirn::jthread waiting[PIRN_PRODUCERS_MAX + 1];
    for (pirn::jthread &t : waiting) {
        t = pirn::jthread([&end] { end.wait(); });
    }
    for (unsigned i = 0; i < PIRN_PRODUCERS_MAX; i++) {
        pirn::this_thread::add_producer(waiting[i].native_handle());
    }
    CHECK(throws(std::errc::no_space_on_device, [&] {
        pirn::this_thread::add_producer(waiting[PIRN_PRODUCERS_MAX].native_handle());
    }));
    end.count_down();
}

TEST(thread_is_joined_when_creator_is_a_kernel_thread)
{
    int n = 0;
    {
        kernel_thread foreign([&n] {
            pirn::thread t([&n] {
                pirn::this_thread::sleep_for(soon);
                n = 1;
            });
            t.join();
        });
    }
    CHECK(n == 1);
}

TEST(sleep_lasts_when_given_a_duration_or_a_time)
{
    auto begin = std::chrono::steady_clock::now();
    pirn::this_thread::sleep_for(soon);
    CHECK(std::chrono::steady_clock::now() - begin >= soon);
    auto until = std::chrono::system_clock::now() + soon;
    pirn::this_thread::sleep_until(until);
    CHECK(std::chrono::system_clock::now() >= until);
    pirn::this_thread::sleep_for(-1h);
    pirn::this_thread::sleep_for(std::chrono::duration<double>(1e-4));
    pirn::this_thread::sleep_until(std::chrono::steady_clock::time_point::min());
}

TEST(wait_is_endless_when_duration_is_beyond_reach)
{
    pirn::binary_semaphore end(0);
    pirn::thread t([&end] {
        CHECK(end.try_acquire_for(std::chrono::hours::max()));
        CHECK(end.try_acquire_until(std::chrono::steady_clock::time_point::max()));
    });
    pirn::this_thread::sleep_for(soon);
    end.release();
    pirn::this_thread::sleep_for(soon);
    end.release();
    t.join();
}

TEST(jthread_is_joined_when_it_ends)
{
    int n = 0;
    {
        pirn::jthread t(
            [&n](int by) {
                pirn::this_thread::sleep_for(soon);
                n += by;
            },
            3);
        pirn::jthread empty, moved(std::move(t));
        CHECK(!t.joinable() && moved.joinable() && !empty.joinable());
        swap(empty, moved);
        CHECK(empty.joinable() && !moved.joinable());
    }
    CHECK(n == 3);
    int m = 0;
    pirn::jthread a([&n] { n = 4; });
    a = pirn::jthread([&m] { m = 5; });
    CHECK(n == 4);
    a.join();
    CHECK(m == 5);
}

#if defined(__cpp_lib_jthread)
TEST(jthread_stops_when_destroyed)
{
    bool stopped = false;
    {
        pirn::jthread t(
            [&stopped](std::stop_token token, int) {
                while (!token.stop_requested()) {
                    pirn::this_thread::yield();
                }
                stopped = true;
            },
            1);
        CHECK(t.get_stop_token().stop_possible());
    }
    CHECK(stopped);
}
#endif
