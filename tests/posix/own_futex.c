/* SPDX-License-Identifier: MIT */
/*
 * own_futex.c - code that makes the system call futex by an instruction of its own. Once the
 * library has noticed that a thread waits in one, all of them come to the library instead
 * (port/env/linux/redirect), and whoever waits holds no kernel thread.
 *
 * The functions of own_futex_ARCHITECTURE.h make it. Their code is changed while threads use it: in
 * each round some threads wait in one way for a word that another one wakes in another way.
 */
#include <dirent.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 2000, WAITERS = 60, ALLOWED_MORE = 8, LATE_US = 30000 };

typedef long futex_fn(void *word, long op, long value, const struct timespec *limit);

#define FUNCTION(name, code)                                                                       \
    __asm__(".pushsection .text\n\t"                                                               \
            ".p2align 6\n\t"                                                                       \
            ".type " #name ", %function\n" #name ":\n\t"                                           \
            ".cfi_startproc\n\t" FUNCTION_BEGINS code "\n\t"                                       \
            "ret\n\t"                                                                              \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", .-" #name "\n\t"                                                     \
            ".popsection");                                                                        \
    long name(void *word, long op, long value, const struct timespec *limit)

#ifdef __aarch64__
#include "own_futex_aarch64.h"
#else
#include "own_futex_x86.h"
#endif

static futex_fn *const ways[] = {OWN_FUTEX_WAYS};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static bool is_redirected(void)
{
    return memcmp(constant_call, system_call, sizeof(system_call)) != 0;
}

static uint32_t round_now, arrived;
static uint32_t last = UINT32_MAX; /* changes before a round ends */

/* All threads end a round together. */
static void meet(unsigned number, unsigned threads)
{
    uint32_t now = __atomic_load_n(&round_now, __ATOMIC_SEQ_CST);
    unsigned way = (number + now) % WAYS;
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == threads) {
        __atomic_store_n(&arrived, 0, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&round_now, 1, __ATOMIC_SEQ_CST);
        CHECK(ways[way](&round_now, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL) >= 0);
        return;
    }
    while (__atomic_load_n(&round_now, __ATOMIC_SEQ_CST) == now) {
        long result = ways[way](&round_now, FUTEX_WAIT_PRIVATE, now, NULL);
        CHECK(result == 0 || result == -EAGAIN || result == -EINTR);
    }
}

static void *takes_part(void *arg)
{
    while (__atomic_load_n(&round_now, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&last, __ATOMIC_SEQ_CST)) {
        meet((unsigned)(uintptr_t)arg, THREADS);
    }
    return arg;
}

/* A child finds each way whole, whenever the parent forks. */
static void forks(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        uint32_t word = 0;
        for (unsigned i = 0; i < WAYS; i++) {
            CHECK_EQ(ways[i](&word, FUTEX_WAKE_PRIVATE, 1, NULL), 0);
        }
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* The others wait for a thread that is late, until it has been noticed; then nobody is late. */
static void test_rounds_end(void)
{
    pthread_t t[THREADS];
    for (uintptr_t i = 1; i < THREADS; i++) {
        t[i] = start(takes_part, (void *)i);
    }
    while (!is_redirected()) {
        usleep(LATE_US);
        forks();
        meet(0, THREADS);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        meet(0, THREADS);
    }
    __atomic_store_n(&last, round_now + 1, __ATOMIC_SEQ_CST);
    meet(0, THREADS);
    for (uintptr_t i = 1; i < THREADS; i++) {
        join(t[i]);
    }
}

static void test_calls_give_the_kernels_results(void)
{
    uint32_t word = 5;
    struct timespec moment = {0, 1000000}, never = {0, -1};
    for (unsigned i = 0; i < WAYS; i++) {
        set_errno(77);
        CHECK_EQ(ways[i](&word, FUTEX_WAIT_PRIVATE, 4, NULL), -EAGAIN);
        CHECK_EQ(ways[i](&word, FUTEX_WAIT_PRIVATE, 5, &moment), -ETIMEDOUT);
        CHECK_EQ(ways[i](&word, FUTEX_WAIT_PRIVATE, 5, &never), -EINVAL);
        CHECK_EQ(ways[i](&word, FUTEX_WAKE_PRIVATE, 1, NULL), 0);
        CHECK_EQ(get_errno(), 77);
    }
    CHECK_EQ(makes_getpid(NULL, 0, 0, NULL), getpid());
    CHECK_EQ(keeps(&word, FUTEX_WAKE_PRIVATE, 1, NULL), 0);
    CHECK_EQ(keeps(&word, FUTEX_WAIT_PRIVATE, 5, &moment), 0);
}

static uint32_t gate;
static flag_t begun;

static void *waits(void *arg)
{
    flag_add(&begun, 1);
    while (__atomic_load_n(&gate, __ATOMIC_SEQ_CST) == 0) {
        ways[(uintptr_t)arg % WAYS](&gate, FUTEX_WAIT_PRIVATE, 0, NULL);
    }
    return arg;
}

static unsigned kernel_threads(void)
{
    unsigned n = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        n += entry->d_name[0] != '.';
    }
    OK(closedir(tasks));
    return n;
}

/* A thread that held one would get it after about 20 ms. On a slow machine this may look too early,
 * and then sees no mistake. */
static void test_waiting_holds_no_kernel_thread(void)
{
    pthread_t t[WAITERS];
    unsigned before = kernel_threads();
    for (uintptr_t i = 0; i < WAITERS; i++) {
        t[i] = start(waits, (void *)i);
    }
    flag_wait(&begun, WAITERS);
    usleep(20 * LATE_US);
    CHECK(kernel_threads() <= before + ALLOWED_MORE);
    __atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
    long woken = constant(&gate, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
    CHECK(woken >= 0 && woken <= WAITERS); /* on a busy machine some do not wait yet */
    for (unsigned i = 0; i < WAITERS; i++) {
        join(t[i]);
    }
}

int main(void)
{
    long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (can < 0 || (can & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0) {
        puts("skipped: the kernel has no membarrier for code, so calls are not redirected");
        return 0;
    }
    RUN(test_calls_give_the_kernels_results);
    RUN(test_rounds_end);
    CHECK(is_redirected());
    RUN(test_calls_give_the_kernels_results);
    RUN(test_waiting_holds_no_kernel_thread);
    return 0;
}
