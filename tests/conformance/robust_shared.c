/* SPDX-License-Identifier: MIT */
/* robust_shared.c - the cases of robust.c for mutexes between processes, which no protocol goes
 * with here. */
#define SHARING PTHREAD_PROCESS_SHARED
#include "robust.c"
