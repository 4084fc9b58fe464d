/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - a library with an allocator and an mmap of its own that call every function of
 * calls.def, from ld.so's first call on. jemalloc, tcmalloc and the hooks of RDMA libraries call
 * some of them in any thread that allocates, including the one that starts the runtime. As in
 * those, allocations from inside a hook are not hooked again.
 *
 * HOOKS names the source: malloc, mmap, constructor, or all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define EVERY 256 /* one of so many calls of malloc makes all calls; so do all of the first ones */
#define FIRST 60
#define CREATED 40 /* threads, by the first of the calls */

/* The names that the C library itself calls. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

int __sched_yield(void);
int yield_np(void) __asm__("pthread_yield") __attribute__((weak));
#define pthread_yield_np() (yield_np != NULL ? yield_np() : 0)

/* The library's own functions; missing with the C library's threads. */
int pthread_getweight_np(pthread_t thread, unsigned *weight) __attribute__((weak));
int pthread_setweight_np(pthread_t thread, unsigned weight) __attribute__((weak));
int pthread_add_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));
int pthread_del_taskaffinity_np(pthread_t consumer, pthread_t producer) __attribute__((weak));
int pthread_getdemand_np(pthread_t thread, void *demand) __attribute__((weak));
int pthread_setdemand_np(pthread_t thread, const void *demand) __attribute__((weak));
int pthread_job_wait_np(unsigned *missed) __attribute__((weak));
int pthread_getconcurrency(void);
int pthread_num_processors_np(void) __attribute__((weak));
#define pthread_getweight_np(t, w) (pthread_getweight_np != NULL ? pthread_getweight_np(t, w) : 0)
#define pthread_setweight_np(t, w) (pthread_setweight_np != NULL ? pthread_setweight_np(t, w) : 1)
#define pthread_add_taskaffinity_np(c, p)                                                          \
    (pthread_add_taskaffinity_np != NULL ? pthread_add_taskaffinity_np(c, p) : 1)
#define pthread_del_taskaffinity_np(c, p)                                                          \
    (pthread_del_taskaffinity_np != NULL ? pthread_del_taskaffinity_np(c, p) : 1)
#define pthread_getdemand_np(t, d) (pthread_getdemand_np != NULL ? pthread_getdemand_np(t, d) : 1)
#define pthread_setdemand_np(t, d) (pthread_setdemand_np != NULL ? pthread_setdemand_np(t, d) : 1)
#define pthread_job_wait_np(m) (pthread_job_wait_np != NULL ? pthread_job_wait_np(m) : 1)
#define pthread_num_processors_np()                                                                \
    (pthread_num_processors_np != NULL ? pthread_num_processors_np() : 0)

static __thread int inside __attribute__((tls_model("initial-exec")));
static atomic_int calls_made, threads_made;
static atomic_long times;

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static pthread_key_t key;
static atomic_int key_state;
static const struct timespec past = {0};

static void refused(const char *name)
{
    char text[200];
    int n = snprintf(text, sizeof(text), "hooks: %s does not do what it should\n", name);
    syscall(SYS_write, STDERR_FILENO, text, n);
    syscall(SYS_exit_group, 1);
}

static void nothing(void) {}

static void *returns(void *arg)
{
    return arg;
}

static const sigset_t *none(void)
{
    static sigset_t empty;
    return &empty;
}

/* While the runtime starts the answer is EAGAIN. */
static int create(int with_join)
{
    pthread_t t;
    void *ret = NULL;
    if (atomic_fetch_add(&threads_made, 1) >= CREATED) {
        return 1;
    }
    int error = pthread_create(&t, NULL, returns, &ret);
    if (error != 0) {
        return error == EAGAIN;
    }
    return !with_join || (pthread_join(t, &ret) == 0 && ret == &ret);
}

static int getattr(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    int ok = pthread_getattr_np(pthread_self(), &attr) == 0 &&
             pthread_attr_getstack(&attr, &low, &size) == 0 && low != NULL &&
             (char *)&attr > (char *)low && (char *)&attr < (char *)low + size;
    pthread_attr_destroy(&attr);
    return ok;
}

static int setattr_default(void)
{
    pthread_attr_t attr;
    int ok = pthread_getattr_default_np(&attr) == 0 && pthread_setattr_default_np(&attr) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}

static int swapped(int error)
{
    return error == 0;
}

static void handler(void *unused)
{
    (void)unused;
}

static int cleanup(void)
{
    pthread_cleanup_push(handler, NULL);
    pthread_cleanup_pop(1);
    return 1;
}

