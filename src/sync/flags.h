/* SPDX-License-Identifier: MIT */
/* flags.h - event flags on a wait queue: flags.c. Zeroed ones are valid. */
#ifndef PIRN_SYNC_FLAGS_H
#define PIRN_SYNC_FLAGS_H

#include "waitq.h"

struct rt_flags {
    uint32_t word; /* (queue lock) */
    uint32_t spare[3];
    struct waitq queue; /* its lock has no state */
};

/* How a thread waits: wait_kind. The bits are its wait_value, which becomes what it has got. */
enum { FLAGS_ALL = 1, FLAGS_CLEAR = 2 };

void rt_flags_init(struct rt_flags *f);
uint32_t rt_flags_set(struct rt_flags *f, uint32_t bits);   /* the word before */
uint32_t rt_flags_clear(struct rt_flags *f, uint32_t bits); /* the same */
uint32_t rt_flags_get(struct rt_flags *f);

/* 0, -EAGAIN */
int rt_flags_trywait(struct rt_flags *f, uint32_t bits, uint8_t how, uint32_t *got);
/* 0, -ETIMEDOUT */
int rt_flags_wait_until(struct rt_flags *f, uint32_t bits, uint8_t how, uint32_t *got,
                        uint64_t deadline);

#endif
