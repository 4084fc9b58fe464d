/* SPDX-License-Identifier: MIT */
/*
 * glibc_buffers.c - where a thread's descriptor points to memory that the C library has allocated
 * for the thread. Caller: glibc_block.c, in a kernel thread that has used none of it.
 */
#include "glibc.h"

#include <string.h>
#include <sys/random.h>

/* Where the caller's descriptor has the pointer; 0 if nowhere. */
static size_t descriptor_find(const char *pointer)
{
    uintptr_t descriptor = port_arch_tp() - glibc_descriptor_offset();
    for (size_t at = 0; at + sizeof(char *) <= glibc.descriptor; at += sizeof(char *)) {
        if (*(char **)(descriptor + at) == pointer) {
            return at;
        }
    }
    return 0;
}

/* Where the first call of getrandom has put a pointer into the caller's descriptor, if the template
 * is a copy of that from before; 0 if nowhere. */
size_t glibc_random_find(const char *before)
{
    const char *descriptor = (const char *)(port_arch_tp() - glibc_descriptor_offset());
    char byte;
    if (getrandom(&byte, 1, GRND_NONBLOCK) != 1) {
        return 0;
    }
    for (size_t at = 0; at + sizeof(char *) <= glibc.descriptor; at += sizeof(char *)) {
        if (*(char **)(before + at) == NULL && *(char *const *)(descriptor + at) != NULL) {
            return at;
        }
    }
    return 0;
}

/* The text for an unknown number lies on the heap. */
void glibc_buffers_find(size_t *at)
{
    const int nothing = 1000000;
    at[BUFFER_STRERROR] = descriptor_find(strerror(nothing));
    at[BUFFER_STRSIGNAL] = descriptor_find(strsignal(nothing));
}
