/* SPDX-License-Identifier: MIT */
/* objects.cpp - event flags, message queues, software timers. */
#include "check.hpp"

#include <string>

#include <pirn/objects.hpp>

using namespace std::chrono_literals;

TEST(event_flags_pass_events_when_two_threads_alternate)
{
    pirn::event_flags events;
    constexpr uint32_t ping = 1, pong = 2;
    pirn::thread other([&] {
        for (int i = 0; i < 100; i++) {
            events.wait(ping, pirn::flags::clear);
            events.set(pong);
        }
    });
    for (int i = 0; i < 100; i++) {
        events.set(ping);
        CHECK(events.wait_for(far, pong, pirn::flags::all | pirn::flags::clear));
    }
    other.join();
    CHECK(events.get() == 0);
}

TEST(event_flags_time_out_when_bits_are_missing)
{
    pirn::event_flags events;
    uint32_t got = 7;
    events.set(1);
    const auto until = std::chrono::steady_clock::now() + soon;
    CHECK(!events.wait_until(until, 3, pirn::flags::all, &got) && got == 7);
    CHECK(std::chrono::steady_clock::now() >= until);
    CHECK(!events.wait_for(soon, 2) && !events.try_wait(2));
    CHECK(events.try_wait(3, pirn::flags::any, &got) && got == 1);
    CHECK(events.wait(3) == 1 && events.clear(1) == 1);
}

TEST(event_flags_throw_when_arguments_are_bad)
{
    pirn::event_flags events;
    CHECK(throws(std::errc::invalid_argument, [&] { events.wait(0); }));
    CHECK(throws(std::errc::invalid_argument, [&] { events.try_wait(1, 4); }));
    CHECK(throws(std::errc::invalid_argument, [&] { events.wait_for(soon, 0); }));
}

TEST(message_queue_passes_messages_when_full_and_empty)
{
    struct message {
        int number;
        char text[5];
    };
    pirn::message_queue<message, 3> queue;
    message m{};
    CHECK(!queue.try_receive(m) && !queue.receive_for(soon, m));
    pirn::thread sender([&] {
        for (int i = 0; i < 200; i++) {
            queue.send({i, "text"});
        }
    });
    for (int i = 0; i < 200; i++) {
        CHECK(queue.receive_until(std::chrono::system_clock::now() + far, m));
        CHECK(m.number == i && std::string(m.text) == "text");
    }
    sender.join();
    for (int i = 0; i < 3; i++) {
        CHECK(queue.send_for(far, m));
    }
    CHECK(queue.size() == 3 && !queue.try_send(m) && !queue.send_for(soon, m));
    CHECK(!queue.send_until(std::chrono::steady_clock::now(), m));
}

TEST(timer_calls_when_started_in_each_way)
{
    pirn::counting_semaphore<> rang(0);
    pirn::timer timer([&] {
        try { /* the timers' thread has exceptions */
            pirn::this_thread::yield();
            throw 1;
        } catch (int) {
            rang.release();
        }
    });
    timer.start_after(1us);
    rang.acquire();
    timer.start_at(std::chrono::steady_clock::now() + soon);
    rang.acquire();
    timer.start_every(1ms);
    rang.acquire();
    rang.acquire();
    CHECK(timer.stop_sync() && !timer.stop());
    timer.start_after(far);
    CHECK(timer.stop());
    timer.start_every(1us); /* destroyed while it runs */
}
