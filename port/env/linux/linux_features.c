/* SPDX-License-Identifier: MIT */
/*
 * linux_features.c - what this process has got of the machine, in words. Each state is read where
 * the runtime reads it, so that it cannot differ from what the runtime does.
 *
 *   libc        glibc                     the version
 *   tls         instruction | syscall | shared      how a switch changes thread-local storage
 *   guards      marks | mappings          how stacks are guarded (MADV_GUARD_INSTALL, or mprotect)
 *   fences      membarrier | instructions what orders memory between CPUs, for rare readers
 *   redirect    yes | no                  futexes by a library's own instructions are redirected
 *   pagemap     yes | no                  private memory is told from shared memory
 */
#include "glibc.h"
#include "linux.h"
#include "port_features.h"
#include "port_posix.h"
#include "port_tls.h"

#include <gnu/libc-version.h>
#include <stdio.h>

static void set(struct port_feature *f, const char *name, const char *state, const char *why)
{
    f->name = name;
    f->state = state;
    snprintf(f->why, sizeof(f->why), "%s", why);
}

static const char *tls_state(void)
{
    return !port_tls_own ? "shared" : port_tls_by_instruction ? "instruction" : "syscall";
}

bool port_feature(unsigned i, struct port_feature *f)
{
    bool mapping = stack_guards_are_mappings(), redirect = redirect_is_possible();
    bool pagemap = port_memory_is_private(&i);
    switch (i) {
    case 0:
        set(f, "libc", "glibc", gnu_get_libc_version());
        return true;
    case 1:
        set(f, "tls", tls_state(), tls_why_shared());
        return true;
    case 2:
        set(f, "guards", mapping ? "mappings" : "marks",
            mapping ? "the kernel does not take MADV_GUARD_INSTALL" : "");
        return true;
    case 3:
        set(f, "fences", port_fence_asymmetric ? "membarrier" : "instructions",
            port_fence_asymmetric ? "" : "the system call membarrier is refused");
        return true;
    case 4:
        set(f, "redirect", redirect ? "yes" : "no",
            redirect ? "" : "membarrier with SYNC_CORE is refused, or valgrind runs the program");
        return true;
    case 5:
        set(f, "pagemap", pagemap ? "yes" : "no",
            pagemap ? "" : "/proc/self/pagemap cannot be read");
        return true;
    default:
        return false;
    }
}
