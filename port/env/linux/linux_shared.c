/* SPDX-License-Identifier: MIT */
/*
 * linux_shared.c (Linux) - waiting for a word that other processes see, too: futexes that are not
 * private; and the kernel threads that do it for user threads.
 */
#include "atomic.h"
#include "linux.h"
#include "port_foreign.h"
#include "port_posix.h"
#include "port_processes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int port_shared_wait(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline, bool realtime)
{
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000u),
                         .tv_nsec = (long)(deadline % 1000000000u)};
    int op = FUTEX_WAIT_BITSET | (realtime ? FUTEX_CLOCK_REALTIME : 0);
    int saved = errno;
    RT_ASSERT(port_irq_is_on()); /* it may take for ever */
    long result = syscall(SYS_futex, word, op, value, deadline != UINT64_MAX ? &t : NULL, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    int error = result == 0 ? 0 : errno;
    errno = saved;
    return error == ETIMEDOUT || error == EINTR ? -error : 0;
}

void port_shared_wake(_Atomic(uint32_t) *word, unsigned n)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE, n < INT_MAX ? (int)n : INT_MAX, NULL, NULL, 0);
    errno = saved;
}

_Static_assert(sizeof(struct port_robust_list) == sizeof(struct robust_list_head) &&
                   offsetof(struct port_robust_list, offset) ==
                       offsetof(struct robust_list_head, futex_offset) &&
                   offsetof(struct port_robust_list, pending) ==
                       offsetof(struct robust_list_head, list_op_pending),
               "the kernel's lists of robust mutexes");

/* The C library gives each kernel thread that it creates a list. qemu-user has none. */
static struct port_robust_list *robust_list_ask(void)
{
    struct port_robust_list *list = NULL;
    size_t size = 0;
    int saved = errno;
    long error = syscall(SYS_get_robust_list, 0, &list, &size);
    errno = saved;
    return error == 0 && list != NULL && size == sizeof(*list) && list->offset == PORT_ROBUST_OFFSET
               ? list
               : NULL;
}

struct port_robust_list *port_robust_list(uint32_t *tid)
{
    struct cpu *cpu = port_cpu_self();
    struct port_carrier *carrier = cpu != NULL ? rt_cpu_port(cpu)->carrier : NULL;
    RT_ASSERT(port_irq_is_off());
    if (carrier == NULL) {
        *tid = (uint32_t)syscall(SYS_gettid);
        return robust_list_ask();
    }
    if (carrier->robust == NULL) {
        carrier->robust = robust_list_ask();
    }
    *tid = (uint32_t)carrier->tid;
    return carrier->robust;
}

/* The C library has registered one in the descriptor of the thread that called fork, which with
 * threads' own TLS blocks is that of a user thread: it may end before the process. */
void robust_forked(void)
{
    static struct port_robust_list list;
    list.offset = PORT_ROBUST_OFFSET;
    at_store_rlx(&list.first, (void *)&list);
    at_store_rlx(&list.pending, NULL);
    syscall(SYS_set_robust_list, &list, sizeof(list));
}

/* Bits of an entry of /proc/self/pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_OF_FILE (UINT64_C(1) << 61) /* or of anonymous memory that is shared */

bool port_memory_is_private(const void *word)
{
    uint64_t entry = 0;
    int saved = errno;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        off_t at = (off_t)((uintptr_t)word / PAGE_SIZE * sizeof(entry));
        if (syscall(SYS_pread64, fd, &entry, sizeof(entry), at) != (long)sizeof(entry)) {
            entry = 0;
        }
        syscall(SYS_close, fd);
    }
    errno = saved;
    return (entry & (PAGE_PRESENT | PAGE_OF_FILE)) == PAGE_PRESENT;
}

struct start {
    void (*fn)(void *);
    void *arg;
};

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
static void detach_here(void)
{
    pthread_detach(pthread_self());
}
#else
/* The names themselves may be the POSIX layer's. */
static void detach_here(void)
{
    pthread_t (*self)(void) = (pthread_t(*)(void))dlsym(RTLD_NEXT, "pthread_self");
    int (*detach)(pthread_t) = (int (*)(pthread_t))dlsym(RTLD_NEXT, "pthread_detach");
    if (self != NULL && detach != NULL) {
        detach(self());
    }
}
#endif

static void *start_main(void *arg)
{
    struct start start = *(struct start *)arg;
    RT_ASSERT(port_cpu_self() == NULL && port_irq_is_on());
    port_table_free(arg, sizeof(struct start));
    detach_here();
    start.fn(start.arg);
    return NULL;
}

int port_foreign_start(void (*fn)(void *), void *arg)
{
    struct start *start = port_table_alloc(sizeof(*start));
    if (start == NULL) {
        return -ENOMEM;
    }
    *start = (struct start){fn, arg};
    int error = kernel_thread_create(start_main, start);
    if (error != 0) {
        port_table_free(start, sizeof(*start));
    }
    return error;
}
