/* SPDX-License-Identifier: MIT */
/*
 * objects.hpp - C++ classes for event flags, message queues and software timers: <pirn/flags.h>,
 * <pirn/queue.h> and <pirn/timer.h>, which say what the functions do and where they may be called.
 * C++17; the conventions are those of pirn.hpp, with exceptions and without (freestanding.hpp). The
 * timed functions return false when the time has passed.
 */
#ifndef PIRN_OBJECTS_HPP
#define PIRN_OBJECTS_HPP

#include <errno.h>
#include <string.h>

#include <pirn/flags.h>
#include <pirn/pirn.hpp>
#include <pirn/queue.h>
#include <pirn/timer.h>

namespace pirn
{

namespace objects_detail
{

#ifdef __cpp_exceptions
template <class Clock, class Duration, class Attempt>
bool by(const std::chrono::time_point<Clock, Duration> &time, Attempt attempt)
{
    return detail::attempt_until(time, attempt);
}
template <class Time>
uint64_t deadline_of(const Time &time)
{
    return detail::deadline_at(time);
}
template <class Duration>
uint64_t ns_of(const Duration &duration)
{
    return static_cast<uint64_t>(
        std::chrono::ceil<std::chrono::duration<uint64_t, std::nano>>(duration).count());
}
inline void set_up() noexcept
{
    pirn_attr_t attr{};
    attr.cxx = true;
    pirn_timer_setup(&attr); /* -EBUSY: there is one; other errors come again */
}
#else
template <class Attempt>
bool by(uint64_t deadline, Attempt attempt)
{
    return attempt(deadline);
}
inline uint64_t deadline_of(uint64_t deadline)
{
    return deadline;
}
inline uint64_t ns_of(uint64_t ns)
{
    return ns;
}
inline void set_up() noexcept {}
#endif

/* True: done. False: not yet, or not in time. */
inline bool done(int result, const char *what)
{
    if (result == -EAGAIN || result == -ETIMEDOUT) {
        return false;
    }
    detail::check(result, what);
    return true;
}

} // namespace objects_detail

/* How event_flags are waited for: any, all, any | clear, all | clear. */
namespace flags
{
inline constexpr unsigned any = PIRN_FLAGS_ANY, all = PIRN_FLAGS_ALL, clear = PIRN_FLAGS_CLEAR;
}

/* A word of 32 bits. Bad arguments: invalid_argument. */
class event_flags : detail::pinned
{
public:
    constexpr event_flags() noexcept = default; /* no bit is set */

    uint32_t set(uint32_t bits) noexcept { return pirn_flags_set(&flags_, bits); }
    uint32_t clear(uint32_t bits) noexcept { return pirn_flags_clear(&flags_, bits); }
    uint32_t get() noexcept { return pirn_flags_get(&flags_); }

    /* Returns the word when the wait ended. */
    uint32_t wait(uint32_t bits, unsigned how = flags::any)
    {
        uint32_t got = 0;
        detail::check(pirn_flags_wait(&flags_, bits, how, &got), "pirn::event_flags::wait");
        return got;
    }
    bool try_wait(uint32_t bits, unsigned how = flags::any, uint32_t *got = nullptr)
    {
        return objects_detail::done(pirn_flags_trywait(&flags_, bits, how, got),
                                    "pirn::event_flags::try_wait");
    }
    template <class Time>
    bool wait_until(const Time &time, uint32_t bits, unsigned how = flags::any,
                    uint32_t *got = nullptr)
    {
        return objects_detail::by(time, [&](uint64_t t) { return wait_by(t, bits, how, got); });
    }
    template <class Duration>
    bool wait_for(const Duration &time, uint32_t bits, unsigned how = flags::any,
                  uint32_t *got = nullptr)
    {
        return wait_by(detail::deadline_after(time), bits, how, got);
    }

    pirn_flags_t *native_handle() noexcept { return &flags_; }

private:
    bool wait_by(uint64_t deadline, uint32_t bits, unsigned how, uint32_t *got)
    {
        return objects_detail::done(pirn_flags_wait_until(&flags_, bits, how, got, deadline),
                                    "pirn::event_flags");
    }

