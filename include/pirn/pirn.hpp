/* SPDX-License-Identifier: MIT */
/*
 * pirn.hpp - user-level threads for C++17: the classes of <thread>, <mutex>, <shared_mutex>,
 * <condition_variable>, <semaphore>, <barrier> and <latch> over pirn.h, and Full/Empty words.
 *
 * Names, parameters and errors are those of ISO C++. The comment of each class names the chapter
 * and the differences. Conventions:
 *   - Functions that block let other user threads run. They may be called from user threads, from
 *     the main thread and from kernel threads that Pirn did not make, never from a signal handler.
 *   - Failures throw std::system_error with a generic_category code.
 *   - Time points of any clock are accepted. A wait until a time of another clock than the steady
 *     one is corrected when it ends, not when that clock is set.
 *   - Objects of the classes must not move while in use, and hold no memory outside themselves.
 *   - A pirn::thread has its own exception state: throw, catch, `throw;` and
 *     std::uncaught_exceptions work across every wait and change of worker. The main thread has its
 *     own, too, once it has started a pirn::thread. Threads of pirn_create have it only with
 *     attr.cxx.
 *   - `thread_local` variables belong to the worker, not to the thread: do not keep a reference to
 *     one across a call that may wait. For the same reason do not hold a std::mutex, a
 *     std::call_once or the initialiser of a function's static variable across a wait: they block
 *     the whole worker.
 *   - Without exceptions (-fno-exceptions, and on boards) this header is freestanding.hpp: the same
 *     classes, with the differences listed there.
 *
 * Length: the whole C++ interface, most of it documentation, in the one file that users include.
 */
#ifndef PIRN_PIRN_HPP
#define PIRN_PIRN_HPP

/* Without exceptions, as on boards, failures cannot be thrown. Boards also have no C++ library.
 * Both get a part of the interface. */
#if !defined(__cpp_exceptions)
#include <pirn/freestanding.hpp>
#else

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <shared_mutex>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pirn/pirn.h>

#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<stop_token>)
#include <stop_token>
#endif
#endif

namespace pirn
{

namespace detail
{

/* Turn a result of pirn.h, 0 or a negative error number, into ISO C++'s: an exception on an
 * error. */
inline void check(int result, const char *what)
{
    if (result != 0) {
        throw std::system_error(-result, std::generic_category(), what);
    }
}

/* Base of objects that must not move. */
struct pinned {
    pinned() = default;
    pinned(const pinned &) = delete;
    pinned &operator=(const pinned &) = delete;
};

/* The deadline a duration from now, rounded up; centuries and more mean for ever. */
template <class Rep, class Period>
std::uint64_t deadline_after(const std::chrono::duration<Rep, Period> &time)
{
    using nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;
    constexpr double centuries = 9e9; /* seconds */
    if (!(time > time.zero())) {
        return pirn_now();
    }
    if (std::chrono::duration<double>(time).count() >= centuries) {
        return PIRN_FOREVER;
    }
    return pirn_now() + std::chrono::ceil<nanoseconds>(time).count();
}

template <class Clock, class Duration>
std::uint64_t deadline_at(const std::chrono::time_point<Clock, Duration> &time)
{
    const auto now = Clock::now();
    return time > now ? deadline_after(time - now) : pirn_now();
}

/* Call attempt(deadline) until it succeeds or Clock itself says that the time has passed. */
template <class Clock, class Duration, class Attempt>
bool attempt_until(const std::chrono::time_point<Clock, Duration> &time, Attempt attempt)
{
    do {
        if (attempt(deadline_at(time))) {
            return true;
        }
    } while (Clock::now() < time);
    return false;
}

/* A callable and its arguments, copied for the new thread. */
template <class F, class... Args>
struct bound {
    std::tuple<F, Args...> parts;

    template <class... From>
    explicit bound(std::in_place_t, From &&...from) : parts(std::forward<From>(from)...)
    {
    }

    void operator()()
    {
        std::apply([](F &&f, Args &&...args) { std::invoke(std::move(f), std::move(args)...); },
                   std::move(parts));
    }
};

template <class F>
struct bound<F> {
    F fn;

