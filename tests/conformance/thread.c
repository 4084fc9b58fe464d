/* SPDX-License-Identifier: MIT */
/* thread.c - pthread_create, pthread_join, pthread_detach, pthread_exit, pthread_self,
 * pthread_equal. */
#include "harness.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>

#define THREADS 100

static void *echo(void *arg)
{
    return arg;
}

CASE(create_passes_argument_and_result)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(echo, (void *)i);
    }
    for (long i = 0; i < THREADS; i++) {
        CHECK_EQ((long)join(t[i]), i);
    }
}

static pthread_t published;

static void *sees_own_id(void *arg)
{
    (void)arg;
    return (void *)(long)pthread_equal(published, pthread_self());
}

/* Not promised by POSIX, but programs rely on it. */
CASE(create_stores_the_id_before_the_thread_runs)
{
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_create(&published, NULL, sees_own_id, NULL));
        CHECK(join(published));
    }
}

static flag_t go, waiting, done;

static void *waits_for_go(void *arg)
{
    flag_add(&waiting, 1);
    flag_wait(&go, 1);
    flag_add(&done, 1);
    return arg;
}

CASE(create_makes_joinable_threads_without_attributes)
{
    pthread_attr_t a;
    int state;
    pthread_t t = start(waits_for_go, (void *)1L);
    OK(pthread_getattr_np(t, &a));
    OK(pthread_attr_getdetachstate(&a, &state));
    CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_destroy(&a));
    flag_set(&go, 1);
    CHECK_EQ((long)join(t), 1);
}

CASE(create_copies_the_attributes)
{
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    pthread_t t = start_with(&a, waits_for_go, (void *)2L);
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_destroy(&a));
    memset(&a, 0xff, sizeof(a));
    flag_set(&go, 1);
    CHECK_EQ((long)join(t), 2);
}

CASE(create_uses_the_same_attributes_many_times)
{
    pthread_attr_t a;
    pthread_t t[8];
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, 256u << 10));
    for (long i = 0; i < 8; i++) {
        t[i] = start_with(&a, waits_for_go, (void *)i);
    }
    OK(pthread_attr_destroy(&a));
    flag_set(&go, 1);
    for (long i = 0; i < 8; i++) {
        CHECK_EQ((long)join(t[i]), i);
    }
}

CASE(create_makes_detached_threads_that_cannot_be_joined)
{
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    pthread_t t = start_with(&a, waits_for_go, NULL);
    CHECK_EQ(pthread_join(t, NULL), EINVAL);
    CHECK_EQ(pthread_detach(t), EINVAL);
    flag_set(&go, 1);
    flag_wait(&done, 1);
    OK(pthread_attr_destroy(&a));
}

static void limit_address_space(rlim_t bytes)
{
    NOT_SANITIZED("the sanitizer needs all address space");
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    OK(setrlimit(RLIMIT_AS, &limit));
}

/* If stacks were not released, address space would run out. Some may be kept for the next
 * threads. */
CASE(detached_threads_give_everything_back)
{
    enum { N = 10000 };
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_setstacksize(&a, 1u << 20));
    flag_set(&go, 1);
    limit_address_space(6ul << 30);
    for (int i = 0; i < N; i++) {
        start_with(&a, waits_for_go, NULL);
        flag_wait(&done, i + 1 - 16);
    }
    flag_wait(&done, N);
    OK(pthread_attr_destroy(&a));
}

CASE(create_is_eagain_without_memory)
{
    enum { MOST = 20000 };
    static pthread_t t[MOST];
    pthread_attr_t a;
    int n = 0, error = 0;
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, 64u << 20));
    join(start_with(&a, echo, NULL)); /* all lazy initialisation has happened */
    limit_address_space(12ul << 30);
    while (n < MOST && (error = pthread_create(&t[n], &a, waits_for_go, NULL)) == 0) {
        n++;
    }
    CHECK_EQ(error, EAGAIN);
    CHECK(n > 0);
    flag_set(&go, 1);
    for (int i = 0; i < n; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&done), n);
    join(start_with(&a, echo, NULL)); /* with memory available it works again */
}

static void drop_privileges(void)
{
    if (geteuid() == 0) {
        OK(setgroups(0, NULL));
        OK(setgid(65534));
        OK(setuid(65534));
    }
}

CASE(create_is_eperm_for_realtime_without_privilege)
{
    pthread_attr_t a;
    pthread_t t;
    struct rlimit none = {0, 0};
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    OK(setrlimit(RLIMIT_RTPRIO, &none));
    drop_privileges();
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    OK(pthread_attr_setschedparam(&a, &param));
    int error = pthread_create(&t, &a, echo, NULL);
    if (error == 0) {
        join(t);
        case_unsupported("SCHED_FIFO needs no privilege here");
    }
    CHECK_EQ(error, EPERM);
    OK(pthread_attr_destroy(&a));
    join(start(echo, NULL));
}

