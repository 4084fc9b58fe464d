/* SPDX-License-Identifier: MIT */
/*
 * freestanding.hpp - the part of pirn.hpp that needs no exceptions: for boards, whose compilers
 * have no C++ library, and for -fno-exceptions elsewhere. Include pirn.hpp. It needs only pirn.h
 * and headers of the C library. C++17. Names and meaning are those of the whole pirn.hpp, except:
 *
 *   - Where pirn.hpp throws, the program ends with a message. thread::start and the pirn_...
 *     functions return an error number instead.
 *   - Times are those of pirn.h: 64-bit nanoseconds, ..._until of pirn_now(), ..._for from now. As
 *     there, PIRN_FOREVER means no limit.
 *   - A thread's callable has no arguments: a lambda captures them.
 *   - lock_guard, unique_lock and shared_lock are defined here, because there is no <mutex>.
 *   - Missing: stop tokens, completion functions and tokens of barriers, hash and output of ids.
 *   - pirn_exit in a thread ends it without destroying its local objects.
 */
#ifndef PIRN_FREESTANDING_HPP
#define PIRN_FREESTANDING_HPP

#include <pirn/freestanding/locks.hpp>
#include <pirn/freestanding/sync.hpp>
#include <pirn/freestanding/thread.hpp>

#endif
