/* SPDX-License-Identifier: MIT */
/* thread.hpp - threads of freestanding.hpp. */
#ifndef PIRN_FREESTANDING_THREAD_HPP
#define PIRN_FREESTANDING_THREAD_HPP

#include <pirn/freestanding/detail.hpp>

namespace pirn
{
inline namespace freestanding
{

/* The zero value means the defaults of pirn_attr_t. `stack` and `storage` are memory of the
 * program, as there; extensions. */
struct thread_attributes {
    size_t stack_size = 0;
    const char *name = nullptr;
    void *stack = nullptr;
    pirn_thread_storage_t *storage = nullptr;
    const pirn_sched_t *sched = nullptr;
};

/* A callable that fits into a pointer and may be copied as bytes needs no allocation. */
class thread
{
public:
    using native_handle_type = pirn_thread_t;

    thread() noexcept = default;

    template <class F,
              typename detail::enable_if<!detail::is_same<detail::plain_t<F>, thread>>::type = 0>
    /* clang-tidy recognises only std::enable_if. */
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    explicit thread(F &&fn) noexcept : thread(thread_attributes(), static_cast<F &&>(fn))
    {
    }
    template <class F>
    thread(const thread_attributes &attributes, F &&fn) noexcept
    {
        detail::check(start(attributes, static_cast<F &&>(fn)), "pirn::thread");
    }

    thread(thread &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    thread &operator=(thread &&other) noexcept
    {
        end_unless_idle();
        handle_ = other.handle_;
        other.handle_ = nullptr;
        return *this;
    }
    ~thread() { end_unless_idle(); }

    /* Extension, for programs that continue without the thread: 0, or the result of pirn_create;
     * -ENOMEM: no memory for the callable; -EBUSY: the object has a thread already. */
    template <class F>
    [[nodiscard]] int start(const thread_attributes &attributes, F &&fn) noexcept
    {
        using call = detail::plain_t<F>;
        if (joinable()) {
            return -EBUSY;
        }
        if constexpr (detail::fits_pointer<call>) {
            call copy(static_cast<F &&>(fn));
            void *packed = nullptr;
            memcpy(static_cast<void *>(&packed), static_cast<const void *>(&copy), sizeof(copy));
            return create(attributes, detail::run_packed<call>, packed);
        } else {
            auto *owned = new (std::nothrow) call(static_cast<F &&>(fn));
            if (owned == nullptr) {
                return -ENOMEM;
            }
            const int result = create(attributes, detail::run_owned<call>, owned);
            if (result != 0) {
                delete owned;
            }
            return result;
        }
    }

    bool joinable() const noexcept { return handle_ != nullptr; }
    void join() noexcept
    {
        detail::check(joinable() ? pirn_join(handle_, nullptr) : -EINVAL, "pirn::thread::join");
        handle_ = nullptr;
    }
    bool try_join_until(uint64_t deadline) noexcept
    {
        const int result = joinable() ? pirn_join_until(handle_, nullptr, deadline) : -EINVAL;
        if (result == -ETIMEDOUT) {
            return false;
        }
        detail::check(result, "pirn::thread::join");
        handle_ = nullptr;
        return true;
    }
    bool try_join_for(uint64_t ns) noexcept { return try_join_until(detail::deadline_after(ns)); }
    void detach() noexcept
    {
        detail::check(joinable() ? pirn_detach(handle_) : -EINVAL, "pirn::thread::detach");
        handle_ = nullptr;
    }
    native_handle_type native_handle() const noexcept { return handle_; }
    static unsigned hardware_concurrency() noexcept { return pirn_cpu_count(); }

private:
    int create(const thread_attributes &attributes, void *(*run)(void *), void *arg) noexcept
    {
        pirn_attr_t attr{};
        attr.stack_size = attributes.stack_size;
        attr.stack = attributes.stack;
        attr.storage = attributes.storage;
        attr.name = attributes.name;
        attr.sched = attributes.sched;
        return pirn_create(&handle_, &attr, run, arg);
    }
    void end_unless_idle() const noexcept
    {
        if (joinable()) {
            detail::fail("pirn::thread: neither joined nor detached when its object ends");
        }
    }

    pirn_thread_t handle_ = nullptr;
};

/* A thread whose destructor joins it. */
class jthread : public thread
{
public:
    using thread::thread;
    jthread(jthread &&) noexcept = default;
    jthread &operator=(jthread &&other) noexcept
    {
        if (this != &other) {
            finish();
            thread::operator=(static_cast<thread &&>(other));
        }
        return *this;
    }
    ~jthread() { finish(); }

private:
    void finish() noexcept
    {
        if (joinable()) {
            join();
        }
    }
};

namespace this_thread
{
inline pirn_thread_t native_handle() noexcept
{
    return pirn_self();
}
inline void yield() noexcept
{
    pirn_yield();
}
inline void sleep_until(uint64_t deadline) noexcept
{
    pirn_sleep_until(deadline);
}
inline void sleep_for(uint64_t ns) noexcept
{
    pirn_sleep(ns);
}
} // namespace this_thread

} // namespace freestanding
} // namespace pirn

#endif
