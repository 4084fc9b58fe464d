/* SPDX-License-Identifier: MIT */
/* detail.hpp - helpers of the classes of freestanding.hpp. */
#ifndef PIRN_FREESTANDING_DETAIL_HPP
#define PIRN_FREESTANDING_DETAIL_HPP

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pirn/pirn.h>

#if __has_include(<new>)
#include <new>
#else
/* The names of <new> that programs use. port/board/cxx has the functions. */
namespace std
{
struct nothrow_t {
    explicit nothrow_t() = default;
};
inline constexpr nothrow_t nothrow{};
} // namespace std
void *operator new(size_t size, const std::nothrow_t &) noexcept;
void *operator new[](size_t size, const std::nothrow_t &) noexcept;
inline void *operator new(size_t, void *place) noexcept
{
    return place;
}
inline void *operator new[](size_t, void *place) noexcept
{
    return place;
}
inline void operator delete(void *, void *) noexcept {}
inline void operator delete[](void *, void *) noexcept {}
#endif

namespace pirn
{
inline namespace freestanding
{

namespace detail
{

inline void say(const char *text) noexcept
{
    static_cast<void>(write(2, text, strlen(text)) >= 0);
}

/* Write a number's digits so that they end in front of `end`. */
inline void put(char *end, int number) noexcept
{
    for (; number != 0; number /= 10) {
        *--end = static_cast<char>('0' + number % 10);
    }
}

/* Print "pirn: WHAT" or, with a number of <errno.h>, "pirn: WHAT: error 11", and end the
 * program. */
[[noreturn]] inline void fail(const char *what, int error = 0) noexcept
{
    char text[] = ": error 0000";
    char *end = text + 9 + (error > 9) + (error > 99) + (error > 999);
    *end = '\0';
    say("pirn: ");
    say(what);
    if (error != 0) {
        put(end, error);
        say(text);
    }
    say("\n");
    abort();
}

/* Check a result of pirn.h: 0 or a negative error number. */
inline void check(int result, const char *what) noexcept
{
    if (result != 0) {
        fail(what, -result);
    }
}

struct pinned {
    pinned() = default;
    pinned(const pinned &) = delete;
    pinned &operator=(const pinned &) = delete;
};

/* Parts of <type_traits> and <utility>. */
template <class T>
struct plain {
    using type = T;
};
template <class T>
struct plain<T &> {
    using type = T;
};
template <class T>
struct plain<T &&> {
    using type = T;
};
template <class T>
struct plain<const T> {
    using type = T;
};
template <class T>
struct plain<const T &> {
    using type = T;
};
template <class R>
struct plain<R (&)()> {
    using type = R (*)();
};
template <class T>
using plain_t = typename plain<T>::type;

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <bool condition>
struct enable_if {
};
template <>
struct enable_if<true> {
    using type = int;
};

inline uint64_t deadline_after(uint64_t ns) noexcept
{
    const uint64_t now = pirn_now();
    return ns < PIRN_FOREVER - now ? now + ns : PIRN_FOREVER;
}

/* True if the call is small and trivial enough to be the new thread's argument: no allocation. */
template <class Call>
inline constexpr bool fits_pointer = __is_trivially_copyable(Call) &&
                                     sizeof(Call) <= sizeof(void *);

template <class Call>
void *run_packed(void *arg) noexcept
{
    alignas(Call) unsigned char raw[sizeof(Call)];
    memcpy(raw, &arg, sizeof(Call));
    (*__builtin_launder(reinterpret_cast<Call *>(raw)))();
    return nullptr;
}

template <class Call>
void *run_owned(void *arg) noexcept
{
    auto *call = static_cast<Call *>(arg);
    (*call)();
    delete call;
    return nullptr;
}

} // namespace detail

} // namespace freestanding
} // namespace pirn

#endif
