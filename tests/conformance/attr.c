/* SPDX-License-Identifier: MIT */
/* attr.c - thread attributes: defaults, round trips, refused values, and their effect on a
 * thread. */
#include "harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define STACK (256u << 10)

static void init(pthread_attr_t *a)
{
    memset(a, 0xa5, sizeof(*a)); /* init sets every byte that counts */
    OK(pthread_attr_init(a));
}

CASE(init_sets_defaults)
{
    pthread_attr_t a;
    struct sched_param param;
    struct rlimit limit;
    void *low;
    int value;
    size_t size;
    init(&a);
    OK(pthread_attr_getdetachstate(&a, &value));
    CHECK_EQ(value, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_getinheritsched(&a, &value));
    CHECK_EQ(value, PTHREAD_INHERIT_SCHED);
    OK(pthread_attr_getschedpolicy(&a, &value));
    CHECK_EQ(value, SCHED_OTHER);
    OK(pthread_attr_getschedparam(&a, &param));
    CHECK_EQ(param.sched_priority, 0);
    OK(pthread_attr_getscope(&a, &value));
    CHECK_EQ(value, PTHREAD_SCOPE_SYSTEM);
    OK(pthread_attr_getguardsize(&a, &size));
    CHECK_EQ(size, sysconf(_SC_PAGESIZE));
    OK(pthread_attr_getstacksize(&a, &size));
    OK(getrlimit(RLIMIT_STACK, &limit));
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= (1u << 30)) {
        CHECK_EQ(size, limit.rlim_cur);
    }
    OK(pthread_attr_getstack(&a, &low, &size));
    OK(pthread_attr_destroy(&a));
}

CASE(init_works_again_after_destroy)
{
    pthread_attr_t a;
    int state;
    for (int i = 0; i < 3; i++) {
        init(&a);
        OK(pthread_attr_getdetachstate(&a, &state));
        CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
        OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
        OK(pthread_attr_destroy(&a));
    }
}

CASE(detachstate_is_kept)
{
    pthread_attr_t a;
    int state;
    init(&a);
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_getdetachstate(&a, &state));
    CHECK_EQ(state, PTHREAD_CREATE_DETACHED);
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_JOINABLE));
    OK(pthread_attr_getdetachstate(&a, &state));
    CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_destroy(&a));
}

CASE(detachstate_is_einval_for_other_values)
{
    pthread_attr_t a;
    int state;
    init(&a);
    CHECK_EQ(pthread_attr_setdetachstate(&a, 17), EINVAL);
    CHECK_EQ(pthread_attr_setdetachstate(&a, -1), EINVAL);
    OK(pthread_attr_getdetachstate(&a, &state));
    CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_destroy(&a));
}

CASE(guardsize_is_kept)
{
    pthread_attr_t a;
    size_t size;
    init(&a);
    static const size_t sizes[] = {0, 1, 4096, 12345, 1u << 20};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        OK(pthread_attr_setguardsize(&a, sizes[i]));
        OK(pthread_attr_getguardsize(&a, &size));
        CHECK_EQ(size, sizes[i]); /* as it was set, even if it is rounded later */
    }
    OK(pthread_attr_destroy(&a));
}

static void *echo(void *arg)
{
    return arg;
}

CASE(threads_run_with_any_guardsize)
{
    pthread_attr_t a;
    static const size_t sizes[] = {0, 1, 4096, 65536};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        init(&a);
        OK(pthread_attr_setguardsize(&a, sizes[i]));
        OK(pthread_attr_setstacksize(&a, STACK));
        CHECK_EQ((long)join(start_with(&a, echo, (void *)3L)), 3);
        OK(pthread_attr_destroy(&a));
    }
}

static __attribute__((noinline)) int overflows(int depth)
{
    volatile char frame[1024];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : overflows(depth + 1) + frame[0];
}

static void *overflows_stack(void *arg)
{
    return (void *)(long)overflows((int)(long)arg);
}

#define BIG_GUARD (1u << 20)