#define attr_of(error) ((error) == 0 && pthread_attr_destroy(&attr) == 0)
#define attr_with(error)                                                                           \
    (pthread_attr_init(&attr) == 0 && ((error) == 0 || (error) == EINVAL) &&                       \
     pthread_attr_destroy(&attr) == 0)

static int mutex_init_with(const pthread_mutexattr_t *kind)
{
    pthread_mutex_t m;
    return pthread_mutex_init(&m, kind) == 0 && pthread_mutex_lock(&m) == 0 &&
           pthread_mutex_unlock(&m) == 0 && pthread_mutex_destroy(&m) == 0;
}

static int mutex_both(pthread_mutex_t *m, int error)
{
    return error == 0 && (m == &plain || sched_yield() == 0) && pthread_mutex_unlock(m) == 0;
}

static int mutex_tried(int error)
{
    return error == 0 ? pthread_mutex_unlock(&plain) == 0 : error == EBUSY || error == ETIMEDOUT;
}

static int mutex_kinds(void)
{
    for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ADAPTIVE_NP; type++) {
        for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
            pthread_mutexattr_t attr;
            int robust = type & 1;
            if (pthread_mutexattr_init(&attr) != 0 || pthread_mutexattr_settype(&attr, type) != 0 ||
                pthread_mutexattr_setprotocol(&attr, protocol) != 0 ||
                pthread_mutexattr_setrobust(&attr, robust) != 0 || !mutex_init_with(&attr) ||
                pthread_mutexattr_destroy(&attr) != 0) {
                return 0;
            }
        }
    }
    return 1;
}

static int mtx_all(void)
{
    mtx_t m;
    int ok = mtx_init(&m, mtx_plain | mtx_recursive) == thrd_success &&
             mtx_lock(&m) == thrd_success && mtx_trylock(&m) == thrd_success &&
             mtx_unlock(&m) == thrd_success && mtx_unlock(&m) == thrd_success;
    mtx_destroy(&m);
    return ok;
}

static int cond_init_with(void)
{
    pthread_cond_t c;
    return pthread_cond_init(&c, NULL) == 0 && pthread_cond_signal(&c) == 0 &&
           pthread_cond_destroy(&c) == 0;
}

static int cond_timed(void)
{
    pthread_mutex_lock(&recursive);
    int first = pthread_cond_timedwait(&cond, &recursive, &past);
    int second = pthread_cond_clockwait(&cond, &recursive, CLOCK_MONOTONIC, &past);
    return pthread_mutex_unlock(&recursive) == 0 && (first == ETIMEDOUT || first == 0) &&
           (second == ETIMEDOUT || second == 0);
}

static int cnd_all(void)
{
    cnd_t c;
    int ok = cnd_init(&c) == thrd_success && cnd_signal(&c) == thrd_success &&
             cnd_broadcast(&c) == thrd_success;
    cnd_destroy(&c);
    return ok;
}

static int rwlock_init_with(void)
{
    pthread_rwlock_t l;
    return pthread_rwlock_init(&l, NULL) == 0 && pthread_rwlock_wrlock(&l) == 0 &&
           pthread_rwlock_unlock(&l) == 0 && pthread_rwlock_destroy(&l) == 0;
}

static int rwlock_both(int error)
{
    return error == 0 && pthread_rwlock_unlock(&rwlock) == 0;
}

static int rwlock_tried(int error)
{
    return error == 0 ? rwlock_both(0) : error == EBUSY || error == ETIMEDOUT;
}

static int spin_all(void)
{
    pthread_spinlock_t s;
    return pthread_spin_init(&s, 0) == 0 && pthread_spin_lock(&s) == 0 &&
           pthread_spin_trylock(&s) == EBUSY && pthread_spin_unlock(&s) == 0 &&
           pthread_spin_destroy(&s) == 0;
}

static int barrier_all(void)
{
    pthread_barrier_t b;
    return pthread_barrier_init(&b, NULL, 1) == 0 &&
           pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD &&
           pthread_barrier_destroy(&b) == 0;
}

static int sem_all(void)
{
    sem_t s;
    int value;
    return sem_init(&s, 0, 2) == 0 && sem_wait(&s) == 0 && sem_trywait(&s) == 0 &&
           sem_timedwait(&s, &past) != 0 && errno == ETIMEDOUT && sem_post(&s) == 0 &&
           sem_getvalue(&s, &value) == 0 && value == 1 && sem_destroy(&s) == 0;
}

static int key_all(void)
{
    pthread_key_t k;
    return pthread_key_create(&k, NULL) == 0 && pthread_getspecific(k) == NULL &&
           pthread_setspecific(k, &k) == 0 && pthread_getspecific(k) == &k &&
           pthread_key_delete(k) == 0;
}

