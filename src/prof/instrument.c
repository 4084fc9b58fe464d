/* SPDX-License-Identifier: MIT */
/*
 * instrument.c - the functions that code compiled with -finstrument-functions (GCC and clang) calls
 * at the beginning and end of each function, with its address and the call site. They precede those
 * of the C library, which do nothing.
 */
#include "prof.h"

EXPORT void __cyg_profile_func_enter(void *fn, void *site);
EXPORT void __cyg_profile_func_exit(void *fn, void *site);

void __cyg_profile_func_enter(void *fn, void *site)
{
    if (unlikely(prof_is_on())) {
        prof_enter((uintptr_t)fn, (uintptr_t)site, (uintptr_t)__builtin_frame_address(0));
    }
}

void __cyg_profile_func_exit(void *fn, void *site)
{
    if (unlikely(prof_is_on())) {
        prof_exit((uintptr_t)fn, (uintptr_t)site);
    }
}