static void *steps_over_a_page(void *arg)
{
    pthread_attr_t a;
    void *low;
    size_t size;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &low, &size));
    *((volatile char *)low - BIG_GUARD / 2) = 1;
    return arg;
}

CASE(guard_is_as_large_as_asked)
{
    NOT_SANITIZED("the sanitizer reports it in its own way");
    pid_t child = fork();
    int status;
    if (child == 0) {
        pthread_attr_t a;
        init(&a);
        OK(pthread_attr_setstacksize(&a, STACK));
        OK(pthread_attr_setguardsize(&a, BIG_GUARD));
        close(STDERR_FILENO);
        join(start_with(&a, steps_over_a_page, NULL));
        _exit(0);
    }
    while (waitpid(child, &status, 0) != child) {
    }
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

static void *own_guardsize(void *size)
{
    pthread_attr_t a;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getguardsize(&a, size));
    OK(pthread_attr_destroy(&a));
    return NULL;
}

/* One after the other: no thread gets another one's guard size. */
CASE(guardsize_is_given_to_the_thread)
{
    static const size_t sizes[] = {0, 8192, 4096, 65536, 0, 8192};
    for (size_t i = 0; i < 4 * COUNT(sizes); i++) {
        pthread_attr_t a;
        size_t want = sizes[i % COUNT(sizes)], got = 1;
        init(&a);
        OK(pthread_attr_setstacksize(&a, STACK));
        OK(pthread_attr_setguardsize(&a, want));
        join(start_with(&a, own_guardsize, &got));
        CHECK_EQ(got, want);
        OK(pthread_attr_destroy(&a));
    }
}

/* An access beyond the stack is a signal, not an access to other memory. */
CASE(guard_catches_overflow)
{
    NOT_SANITIZED("the sanitizer reports it in its own way");
    pid_t child = fork();
    int status;
    if (child == 0) {
        pthread_attr_t a;
        init(&a);
        OK(pthread_attr_setstacksize(&a, STACK));
        close(STDERR_FILENO); /* a report may go there */
        join(start_with(&a, overflows_stack, (void *)1L));
        _exit(0);
    }
    while (waitpid(child, &status, 0) != child) {
    }
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

CASE(inheritsched_is_kept)
{
    pthread_attr_t a;
    int value;
    init(&a);
    OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_getinheritsched(&a, &value));
    CHECK_EQ(value, PTHREAD_EXPLICIT_SCHED);
    OK(pthread_attr_setinheritsched(&a, PTHREAD_INHERIT_SCHED));
    OK(pthread_attr_getinheritsched(&a, &value));
    CHECK_EQ(value, PTHREAD_INHERIT_SCHED);
    OK(pthread_attr_destroy(&a));
}

CASE(inheritsched_is_einval_for_other_values)
{
    pthread_attr_t a;
    init(&a);
    CHECK_EQ(pthread_attr_setinheritsched(&a, 17), EINVAL);
    CHECK_EQ(pthread_attr_setinheritsched(&a, -1), EINVAL);
    OK(pthread_attr_destroy(&a));
}

CASE(schedpolicy_is_kept)
{
    static const int policies[] = {SCHED_FIFO, SCHED_RR, SCHED_OTHER};
    pthread_attr_t a;
    int value;
    init(&a);
    for (size_t i = 0; i < COUNT(policies); i++) {
        OK(pthread_attr_setschedpolicy(&a, policies[i]));
        OK(pthread_attr_getschedpolicy(&a, &value));
        CHECK_EQ(value, policies[i]);
    }
    OK(pthread_attr_destroy(&a));
}

CASE(schedpolicy_is_einval_for_other_values)
{
    pthread_attr_t a;
    init(&a);
    CHECK_EQ(pthread_attr_setschedpolicy(&a, 17), EINVAL);
    CHECK_EQ(pthread_attr_setschedpolicy(&a, -1), EINVAL);
    OK(pthread_attr_destroy(&a));
}

