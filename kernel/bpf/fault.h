/* SPDX-License-Identifier: GPL-2.0-only
 *
 * A fault for the test that the kernel ejects a scheduler that loses threads. Only
 * pirn-kernel-faulty has it.
 */
#ifndef KERNEL_FAULT_H
#define KERNEL_FAULT_H

#include "../shared.h"

#ifdef KERNEL_FAULTS
static inline bool fault_loses(const volatile struct kernel_settings *settings, bool consumer)
{
    return settings->fault == FAULT_STALL && consumer;
}
#else
static inline bool fault_loses(const volatile struct kernel_settings *settings, bool consumer)
{
    (void)settings;
    (void)consumer;
    return false;
}
#endif

#endif
