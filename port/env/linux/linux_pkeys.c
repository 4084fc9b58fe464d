/* SPDX-License-Identifier: MIT */
/*
 * linux_pkeys.c (Linux) - protection keys of memory (pkeys(7)): each thread has its own rights.
 *
 * The rights are a register of the processor's (PKRU), which the kernel keeps for each kernel
 * thread. From the first pkey_alloc on, every switch exchanges it: PKEYS_BIT (linux_affinity.c).
 * Before that all kernel threads have the rights that the process had at its start, and a switch
 * has nothing to do.
 *
 * Inside a signal handler the kernel gives a thread the rights of the process's start; the return
 * from the handler restores the interrupted ones from the frame. So a thread that a tick stops in
 * its handler, and that goes on elsewhere, needs no more than the register's value at each switch.
 *
 * Invariants:
 *   1. port_thread.pkeys of a thread that does not run is its rights, xor those of the start: 0,
 *      the value of a new thread, is right for all that stopped before the first key.
 *   2. A thread that has other rights has seen PKEYS_BIT set: pkey_alloc sets it before it makes
 *      the key. So does every CPU that runs the thread later (linux_affinity.c).
 *   3. A handler of the runtime's that reads code which the program may have made (linux_blocked.c)
 *      allows itself to read all meanwhile: the rights of the start deny access to all other keys.
 *   4. The runtime's own memory has key 0, to which all threads have access. A program that takes
 *      that away from a thread, or gives a stack another key, is on its own, as in handlers of the
 *      system's.
 */
#include "linux.h"
#include "port_posix.h"

#ifndef PORT_ARCH_PKEYS
ALWAYS_INLINE bool port_arch_has_pkeys(void)
{
    return false;
}

ALWAYS_INLINE uint32_t port_arch_pkeys(void)
{
    return 0;
}

ALWAYS_INLINE void port_arch_pkeys_set(uint32_t rights)
{
    (void)rights;
}
#endif

bool port_pkeys_carried;
static uint32_t first; /* (C) from PKEYS_BIT on: the rights at the process's start */

/* Of the caller, in the form of port_thread.pkeys. */
uint32_t port_pkeys_inherited(void)
{
    return port_arch_pkeys() ^ first;
}

void pkeys_switch(struct port_thread *from, struct port_thread *to)
{
    uint32_t now = port_arch_pkeys() ^ first, next = to->pkeys;
    from->pkeys = now;
    if (now != next) {
        port_arch_pkeys_set(next ^ first);
    }
}

#define READ_ALL 0xaaaaaaa8u /* no access denied, but to write; to key 0 all */

/* There are rights without keys of the program's: the kernel keeps a key for code that may only be
 * executed. */
static bool are_there(void)
{
    static uint8_t known; /* (A) 0: not yet, 1: no, 2: yes */
    uint8_t is = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (unlikely(is == 0)) {
        is = port_arch_has_pkeys() ? 2 : 1;
        __atomic_store_n(&known, is, __ATOMIC_RELAXED);
    }
    return is == 2;
}

uint32_t pkeys_open(void)
{
    if (likely(!are_there())) {
        return 0;
    }
    uint32_t rights = port_arch_pkeys();
    port_arch_pkeys_set(rights & READ_ALL);
    return rights;
}

void pkeys_close(uint32_t rights)
{
    if (unlikely(are_there())) {
        port_arch_pkeys_set(rights);
    }
}

uint32_t port_pkeys_enter(void)
{
    if (likely(!port_pkeys_carried)) {
        return 0;
    }
    uint32_t rights = port_arch_pkeys();
    port_pkeys_leave(first);
    return rights;
}

void port_pkeys_leave(uint32_t rights)
{
    if (unlikely(port_pkeys_carried) && port_arch_pkeys() != rights) {
        port_arch_pkeys_set(rights);
    }
}

static void begin(void)
{
    first = port_arch_pkeys();
    port_pkeys_carried = true;
}

void port_pkeys_begin(void)
{
    if (are_there()) {
        affinity_all_switches_wait(PKEYS_BIT, begin);
    }
}
