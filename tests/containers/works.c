/* SPDX-License-Identifier: MIT */
/*
 * works.c - what threads need of the system, feature by feature. Each runs in a child of its own,
 * with a limit of time, so that one that fails or hangs leaves the others alone.
 *
 *   works [FEATURE...]       default: all
 *
 * Prints "ok FEATURE" or "failed FEATURE: why" for each; status 1: one has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 20, FAILED = 1, THREADS = 100, DEEP = 1 << 22 };

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "works: %s: line %d: %s\n", feature, __LINE__, #cond);                 \
            _exit(FAILED);                                                                         \
        }                                                                                          \
    } while (0)

static const char *feature = "";

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    CHECK(pthread_create(&t, NULL, fn, arg) == 0);
    return t;
}

static void *end_of(pthread_t t)
{
    void *result;
    CHECK(pthread_join(t, &result) == 0);
    return result;
}

/* ---- threads and their objects ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long count;

static void *counts(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void test_threads(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(counts, (void *)i);
    }
    pthread_mutex_lock(&mutex);
    while (count < THREADS * 1000) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    for (long i = 0; i < THREADS; i++) {
        CHECK(end_of(t[i]) == (void *)i);
    }
}

/* ---- time ---- */

static void *sleeps(void *arg)
{
    struct timespec t = {0, 20000000};
    nanosleep(&t, NULL);
    return arg;
}

static void test_sleep(void)
{
    double from = seconds();
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(sleeps, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        end_of(t[i]);
    }
    CHECK(seconds() - from < 1.5); /* one after the other: 2 */
}

/* ---- a thread that computes lets others run ---- */

static atomic_int flag;

static void *sets_flag(void *arg)
{
    atomic_store(&flag, 1);
    return arg;
}

static void test_preemption(void)
{
    pthread_t t = start(sets_flag, NULL);
    while (atomic_load(&flag) == 0) {
    }
    end_of(t);
}

/* ---- waits in the kernel ---- */

static int ends[2];

static void *writes(void *arg)
{
    sched_yield();
    CHECK(write(ends[1], "x", 1) == 1);
    return arg;
}

static void test_pipe(void)
{
    char byte;
    CHECK(pipe(ends) == 0);
    pthread_t t = start(writes, NULL);
    CHECK(read(ends[0], &byte, 1) == 1);
    end_of(t);
}

static void test_socket(void)
{
    char byte;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pthread_t t = start(writes, NULL);
    CHECK(recv(ends[0], &byte, 1, 0) == 1);
    end_of(t);
}

static void test_poll(void)
{
    CHECK(pipe(ends) == 0);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    pthread_t t = start(writes, NULL);
    CHECK(poll(&p, 1, -1) == 1 && (p.revents & POLLIN));
    end_of(t);
}

/* A call that the runtime does not see, as programs in other languages make it. */
static long raw_read(int fd, void *to, size_t size)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_read), "D"(fd), "S"(to), "d"(size)
                     : "rcx", "r11", "memory");
    return result;
#else
    return read(fd, to, size);
#endif
}

static void test_unannounced(void)
{
    char byte;
    CHECK(pipe(ends) == 0);
    pthread_t t = start(writes, NULL);
    long n;
    while ((n = raw_read(ends[0], &byte, 1)) == -EINTR) {
    }
    CHECK(n == 1);
    end_of(t);
}

static void test_resolver(void)
{
    struct addrinfo *found = NULL;
    int error = getaddrinfo("localhost", NULL, NULL, &found);
    CHECK(error == 0 || error == EAI_AGAIN || error == EAI_NONAME || error == EAI_SYSTEM);
}

/* ---- signals, cancellation ---- */

static pthread_t handled;
static atomic_int handled_by_other;

static void on_signal(int signal)
{
    (void)signal;
    if (!pthread_equal(pthread_self(), handled)) {
        atomic_fetch_add(&handled_by_other, 1);
    }
    atomic_fetch_add(&flag, 1);
}

static void *waits_for_flag(void *arg)
{
    while (atomic_load(&flag) == 0) {
        sched_yield();
    }
    return arg;
}

static void test_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    handled = start(waits_for_flag, NULL);
    CHECK(pthread_kill(handled, SIGUSR1) == 0);
    end_of(handled);
    CHECK(atomic_load(&handled_by_other) == 0);
    atomic_store(&flag, 0);
    CHECK(kill(getpid(), SIGUSR1) == 0); /* also as process 1 */
    while (atomic_load(&flag) == 0) {
        sched_yield();
    }
}