/* Values are gone when the thread ends, and the code that frees its memory runs after that. */
static __thread int ends __attribute__((tls_model("initial-exec")));

static void end(void *unused)
{
    (void)unused;
    ends = 1;
}

/* A value stays with its thread, from before the runtime's start on. */
static int key_kept(void)
{
    static __thread void *last __attribute__((tls_model("initial-exec")));
    int state = 0;
    if (ends) {
        return 1;
    }
    if (atomic_compare_exchange_strong(&key_state, &state, 1)) {
        if (pthread_key_create(&key, end) != 0) {
            return 0;
        }
        atomic_store(&key_state, 2);
    }
    if (atomic_load(&key_state) != 2) {
        return 1;
    }
    int ok = pthread_getspecific(key) == last;
    last = (char *)&key + atomic_fetch_add(&times, 1) % 1000;
    return pthread_setspecific(key, last) == 0 && ok;
}

static int tss_all(void)
{
    tss_t k;
    int ok =
        tss_create(&k, NULL) == thrd_success && tss_set(k, &k) == thrd_success && tss_get(k) == &k;
    tss_delete(k);
    return ok;
}

static int files(void)
{
    flockfile(stdin);
    int again = ftrylockfile(stdin);
    if (again == 0) {
        funlockfile(stdin);
    }
    funlockfile(stdin);
    return again == 0;
}

/* In the first seconds of a process, pthread_self must not change. */
static int self_kept(void)
{
    static __thread pthread_t before __attribute__((tls_model("initial-exec")));
    int ok = before == 0 || before == pthread_self();
    before = pthread_self();
    return ok;
}

static void call_all(void)
{
    pthread_attr_t attr;
    pthread_spinlock_t *unused = NULL;
    clockid_t clock;
    struct sched_param param = {0};
    cpu_set_t cpus;
    sigset_t signals;
    struct sigaction action;
    stack_t stack;
    struct timespec when;
    struct epoll_event event;
    timer_t timer;
    void *address;
    size_t size;
    unsigned weight;
    char text[64] = "";
    struct iovec vector = {text, 1};
    int policy, state;
    const int fd = -1;
    (void)unused;
    if (!self_kept()) {
        refused("pthread_self");
    }
#define CALL(name, ok)                                                                             \
    if (!(ok)) {                                                                                   \
        refused(#name);                                                                            \
    }
#define LEFT(name, why)
#include "calls.def"
    atomic_fetch_add(&calls_made, 1);
}

static int asked(const char *where)
{
    const char *list = getenv("HOOKS");
    return list != NULL && (strcmp(list, where) == 0 || strcmp(list, "all") == 0);
}

static void hooked(const char *where)
{
    static atomic_long n;
    if (inside) {
        return;
    }
    inside = 1;
    int saved = errno;
    if (asked(where)) {
        long turn = atomic_fetch_add(&n, 1);
        if (turn < FIRST || turn % EVERY == 0) {
            call_all();
        }
    }
    errno = saved;
    inside = 0;
}

void *malloc(size_t size)
{
    hooked("malloc");
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    hooked("malloc");
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    hooked("malloc");
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    hooked("malloc");
    return __libc_memalign(align, size);
}

void free(void *p)
{
    hooked("malloc");
    __libc_free(p);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    hooked("mmap");
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

int munmap(void *at, size_t size)
{
    hooked("mmap");
    return (int)syscall(SYS_munmap, at, size);
}

int madvise(void *at, size_t size, int advice)
{
    hooked("mmap");
    return (int)syscall(SYS_madvise, at, size, advice);
}

/* As allocators do: in the child this library's locks are free, whichever thread held them at the
 * fork. Allocations between the handlers are not hooked. */
static void before_fork(void)
{
    inside++;
    pthread_mutex_lock(&plain);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&checking);
    pthread_mutex_lock(&adaptive);
    pthread_rwlock_wrlock(&rwlock);
}

static void after_fork(void)
{
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_unlock(&adaptive);
    pthread_mutex_unlock(&checking);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&plain);
    inside--;
}

static __attribute__((constructor)) void constructed(void)
{
    if (pthread_atfork(before_fork, after_fork, after_fork) != 0) {
        refused("pthread_atfork");
    }
    if (asked("constructor")) {
        call_all();
    }
}

/* For threads.c, and at its end. */
int early_holds(void)
{
    if (getenv("HOOKS") != NULL && calls_made == 0 && !asked("mmap")) {
        fprintf(stderr, "hooks: nothing was called\n");
        return 1;
    }
    return 0;
}
