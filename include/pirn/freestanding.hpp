/* SPDX-License-Identifier: MIT */
/*
 * freestanding.hpp - what pirn.hpp is where there are no exceptions: on boards, whose compilers
 * have no C++ library, and elsewhere with -fno-exceptions. Include pirn.hpp. It needs pirn.h and
 * headers of the C library alone. C++17. Names and meaning are those of the whole pirn.hpp, but:
 *
 *   - What would throw ends the program, with a message. thread::start and the pirn_... functions
 *     return an error number instead.
 *   - Times are those of pirn.h: 64-bit nanoseconds, ..._until of pirn_now(), ..._for from now. As
 *     there, PIRN_FOREVER is no limit.
 *   - A thread's callable has no arguments: a lambda captures them.
 *   - lock_guard, unique_lock and shared_lock are here, as there is no <mutex>.
 *   - Not there: stop tokens, completion functions and tokens of barriers, hash and output of ids.
 *   - pirn_exit in a thread ends it without destroying its local objects.
 */
#ifndef PIRN_FREESTANDING_HPP
#define PIRN_FREESTANDING_HPP

#include <pirn/freestanding/locks.hpp>
#include <pirn/freestanding/sync.hpp>
#include <pirn/freestanding/thread.hpp>

#endif
