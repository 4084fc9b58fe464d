/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Faults that tests must find: a scheduler that loses threads, which the kernel ejects; mistakes of
 * the rules, which the guest's traces show. Only pirn-kernel-faulty has them.
 */
#ifndef KERNEL_FAULT_H
#define KERNEL_FAULT_H

#include "../shared.h"

#ifdef KERNEL_FAULTS
static inline bool has_fault(const volatile struct kernel_settings *settings,
                             enum kernel_fault which)
{
    return settings->fault == which;
}
#else
static inline bool has_fault(const volatile struct kernel_settings *settings,
                             enum kernel_fault which)
{
    (void)settings;
    (void)which;
    return false;
}
#endif

#endif
