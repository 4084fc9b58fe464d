/* SPDX-License-Identifier: MIT */
/*
 * variables.c - __thread variables, errno and other state that the C library keeps per thread: each
 * thread has its own, finds it initialised, and keeps it wherever another thread may run or it may
 * move to another worker.
 */
#include "../posix/check.h"

#include <ctype.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <locale.h>
#include <netdb.h>
#include <resolv.h>

#define THREADS 16
#define ROUNDS 200

static __thread int with_value = 7;
static __thread long without_value;
static __thread char aligned[64] __attribute__((aligned(64))) = "as new";
/* Initial-exec: addressed without a function call, so it must lie in the block itself. */
static __thread char large[4096] __attribute__((tls_model("initial-exec")));

static flag_t moved; /* threads that were seen on more than one kernel thread */

static pid_t kernel_thread(void)
{
    char name[32];
    ssize_t n = readlink("/proc/thread-self", name, sizeof(name) - 1);
    if (n < 0) {
        return 0;
    }
    name[n] = '\0';
    return (pid_t)strtol(strrchr(name, '/') + 1, NULL, 10);
}

static void is_new(void)
{
    CHECK_EQ(with_value, 7);
    CHECK_EQ(without_value, 0);
    CHECK_EQ(strcmp(aligned, "as new"), 0);
    CHECK_EQ((uintptr_t)aligned % 64, 0);
    for (size_t i = 0; i < sizeof(large); i++) {
        CHECK_EQ(large[i], 0);
    }
    CHECK_EQ(errno, 0);
    CHECK_EQ(h_errno, 0);
    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    CHECK(dlerror() == NULL);
    CHECK_EQ(_res.options & RES_INIT, 0);
}

static void write_all(long mark)
{
    with_value = (int)mark;
    without_value = mark * 3;
    snprintf(aligned, sizeof(aligned), "%ld", mark);
    memset(large, (int)mark, sizeof(large));
    errno = (int)mark;
    h_errno = (int)mark + 1;
}