    template <class From>
    explicit bound(std::in_place_t, From &&from) : fn(std::forward<From>(from))
    {
    }

    void operator()() { std::invoke(std::move(fn)); }
};

/* True if the call is small and trivial enough to be the new thread's argument: no allocation. */
template <class Call>
inline constexpr bool fits_pointer = std::is_trivially_copyable_v<Call> &&
                                     sizeof(Call) <= sizeof(void *);

/* The first functions of a thread. An exception that leaves one ends the program (noexcept). */
template <class Call>
void *run_packed(void *arg) noexcept
{
    alignas(Call) unsigned char raw[sizeof(Call)];
    std::memcpy(raw, &arg, sizeof(Call));
    (*std::launder(reinterpret_cast<Call *>(raw)))();
    return nullptr;
}

template <class Call>
void *run_owned(void *arg) noexcept
{
    std::unique_ptr<Call> call(static_cast<Call *>(arg));
    (*call)();
    return nullptr;
}

} // namespace detail

/*
 * Attributes of a new thread; the zero value means the defaults of pirn_attr_t. stack_size in
 * bytes, at least pirn_stack_min(); up to 15 bytes of name are kept. Extension, after Boost.
 */
struct thread_attributes {
    std::size_t stack_size = 0;
    const char *name = nullptr;
};

/*
 * A user-level thread ([thread.thread.class]). Movable; a thread that can be joined must be joined
 * or detached before its object ends, else std::terminate. Constructors copy or move the callable
 * and its arguments; a callable without arguments of at most 8 plain bytes (a function, a lambda
 * with one captured reference) is started without a heap allocation. They throw std::bad_alloc, or
 * std::system_error with resource_unavailable_try_again (no memory for another thread) or
 * invalid_argument (stack size). An exception that leaves the callable ends the program by
 * std::terminate. pirn_exit in the callable ends the thread without destroying its local objects.
 */
class thread
{
public:
    using native_handle_type = pirn_thread_t;

    /* Unique among all threads of the process's life; the default value names no thread. */
    class id
    {
    public:
        constexpr id() noexcept = default;

        friend constexpr bool operator==(id a, id b) noexcept { return a.value_ == b.value_; }
        friend constexpr bool operator!=(id a, id b) noexcept { return a.value_ != b.value_; }
        friend constexpr bool operator<(id a, id b) noexcept { return a.value_ < b.value_; }
        friend constexpr bool operator>(id a, id b) noexcept { return b < a; }
        friend constexpr bool operator<=(id a, id b) noexcept { return !(b < a); }
        friend constexpr bool operator>=(id a, id b) noexcept { return !(a < b); }

        /* Prints index and generation, as the library's messages do. */
        template <class Char, class Traits>
        friend std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out,
                                                            id self)
        {
            return out << (self.value_ & 0xffffffffu) << Char('.') << (self.value_ >> 32);
        }

        /* The id of pirn.h. Extension. */
        constexpr std::uint64_t value() const noexcept { return value_; }

    private:
        friend class thread;

        constexpr explicit id(std::uint64_t value) noexcept : value_(value) {}

        std::uint64_t value_ = 0; /* 0 is the id of an idle thread, which no program sees */
    };

    thread() noexcept = default;

    template <class F, class... Args,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, thread> &&
                                       !std::is_same_v<std::decay_t<F>, thread_attributes>>>
    explicit thread(F &&fn, Args &&...args)
        : thread(thread_attributes(), std::forward<F>(fn), std::forward<Args>(args)...)
    {
    }

    template <class F, class... Args>
    explicit thread(const thread_attributes &attributes, F &&fn, Args &&...args)
    {
        static_assert(std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>,
                      "the callable must accept the arguments as rvalues");
        using call = detail::bound<std::decay_t<F>, std::decay_t<Args>...>;
        start(attributes, call(std::in_place, std::forward<F>(fn), std::forward<Args>(args)...));
    }