/* POSIX allows an error when the attribute is set. */
CASE(create_is_refused_for_a_stack_below_the_minimum)
{
    pthread_attr_t a;
    OK(pthread_attr_init(&a));
    CHECK_EQ(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN - 1), EINVAL);
    OK(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
    CHECK_EQ((long)join(start_with(&a, echo, (void *)5L)), 5);
    OK(pthread_attr_destroy(&a));
}

static void *tree(void *arg)
{
    long depth = (long)arg;
    if (depth == 0) {
        return (void *)1L;
    }
    pthread_t left = start(tree, (void *)(depth - 1));
    pthread_t right = start(tree, (void *)(depth - 1));
    return (void *)((long)join(left) + (long)join(right));
}

CASE(threads_create_and_join_threads)
{
    CHECK_EQ((long)tree((void *)7L), 128);
}

static void *deep(void *arg)
{
    volatile char room[256 << 10];
    for (size_t i = 0; i < sizeof(room); i += 1024) {
        room[i] = (char)i;
    }
    return room[1024 * 3] == (char)(1024 * 3) ? arg : NULL;
}

CASE(default_stack_is_as_large_as_the_systems)
{
    CHECK_EQ((long)in_thread(deep, (void *)9L), 9);
}

static int opened;

static void *shares(void *arg)
{
    char *path = arg;
    CHECK_EQ(getpid(), (long)atoi(path));
    opened = open("/dev/null", O_RDONLY);
    OK(chdir("/"));
    OK(setenv("PIRN_CONFORMANCE", "set", 1));
    return malloc(16);
}

CASE(threads_share_the_process)
{
    char cwd[PATH_MAX], pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    char *memory = in_thread(shares, pid);
    memset(memory, 1, 16);
    free(memory);
    OK(close(opened));
    CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
    OK(strcmp(cwd, "/"));
    OK(strcmp(getenv("PIRN_CONFORMANCE"), "set"));
}

CASE(join_waits_for_a_thread_that_still_runs)
{
    pthread_t t = start(waits_for_go, (void *)3L);
    flag_wait(&waiting, 1);
    flag_set(&go, 1);
    CHECK_EQ((long)join(t), 3);
    CHECK_EQ(flag_get(&done), 1);
}

CASE(join_finds_a_thread_that_has_ended)
{
    flag_set(&go, 1);
    pthread_t t = start(waits_for_go, (void *)3L);
    flag_wait(&done, 1);
    give_way();
    CHECK_EQ((long)join(t), 3);
}

CASE(join_discards_the_value_when_not_asked)
{
    OK(pthread_join(start(echo, (void *)3L), NULL));
}

CASE(join_sees_what_the_thread_wrote)
{
    enum { N = 1000 };
    static int cells[N];
    for (int i = 0; i < N; i++) {
        int *cell = in_thread(echo, &cells[i]);
        (*cell)++;
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(cells[i], 1);
    }
}

CASE(join_is_edeadlk_when_joining_oneself)
{
    CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
}

static void *join_arg(void *arg)
{
    return (void *)(long)pthread_join(*(pthread_t *)arg, NULL);
}

/* Allowed, not required. */
CASE(join_is_edeadlk_when_two_join_each_other)
{
    static pthread_t self;
    self = pthread_self();
    pthread_t t = start(join_arg, &self);
    int mine = pthread_join(t, NULL);
    /* The second thread gets the error; if that is main, it lets the other thread end. */
    OK_OR(mine, EDEADLK);
    if (mine == EDEADLK) {
        OK(pthread_detach(t));
    }
}

struct link {
    pthread_t next;
    flag_t set;
    int result;
};

static void *joins_next(void *arg)
{
    struct link *l = arg;
    flag_wait(&l->set, 1);
    __atomic_store_n(&l->result, pthread_join(l->next, NULL), __ATOMIC_SEQ_CST);
    return NULL;
}

static int refused_of(const struct link *l)
{
    for (int i = 0; i < 3; i++) {
        if (__atomic_load_n(&l[i].result, __ATOMIC_SEQ_CST) == EDEADLK) {
            return i;
        }
    }
    return -1;
}

CASE(join_is_edeadlk_when_three_join_in_a_circle)
{
    struct link l[3] = {0};
    pthread_t t[3];
    int refused;
    for (int i = 0; i < 3; i++) {
        t[i] = start(joins_next, &l[i]);
    }
    for (int i = 0; i < 3; i++) {
        l[i].next = t[(i + 1) % 3];
        flag_set(&l[i].set, 1);
    }
    while ((refused = refused_of(l)) < 0) {
        sched_yield();
    }
    join(l[refused].next); /* the others have been joined in turn */
    OK(l[(refused + 1) % 3].result);
    OK(l[(refused + 2) % 3].result);
}

CASE(join_is_einval_for_a_detached_thread)
{
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_detach(t));
    CHECK_EQ(pthread_join(t, NULL), EINVAL);
    flag_set(&go, 1);
    flag_wait(&done, 1);
}

