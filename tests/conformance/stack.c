/* SPDX-License-Identifier: MIT */
/* stack.c - the smallest stacks: the size that sysconf returns suffices, and threads on them can
 * compute. Stacks are as large as asked for. Those of threads that have ended leave the program
 * room. Without memory for threads the program goes on. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "harness.h"

#define IN_LIMITS_H 16384 /* PTHREAD_STACK_MIN without _GNU_SOURCE */

static flag_t stop;

CASE(minimum_is_returned_by_sysconf)
{
    CHECK(sysconf(_SC_THREAD_STACK_MIN) >= IN_LIMITS_H);
    CHECK_EQ(PTHREAD_STACK_MIN, sysconf(_SC_THREAD_STACK_MIN));
    CHECK_EQ(sysconf(_SC_PAGESIZE), getpagesize());
}

CASE(sysconf_is_einval_for_no_name)
{
    FAILS(sysconf(-1), EINVAL);
}

CASE(minimum_of_limits_h_is_a_size)
{
    pthread_attr_t a;
    size_t size;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, IN_LIMITS_H));
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK_EQ(size, IN_LIMITS_H);
    OK(pthread_attr_destroy(&a));
}

static void *computes(void *used)
{
    volatile char room[1024] = {0};
    for (size_t i = 0; !flag_get(&stop); i++) {
        room[i % sizeof(room)] = (char)i;
    }
    *(char *)used = room[0];
    return used;
}

/* At the same time, for many ticks. */
static void compute_on(const pthread_attr_t *a, const pthread_attr_t *b)
{
    char used[2];
    struct timespec from, now;
    pthread_t s = start_with(a, computes, &used[0]), t = start_with(b, computes, &used[1]);
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from));
    do {
        for (volatile int i = 0; i < 10000; i++) {
        }
        OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now));
    } while (ns_between(&from, &now) < 200 * NS_PER_MS);
    flag_set(&stop, 1);
    CHECK_EQ(join(s), &used[0]);
    CHECK_EQ(join(t), &used[1]);
}

CASE(threads_compute_on_the_minimum)
{
    pthread_attr_t a, b;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_init(&b));
    OK(pthread_attr_setstacksize(&a, IN_LIMITS_H));
    OK(pthread_attr_setstacksize(&b, PTHREAD_STACK_MIN));
    compute_on(&a, &b);
    OK(pthread_attr_destroy(&a));
    OK(pthread_attr_destroy(&b));
}

enum { FENCE = 4096 };

/* Memory beside the stack is not touched. */
static void fences_stand(const char *memory, size_t size)
{
    for (size_t k = 0; k < FENCE; k++) {
        CHECK_EQ(memory[k], 0x5a);
        CHECK_EQ(memory[FENCE + size + k], 0x5a);
    }
}

CASE(threads_compute_on_the_callers_minimum)
{
    pthread_attr_t a[2];
    size_t size = PTHREAD_STACK_MIN, whole = size + 2 * FENCE;
    char *memory = aligned_alloc(4096, (2 * whole + 4095) / 4096 * 4096);
    CHECK(memory != NULL);
    memset(memory, 0x5a, 2 * whole);
    for (size_t i = 0; i < 2; i++) {
        OK(pthread_attr_init(&a[i]));
        OK(pthread_attr_setstack(&a[i], memory + i * whole + FENCE, size));
    }
    compute_on(&a[0], &a[1]);
    for (size_t i = 0; i < 2; i++) {
        fences_stand(memory + i * whole, size);
        OK(pthread_attr_destroy(&a[i]));
    }
    free(memory);
}

CASE(less_is_refused)
{
    pthread_attr_t a;
    size_t least = PTHREAD_STACK_MIN;
    char *memory = aligned_alloc(4096, (least + 4095) / 4096 * 4096);
    OK(pthread_attr_init(&a));
    CHECK_EQ(pthread_attr_setstack(&a, memory, least - 1), EINVAL);
    CHECK_EQ(pthread_attr_setstacksize(&a, least - 1), EINVAL);
    OK(pthread_attr_setstack(&a, memory, least));
    OK(pthread_attr_destroy(&a));
    free(memory);
}

/* ---- sizes ---- */