    thread(thread &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

    thread &operator=(thread &&other) noexcept
    {
        end_unless_idle();
        handle_ = std::exchange(other.handle_, nullptr);
        return *this;
    }

    ~thread() { end_unless_idle(); }

    void swap(thread &other) noexcept { std::swap(handle_, other.handle_); }
    friend void swap(thread &a, thread &b) noexcept { a.swap(b); }

    bool joinable() const noexcept { return handle_ != nullptr; }

    /* Wait for the end. invalid_argument: not joinable, or another thread joins it;
     * resource_deadlock_would_occur: the caller itself, or a cycle of joins. */
    void join()
    {
        detail::check(joinable() ? pirn_join(handle_, nullptr) : -EINVAL, "pirn::thread::join");
        handle_ = nullptr;
    }

    /* The same with a limit; false if the thread still runs then, and it stays joinable. Extension,
     * after POSIX-2024 pthread_clockjoin. */
    template <class Clock, class Duration>
    bool try_join_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time, [this](std::uint64_t t) { return join_by(t); });
    }
    template <class Rep, class Period>
    bool try_join_for(const std::chrono::duration<Rep, Period> &time)
    {
        return join_by(detail::deadline_after(time));
    }

    /* Let the thread run on its own; it is released when it ends. invalid_argument: not
     * joinable. */
    void detach()
    {
        detail::check(joinable() ? pirn_detach(handle_) : -EINVAL, "pirn::thread::detach");
        handle_ = nullptr;
    }

    id get_id() const noexcept { return id_of(handle_); }

    /* Extension: the id that belongs to a handle; the default id for nullptr. */
    static id id_of(native_handle_type handle) noexcept
    {
        return handle != nullptr ? id(pirn_thread_id(handle)) : id();
    }

    native_handle_type native_handle() const noexcept { return handle_; }

    /* Extension: this thread reads what `producer` writes (pirn_affinity_add in pirn.h). no_such_
     * process: one of them has ended, or is no thread; invalid_argument: they are the same;
     * too_many_symbolic_link_levels: the producer depends on this thread; no_space_on_device: this
     * thread has PIRN_PRODUCERS_MAX producers; del: no_such_file_or_directory: there is no such
     * dependency. */
    void add_producer(native_handle_type producer)
    {
        detail::check(pirn_affinity_add_to(handle_, producer), "pirn::thread::add_producer");
    }
    void del_producer(native_handle_type producer)
    {
        detail::check(pirn_affinity_del_from(handle_, producer), "pirn::thread::del_producer");
    }

    /* The number of CPUs (workers) that run user threads. */
    static unsigned hardware_concurrency() noexcept { return pirn_cpu_count(); }

private:
    template <class Call>
    void start(const thread_attributes &attributes, Call &&call)
    {
        if constexpr (detail::fits_pointer<Call>) {
            alignas(Call) unsigned char raw[sizeof(void *)] = {};
            void *packed = nullptr;
            ::new (static_cast<void *>(raw)) Call(std::move(call));
            std::memcpy(static_cast<void *>(&packed), raw, sizeof(packed));
            create(attributes, detail::run_packed<Call>, packed);
        } else {
            auto owned = std::make_unique<Call>(std::move(call));
            create(attributes, detail::run_owned<Call>, owned.get());
            owned.release(); /* the thread owns it now */
        }
    }

    void create(const thread_attributes &attributes, void *(*run)(void *), void *arg)
    {
        pirn_attr_t attr{};
        attr.stack_size = attributes.stack_size;
        attr.name = attributes.name;
        attr.cxx = true;
        detail::check(pirn_create(&handle_, &attr, run, arg), "pirn::thread");
    }

    bool join_by(std::uint64_t deadline)
    {
        int result = joinable() ? pirn_join_until(handle_, nullptr, deadline) : -EINVAL;
        if (result == -ETIMEDOUT) {
            return false;
        }
        detail::check(result, "pirn::thread::join");
        handle_ = nullptr;
        return true;
    }

    void end_unless_idle() noexcept
    {
        if (joinable()) {
            std::terminate();
        }
    }

    pirn_thread_t handle_ = nullptr;
};

