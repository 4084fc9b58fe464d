/* SPDX-License-Identifier: MIT */
/*
 * linux_signals_none.c (Linux) - the twins of linux_signals.c where threads have no signals of
 * their own: on architectures where it is not known whether a thread is inside the runtime, and
 * under sanitizers.
 */
#include "linux.h"
#include "port_posix.h"

#if !(defined(PORT_ARCH_TLS_INC) && !defined(PIRN_TSAN) && !defined(PIRN_ASAN))

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

bool signals_mask_common(uint64_t *mask)
{
    (void)mask;
    return false;
}

int signals_descriptor(void)
{
    return -1;
}

int port_signals_start(const struct port_signal_upcalls *up)
{
    (void)up;
    return -ENOTSUP;
}

/* The functions below are called only if that has succeeded. */
static NORETURN void never(void)
{
    static const char text[] = "pirn: signals of threads are not possible in this build\n";
    port_write(text, sizeof(text) - 1);
    port_panic();
}

int port_signal_catch(int signal, int flags)
{
    (void)signal;
    (void)flags;
    never();
}

bool port_signal_fetch(void *info)
{
    (void)info;
    never();
}

uint64_t port_signals_of_kernel(void)
{
    uint64_t set = 0;
    syscall(SYS_rt_sigpending, &set, sizeof(set));
    return set & ~port_signals_own();
}

void port_signal_default(int signal)
{
    (void)signal;
    never();
}

bool port_signal_to_main(int signal, const void *info)
{
    (void)signal;
    (void)info;
    return false;
}

bool port_signals_accept(void)
{
    never();
}

void port_signals_wake(void)
{
    never();
}

void port_signal_mask(const uint64_t *mask)
{
    (void)mask;
    never();
}

void port_exec_begin(const uint64_t *mask)
{
    (void)mask;
    never();
}

void port_exec_end(void)
{
    never();
}

void port_call_on(int signal, void *info, void *context, void (*fn)(int, void *, void *), void *top)
{
    (void)signal;
    (void)info;
    (void)context;
    (void)fn;
    (void)top;
    never();
}

void signals_adopt(void *frame)
{
    (void)frame;
}

void signals_take(void *frame, void *info)
{
    (void)frame;
    (void)info;
}

void signals_leave(void) {}

bool port_signal_stack(void *programs)
{
    (void)programs;
    return false;
}

void signals_forked(void) {}

void port_signals_direct(void) {}

void signals_learn(void *frame)
{
    (void)frame;
}

void port_signals_leave_to_kernel(uint64_t more)
{
    (void)more;
}

#endif