static pthread_t target;

static void *joins_target(void *arg)
{
    int error;
    flag_add(&waiting, 1);
    while ((error = pthread_join(target, &arg)) == EINVAL) {
        sched_yield(); /* the other thread is doing it now */
    }
    OK(error);
    return arg;
}

CASE(join_is_einval_while_another_thread_joins)
{
    target = start(waits_for_go, (void *)4L);
    pthread_t joiner = start(joins_target, NULL);
    flag_wait(&waiting, 2);
    struct timespec at = {0};
    int error;
    while ((error = pthread_timedjoin_np(target, NULL, &at)) == ETIMEDOUT) {
        sched_yield(); /* the other thread has not got there yet */
    }
    CHECK_EQ(error, EINVAL);
    flag_set(&go, 1);
    CHECK_EQ((long)join(joiner), 4);
}

CASE(detach_of_a_running_thread_lets_it_run)
{
    pthread_t t = start(waits_for_go, NULL);
    flag_wait(&waiting, 1);
    OK(pthread_detach(t));
    flag_set(&go, 1);
    flag_wait(&done, 1);
}

CASE(detach_of_a_thread_that_has_ended)
{
    flag_set(&go, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_t t = start(waits_for_go, NULL);
        flag_wait(&done, i + 1);
        if (i % 4 == 0) {
            give_way();
        }
        OK(pthread_detach(t));
    }
}

static void *detaches_itself(void *arg)
{
    OK(pthread_detach(pthread_self()));
    flag_add(&done, 1);
    return arg;
}

CASE(detach_of_oneself)
{
    for (int i = 0; i < THREADS; i++) {
        start(detaches_itself, NULL);
    }
    flag_wait(&done, THREADS);
}

CASE(detach_is_einval_for_a_detached_thread)
{
    pthread_t t = start(waits_for_go, NULL);
    OK(pthread_detach(t));
    CHECK_EQ(pthread_detach(t), EINVAL);
    flag_set(&go, 1);
    flag_wait(&done, 1);
}

static void *exits(void *arg)
{
    pthread_exit(arg);
}

CASE(exit_passes_the_value_to_the_joiner)
{
    CHECK_EQ((long)in_thread(exits, (void *)7L), 7);
}

static volatile int bottom;

static __attribute__((noinline)) void exits_below(int depth, void *value)
{
    volatile char frame[512];
    frame[0] = 1;
    if (depth == bottom) {
        pthread_exit(value);
    }
    if (depth < bottom) {
        return;
    }
    exits_below(depth - 1, value);
    frame[511] = frame[0];
}

static void *exits_deep(void *arg)
{
    exits_below(50, arg);
    return NULL;
}

CASE(exit_leaves_from_any_depth)
{
    for (long i = 0; i < THREADS; i++) {
        CHECK_EQ((long)in_thread(exits_deep, (void *)i), i);
    }
}

CASE(exit_gives_canceled_its_own_value)
{
    CHECK(PTHREAD_CANCELED != NULL);
    CHECK(in_thread(exits, PTHREAD_CANCELED) == PTHREAD_CANCELED);
}

CASE(equal_tells_threads_apart)
{
    pthread_t t = start(echo, NULL), u = start(echo, NULL);
    CHECK(!pthread_equal(t, pthread_self()));
    CHECK(!pthread_equal(t, u));
    CHECK(pthread_equal(t, t));
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    join(t);
    join(u);
}

static void *stays_itself(void *arg)
{
    pthread_t self = pthread_self();
    for (int i = 0; i < 200; i++) {
        sched_yield();
        CHECK(pthread_equal(self, pthread_self()));
    }
    return arg;
}

CASE(self_stays_the_same)
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++) {
        t[i] = start(stays_itself, NULL);
    }
    for (int i = 0; i < 8; i++) {
        join(t[i]);
    }
}

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool open;
    int passed;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};

static void *passes_gate(void *arg)
{
    OK(pthread_mutex_lock(&gate.mutex));
    while (!gate.open) {
        OK(pthread_cond_wait(&gate.opened, &gate.mutex));
    }
    gate.passed++;
    OK(pthread_mutex_unlock(&gate.mutex));
    return arg;
}

/* They do not poll: a thousand kernel threads that do keep the others from the processors. */
CASE(a_thousand_threads_live_together)
{
    enum { N = 1000 };
    static pthread_t t[N];
    for (long i = 0; i < N; i++) {
        t[i] = start(passes_gate, (void *)i);
    }
    OK(pthread_mutex_lock(&gate.mutex));
    CHECK_EQ(gate.passed, 0);
    gate.open = true;
    OK(pthread_cond_broadcast(&gate.opened));
    OK(pthread_mutex_unlock(&gate.mutex));
    for (long i = 0; i < N; i++) {
        CHECK_EQ((long)join(t[i]), i);
    }
    CHECK_EQ(gate.passed, N);
}
