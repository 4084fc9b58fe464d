/* SPDX-License-Identifier: MIT */
/*
 * memory.c - memory is exhausted (RLIMIT_AS): creating a thread fails cleanly and works again when
 * threads have ended. Also threads that need no memory of the runtime.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "fault.h"

enum { MOST = 100000, ROUNDS = 8, LIVES = 200 };

static pirn_sem_t gate;

static void *wait_main(void *arg)
{
    pirn_sem_wait(&gate);
    return arg;
}

uint64_t fault_limit_memory(uint64_t room)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    uint64_t has = (uint64_t)pages * 4096;
    struct rlimit limit = {.rlim_cur = has + room, .rlim_max = RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    return has;
}

/* errno is the worker's, and its address is computed once in a function: main may move. */
static __attribute__((noinline)) int errno_here(void)
{
    return errno;
}

static __attribute__((noinline)) void errno_set(int value)
{
    errno = value;
}

/* As many threads as there is room for. */
static unsigned create_most(pirn_thread_t *threads)
{
    pirn_attr_t large = {.stack_size = (size_t)512 << 20};
    unsigned n = 0;
    int error = 0;
    errno_set(ERANGE);
    while (n < MOST && error == 0) {
        pirn_thread_t untouched = (pirn_thread_t)&gate;
        threads[n] = untouched;
        error = pirn_create(&threads[n], NULL, wait_main, &threads[n]);
        CHECK(error == 0 || (error == -EAGAIN && threads[n] == untouched));
        n += error == 0;
    }
    CHECK(n < MOST && n > 0);
    CHECK(pirn_create(&threads[n], &large, wait_main, NULL) == -EAGAIN);
    CHECK(errno_here() == ERANGE);
    return n;
}

static void end_some(pirn_thread_t *threads, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        CHECK(pirn_sem_post(&gate) == 0);
    }
    for (unsigned i = from; i < to; i++) {
        void *ret;
        CHECK(pirn_join(threads[i], &ret) == 0 && ret == &threads[i]);
    }
}

/* First come, first served: the semaphore releases threads in the order of their arrival, which
 * differs from that of their creation on several CPUs. So all living threads are ended together. */
void fault_memory(unsigned room, unsigned cached)
{
    static pirn_thread_t threads[MOST + 1];
    unsigned first = 0;
    pirn_cpu_count(); /* the runtime has started: its kernel threads and tables are there */
    fault_limit_memory((uint64_t)room << 20);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned n = create_most(threads);
        first = round == 0 ? n : first;
        printf("%u threads\n", n);
        /* No leak: there is room for as many again, except for arenas of other sizes. */
        CHECK(n + cached >= first - first / 16);
        end_some(threads, 0, n);
    }
}

/* ---- a few large stacks ---- */

enum { CREATORS = 2, SCARCE = 20000, LARGE_MB = 16, LARGE_FIT = 10 };

static unsigned made, ended;

static void *ends_at_once(void *arg)
{
    __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
    return arg;
}

/* A creator that is refused tries again: stacks come back, also those in another CPU's cache. */
static void *creates_detached(void *unused)
{
    pirn_attr_t attr = {.stack_size = (size_t)LARGE_MB << 20, .detached = true};
    while (__atomic_load_n(&made, __ATOMIC_SEQ_CST) < SCARCE) {
        pirn_thread_t t;
        int error = pirn_create(&t, &attr, ends_at_once, NULL);
        CHECK(error == 0 || error == -EAGAIN);
        if (error == 0) {
            __atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
        }
    }
    return unused;
}

void fault_scarce(void)
{
    pirn_thread_t creators[CREATORS];
    pirn_cpu_count();
    for (int i = 0; i < CREATORS; i++) {
        CHECK(pirn_create(&creators[i], NULL, creates_detached, NULL) == 0);
    }
    fault_limit_memory((uint64_t)LARGE_FIT * LARGE_MB << 20);
    for (int i = 0; i < CREATORS; i++) {
        CHECK(pirn_join(creators[i], NULL) == 0);
    }
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) != __atomic_load_n(&made, __ATOMIC_SEQ_CST)) {
        pirn_yield();
    }
}

/* ---- given descriptors and stacks ---- */

static void *count_main(void *arg)
{
    unsigned *n = arg;
    pirn_yield();
    (*n)++;
    return n;
}

static void live_once(pirn_thread_storage_t *storage, void *stack, size_t size, unsigned *n)
{
    pirn_attr_t attr = {.storage = storage, .stack = stack, .stack_size = size, .name = "given"};
    pirn_thread_t t;
    void *ret;
    unsigned before = *n;
    CHECK(pirn_create(&t, &attr, count_main, n) == 0);
    CHECK(storage == NULL || (void *)t == (void *)storage);
    CHECK(stack == NULL || storage != NULL ||
          ((char *)t > (char *)stack && (char *)t < (char *)stack + size));
    uint64_t id = pirn_thread_id(t);
    CHECK(pirn_thread_find(id) == t && strcmp(pirn_name(t), "given") == 0);
    CHECK(pirn_join(t, &ret) == 0 && ret == n && *n == before + 1);
    CHECK(pirn_thread_find(id) == NULL || storage == NULL);
}

static void refuse_bad_attributes(pirn_thread_storage_t *storage, void *stack)
{
    pirn_thread_t t;
    unsigned n = 0;
    pirn_attr_t small = {.stack_size = pirn_stack_min() - 1};
    pirn_attr_t no_size = {.stack = stack, .storage = storage};
    pirn_attr_t huge = {.stack_size = SIZE_MAX};
    CHECK(pirn_create(&t, &small, count_main, &n) == -EINVAL);
    CHECK(pirn_create(&t, &no_size, count_main, &n) == -EINVAL);
    CHECK(pirn_create(&t, &huge, count_main, &n) == -EINVAL);
    CHECK(pirn_create(&t, NULL, NULL, &n) == -EINVAL);
}

void fault_given(void)
{
    static pirn_thread_storage_t storage;
    static unsigned char stack[64 << 10] __attribute__((aligned(4096)));
    static pirn_thread_t threads[MOST + 1];
    unsigned n = 0;
    refuse_bad_attributes(&storage, stack);
    for (unsigned i = 0; i < LIVES; i++) {
        live_once(&storage, NULL, 0, &n);
        live_once(&storage, NULL, (size_t)32 << 10, &n);
        live_once(NULL, stack, sizeof(stack), &n);
        live_once(&storage, stack, sizeof(stack), &n);
    }
    fault_limit_memory((uint64_t)32 << 20);
    unsigned others = create_most(threads);
    for (unsigned i = 0; i < LIVES; i++) {
        live_once(&storage, stack, sizeof(stack), &n); /* needs no memory of the runtime */
    }
    end_some(threads, 0, others);
    CHECK(n == 5 * LIVES);
}
