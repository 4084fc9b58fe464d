/* SPDX-License-Identifier: MIT */
/*
 * sim_kernel_none.c (simulator) - no kernel under the CPUs: sim_internal.h. Weak: the POSIX layer
 * brings one (posix/sim_kernel.c).
 */
#include "sim_internal.h"

__attribute__((weak)) const struct sim_kernel sim_kernel = {0};
