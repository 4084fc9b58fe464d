/* SPDX-License-Identifier: MIT
 *
 * The rows of single operations, once for all systems that C or C++ can reach (so it is C that is
 * also C++). rows.h describes the result of a row, sys.h the calls. README.md explains each row.
 * rows_trees.c, rows_condition.c and rows_waits.c have the others.
 */
#include SYS_HEADER

#include "rows.h"
#include "rows_threads.h"

#include <unistd.h>

/* ---- helpers ---- */

static void *nothing(void *arg)
{
    return arg;
}

/* ---- switch, create, join ---- */

static void *yield_main(void *arg)
{
    uint64_t count = *(uint64_t *)arg;

    for (uint64_t i = 0; i < count; i++)
        sys_yield();
    return NULL;
}

static uint64_t yield_run(uint64_t count)
{
    uint64_t each = count / 2;

    return run_threads(2, yield_main, &each);
}

static uint64_t create_join_run(uint64_t count)
{
    sys_thread thread;
    uint64_t start = clock_ns();

    for (uint64_t i = 0; i < count; i++) {
        sys_create(&thread, nothing, NULL);
        sys_join(&thread);
    }
    return clock_ns() - start;
}

#define BATCH 1024

static uint64_t batch_run(uint64_t count)
{
    sys_thread *threads = new_threads(BATCH);
    uint64_t start = clock_ns();

    for (uint64_t done = 0; done < count; done += BATCH) {
        for (int i = 0; i < BATCH; i++)
            sys_create(&threads[i], nothing, NULL);
        for (int i = 0; i < BATCH; i++)
            sys_join(&threads[i]);
    }
    start = clock_ns() - start;
    free(threads);
    return start;
}

/* ---- fork-join without cut-off ---- */

struct fib {
    int n;
    uint64_t value, spawns;
};

static void *fib_main(void *arg)
{
    struct fib *f = (struct fib *)arg;
    struct fib left = {f->n - 1, 0, 0}, right = {f->n - 2, 0, 0};
    sys_thread thread;

    if (f->n < 2) {
        f->value = (uint64_t)f->n;
        return NULL;
    }
    sys_create(&thread, fib_main, &left);
    fib_main(&right);
    sys_join(&thread);
    f->value = left.value + right.value;
    f->spawns = left.spawns + right.spawns + 1;
    return NULL;
}

static uint64_t fib_run(uint64_t count)
{
    uint64_t start = clock_ns(), spawns = 0;

    while (spawns < count) {
        struct fib f = {FIB_N, 0, 0};

        fib_main(&f);
        spawns += f.spawns;
    }
    start = clock_ns() - start;
    return (uint64_t)((double)start * (double)count / (double)spawns);
}

/* ---- threads that create threads that do nothing ---- */

#define CREATORS 160
#define CHILDREN 128

static void *creator_main(void *arg)
{
    sys_thread *children = (sys_thread *)arg;

    for (int i = 0; i < CHILDREN; i++)
        sys_create(&children[i], nothing, NULL);
    for (int i = 0; i < CHILDREN; i++)
        sys_join(&children[i]);
    return NULL;
}

static uint64_t create_bench_run(uint64_t count)
{
    sys_thread *creators = new_threads(CREATORS);
    sys_thread *children = new_threads(CREATORS * CHILDREN);
    uint64_t start = clock_ns();

    for (uint64_t done = 0; done < count; done += CREATORS * (CHILDREN + 1)) {
        for (int i = 0; i < CREATORS; i++)
            sys_create(&creators[i], creator_main, &children[i * CHILDREN]);
        for (int i = 0; i < CREATORS; i++)
            sys_join(&creators[i]);
    }
    start = clock_ns() - start;
    free(creators);
    free(children);
    return start;
}

/* ---- mutex ---- */

#define CONTENDERS 64
#define HOLDERS 8

struct locked {
    sys_mutex mutex;
    uint64_t each; /* operations of a thread */
    volatile uint64_t counter;
};

static uint64_t mutex_run(uint64_t count)
{
    struct locked l;
    uint64_t start;

    run_threads(1, nothing, NULL); /* glibc omits atomics until there was a thread */
    sys_mutex_init(&l.mutex);
    start = clock_ns();
    for (uint64_t i = 0; i < count; i++) {
        sys_mutex_lock(&l.mutex);
        sys_mutex_unlock(&l.mutex);
    }
    start = clock_ns() - start;
    sys_mutex_fini(&l.mutex);
    return start;
}

static void *contender_main(void *arg)
{
    struct locked *l = (struct locked *)arg;

    for (uint64_t i = 0; i < l->each; i++) {
        sys_mutex_lock(&l->mutex);
        l->counter = l->counter + 1;
        sys_mutex_unlock(&l->mutex);
    }
    return NULL;
}