CASE(schedparam_is_kept)
{
    pthread_attr_t a;
    init(&a);
    OK(pthread_attr_setschedpolicy(&a, SCHED_RR));
    for (int p = sched_get_priority_min(SCHED_RR); p <= sched_get_priority_max(SCHED_RR); p++) {
        struct sched_param param = {.sched_priority = p}, got;
        OK(pthread_attr_setschedparam(&a, &param));
        OK(pthread_attr_getschedparam(&a, &got));
        CHECK_EQ(got.sched_priority, p);
    }
    OK(pthread_attr_destroy(&a));
}

CASE(schedparam_is_einval_for_other_values)
{
    pthread_attr_t a;
    init(&a);
    struct sched_param param = {.sched_priority = 1};
    CHECK_EQ(pthread_attr_setschedparam(&a, &param), EINVAL); /* SCHED_OTHER allows only 0 */
    OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    param.sched_priority = sched_get_priority_max(SCHED_FIFO) + 1;
    CHECK_EQ(pthread_attr_setschedparam(&a, &param), EINVAL);
    param.sched_priority = sched_get_priority_min(SCHED_FIFO) - 1;
    CHECK_EQ(pthread_attr_setschedparam(&a, &param), EINVAL);
    OK(pthread_attr_destroy(&a));
}

CASE(scope_is_kept)
{
    pthread_attr_t a;
    int value;
    init(&a);
    OK(pthread_attr_setscope(&a, PTHREAD_SCOPE_SYSTEM));
    OK(pthread_attr_getscope(&a, &value));
    CHECK_EQ(value, PTHREAD_SCOPE_SYSTEM);
    OK_OR(pthread_attr_setscope(&a, PTHREAD_SCOPE_PROCESS), ENOTSUP);
    OK(pthread_attr_destroy(&a));
}

CASE(scope_process_is_enotsup)
{
    pthread_attr_t a;
    int value;
    init(&a);
    CHECK_EQ(pthread_attr_setscope(&a, PTHREAD_SCOPE_PROCESS), ENOTSUP);
    OK(pthread_attr_getscope(&a, &value));
    CHECK_EQ(value, PTHREAD_SCOPE_SYSTEM);
    OK(pthread_attr_destroy(&a));
}

CASE(scope_is_einval_for_other_values)
{
    pthread_attr_t a;
    init(&a);
    CHECK_EQ(pthread_attr_setscope(&a, 17), EINVAL);
    OK(pthread_attr_destroy(&a));
}

CASE(stacksize_is_kept)
{
    pthread_attr_t a;
    size_t size;
    init(&a);
    OK(pthread_attr_setstacksize(&a, STACK));
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK_EQ(size, STACK);
    OK(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK_EQ(size, PTHREAD_STACK_MIN);
    OK(pthread_attr_destroy(&a));
}

CASE(stacksize_is_einval_below_the_minimum)
{
    pthread_attr_t a;
    size_t before, after;
    init(&a);
    OK(pthread_attr_getstacksize(&a, &before));
    CHECK_EQ(pthread_attr_setstacksize(&a, 0), EINVAL);
    CHECK_EQ(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN - 1), EINVAL);
    OK(pthread_attr_getstacksize(&a, &after));
    CHECK_EQ(after, before);
    OK(pthread_attr_destroy(&a));
}

static void *fills(void *arg)
{
    size_t bytes = (size_t)arg;
    volatile char room[bytes];
    for (size_t i = 0; i < bytes; i += 1024) {
        room[i] = (char)(i >> 10);
    }
    return room[1024] == 1 ? arg : NULL;
}

CASE(stacksize_is_usable_whole)
{
    static const size_t sizes[] = {STACK, 1u << 20, 13u << 20, 64u << 20};
    pthread_attr_t a;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        void *most = (void *)(sizes[i] - (16u << 10));
        init(&a);
        OK(pthread_attr_setstacksize(&a, sizes[i]));
        CHECK(join(start_with(&a, fills, most)) == most);
        OK(pthread_attr_destroy(&a));
    }
}

