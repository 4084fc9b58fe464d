/* SPDX-License-Identifier: MIT */
/*
 * sizes.h (bare) - sizes that assembly knows, too.
 */
#ifndef PIRN_ENV_BARE_SIZES_H
#define PIRN_ENV_BARE_SIZES_H

#define BARE_CORES RT_MAX_CPUS /* at most; further ones sleep */
/* BARE_CORE_STACK: of each core's scheduler context (src/features.cmake, PIRN_CORE_STACK).
 * BARE_HANDLER_ROOM: bytes of a thread's stack for handlers of interrupts (PIRN_HANDLER_ROOM) */
#ifndef BARE_TRAP_STACK
#define BARE_TRAP_STACK 2048 /* of each core, for its traps; an architecture may need more */
#endif

/* Each core's room in bare_core_stacks: the stack that faults are reported from, on some
 * architectures that of handlers, too, and above it its own one. So what overflows into the former
 * has damaged nothing. A power of two: it is the guard of the latter. Where guards are pages, own
 * stacks are allocated, and a core begins on the former. The first core's own stack is main's. */
#if defined(ARCH_PAGE) || BARE_CORES == 1
#define BARE_CORE_ROOM BARE_TRAP_STACK
#else
#define BARE_CORE_ROOM (BARE_TRAP_STACK + BARE_CORE_STACK)
#endif

#endif