static void *holder_main(void *arg)
{
    struct locked *l = (struct locked *)arg;

    for (uint64_t i = 0; i < l->each; i++) {
        sys_mutex_lock(&l->mutex);
        l->counter = l->counter + 1;
        sys_yield();
        sys_mutex_unlock(&l->mutex);
    }
    return NULL;
}

static uint64_t locked_run(uint64_t count, uint64_t threads, void *(*fn)(void *))
{
    struct locked l;
    uint64_t ns;

    sys_mutex_init(&l.mutex);
    l.counter = 0;
    l.each = count / threads;
    ns = run_threads(threads, fn, &l);
    sys_check(l.counter == l.each * threads, "mutual exclusion");
    sys_mutex_fini(&l.mutex);
    return ns;
}

static uint64_t mutex_contended_run(uint64_t count)
{
    return locked_run(count, CONTENDERS, contender_main);
}

static uint64_t mutex_yield_run(uint64_t count)
{
    return locked_run(count, HOLDERS, holder_main);
}

/* ---- semaphore ping-pong ---- */

struct pair {
    sys_sem there, back;
    uint64_t count;
};

static void *ping_main(void *arg)
{
    struct pair *p = (struct pair *)arg;

    for (uint64_t i = 0; i < p->count; i++) {
        sys_sem_post(&p->there);
        sys_sem_wait(&p->back);
    }
    return NULL;
}

static void *pong_main(void *arg)
{
    struct pair *p = (struct pair *)arg;

    for (uint64_t i = 0; i < p->count; i++) {
        sys_sem_wait(&p->there);
        sys_sem_post(&p->back);
    }
    return NULL;
}

static void pair_init(struct pair *p, uint64_t count)
{
    sys_sem_init(&p->there, 0);
    sys_sem_init(&p->back, 0);
    p->count = count;
}

static void pair_fini(struct pair *p)
{
    sys_sem_fini(&p->there);
    sys_sem_fini(&p->back);
}

static uint64_t pingpong_run(uint64_t count)
{
    struct pair p;
    sys_thread ping, pong;
    uint64_t start;

    pair_init(&p, count);
    start = clock_ns();
    sys_create(&ping, ping_main, &p);
    sys_create(&pong, pong_main, &p);
    sys_join(&ping);
    sys_join(&pong);
    start = clock_ns() - start;
    pair_fini(&p);
    return start;
}

#ifdef SYS_PLACE
/* ---- ping-pong of two threads on different CPUs ---- */

/* Among several threads, the first plays ping and the first one on another CPU plays pong. */
#define CANDIDATES 8

struct pinned {
    struct pair pair;
    sys_mutex lock; /* the fields below */
    int arrived, ping_cpu, has_pong;
    uint64_t ns;
};

static void *pinned_main(void *arg)
{
    struct pinned *p = (struct pinned *)arg;
    int place, pong, last;

    sys_mutex_lock(&p->lock);
    place = p->arrived++;
    sys_mutex_unlock(&p->lock);
    SYS_PLACE(place);
    sys_mutex_lock(&p->lock);
    if (p->ping_cpu < 0) {
        p->ping_cpu = sys_cpu();
        sys_mutex_unlock(&p->lock);
        sys_sem_wait(&p->pair.back); /* wait for pong */
        p->ns = clock_ns();
        ping_main(&p->pair);
        p->ns = clock_ns() - p->ns;
        return NULL;
    }
    pong = !p->has_pong && sys_cpu() != p->ping_cpu;
    p->has_pong |= pong;
    last = place == CANDIDATES - 1 && !p->has_pong;
    sys_mutex_unlock(&p->lock);
    sys_check(!last, "placing two threads on different CPUs");
    if (pong) {
        sys_sem_post(&p->pair.back);
        pong_main(&p->pair);
    }
    return NULL;
}

static uint64_t pinned_run(uint64_t count)
{
    struct pinned p;

    memset(&p, 0, sizeof p);
    p.ping_cpu = -1;
    pair_init(&p.pair, count);
    sys_mutex_init(&p.lock);
    run_threads(CANDIDATES, pinned_main, &p);
    sys_mutex_fini(&p.lock);
    pair_fini(&p.pair);
    return p.ns;
}
#endif

/* ---- barrier ---- */

#define PARTIES 64

struct meeting {
    sys_barrier barrier;
    uint64_t rounds;
};

static void *party_main(void *arg)
{
    struct meeting *m = (struct meeting *)arg;

    for (uint64_t i = 0; i < m->rounds; i++)
        sys_barrier_wait(&m->barrier);
    return NULL;
}

static uint64_t barrier_run(uint64_t count)
{
    struct meeting m;
    uint64_t ns;

    sys_barrier_init(&m.barrier, PARTIES);
    m.rounds = count;
    ns = run_threads(PARTIES, party_main, &m);
    sys_barrier_fini(&m.barrier);
    return ns;
}