static void has_all(long mark)
{
    char text[32];
    CHECK_EQ(errno, mark);
    CHECK_EQ(h_errno, mark + 1);
    snprintf(text, sizeof(text), "%ld", mark);
    CHECK_EQ(with_value, mark);
    CHECK_EQ(without_value, mark * 3);
    CHECK_EQ(strcmp(aligned, text), 0);
    for (size_t i = 0; i < sizeof(large); i += 511) {
        CHECK_EQ(large[i], (char)mark);
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void let_others_run(int round)
{
    int saved = errno;
    switch (round % 4) {
    case 0:
        usleep(50);
        break;
    case 1:
        OK(pthread_mutex_lock(&mutex));
        sched_yield();
        OK(pthread_mutex_unlock(&mutex));
        break;
    case 2:
        pthread_barrier_wait(&barrier);
        break;
    default:
        sched_yield();
    }
    errno = saved; /* functions may change it, other threads may not */
}

static void *keeps_all(void *arg)
{
    const volatile int *at = &with_value;
    pid_t first = kernel_thread();
    bool seen = false;
    is_new();
    for (int round = 0; round < ROUNDS; round++) {
        long mark = (long)arg * 1000 + round;
        write_all(mark);
        if (round % 4 == 3) {
            sched_yield(); /* does not change errno: POSIX has no error for it here */
        } else {
            let_others_run(round);
        }
        has_all(mark);
        CHECK(at == &with_value);
        errno = 0;
        seen |= kernel_thread() != first;
    }
    write_all((long)arg);
    if (seen) {
        flag_add(&moved, 1);
    }
    return NULL;
}

static void test_variables_belong_to_the_thread(void)
{
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    with_value = -1;
    errno = 77;
    for (int life = 0; life < 3; life++) { /* the second and third life use the memory of the
                                            * first */
        pthread_t t[THREADS];
        for (long i = 0; i < THREADS; i++) {
            t[i] = start(keeps_all, (void *)(i + 1));
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK(join(t[i]) == NULL);
        }
    }
    CHECK_EQ(with_value, -1);
    CHECK_EQ(errno, 77);
    with_value = 7;
    OK(pthread_barrier_destroy(&barrier));
    printf("   %d threads ran on more than one kernel thread\n", flag_get(&moved));
}

/* The C library's own view: its internal pthread_self gives the same thread. */
static void *is_the_librarys_self(void *arg)
{
    pthread_t (*self)(void);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    CHECK(libc != NULL);
    *(void **)&self = dlsym(libc, "pthread_self");
    for (int i = 0; i < 50; i++) {
        CHECK(pthread_equal(self(), pthread_self()));
        sched_yield();
    }
    dlclose(libc);
    return arg;
}

static void test_pthread_self_is_the_c_librarys(void)
{
    is_the_librarys_self(NULL);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(is_the_librarys_self, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}

static pid_t ids[THREADS];

static void *has_an_id(void *arg)
{
    pid_t *id = arg;
    *id = gettid();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(gettid(), *id);
        sched_yield();
    }
    return NULL;
}

static void test_gettid_is_unique_and_stays(void)
{
    pthread_t t[THREADS];
    CHECK_EQ(gettid(), getpid());
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(has_an_id, &ids[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
        CHECK(ids[i] > 0);
        for (int k = 0; k < i; k++) {
            CHECK(ids[k] != ids[i]);
        }
    }
    OK(pthread_barrier_destroy(&barrier));
}

static locale_t plain;

static void *uses_locales(void *arg)
{
    bool own = (long)arg % 2 != 0;
    is_new();
    CHECK(isalpha('x') && !isalpha('1'));
    if (own) {
        CHECK(uselocale(plain) == LC_GLOBAL_LOCALE);
    }
    for (int i = 0; i < 50; i++) {
        CHECK(uselocale((locale_t)0) == (own ? plain : LC_GLOBAL_LOCALE));
        CHECK(toupper('q') == 'Q');
        sched_yield();
    }
    return arg; /* not cleaned up: the next life must not find it */
}

static void test_uselocale_belongs_to_the_thread(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    CHECK(plain != (locale_t)0);
    for (int life = 0; life < 3; life++) {
        pthread_t t[THREADS];
        for (long i = 0; i < THREADS; i++) {
            t[i] = start(uses_locales, (void *)i);
        }
        for (int i = 0; i < THREADS; i++) {
            join(t[i]);
        }
    }
    freelocale(plain);
}

/* Buffers that functions without _r return: glibc keeps them per thread, that of strerror since
 * 2.32. */
static bool strerror_is_the_threads(void)
{
    return strverscmp(gnu_get_libc_version(), "2.32") >= 0;
}

static void *uses_buffers(void *arg)
{
    char want[64];
    int number = 10000 + (int)(long)arg;
    snprintf(want, sizeof(want), "Unknown error %d", number);
    const char *text = strerror(number);
    const char *signal_text = strsignal(number);
    CHECK(dlopen("/nonexistent/library.so", RTLD_NOW) == NULL);
    for (int i = 0; i < 20; i++) {
        CHECK(!strerror_is_the_threads() || strcmp(text, want) == 0);
        CHECK(strstr(signal_text, want + strlen("Unknown error ")) != NULL);
        sched_yield();
    }
    if ((long)arg % 2 == 0) {
        CHECK(strstr(dlerror(), "nonexistent") != NULL);
    }
    return NULL; /* odd ones leave the message of dlerror behind */
}

static void *has_no_message(void *arg)
{
    CHECK(dlerror() == NULL);
    return arg;
}

static void test_strerror_and_dlerror_belong_to_the_thread(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(uses_buffers, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    for (int i = 0; i < 2 * THREADS; i++) {
        join(start(has_no_message, NULL));
    }
}

/* The resolver's state is reached by a thread-local pointer into the thread's descriptor. */
static void *resolves(void *arg)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST}, *list;
    int mine = 3 + (int)(long)arg;
    is_new();
    OK(res_init());
    _res.retrans = mine;
    for (int i = 0; i < 10; i++) {
        OK(getaddrinfo("127.0.0.1", "80", &hints, &list));
        sched_yield();
        freeaddrinfo(list);
        CHECK_EQ(_res.retrans, mine);
    }
    hints.ai_flags = 0;
    int error = getaddrinfo("localhost", NULL, &hints, &list);
    CHECK(error == 0 || error == EAI_AGAIN || error == EAI_NONAME || error == EAI_SYSTEM);
    if (error == 0) {
        freeaddrinfo(list);
    }
    CHECK_EQ(_res.retrans, mine);
    return NULL;
}

static void test_resolver_state_belongs_to_the_thread(void)
{
    for (int life = 0; life < 3; life++) {
        pthread_t t[8];
        for (long i = 0; i < 8; i++) {
            t[i] = start(resolves, (void *)i);
        }
        for (int i = 0; i < 8; i++) {
            join(t[i]);
        }
    }
}

/* Each thread has malloc's cache of its own; blocks go from thread to thread. */
static void *allocates(void *arg)
{
    char **shared = arg;
    char *mine[32] = {NULL};
    for (int round = 0; round < 300; round++) {
        size_t i = (size_t)round % 32, size = 16 + (size_t)(round * 37 % 2000);
        if (mine[i] != NULL) {
            CHECK_EQ(mine[i][0], (char)i);
            free(mine[i]);
        }
        mine[i] = malloc(size);
        CHECK(mine[i] != NULL);
        memset(mine[i], (int)i, size);
        if (round % 16 == 0) {
            free(__atomic_exchange_n(&shared[round / 16], strdup("passed on"), __ATOMIC_ACQ_REL));
            sched_yield();
        }
    }
    for (size_t i = 0; i < 32; i++) {
        free(mine[i]);
    }
    return NULL;
}

/* Threads at once, and again in the memory of those before. */
static void lives_of(void *(*fn)(void *), void *arg)
{
    for (int life = 0; life < 4; life++) {
        pthread_t t[64];
        for (int i = 0; i < 64; i++) {
            t[i] = start(fn, arg);
        }
        for (int i = 0; i < 64; i++) {
            join(t[i]);
        }
    }
}

static void test_malloc_by_many_threads(void)
{
    static char *shared[32];
    lives_of(allocates, shared);
    for (int i = 0; i < 32; i++) {
        free(shared[i]);
    }
}

static void *on_a_given_stack(void *arg)
{
    is_new();
    write_all((long)arg);
    sched_yield();
    has_all((long)arg);
    return NULL;
}

/* A stack of the program: memory beside the actual stack is returned, clean, at the join. */
static void test_variables_of_threads_with_stacks_of_the_programs(void)
{
    static char stack[256 << 10] __attribute__((aligned(4096)));
    pthread_attr_t attr;
    for (long i = 0; i < 50; i++) {
        pthread_t t;
        memset(stack, 0xa5, sizeof(stack));
        OK(pthread_attr_init(&attr));
        OK(pthread_attr_setstack(&attr, stack, i % 2 ? sizeof(stack) : sizeof(stack) / 2));
        OK(pthread_create(&t, &attr, on_a_given_stack, (void *)(i + 1)));
        OK(pthread_attr_destroy(&attr));
        join(t);
    }
    for (long i = 0; i < 50; i++) { /* also sizes that are not kept in reserve */
        pthread_t t;
        OK(pthread_attr_init(&attr));
        OK(pthread_attr_setstacksize(&attr, SMALL_STACK + (size_t)i * 4096));
        OK(pthread_create(&t, &attr, on_a_given_stack, (void *)(i + 1)));
        OK(pthread_attr_destroy(&attr));
        join(t);
    }
}

/* The C library's area of restartable sequences tells the CPU, while the kernel writes it. It does
 * not for a thread with an id of Pirn's, in any of the lives of its block. */
static void *has_no_sequences(void *arg)
{
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    const long *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    bool own = gettid() > 1 << 22; /* the kernel's are below */
    for (int i = 0; i < 20 && size != NULL && *size != 0; i++) {
        int cpu;
        memcpy(&cpu, (const char *)pthread_self() + *offset + sizeof(int), sizeof(cpu));
        CHECK_EQ(cpu < 0, own);
        sched_yield();
    }
    return arg;
}

static void test_restartable_sequences_are_not_registered(void)
{
    lives_of(has_no_sequences, NULL);
}

int main(void)
{
    RUN(test_variables_belong_to_the_thread);
    RUN(test_pthread_self_is_the_c_librarys);
    RUN(test_gettid_is_unique_and_stays);
    RUN(test_uselocale_belongs_to_the_thread);
    RUN(test_strerror_and_dlerror_belong_to_the_thread);
    RUN(test_resolver_state_belongs_to_the_thread);
    RUN(test_restartable_sequences_are_not_registered);
    RUN(test_malloc_by_many_threads);
    RUN(test_variables_of_threads_with_stacks_of_the_programs);
    return 0;
}
