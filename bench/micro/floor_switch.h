/* SPDX-License-Identifier: MIT */
/* floor_switch.h - the minimal context switch: floor_switch_<isa>.S. */
#ifndef BENCH_FLOOR_SWITCH_H
#define BENCH_FLOOR_SWITCH_H

/* Saves the callee-saved registers on the stack and its pointer in *from, continues at `to`. */
void floor_switch(void **from, void *to);

/* A fresh stack that floor_switch can continue: calls fn, which must not return. */
void *floor_stack(void *top, void (*fn)(void));

#endif