namespace detail
{

#if defined(__cpp_lib_jthread)
/* With std::stop_token. Callbacks of std::stop_callback must not wait: libstdc++ identifies the
 * thread that runs them by its kernel thread. */
class stopping
{
public:
    std::stop_source get_stop_source() noexcept { return source_; }
    std::stop_token get_stop_token() const noexcept { return source_.get_token(); }
    bool request_stop() noexcept { return source_.request_stop(); }

protected:
    stopping() noexcept : source_(std::nostopstate) {}
    explicit stopping(std::in_place_t) {}

    template <class F, class... Args>
    thread start(F &&fn, Args &&...args)
    {
        if constexpr (std::is_invocable_v<std::decay_t<F>, std::stop_token,
                                          std::decay_t<Args>...>) {
            return thread(std::forward<F>(fn), source_.get_token(), std::forward<Args>(args)...);
        } else {
            return thread(std::forward<F>(fn), std::forward<Args>(args)...);
        }
    }

private:
    std::stop_source source_;
};
#else
class stopping
{
protected:
    stopping() noexcept = default;
    explicit stopping(std::in_place_t) {}

    template <class F, class... Args>
    thread start(F &&fn, Args &&...args)
    {
        return thread(std::forward<F>(fn), std::forward<Args>(args)...);
    }

    bool request_stop() noexcept { return false; }
};
#endif

} // namespace detail

/*
 * A thread whose destructor joins it ([thread.jthread.class]). In C++20 the destructor first
 * requests a stop, and a callable that takes a std::stop_token as its first argument gets one; in
 * C++17 it only joins.
 */
class jthread : public detail::stopping
{
public:
    using id = thread::id;
    using native_handle_type = thread::native_handle_type;

    jthread() noexcept = default;

    template <class F, class... Args,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, jthread>>>
    explicit jthread(F &&fn, Args &&...args)
        : stopping(std::in_place), thread_(start(std::forward<F>(fn), std::forward<Args>(args)...))
    {
    }

    jthread(jthread &&) noexcept = default;

    jthread &operator=(jthread &&other) noexcept
    {
        if (this != &other) {
            finish();
            stopping::operator=(std::move(other));
            thread_ = std::move(other.thread_);
        }
        return *this;
    }

    ~jthread() { finish(); }

    void swap(jthread &other) noexcept
    {
        thread_.swap(other.thread_);
        std::swap<detail::stopping>(*this, other);
    }
    friend void swap(jthread &a, jthread &b) noexcept { a.swap(b); }

    bool joinable() const noexcept { return thread_.joinable(); }
    void join() { thread_.join(); }
    void detach() { thread_.detach(); }
    id get_id() const noexcept { return thread_.get_id(); }
    native_handle_type native_handle() const noexcept { return thread_.native_handle(); }
    void add_producer(native_handle_type producer) { thread_.add_producer(producer); }
    void del_producer(native_handle_type producer) { thread_.del_producer(producer); }
    static unsigned hardware_concurrency() noexcept { return pirn_cpu_count(); }

private:
    void finish() noexcept
    {
        if (joinable()) {
            request_stop();
            join();
        }
    }

    thread thread_;
};

/* The calling thread ([thread.thread.this]); a kernel thread that Pirn did not make has an id, too.
 */
namespace this_thread
{

inline thread::id get_id() noexcept
{
    return thread::id_of(pirn_self());
}

inline void yield() noexcept
{
    pirn_yield();
}

template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration> &time)
{
    detail::attempt_until(time, [](std::uint64_t deadline) {
        pirn_sleep_until(deadline);
        return false;
    });
}

template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period> &time)
{
    pirn_sleep_until(detail::deadline_after(time));
}

/* Extension: the calling thread reads what `producer` writes. Errors as in thread. */
inline void add_producer(thread::native_handle_type producer)
{
    detail::check(pirn_affinity_add(producer), "pirn::this_thread::add_producer");
}

