/* SPDX-License-Identifier: MIT */
/* sync.hpp - semaphores, latches, barriers, once and Full/Empty words of freestanding.hpp. */
#ifndef PIRN_FREESTANDING_SYNC_HPP
#define PIRN_FREESTANDING_SYNC_HPP

#include <pirn/freestanding/locks.hpp>

namespace pirn
{
inline namespace freestanding
{

template <ptrdiff_t Max = static_cast<ptrdiff_t>(PIRN_SEM_MAX)>
class counting_semaphore : detail::pinned
{
    static_assert(Max >= 0 && Max <= static_cast<ptrdiff_t>(PIRN_SEM_MAX), "0 to PIRN_SEM_MAX");

public:
    constexpr explicit counting_semaphore(ptrdiff_t value) noexcept
        : sem_ PIRN_SEM_INIT(value >= 0 && value <= Max ? static_cast<unsigned>(value) : refuse())
    {
    }
    static constexpr ptrdiff_t max() noexcept { return Max; }
    void release(ptrdiff_t n = 1) noexcept
    {
        for (; n > 0; n--) {
            detail::check(pirn_sem_post(&sem_), "pirn::counting_semaphore::release");
        }
    }
    void acquire() noexcept { pirn_sem_wait(&sem_); }
    bool try_acquire() noexcept { return pirn_sem_trywait(&sem_) == 0; }
    bool try_acquire_until(uint64_t deadline) noexcept
    {
        return pirn_sem_wait_until(&sem_, deadline) == 0;
    }
    bool try_acquire_for(uint64_t ns) noexcept
    {
        return try_acquire_until(detail::deadline_after(ns));
    }

private:
    [[noreturn]] static unsigned refuse() noexcept
    {
        detail::fail("pirn::counting_semaphore", EINVAL);
    }

    pirn_sem_t sem_;
};
using binary_semaphore = counting_semaphore<1>;

class latch : detail::pinned
{
public:
    explicit latch(ptrdiff_t count) noexcept : count_(count)
    {
        detail::check(count >= 0 ? 0 : -EINVAL, "pirn::latch");
    }
    void count_down(ptrdiff_t n = 1) noexcept
    {
        lock_guard<mutex> guard(mutex_);
        down_locked(n);
    }
    bool try_wait() noexcept
    {
        lock_guard<mutex> guard(mutex_);
        return count_ == 0;
    }
    void wait() noexcept
    {
        unique_lock<mutex> lock(mutex_);
        opened_.wait(lock, [this] { return count_ == 0; });
    }
    void arrive_and_wait(ptrdiff_t n = 1) noexcept
    {
        unique_lock<mutex> lock(mutex_);
        down_locked(n);
        opened_.wait(lock, [this] { return count_ == 0; });
    }

private:
    void down_locked(ptrdiff_t n) noexcept
    {
        count_ -= n;
        if (count_ == 0) {
            opened_.notify_all();
        }
    }

    mutex mutex_;
    condition_variable opened_;
    ptrdiff_t count_;
};

/* For at least one thread. arrive_and_wait returns true in one of the threads of a phase. */
class barrier : detail::pinned
{
public:
    explicit barrier(ptrdiff_t expected) noexcept
    {
        const bool valid = expected > 0 && static_cast<uint64_t>(expected) <= UINT32_MAX;
        detail::check(valid ? pirn_barrier_init(&barrier_, static_cast<unsigned>(expected))
                            : -EINVAL,
                      "pirn::barrier");
    }
    bool arrive_and_wait() noexcept { return pirn_barrier_wait(&barrier_); }

private:
    pirn_barrier_t barrier_{};
};

class once_flag : detail::pinned
{
public:
    constexpr once_flag() noexcept = default;

private:
    template <class F>
    friend void call_once(once_flag &flag, F &&fn);

    uint32_t done_ = 0;
    mutex mutex_;
};

template <class F>
void call_once(once_flag &flag, F &&fn)
{
    if (__atomic_load_n(&flag.done_, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    lock_guard<mutex> guard(flag.mutex_);
    if (__atomic_load_n(&flag.done_, __ATOMIC_RELAXED) == 0) {
        fn();
        __atomic_store_n(&flag.done_, 1u, __ATOMIC_RELEASE);
    }
}

/* Full/Empty word of a trivial type of at most 8 bytes. The timed functions return false when the
 * time has passed. */
template <class T>
class fe : detail::pinned
{
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= sizeof(uint64_t),
                  "a trivially copyable type of at most 8 bytes");

public:
    constexpr fe() noexcept = default; /* empty */
    explicit fe(T value) noexcept { overwrite(value); }
    void write(T value) noexcept { pirn_fe_write(&word_, pack(value)); }
    void overwrite(T value) noexcept { pirn_fe_overwrite(&word_, pack(value)); }
    T read() noexcept { return unpack(pirn_fe_read(&word_)); }
    T take() noexcept { return unpack(pirn_fe_take(&word_)); }
    void purge() noexcept { pirn_fe_purge(&word_); }
    bool full() noexcept { return pirn_fe_full(&word_); }
    bool write_until(T value, uint64_t deadline) noexcept
    {
        return pirn_fe_write_until(&word_, pack(value), deadline) == 0;
    }
    bool read_until(T &value, uint64_t deadline) noexcept
    {
        return get(pirn_fe_read_until, value, deadline);
    }
    bool take_until(T &value, uint64_t deadline) noexcept
    {
        return get(pirn_fe_take_until, value, deadline);
    }
    pirn_fe_t *native_handle() noexcept { return &word_; }

private:
    static uint64_t pack(const T &value) noexcept
    {
        uint64_t bits = 0;
        memcpy(&bits, &value, sizeof(T));
        return bits;
    }
    static T unpack(uint64_t bits) noexcept
    {
        alignas(T) unsigned char raw[sizeof(T)];
        memcpy(raw, &bits, sizeof(T));
        return *__builtin_launder(reinterpret_cast<T *>(raw));
    }
    bool get(int (*from)(pirn_fe_t *, uint64_t *, uint64_t), T &value, uint64_t deadline) noexcept
    {
        uint64_t bits = 0;
        if (from(&word_, &bits, deadline) != 0) {
            return false;
        }
        value = unpack(bits);
        return true;
    }

    pirn_fe_t word_{};
};

} // namespace freestanding
} // namespace pirn

#endif
