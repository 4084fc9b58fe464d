/* SPDX-License-Identifier: MIT */
/*
 * linux_redirect.c (Linux) - libraries that make the system call futex by an instruction of
 * their own (gcc's OpenMP) come to the POSIX layer instead, so that their threads wait in user
 * space.
 *
 * A preloaded library sees calls of functions, not instructions. So such a wait holds a worker
 * until the monitor notices (linux_blocked.c). Then the module that has the instruction is changed:
 * each of its system calls becomes a jump (redirect_plan.c) to a piece of code for this place,
 * beside the module. That makes the system call, and jumps back behind it. If it is futex, it calls
 * redirect_entry, which saves the registers that system calls preserve, and calls the POSIX layer.
 * The code for this is the architecture's (redirect_x86.c, redirect_aarch64.c).
 *
 * It happens once for each module, in the handler of the thread that waits there: so nobody unloads
 * the module meanwhile. Whatever fails (no room, no permission to change code), the module stays as
 * it is, and its waits cost what they cost before.
 *
 * Other threads may execute the code that changes:
 *   1. Each write is one that the architecture allows in code that is executed at that time. Behind
 *      the last one all processors begin with new instructions (membarrier).
 *   2. A thread that sleeps in a system call that has been replaced returns behind it, where
 *      nothing has changed. If the kernel repeats the call after a handler, it executes the jump.
 *   3. User threads must not wait in user space while a waker may make the kernel's call: nobody
 *      would wake them. So until all calls of the module are replaced, and all processors know
 *      (`page->call`), its futex calls are made in the kernel as before. A waker that has stored
 *      the word before, and then made the old instruction's call, is past both: whoever waits
 *      afterwards sees the word. Those who wait in the kernel already are woken, since the POSIX
 *      layer wakes both kinds.
 * A child of fork has the code as it is at that time, and nobody to change the rest. So whoever
 * forks waits until no thread is at it.
 *
 * If another module uses the same word, and has not been changed, its wake-ups do not reach user
 * threads: those look at the word again from time to time (posix_futex.c).
 *
 * All this needs call frame information that signal handlers can find (glibc 2.35), and membarrier
 * for code (Linux 4.16). Not under valgrind, which executes a copy of the code.
 */
#include "linux_redirect.h"
#include "linux_modules.h"
#include "port_posix.h"
#include "redirect_code.h"

#ifdef REDIRECT

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSED 16u

static struct {
    long (*futex)(const long *args);
    uint32_t busy; /* 1: a thread plans or writes, or forks; 0: release */
    unsigned nrefused;
    uintptr_t refused[REFUSED]; /* modules, by where they begin */
    struct redirect_plan plan;
} redirect;

/* The result of the kernel's call; errno is not changed. */
long redirect_futex(const long *args)
{
    int saved = errno;
    long result = redirect.futex(args);
    if (result == -1) {
        result = -errno;
    }
    errno = saved;
    return result;
}

static size_t page_size(const struct redirect_plan *plan)
{
    size_t size = sizeof(struct page) + plan->nsites * sizeof(struct place);
    return (size + 4095) & ~(size_t)4095;
}

static bool is_near(const struct redirect_plan *plan, uintptr_t at)
{
    return at + REDIRECT_REACH > plan->high && plan->low + REDIRECT_REACH > at;
}

/* Memory beside the module. */
static struct page *page_map(const struct redirect_plan *plan)
{
    size_t size = page_size(plan);
    for (uintptr_t away = 0; away < REDIRECT_REACH; away += REDIRECT_STEP) {
        uintptr_t wishes[] = {plan->high + away, plan->low - away - size};
        for (unsigned i = 0; i < 2; i++) {
            void *got = mmap((void *)wishes[i], size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (got != MAP_FAILED && is_near(plan, (uintptr_t)got)) {
                return got;
            }
            if (got != MAP_FAILED) {
                munmap(got, size);
            }
        }
    }
    return NULL;
}

/* All processors go on with the code as it is now, and have made their stores visible. */
void redirect_renew(void)
{
    unsigned round = 0;
    while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) != 0) {
        port_relax(round++); /* the kernel has no memory now */
    }
}

/* Once code leads to the page, the page stays. */
static bool plan_execute(const struct redirect_plan *plan)
{
    size_t size = plan->high - plan->low;
    struct page *page = page_map(plan);
    if (page == NULL) {
        return false;
    }
    page->call = redirect_not_yet;
    for (unsigned i = 0; i < plan->nsites; i++) {
        redirect_write_place(page, &plan->sites[i], &page->places[i]);
    }
    size_t code = page_size(plan) - sizeof(*page);
    __builtin___clear_cache((char *)page->places, (char *)page->places + code);
    bool open = mprotect(page->places, code, PROT_READ | PROT_EXEC) == 0 &&
                mprotect((void *)plan->low, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
    if (!open) {
        munmap(page, page_size(plan));
        return false;
    }
    redirect_write_calls(plan, page);
    redirect_renew();
    __atomic_store_n(&page->call, redirect_entry, __ATOMIC_SEQ_CST);
    mprotect((void *)plan->low, size, plan->protection);
    return true;
}

static bool can_redirect(void)
{
    return redirect_code_can_change() &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

bool redirect_is_possible(void)
{
    return can_redirect();
}

void port_redirect_futexes(long (*futex)(const long *args))
{
    __atomic_store_n(&redirect.futex, futex, __ATOMIC_RELEASE);
}

static bool is_refused(uintptr_t module)
{
    for (unsigned i = 0; i < redirect.nrefused; i++) {
        if (redirect.refused[i] == module) {
            return true;
        }
    }
    return redirect.nrefused == REFUSED;
}

void redirect_before_fork(void)
{
    for (unsigned round = 0; __atomic_exchange_n(&redirect.busy, 1, __ATOMIC_ACQUIRE) != 0;
         round++) {
        port_relax(round);
    }
}

void redirect_after_fork(void)
{
    RT_ASSERT(__atomic_load_n(&redirect.busy, __ATOMIC_RELAXED) == 1);
    __atomic_store_n(&redirect.busy, 0, __ATOMIC_RELEASE);
}

void redirect_learn(uintptr_t pc)
{
    struct module object;
    bool own;
    RT_ASSERT(redirect.plan.nsites <= REDIRECT_SITES);
    if (__atomic_load_n(&redirect.futex, __ATOMIC_ACQUIRE) == NULL || place_is_kept(pc, &own) ||
        !module_at(pc, &object) || __atomic_exchange_n(&redirect.busy, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    uintptr_t module = object.start;
    const uint8_t *bytes = (const uint8_t *)pc;
    if (!is_refused(module) && port_arch_is_call(bytes) &&
        !(can_redirect() && redirect_plan(&redirect.plan, pc) && plan_execute(&redirect.plan))) {
        redirect.refused[redirect.nrefused++] = module;
    }
    __atomic_store_n(&redirect.busy, 0, __ATOMIC_RELEASE);
}

#else

void port_redirect_futexes(long (*futex)(const long *args))
{
    (void)futex;
}

void redirect_learn(uintptr_t pc)
{
    (void)pc;
}

void redirect_before_fork(void) {}

void redirect_after_fork(void) {}

bool redirect_is_possible(void)
{
    return false;
}
#endif