    pirn_flags_t flags_{};
};

/* A queue of up to N messages of a trivial type. */
template <class T, uint32_t N>
class message_queue : detail::pinned
{
    static_assert(__is_trivially_copyable(T), "a trivially copyable type");
    static_assert(N > 0, "room for a message at least");

public:
    message_queue() noexcept { pirn_queue_init(&queue_, room_, sizeof(T), N); }

    static constexpr uint32_t capacity() noexcept { return N; }
    uint32_t size() noexcept { return pirn_queue_count(&queue_); }

    void send(const T &message) noexcept { pirn_queue_send(&queue_, &message); }
    bool try_send(const T &message) noexcept { return pirn_queue_trysend(&queue_, &message) == 0; }
    template <class Time>
    bool send_until(const Time &time, const T &message)
    {
        return objects_detail::by(time, [&](uint64_t t) { return send_by(t, message); });
    }
    template <class Duration>
    bool send_for(const Duration &time, const T &message)
    {
        return send_by(detail::deadline_after(time), message);
    }

    void receive(T &message) noexcept { pirn_queue_receive(&queue_, &message); }
    bool try_receive(T &message) noexcept { return pirn_queue_tryreceive(&queue_, &message) == 0; }
    template <class Time>
    bool receive_until(const Time &time, T &message)
    {
        return objects_detail::by(time, [&](uint64_t t) { return receive_by(t, message); });
    }
    template <class Duration>
    bool receive_for(const Duration &time, T &message)
    {
        return receive_by(detail::deadline_after(time), message);
    }

    pirn_queue_t *native_handle() noexcept { return &queue_; }

private:
    bool send_by(uint64_t deadline, const T &message) noexcept
    {
        return pirn_queue_send_until(&queue_, &message, deadline) == 0;
    }
    bool receive_by(uint64_t deadline, T &message) noexcept
    {
        return pirn_queue_receive_until(&queue_, &message, deadline) == 0;
    }

    alignas(T) unsigned char room_[N * sizeof(T)];
    pirn_queue_t queue_{};
};

/*
 * Calls a callable at a time, in the timers' thread. An exception that leaves the callable ends the
 * program. The destructor stops the timer and waits until no call runs, so the callable must not
 * destroy its own timer. The constructor throws resource_unavailable_try_again without memory for
 * the timers' thread.
 *
 *     pirn::timer blink([&] { led.toggle(); });
 *     blink.start_every(500ms);
 */
template <class F>
class timer : detail::pinned
{
public:
    explicit timer(F fn) : fn_(static_cast<F &&>(fn))
    {
        objects_detail::set_up();
        detail::check(pirn_timer_init(&timer_, call, this), "pirn::timer");
    }
    ~timer() { pirn_timer_stop_sync(&timer_); }

    /* Once, at a time, or a duration from now. */
    template <class Time>
    void start_at(const Time &time)
    {
        start(objects_detail::deadline_of(time), 0);
    }
    template <class Duration>
    void start_after(const Duration &time)
    {
        start(detail::deadline_after(time), 0);
    }
    /* Every period, first a period from now. */
    template <class Duration>
    void start_every(const Duration &period)
    {
        start(detail::deadline_after(period), objects_detail::ns_of(period));
    }
    void start(uint64_t deadline, uint64_t period)
    {
        detail::check(pirn_timer_start(&timer_, deadline, period), "pirn::timer::start");
    }
    bool stop() noexcept { return pirn_timer_stop(&timer_); }
    bool stop_sync() noexcept { return pirn_timer_stop_sync(&timer_); }
    uint32_t overruns() noexcept { return pirn_timer_overruns(&timer_); }

    pirn_timer_t *native_handle() noexcept { return &timer_; }

private:
    static void call(void *self) noexcept { static_cast<timer *>(self)->fn_(); }

    F fn_;
    pirn_timer_t timer_{};
};

} // namespace pirn

#endif