inline void del_producer(thread::native_handle_type producer)
{
    detail::check(pirn_affinity_del(producer), "pirn::this_thread::del_producer");
}

} // namespace this_thread

/*
 * Mutex ([thread.mutex.class]): not recursive, without error checks; any thread may unlock it. Use
 * it with std::lock_guard, std::unique_lock, std::scoped_lock. The next owner may destroy it as
 * soon as it has locked it.
 */
class mutex : detail::pinned
{
public:
    using native_handle_type = pirn_mutex_t *;

    constexpr mutex() noexcept = default;

    void lock() { pirn_mutex_lock(&mutex_); }
    bool try_lock() { return pirn_mutex_trylock(&mutex_) == 0; }
    void unlock() { pirn_mutex_unlock(&mutex_); }
    native_handle_type native_handle() noexcept { return &mutex_; }

private:
    pirn_mutex_t mutex_{};
};

/* Mutex with timed locking ([thread.timedmutex.class]). */
class timed_mutex : public mutex
{
public:
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time, [this](std::uint64_t t) { return lock_by(t); });
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return lock_by(detail::deadline_after(time));
    }

private:
    bool lock_by(std::uint64_t deadline)
    {
        return pirn_mutex_lock_until(native_handle(), deadline) == 0;
    }
};

/*
 * Readers-writer lock ([thread.sharedmutex.class]). A reader may lock it while writers wait, so a
 * thread may lock it shared again. Use it with std::shared_lock and std::unique_lock.
 */
class shared_mutex : detail::pinned
{
public:
    using native_handle_type = pirn_rwlock_t *;

    constexpr shared_mutex() noexcept = default;

    void lock() { pirn_rwlock_wrlock(&lock_); }
    bool try_lock() { return pirn_rwlock_trywrlock(&lock_) == 0; }
    void unlock() { pirn_rwlock_unlock(&lock_); }
    void lock_shared() { pirn_rwlock_rdlock(&lock_); }
    bool try_lock_shared() { return pirn_rwlock_tryrdlock(&lock_) == 0; }
    void unlock_shared() { pirn_rwlock_unlock(&lock_); }
    native_handle_type native_handle() noexcept { return &lock_; }

private:
    pirn_rwlock_t lock_{};
};

/* The same with timed locking ([thread.sharedtimedmutex.class]). */
class shared_timed_mutex : public shared_mutex
{
public:
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time, [this](std::uint64_t t) { return write_by(t); });
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return write_by(detail::deadline_after(time));
    }
    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time, [this](std::uint64_t t) { return read_by(t); });
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return read_by(detail::deadline_after(time));
    }

private:
    bool write_by(std::uint64_t deadline)
    {
        return pirn_rwlock_wrlock_until(native_handle(), deadline) == 0;
    }
    bool read_by(std::uint64_t deadline)
    {
        return pirn_rwlock_rdlock_until(native_handle(), deadline) == 0;
    }
};

using std::cv_status;

/*
 * Condition variable ([thread.condition.condvar]) for std::unique_lock of a pirn::mutex or
 * timed_mutex. The waits throw operation_not_permitted if the lock does not own its mutex. The lock
 * owns it again when they return.
 */
class condition_variable : detail::pinned
{
public:
    using native_handle_type = pirn_cond_t *;

    constexpr condition_variable() noexcept = default;

    void notify_one() noexcept { pirn_cond_signal(&cond_); }
    void notify_all() noexcept { pirn_cond_broadcast(&cond_); }

    template <class Mutex>
    void wait(std::unique_lock<Mutex> &lock)
    {
        pirn_cond_wait(&cond_, mutex_of(lock));
    }
    template <class Mutex, class Predicate>
    void wait(std::unique_lock<Mutex> &lock, Predicate ready)
    {
        while (!ready()) {
            wait(lock);
        }
    }