static void *reads_for_ever(void *arg)
{
    char byte;
    atomic_store(&flag, 1);
    CHECK(read(ends[0], &byte, 1) != 1);
    return arg;
}

static void test_cancel(void)
{
    CHECK(pipe(ends) == 0);
    pthread_t t = start(reads_for_ever, NULL);
    waits_for_flag(NULL);
    usleep(1000);
    CHECK(pthread_cancel(t) == 0 && end_of(t) == PTHREAD_CANCELED);
}

/* ---- memory ---- */

static _Thread_local long mine;

static void *uses_own(void *arg)
{
    mine = (long)arg;
    errno = (int)(long)arg;
    pthread_mutex_lock(&mutex); /* held by main: all threads wait */
    pthread_mutex_unlock(&mutex);
    CHECK(mine == (long)arg && errno == (int)(long)arg);
    return arg;
}

static void test_storage(void)
{
    pthread_t t[THREADS];
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(uses_own, (void *)(i + 1));
    }
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS; i++) {
        end_of(t[i]);
    }
}

/* Uses each frame after the call, too: compilers make no loop of it. */
static long deepen(volatile long depth)
{
    volatile char frame[4096];
    frame[0] = 1;
    long below = depth != 0 ? deepen(depth - 1) : 0;
    return below + frame[0];
}

static void *overflows(void *arg)
{
    return (void *)deepen((long)arg);
}

/* The child of a child: SIGSEGV, not memory of another thread. */
static void test_guards(void)
{
    int status;
    struct rlimit none = {0, 0};
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setrlimit(RLIMIT_CORE, &none);
        CHECK(freopen("/dev/null", "w", stderr) != NULL); /* the message */
        end_of(start(overflows, (void *)(long)DEEP));
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- processes ---- */

static void test_fork(void)
{
    int status;
    end_of(start(sets_flag, NULL));
    pid_t child = fork();
    if (child == 0) {
        end_of(start(sets_flag, NULL));
        _exit(3);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_shared(void)
{
    int status;
    sem_t *sem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(sem != MAP_FAILED && sem_init(sem, 1, 0) == 0);
    end_of(start(sets_flag, NULL));
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        _exit(sem_post(sem));
    }
    CHECK(child > 0 && sem_wait(sem) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} features[] = {
    {"threads", test_threads},
    {"sleep", test_sleep},
    {"preemption", test_preemption},
    {"pipe", test_pipe},
    {"socket", test_socket},
    {"poll", test_poll},
    {"unannounced", test_unannounced},
    {"resolver", test_resolver},
    {"signals", test_signals},
    {"cancel", test_cancel},
    {"storage", test_storage},
    {"guards", test_guards},
    {"fork", test_fork},
    {"shared", test_shared},
};
enum { FEATURES = sizeof(features) / sizeof(features[0]) };

/* Nor may a signal be needed to end it: signals may be what does not work. */
static int status_of(pid_t child, bool *hangs)
{
    int status;
    double until = seconds() + LIMIT;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && seconds() < until) {
        usleep(2000);
    }
    *hangs = ended == 0;
    if (*hangs) {
        kill(child, SIGKILL);
        ended = waitpid(child, &status, 0);
    }
    CHECK(ended == child);
    return status;
}

/* The parent has no threads, so that nothing but the child depends on the runtime. */
static bool passes(unsigned i)
{
    bool hangs;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        feature = features[i].name;
        features[i].run();
        exit(0);
    }
    CHECK(child > 0);
    int status = status_of(child, &hangs);
    if (status == 0) {
        printf("ok %s\n", features[i].name);
    } else if (WIFEXITED(status)) {
        printf("failed %s: status %d\n", features[i].name, WEXITSTATUS(status));
    } else {
        printf("failed %s: %s\n", features[i].name,
               hangs ? "it hangs" : strsignal(WTERMSIG(status)));
    }
    return status == 0;
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    unsigned bad = 0, done = 0;
    for (unsigned i = 0; i < FEATURES; i++) {
        if (wanted(features[i].name, argc, argv)) {
            bad += !passes(i);
            done++;
        }
    }
    if (argc > 1 && done != (unsigned)argc - 1) {
        fprintf(stderr, "works: a feature is not known, or named twice\n");
        return 2;
    }
    return bad != 0;
}
