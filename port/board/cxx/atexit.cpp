/* SPDX-License-Identifier: MIT */
/*
 * atexit.cpp - functions that exit calls, such as destructors of static objects, the last one
 * first. The C library has room for 32, and compilers ignore the result of __cxa_atexit: here only
 * memory limits their number. This also replaces the C library's atexit, because all functions form
 * one list.
 *
 * (X1) Entries are not used again: taking the first one off needs no lock.
 * (X2) No call of the native API: the runtime's start registers a function.
 */
#include "cxx.h"

#include <stdlib.h>

namespace
{

struct entry {
    entry *next;
    void (*plain)();      /* of atexit, or */
    void (*call)(void *); /* with arg */
    void *arg;
};

entry room[32]; /* without a heap */
uint32_t taken;
entry *last;

entry *get()
{
    const uint32_t i = __atomic_load_n(&taken, __ATOMIC_RELAXED) < sizeof(room) / sizeof(room[0])
                           ? __atomic_fetch_add(&taken, 1u, __ATOMIC_RELAXED)
                           : UINT32_MAX;
    return i < sizeof(room) / sizeof(room[0]) ? &room[i]
                                              : static_cast<entry *>(malloc(sizeof(entry)));
}

int add(void (*plain)(), void (*call)(void *), void *arg)
{
    entry *e = get();
    if (e == nullptr) {
        return -1;
    }
    *e = {__atomic_load_n(&last, __ATOMIC_RELAXED), plain, call, arg};
    while (!__atomic_compare_exchange_n(&last, &e->next, e, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return 0;
}

void run()
{
    for (;;) {
        entry *e = __atomic_load_n(&last, __ATOMIC_ACQUIRE);
        if (e == nullptr) {
            return;
        }
        if (!__atomic_compare_exchange_n(&last, &e, e->next, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_ACQUIRE)) {
            continue;
        }
        if (e->plain != nullptr) {
            e->plain();
        } else {
            e->call(e->arg);
        }
    }
}

/* exit calls what is in this section first (port/board/image.ld). */
__attribute__((used, section(".fini_array_onexit"))) void (*const at_end)() = run;

} // namespace

extern "C" int atexit(void (*call)())
{
    return add(call, nullptr, nullptr);
}

extern "C" int __cxa_atexit(void (*destroy)(void *), void *object, void *)
{
    if (add(nullptr, destroy, object) != 0) {
        pirn::detail::fail("no memory to register a static object's destructor");
    }
    return 0;
}

/* The same on ARM (C++ ABI for ARM, 3.2.4.3). */
extern "C" int __aeabi_atexit(void *object, void (*destroy)(void *), void *image)
{
    return __cxa_atexit(destroy, object, image);
}