/* Down to the end of the stack that pthread_getattr_np returns, but for the frame of this
 * function. */
static void *uses_all(void *asked)
{
    pthread_attr_t a;
    void *low;
    size_t size;
    char here = 0;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &low, &size));
    OK(pthread_attr_destroy(&a));
    CHECK(size >= *(size_t *)asked);
    CHECK(&here > (char *)low && &here < (char *)low + size);
    size_t rest = (size_t)(&here - (char *)low) - FENCE;
    volatile char *room = __builtin_alloca(rest);
    for (size_t i = rest; i != 0; i -= i < 512 ? i : 512) {
        room[i - 1] = here;
    }
    return asked;
}

CASE(stacks_are_as_large_as_asked_for)
{
    static const unsigned pages[] = {8, 9, 12, 16, 17, 24, 32, 64, 128, 512};
    for (size_t i = 0; i < COUNT(pages); i++) {
        size_t asked = pages[i] * 4096ul;
        pthread_attr_t a;
        OK(pthread_attr_init(&a));
        OK(pthread_attr_setstacksize(&a, asked));
        CHECK_EQ(join(start_with(&a, uses_all, &asked)), &asked);
        OK(pthread_attr_destroy(&a));
    }
}

/* ---- room for the program ---- */

enum { TOGETHER = 200, OFTEN = 5 };
#define MIB (1024ul * 1024)

static flag_t all_live;

static void *lives(void *arg)
{
    flag_add(&all_live, 1);
    flag_wait(&all_live, TOGETHER);
    return arg;
}

/* 800 MiB of stacks at once. */
static void live_together(void)
{
    pthread_t t[TOGETHER];
    pthread_attr_t a;
    flag_set(&all_live, 0);
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, 4 * MIB));
    for (size_t i = 0; i < TOGETHER; i++) {
        t[i] = start_with(&a, lives, NULL);
    }
    for (size_t i = 0; i < TOGETHER; i++) {
        join(t[i]);
    }
    OK(pthread_attr_destroy(&a));
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return pages * (size_t)getpagesize();
}

CASE(ended_threads_leave_room_in_a_limited_address_space)
{
    NOT_SANITIZED("the sanitizer needs address space without a limit");
    struct rlimit limit;
    OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = address_space() + 1536 * MIB;
    if (limit.rlim_cur > limit.rlim_max) {
        case_unsupported("too little address space (RLIMIT_AS)");
    }
    OK(setrlimit(RLIMIT_AS, &limit));
    for (size_t i = 0; i < OFTEN; i++) {
        live_together();
    }
    void *room = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
}

/* ---- no room for threads ---- */

static void *ends_at_once(void *arg)
{
    return arg;
}

/* Calls of a program that has one thread. */
static void works_alone(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec soon = after_ms(CLOCK_REALTIME, 1), moment = {0, NS_PER_MS};
    OK(pthread_mutex_lock(&mutex));
    CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&mutex));
    OK(nanosleep(&moment, NULL));
}

/* With so much more address space than the process has; then with all of it. */
static void create_is_refused_or_works(size_t more)
{
    struct rlimit old, limit;
    pthread_t t;
    CHECK(pthread_self() != 0);
    OK(getrlimit(RLIMIT_AS, &old));
    limit = old;
    limit.rlim_cur = address_space() + more;
    OK(setrlimit(RLIMIT_AS, &limit));
    works_alone();
    int error = pthread_create(&t, NULL, ends_at_once, &limit);
    if (error == 0) {
        CHECK_EQ(join(t), &limit);
    } else {
        CHECK_EQ(error, EAGAIN);
        works_alone();
    }
    OK(setrlimit(RLIMIT_AS, &old));
    CHECK_EQ(in_thread(ends_at_once, &limit), &limit);
    works_alone();
}

static size_t more_memory;

static void child_with_little(void)
{
    create_is_refused_or_works(more_memory);
    _exit(0);
}

CASE(create_is_eagain_without_memory_for_threads)
{
    NOT_SANITIZED("the sanitizer needs address space without a limit");
    for (size_t kib = 256; kib <= 16 * 1024; kib += kib / 4) {
        more_memory = kib * 1024;
        in_child(child_with_little);
    }
}