/* ---- threads that live on malloc ---- */

#define ALLOCATORS 64
#define SLOTS 64

static void *allocator_main(void *arg)
{
    uint64_t count = *(uint64_t *)arg, random = (uint64_t)(uintptr_t)&count | 1;
    void *slots[SLOTS] = {0};

    for (uint64_t i = 0; i < count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        free(slots[random % SLOTS]);
        slots[random % SLOTS] = malloc(16 + (random >> 32) % 2048);
        *(volatile char *)slots[random % SLOTS] = 1;
        if (i % 256 == 255)
            sys_yield(); /* so that threads mix, and move between workers */
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    return NULL;
}

static uint64_t malloc_run(uint64_t count)
{
    uint64_t each = count / ALLOCATORS;

    return run_threads(ALLOCATORS, allocator_main, &each);
}

/* ---- memory of a blocked thread ---- */

struct blocked {
    sys_sem gate;
    uint64_t waiting;
};

static void *blocked_main(void *arg)
{
    struct blocked *c = (struct blocked *)arg;

    __atomic_fetch_add(&c->waiting, 1, __ATOMIC_RELAXED);
    sys_sem_wait(&c->gate);
    return NULL;
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long total, resident = 0;

    sys_check(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2, "/proc/self/statm");
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

double memory_bytes(void)
{
    sys_thread *threads = new_threads(MEMORY_THREADS);
    struct blocked c;
    double before, after;

    sys_sem_init(&c.gate, 0);
    c.waiting = 0;
    run_threads(1, nothing, NULL);
    before = resident_bytes();
    for (int i = 0; i < MEMORY_THREADS; i++)
        sys_create(&threads[i], blocked_main, &c);
    while (__atomic_load_n(&c.waiting, __ATOMIC_RELAXED) < MEMORY_THREADS)
        sys_yield();
    after = resident_bytes();
    for (int i = 0; i < MEMORY_THREADS; i++)
        sys_sem_post(&c.gate);
    for (int i = 0; i < MEMORY_THREADS; i++)
        sys_join(&threads[i]);
    sys_sem_fini(&c.gate);
    free(threads);
    return (after - before) / MEMORY_THREADS;
}

/* ---- from the post to the first instruction of the woken thread ---- */

struct alarm_clock {
    struct pair pair;
    volatile uint64_t posted;
    uint64_t *latency;
};

static void *sleeper_main(void *arg)
{
    struct alarm_clock *c = (struct alarm_clock *)arg;

    for (int i = 0; i < WAKEUPS; i++) {
        sys_sem_wait(&c->pair.there);
        c->latency[i] = clock_ns() - c->posted;
        sys_sem_post(&c->pair.back);
    }
    return NULL;
}

static void *waker_main(void *arg)
{
    struct alarm_clock *c = (struct alarm_clock *)arg;

    for (int i = 0; i < WAKEUPS; i++) {
        c->posted = clock_ns();
        sys_sem_post(&c->pair.there);
        sys_sem_wait(&c->pair.back);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void wakeup_run(struct wakeup *result)
{
    struct alarm_clock c;
    sys_thread sleeper, waker;

    pair_init(&c.pair, WAKEUPS);
    c.latency = (uint64_t *)new_array(WAKEUPS, sizeof *c.latency);
    sys_create(&sleeper, sleeper_main, &c);
    sys_create(&waker, waker_main, &c);
    sys_join(&sleeper);
    sys_join(&waker);
    qsort(c.latency, WAKEUPS, sizeof *c.latency, compare);
    result->p50 = c.latency[WAKEUPS / 2];
    result->p99 = c.latency[WAKEUPS / 100 * 99];
    result->p999 = c.latency[WAKEUPS / 1000 * 999];
    free(c.latency);
    pair_fini(&c.pair);
}

/* clang-format off */
const struct row rows[] = {
    {"yield", 2, yield_run},
    {"create_join", 1, create_join_run},
    {"batch", BATCH, batch_run},
    {"fib", 1, fib_run},
    {"create_bench", CREATORS * (CHILDREN + 1), create_bench_run},
    {"mutex", 1, mutex_run},
    {"mutex_contended", CONTENDERS, mutex_contended_run},
    {"mutex_yield", HOLDERS, mutex_yield_run},
    {"pingpong", 1, pingpong_run},
#ifdef SYS_PLACE
    {"pinned_awake", 1, pinned_run},
    {"pinned_asleep", 1, pinned_run},
#endif
    {"barrier", 1, barrier_run},
    {"malloc", ALLOCATORS, malloc_run},
    {NULL, 0, NULL},
};
/* clang-format on */