    template <class Mutex, class Clock, class Duration>
    cv_status wait_until(std::unique_lock<Mutex> &lock,
                         const std::chrono::time_point<Clock, Duration> &time)
    {
        wait_by(lock, detail::deadline_at(time));
        return Clock::now() < time ? cv_status::no_timeout : cv_status::timeout;
    }
    template <class Mutex, class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<Mutex> &lock,
                    const std::chrono::time_point<Clock, Duration> &time, Predicate ready)
    {
        while (!ready()) {
            if (wait_until(lock, time) == cv_status::timeout) {
                return ready();
            }
        }
        return true;
    }

    template <class Mutex, class Rep, class Period>
    cv_status wait_for(std::unique_lock<Mutex> &lock,
                       const std::chrono::duration<Rep, Period> &time)
    {
        return wait_by(lock, detail::deadline_after(time));
    }
    template <class Mutex, class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &time,
                  Predicate ready)
    {
        const std::uint64_t deadline = detail::deadline_after(time);
        while (!ready()) {
            if (wait_by(lock, deadline) == cv_status::timeout) {
                return ready();
            }
        }
        return true;
    }

    native_handle_type native_handle() noexcept { return &cond_; }

private:
    template <class Mutex>
    static pirn_mutex_t *mutex_of(std::unique_lock<Mutex> &lock)
    {
        static_assert(std::is_base_of_v<mutex, Mutex>, "the lock must be of a pirn::mutex");
        detail::check(lock.owns_lock() ? 0 : -EPERM, "pirn::condition_variable");
        return lock.mutex()->native_handle();
    }

    template <class Mutex>
    cv_status wait_by(std::unique_lock<Mutex> &lock, std::uint64_t deadline)
    {
        return pirn_cond_wait_until(&cond_, mutex_of(lock), deadline) == 0 ? cv_status::no_timeout
                                                                           : cv_status::timeout;
    }

    pirn_cond_t cond_{};
};

/*
 * Counting semaphore ([thread.sema]): first come, first served; release hands over to the first
 * waiter. The constructor throws invalid_argument for a value outside 0 to max(); release throws
 * value_too_large beyond PIRN_SEM_MAX, after some of the n may have been released. The caller must
 * keep the value within a smaller max(), as in ISO C++.
 */
template <std::ptrdiff_t Max = static_cast<std::ptrdiff_t>(PIRN_SEM_MAX)>
class counting_semaphore : detail::pinned
{
    static_assert(Max >= 0 && Max <= static_cast<std::ptrdiff_t>(PIRN_SEM_MAX),
                  "0 to PIRN_SEM_MAX");

public:
    constexpr explicit counting_semaphore(std::ptrdiff_t value)
        : sem_ PIRN_SEM_INIT(value >= 0 && value <= Max ? static_cast<unsigned>(value) : refuse())
    {
    }

    static constexpr std::ptrdiff_t max() noexcept { return Max; }

    void release(std::ptrdiff_t n = 1)
    {
        for (; n > 0; n--) {
            detail::check(pirn_sem_post(&sem_), "pirn::counting_semaphore::release");
        }
    }
    void acquire() { pirn_sem_wait(&sem_); }
    bool try_acquire() noexcept { return pirn_sem_trywait(&sem_) == 0; }

    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time, [this](std::uint64_t t) { return acquire_by(t); });
    }
    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &time)
    {
        return acquire_by(detail::deadline_after(time));
    }

private:
    [[noreturn]] static unsigned refuse()
    {
        throw std::system_error(EINVAL, std::generic_category(), "pirn::counting_semaphore");
    }
    bool acquire_by(std::uint64_t deadline) { return pirn_sem_wait_until(&sem_, deadline) == 0; }

    pirn_sem_t sem_;
};

using binary_semaphore = counting_semaphore<1>;

/*
 * Latch ([thread.latch]): opens once, when its count reaches 0. A thread that returned from wait
 * may destroy it. The constructor throws invalid_argument for a negative count.
 */
class latch : detail::pinned
{
public:
    explicit latch(std::ptrdiff_t count) : count_(count)
    {
        detail::check(count >= 0 ? 0 : -EINVAL, "pirn::latch");
    }

    static constexpr std::ptrdiff_t max() noexcept { return PTRDIFF_MAX; }

