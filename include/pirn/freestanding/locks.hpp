/* SPDX-License-Identifier: MIT */
/* locks.hpp - mutexes, lock objects and condition variables of freestanding.hpp. */
#ifndef PIRN_FREESTANDING_LOCKS_HPP
#define PIRN_FREESTANDING_LOCKS_HPP

#include <pirn/freestanding/detail.hpp>

namespace pirn
{
inline namespace freestanding
{

class mutex : detail::pinned
{
public:
    using native_handle_type = pirn_mutex_t *;

    constexpr mutex() noexcept = default;
    void lock() noexcept { pirn_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return pirn_mutex_trylock(&mutex_) == 0; }
    bool try_lock_until(uint64_t deadline) noexcept
    {
        return pirn_mutex_lock_until(&mutex_, deadline) == 0;
    }
    bool try_lock_for(uint64_t ns) noexcept { return try_lock_until(detail::deadline_after(ns)); }
    void unlock() noexcept { pirn_mutex_unlock(&mutex_); }
    native_handle_type native_handle() noexcept { return &mutex_; }

private:
    pirn_mutex_t mutex_{};
};
using timed_mutex = mutex;

class shared_mutex : detail::pinned
{
public:
    using native_handle_type = pirn_rwlock_t *;

    constexpr shared_mutex() noexcept = default;
    void lock() noexcept { pirn_rwlock_wrlock(&lock_); }
    bool try_lock() noexcept { return pirn_rwlock_trywrlock(&lock_) == 0; }
    bool try_lock_until(uint64_t deadline) noexcept
    {
        return pirn_rwlock_wrlock_until(&lock_, deadline) == 0;
    }
    bool try_lock_for(uint64_t ns) noexcept { return try_lock_until(detail::deadline_after(ns)); }
    void unlock() noexcept { pirn_rwlock_unlock(&lock_); }
    void lock_shared() noexcept { pirn_rwlock_rdlock(&lock_); }
    bool try_lock_shared() noexcept { return pirn_rwlock_tryrdlock(&lock_) == 0; }
    bool try_lock_shared_until(uint64_t deadline) noexcept
    {
        return pirn_rwlock_rdlock_until(&lock_, deadline) == 0;
    }
    bool try_lock_shared_for(uint64_t ns) noexcept
    {
        return try_lock_shared_until(detail::deadline_after(ns));
    }
    void unlock_shared() noexcept { pirn_rwlock_unlock(&lock_); }
    native_handle_type native_handle() noexcept { return &lock_; }

private:
    pirn_rwlock_t lock_{};
};
using shared_timed_mutex = shared_mutex;

template <class Mutex>
class lock_guard : detail::pinned
{
public:
    explicit lock_guard(Mutex &mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
    ~lock_guard() { mutex_.unlock(); }

private:
    Mutex &mutex_;
};

/* The second argument of unique_lock: the lock begins without owning the mutex. */
struct defer_lock_t {
    explicit defer_lock_t() = default;
};
inline constexpr defer_lock_t defer_lock{};

/* Locking a lock that owns its mutex, or unlocking one that does not, ends the program. */
template <class Mutex>
class unique_lock : detail::pinned
{
public:
    explicit unique_lock(Mutex &mutex) noexcept : mutex_(&mutex) { lock(); }
    unique_lock(Mutex &mutex, defer_lock_t) noexcept : mutex_(&mutex) {}
    ~unique_lock()
    {
        if (owns_) {
            mutex_->unlock();
        }
    }

    void lock() noexcept
    {
        expect(false);
        mutex_->lock();
        owns_ = true;
    }
    bool try_lock() noexcept
    {
        expect(false);
        return owns_ = mutex_->try_lock();
    }
    bool try_lock_until(uint64_t deadline) noexcept
    {
        expect(false);
        return owns_ = mutex_->try_lock_until(deadline);
    }
    bool try_lock_for(uint64_t ns) noexcept { return try_lock_until(detail::deadline_after(ns)); }
    void unlock() noexcept
    {
        expect(true);
        owns_ = false;
        mutex_->unlock();
    }
    bool owns_lock() const noexcept { return owns_; }
    explicit operator bool() const noexcept { return owns_; }
    Mutex *mutex() const noexcept { return mutex_; }

private:
    void expect(bool owns) const noexcept
    {
        detail::check(owns_ == owns ? 0 : owns ? -EPERM : -EDEADLK, "pirn::unique_lock");
    }

    Mutex *mutex_;
    bool owns_ = false;
};

template <class Mutex>
class shared_lock : detail::pinned
{
public:
    explicit shared_lock(Mutex &mutex) noexcept : mutex_(mutex) { mutex_.lock_shared(); }
    ~shared_lock() { mutex_.unlock_shared(); }

private:
    Mutex &mutex_;
};

enum class cv_status { no_timeout, timeout };

class condition_variable : detail::pinned
{
public:
    using native_handle_type = pirn_cond_t *;

    constexpr condition_variable() noexcept = default;
    void notify_one() noexcept { pirn_cond_signal(&cond_); }
    void notify_all() noexcept { pirn_cond_broadcast(&cond_); }

    void wait(unique_lock<mutex> &lock) noexcept { pirn_cond_wait(&cond_, mutex_of(lock)); }
    template <class Predicate>
    void wait(unique_lock<mutex> &lock, Predicate ready)
    {
        while (!ready()) {
            wait(lock);
        }
    }
    cv_status wait_until(unique_lock<mutex> &lock, uint64_t deadline) noexcept
    {
        return pirn_cond_wait_until(&cond_, mutex_of(lock), deadline) == 0 ? cv_status::no_timeout
                                                                           : cv_status::timeout;
    }
    template <class Predicate>
    bool wait_until(unique_lock<mutex> &lock, uint64_t deadline, Predicate ready)
    {
        while (!ready()) {
            if (wait_until(lock, deadline) == cv_status::timeout) {
                return ready();
            }
        }
        return true;
    }
    cv_status wait_for(unique_lock<mutex> &lock, uint64_t ns) noexcept
    {
        return wait_until(lock, detail::deadline_after(ns));
    }
    template <class Predicate>
    bool wait_for(unique_lock<mutex> &lock, uint64_t ns, Predicate ready)
    {
        return wait_until(lock, detail::deadline_after(ns), ready);
    }
    native_handle_type native_handle() noexcept { return &cond_; }

private:
    static pirn_mutex_t *mutex_of(unique_lock<mutex> &lock) noexcept
    {
        detail::check(lock.owns_lock() ? 0 : -EPERM, "pirn::condition_variable");
        return lock.mutex()->native_handle();
    }

    pirn_cond_t cond_{};
};

} // namespace freestanding
} // namespace pirn

#endif