CASE(stack_is_kept)
{
    static char memory[STACK] __attribute__((aligned(4096)));
    pthread_attr_t a;
    void *low;
    size_t size;
    init(&a);
    OK(pthread_attr_setstack(&a, memory, STACK));
    OK(pthread_attr_getstack(&a, &low, &size));
    CHECK(low == memory);
    CHECK_EQ(size, STACK);
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK_EQ(size, STACK);
    OK(pthread_attr_destroy(&a));
}

CASE(stack_is_einval_below_the_minimum)
{
    static char memory[STACK] __attribute__((aligned(4096)));
    pthread_attr_t a;
    init(&a);
    CHECK_EQ(pthread_attr_setstack(&a, memory, 100), EINVAL);
    CHECK_EQ(pthread_attr_setstack(&a, memory, PTHREAD_STACK_MIN - 1), EINVAL);
    OK(pthread_attr_destroy(&a));
}

/* An older interface of glibc: the address is the stack's upper end where stacks grow down. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(stackaddr_is_kept)
{
    static char memory[STACK] __attribute__((aligned(4096)));
    pthread_attr_t a;
    void *top, *low;
    size_t size;
    init(&a);
    OK(pthread_attr_setstackaddr(&a, memory + STACK));
    OK(pthread_attr_setstacksize(&a, STACK));
    OK(pthread_attr_getstackaddr(&a, &top));
    CHECK(top == memory + STACK);
    OK(pthread_attr_getstack(&a, &low, &size));
    CHECK(low == memory);
    OK(pthread_attr_destroy(&a));
}
#pragma GCC diagnostic pop

struct bounds {
    char *low;
    size_t size;
    int detached;
};

/* The reported stack contains the caller's variables. */
static void *measures(void *arg)
{
    struct bounds *b = arg;
    pthread_attr_t a;
    void *low;
    char here;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &low, &b->size));
    OK(pthread_attr_getdetachstate(&a, &b->detached));
    b->low = low;
    CHECK(&here >= b->low && &here < b->low + b->size);
    OK(pthread_attr_destroy(&a));
    return NULL;
}

CASE(stack_of_the_caller_is_used)
{
    char *memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t a;
    struct bounds b;
    CHECK(memory != MAP_FAILED);
    init(&a);
    OK(pthread_attr_setstack(&a, memory, STACK));
    for (int i = 0; i < 3; i++) {
        join(start_with(&a, measures, &b));
        CHECK(b.low >= memory && b.low + b.size <= memory + STACK);
    }
    OK(pthread_attr_destroy(&a));
    OK(munmap(memory, STACK)); /* after join no thread uses it */
}

/* Neither end is on a boundary: no byte outside is touched. */
CASE(stack_of_the_caller_may_be_unaligned)
{
    unsigned char *memory =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t a;
    struct bounds b;
    CHECK(memory != MAP_FAILED);
    for (size_t odd = 1; odd < 64; odd += 9) {
        size_t size = STACK - 2 * 64 - odd;
        memset(memory, 0x5a, STACK);
        init(&a);
        OK(pthread_attr_setstack(&a, memory + 64 + odd / 2, size));
        join(start_with(&a, measures, &b));
        CHECK(b.low >= (char *)memory + 64 + odd / 2);
        CHECK(b.low + b.size <= (char *)memory + 64 + odd / 2 + size);
        for (size_t i = 0; i < STACK; i++) {
            CHECK((i >= 64 + odd / 2 && i < 64 + odd / 2 + size) || memory[i] == 0x5a);
        }
        OK(pthread_attr_destroy(&a));
    }
    OK(munmap(memory, STACK));
}

CASE(stack_of_the_caller_may_have_the_minimum)
{
    char *memory = aligned_alloc(4096, PTHREAD_STACK_MIN);
    pthread_attr_t a;
    init(&a);
    OK(pthread_attr_setstack(&a, memory, PTHREAD_STACK_MIN));
    CHECK_EQ((long)join(start_with(&a, echo, (void *)4L)), 4);
    OK(pthread_attr_destroy(&a));
    free(memory);
}