    void count_down(std::ptrdiff_t n = 1)
    {
        std::lock_guard<mutex> guard(mutex_);
        down_locked(n);
    }
    bool try_wait() noexcept
    {
        std::lock_guard<mutex> guard(mutex_);
        return count_ == 0;
    }
    void wait()
    {
        std::unique_lock<mutex> lock(mutex_);
        opened_.wait(lock, [this] { return count_ == 0; });
    }
    void arrive_and_wait(std::ptrdiff_t n = 1)
    {
        std::unique_lock<mutex> lock(mutex_);
        down_locked(n);
        opened_.wait(lock, [this] { return count_ == 0; });
    }

private:
    /* Opens under the mutex: a thread that finds the latch open comes after the opener's last
     * access. */
    void down_locked(std::ptrdiff_t n)
    {
        count_ -= n;
        if (count_ == 0) {
            opened_.notify_all();
        }
    }

    mutex mutex_;
    condition_variable opened_;
    std::ptrdiff_t count_;
};

namespace detail
{
struct nothing {
    void operator()() noexcept {}
};
} // namespace detail

/*
 * Barrier ([thread.barrier]): each phase waits for `expected` arrivals. The last one runs
 * `completion`, which must neither wait nor throw, and opens the barrier. A thread that returned
 * from the last wait may destroy it. The constructor throws invalid_argument for a negative count.
 * Threads that need none of this are faster with pirn_barrier_t.
 */
template <class Completion = detail::nothing>
class barrier : detail::pinned
{
public:
    /* The phase of an arrival. */
    class arrival_token
    {
    public:
        arrival_token(arrival_token &&) noexcept = default;
        arrival_token &operator=(arrival_token &&) noexcept = default;

    private:
        friend class barrier;
        explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}

        std::uint64_t phase_;
    };

    explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
        : expected_(expected), missing_(expected), completion_(std::move(completion))
    {
        detail::check(expected >= 0 ? 0 : -EINVAL, "pirn::barrier");
    }

    static constexpr std::ptrdiff_t max() noexcept { return PTRDIFF_MAX; }

    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1)
    {
        std::lock_guard<mutex> guard(mutex_);
        return arrive_locked(n);
    }
    void wait(arrival_token &&arrival)
    {
        std::unique_lock<mutex> lock(mutex_);
        wait_locked(lock, arrival);
    }
    void arrive_and_wait()
    {
        std::unique_lock<mutex> lock(mutex_);
        wait_locked(lock, arrive_locked(1));
    }
    void arrive_and_drop()
    {
        std::lock_guard<mutex> guard(mutex_);
        expected_--;
        arrive_locked(1);
    }

private:
    arrival_token arrive_locked(std::ptrdiff_t n) noexcept
    {
        arrival_token arrival(phase_);
        missing_ -= n;
        if (missing_ == 0) {
            completion_();
            missing_ = expected_;
            phase_++;
            opened_.notify_all();
        }
        return arrival;
    }
    void wait_locked(std::unique_lock<mutex> &lock, const arrival_token &arrival)
    {
        opened_.wait(lock, [this, &arrival] { return phase_ != arrival.phase_; });
    }

    mutex mutex_;
    condition_variable opened_;
    std::ptrdiff_t expected_, missing_; /* (mutex_) */
    std::uint64_t phase_ = 0;           /* (mutex_) */
    Completion completion_;
};

/* Records whether a call_once has succeeded ([thread.once.onceflag]). */
class once_flag : detail::pinned
{
public:
    constexpr once_flag() noexcept = default;

private:
    template <class F, class... Args>
    friend void call_once(once_flag &flag, F &&fn, Args &&...args);

    std::atomic<bool> done_{false};
    mutex mutex_;
};

/*
 * Call fn(args...) unless an earlier call with the same flag has returned ([thread.once.callonce]).
 * Other callers wait meanwhile. If fn throws, the caller gets the exception and the next one calls
 * fn. fn may wait, but not for another call_once with the same flag.
 */
