/* SPDX-License-Identifier: MIT */
/*
 * glibc_layout.h - where the parts of a TLS block lie, and what the two files that share blocks
 * know of each other: glibc_block.c (makes them) and glibc_lives.c (the lives that each serves).
 */
#ifndef PIRN_PORT_GLIBC_LAYOUT_H
#define PIRN_PORT_GLIBC_LAYOUT_H

#include "glibc.h"

#define LIBC_TLS_MAX 512u

#define VARIANT_1 (PORT_ARCH_TLS_VARIANT == 1)

/* Where a block's static TLS begins, from the thread pointer; its lowest address; its size. */
static inline ptrdiff_t static_first(void)
{
    return VARIANT_1 ? 0 : -(ptrdiff_t)(glibc.static_size - glibc.descriptor);
}

static inline char *static_low(uintptr_t tp)
{
    return (char *)tp + static_first();
}

static inline size_t static_bytes(void)
{
    return VARIANT_1 ? glibc.static_size : glibc.static_size - glibc.descriptor;
}

static inline struct glibc_dtv **dtv_of(uintptr_t tp)
{
    return (struct glibc_dtv **)(tp + glibc.dtv_at);
}

/* The generation of ld.so's set of modules. */
static inline size_t generation_now(void)
{
    return __atomic_load_n(glibc.generation, __ATOMIC_ACQUIRE); /* ORDER(tls-generation) */
}

/* Take the image. 0 or -ENOMEM. */
int glibc_lives_init(void);

/* A block is new, filled in from modules of this generation. */
void glibc_lives_made(uintptr_t tp, size_t generation);

/* In the child of a fork. */
void glibc_lives_forked(void);

#endif