CASE(getattr_tells_the_stack_of_a_thread)
{
    pthread_attr_t a;
    struct bounds b;
    init(&a);
    OK(pthread_attr_setstacksize(&a, STACK));
    join(start_with(&a, measures, &b));
    CHECK(b.size >= STACK * 3 / 4);
    CHECK_EQ(b.detached, PTHREAD_CREATE_JOINABLE);
    join(start(measures, &b));
    OK(pthread_attr_destroy(&a));
}

CASE(getattr_tells_the_stack_of_main)
{
    struct bounds b;
    struct rlimit limit;
    measures(&b);
    OK(getrlimit(RLIMIT_STACK, &limit));
    if (limit.rlim_cur != RLIM_INFINITY) {
        CHECK(b.size <= limit.rlim_cur);
    }
}

static void *becomes_detached(void *arg)
{
    struct bounds b;
    OK(pthread_detach(pthread_self()));
    measures(&b);
    CHECK_EQ(b.detached, PTHREAD_CREATE_DETACHED);
    flag_set(arg, 1);
    return NULL;
}

CASE(getattr_tells_the_detach_state)
{
    static flag_t done;
    start(becomes_detached, &done);
    flag_wait(&done, 1);
}

static flag_t go;

static void *waits(void *arg)
{
    flag_wait(&go, 1);
    return arg;
}

CASE(getattr_tells_guard_and_scheduling)
{
    pthread_attr_t a, got;
    struct sched_param param;
    int policy, inherit;
    size_t size;
    init(&a);
    OK(pthread_attr_setguardsize(&a, 8192));
    pthread_t t = start_with(&a, waits, NULL);
    OK(pthread_getattr_np(t, &got));
    OK(pthread_attr_getguardsize(&got, &size));
    CHECK_EQ(size, 8192);
    OK(pthread_attr_getschedpolicy(&got, &policy));
    CHECK_EQ(policy, SCHED_OTHER);
    OK(pthread_attr_getschedparam(&got, &param));
    CHECK_EQ(param.sched_priority, 0);
    OK(pthread_attr_getinheritsched(&got, &inherit));
    CHECK_EQ(inherit, PTHREAD_INHERIT_SCHED);
    flag_set(&go, 1);
    join(t);
    OK(pthread_attr_destroy(&got));
    OK(pthread_attr_destroy(&a));
}

/* Attributes from pthread_getattr_np may be used to make another thread of the same kind. */
CASE(getattr_gives_attributes_that_can_be_read_often)
{
    for (int i = 0; i < 1000; i++) {
        pthread_attr_t a;
        OK(pthread_getattr_np(pthread_self(), &a));
        OK(pthread_attr_destroy(&a));
    }
}

CASE(default_attributes_can_be_changed)
{
    pthread_attr_t a, old;
    struct bounds b;
    size_t size;
    OK(pthread_getattr_default_np(&old));
    init(&a);
    OK(pthread_attr_setstacksize(&a, 16u << 20));
    OK(pthread_setattr_default_np(&a));
    join(start(measures, &b));
    CHECK(b.size >= (15u << 20));
    OK(pthread_attr_destroy(&a));
    init(&a);
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK_EQ(size, 16u << 20);
    OK(pthread_setattr_default_np(&old));
    init(&a);
    OK(pthread_attr_getstacksize(&a, &size));
    CHECK(size != 16u << 20);
    OK(pthread_attr_destroy(&a));
    OK(pthread_attr_destroy(&old));
}

CASE(default_attributes_are_einval_with_a_stack)
{
    static char memory[STACK] __attribute__((aligned(4096)));
    pthread_attr_t a;
    init(&a);
    OK(pthread_attr_setstack(&a, memory, STACK));
    CHECK_EQ(pthread_setattr_default_np(&a), EINVAL);
    OK(pthread_attr_destroy(&a));
}