template <class F, class... Args>
void call_once(once_flag &flag, F &&fn, Args &&...args)
{
    if (flag.done_.load(std::memory_order_acquire)) {
        return;
    }
    std::lock_guard<mutex> guard(flag.mutex_);
    if (!flag.done_.load(std::memory_order_relaxed)) {
        std::invoke(std::forward<F>(fn), std::forward<Args>(args)...);
        flag.done_.store(true, std::memory_order_release);
    }
}

/*
 * Full/Empty word of a trivial type of at most 8 bytes (as in Qthreads and on the HEP): a reader
 * waits until it is full, a writer until it is empty. The timed functions return false or no value
 * when the time has passed.
 */
template <class T>
class fe : detail::pinned
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                  "a trivially copyable type of at most 8 bytes");

public:
    constexpr fe() noexcept = default; /* empty */
    explicit fe(T value) noexcept { overwrite(value); }

    void write(T value) { pirn_fe_write(&word_, pack(value)); } /* when empty: fill */
    void overwrite(T value) noexcept { pirn_fe_overwrite(&word_, pack(value)); } /* fill at once */
    T read() { return unpack(pirn_fe_read(&word_)); }                            /* when full */
    T take() { return unpack(pirn_fe_take(&word_)); } /* when full: empty */
    void purge() noexcept { pirn_fe_purge(&word_); }  /* empty at once */
    bool full() noexcept { return pirn_fe_full(&word_); }

    template <class Clock, class Duration>
    bool write_until(T value, const std::chrono::time_point<Clock, Duration> &time)
    {
        return detail::attempt_until(time,
                                     [this, value](std::uint64_t t) { return write_by(value, t); });
    }
    template <class Rep, class Period>
    bool write_for(T value, const std::chrono::duration<Rep, Period> &time)
    {
        return write_by(value, detail::deadline_after(time));
    }
    template <class Clock, class Duration>
    std::optional<T> read_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return get_until(pirn_fe_read_until, time);
    }
    template <class Rep, class Period>
    std::optional<T> read_for(const std::chrono::duration<Rep, Period> &time)
    {
        return get_by(pirn_fe_read_until, detail::deadline_after(time));
    }
    template <class Clock, class Duration>
    std::optional<T> take_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        return get_until(pirn_fe_take_until, time);
    }
    template <class Rep, class Period>
    std::optional<T> take_for(const std::chrono::duration<Rep, Period> &time)
    {
        return get_by(pirn_fe_take_until, detail::deadline_after(time));
    }

    pirn_fe_t *native_handle() noexcept { return &word_; }

private:
    using get_fn = int (*)(pirn_fe_t *, std::uint64_t *, std::uint64_t);

    static std::uint64_t pack(const T &value) noexcept
    {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof(T));
        return bits;
    }
    static T unpack(std::uint64_t bits) noexcept
    {
        alignas(T) unsigned char raw[sizeof(T)];
        std::memcpy(raw, &bits, sizeof(T));
        return *std::launder(reinterpret_cast<T *>(raw));
    }
    bool write_by(T value, std::uint64_t deadline)
    {
        return pirn_fe_write_until(&word_, pack(value), deadline) == 0;
    }
    std::optional<T> get_by(get_fn get, std::uint64_t deadline)
    {
        std::uint64_t bits = 0;
        return get(&word_, &bits, deadline) == 0 ? std::optional<T>(unpack(bits)) : std::nullopt;
    }
    template <class Clock, class Duration>
    std::optional<T> get_until(get_fn get, const std::chrono::time_point<Clock, Duration> &time)
    {
        std::optional<T> got;
        detail::attempt_until(time, [&](std::uint64_t t) {
            got = get_by(get, t);
            return got.has_value();
        });
        return got;
    }

    pirn_fe_t word_{};
};

} // namespace pirn

template <>
struct std::hash<pirn::thread::id> {
    std::size_t operator()(pirn::thread::id id) const noexcept
    {
        return std::hash<std::uint64_t>()(id.value());
    }
};

#endif /* __cpp_exceptions */
#endif
