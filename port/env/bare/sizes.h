/* SPDX-License-Identifier: MIT */
/*
 * sizes.h (bare) - sizes that assembly knows, too.
 */
#ifndef PIRN_ENV_BARE_SIZES_H
#define PIRN_ENV_BARE_SIZES_H

#define BARE_CORES RT_MAX_CPUS /* at most; further ones sleep */
#define BARE_CORE_STACK 8192   /* of each core's scheduler context, but the first one's */
#ifndef BARE_TRAP_STACK
#define BARE_TRAP_STACK 2048 /* of each core, for its traps; an architecture may need more */
#endif

#endif
