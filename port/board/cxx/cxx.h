/* SPDX-License-Identifier: MIT */
/*
 * cxx.h - libpirn-cxx.a: what compilers of C++ call, where there is no C++ library. It is linked
 * behind programs with C++ sources, a file only if it is needed; a program's own definition
 * (operator new) counts instead.
 */
#ifndef PIRN_BOARD_CXX_H
#define PIRN_BOARD_CXX_H

#include <pirn/pirn.hpp>

extern "C" {
int __cxa_guard_acquire(uint32_t *guard);
void __cxa_guard_release(uint32_t *guard);
void __cxa_guard_abort(uint32_t *guard);
[[noreturn]] void __cxa_pure_virtual();
[[noreturn]] void __cxa_deleted_virtual();
int __cxa_atexit(void (*destroy)(void *), void *object, void *image);
int __aeabi_atexit(void *object, void (*destroy)(void *), void *image);
}

#endif
