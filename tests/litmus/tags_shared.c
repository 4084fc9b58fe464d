/* SPDX-License-Identifier: MIT */
/*
 * tags_shared.c - the orders of mutexes with an owner and of objects between processes. The objects
 * are the real ones, used by foreign threads: to the objects, another process looks like these.
 */
#include "../../src/sync/omutex.h"
#include "../../src/sync/shared.h"
#include "litmus.h"

#define ROUNDS 3u

static struct rt_omutex omutex;
static struct rt_shmutex shmutex;
static struct rt_shsem shsem;
static struct rt_shrwlock shrwlock;
static struct rt_shbarrier shbarrier;
static struct rt_shcond shcond;

static void objects_init(void)
{
    rt_omutex_init(&omutex, OM_ROBUST | OM_INHERIT, 0);
    shmutex = (struct rt_shmutex){0};
    shsem = (struct rt_shsem){0};
    shrwlock = (struct rt_shrwlock){0};
    shbarrier = (struct rt_shbarrier){.count = 2};
    shcond = (struct rt_shcond){0};
}

static bool saw_nothing(void)
{
    return r[0] == 1 && r[1] == 0;
}

static void count(void)
{
    uint32_t x = at_load_rlx(&X);
    at_store_rlx(&X, x + 1);
}

static bool count_lost(void)
{
    return at_load_rlx(&X) != 3 * ROUNDS;
}

static void omutex_thread(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        rt_omutex_lock_until(&omutex, UINT64_MAX);
        count();
        rt_omutex_unlock(&omutex);
    }
}

static void shmutex_thread(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        rt_shmutex_lock(&shmutex, NULL);
        count();
        rt_shmutex_unlock(&shmutex);
    }
}

static void sem_poster(void)
{
    at_store_rlx(&X, 1u);
    rt_shsem_post(&shsem);
}
static void sem_waiter(void)
{
    rt_shsem_wait(&shsem, NULL);
    r[0] = 1;
    r[1] = at_load_rlx(&X);
}

static void rw_writer(void)
{
    rt_shrwlock_wrlock(&shrwlock, NULL);
    at_store_rlx(&X, at_load_rlx(&X) + 1);
    at_store_rlx(&Y, at_load_rlx(&Y) + 1);
    rt_shrwlock_unlock(&shrwlock);
}
static void rw_reader(void)
{
    rt_shrwlock_rdlock(&shrwlock, NULL);
    r[0] = at_load_rlx(&Y);
    r[1] = at_load_rlx(&X);
    rt_shrwlock_unlock(&shrwlock);
}
static bool rw_torn(void)
{
    return r[0] != r[1] || at_load_rlx(&X) != 2 || at_load_rlx(&Y) != 2;
}

/* Each thread sees the other's writes before its arrival, in each of several rounds and resets. */
static void barrier_rounds(_Atomic(uint32_t) *mine, _Atomic(uint32_t) *other, uint32_t *blind)
{
    for (uint32_t i = 1; i <= 5; i++) {
        at_store_rlx(mine, i);
        rt_shbarrier_wait(&shbarrier);
        *blind += at_load_rlx(other) < i;
    }
}
static void barrier_one(void)
{
    barrier_rounds(&X, &Y, &r[0]);
}
static void barrier_other(void)
{
    barrier_rounds(&Y, &X, &r[1]);
}
static bool barrier_blind(void)
{
    return r[0] != 0 || r[1] != 0;
}

/* The same by hand, without the releases: F arrivals, Z the round that is open. */
static void barrier_first_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_add_rlx(&F, 1u);
    while (at_load_rlx(&Z) == 0) {
        port_relax(0);
    }
}
static void barrier_last_relaxed(void)
{
    r[0] = at_add_rlx(&F, 1u) == 1;
    r[1] = at_load_rlx(&X);
    at_store_rlx(&Z, 1u);
}

/* ---- cond-shared: the destroyer sees the writes of the last thread that left ---- */

static void cond_init(void)
{
    objects_init();
    rt_shcond_enter(&shcond);
}
static void cond_waiter(void)
{
    at_store_rlx(&X, 1u);
    rt_shcond_leave(&shcond);
}
static void cond_destroyer(void)
{
    rt_shcond_destroy(&shcond);
    r[0] = 1;
    r[1] = at_load_rlx(&X);
}

const struct litmus litmus_shared[] = {
    {"omutex",
     "mutex",
     NEVER,
     count_lost,
     {omutex_thread, omutex_thread, omutex_thread},
     objects_init},
    {"mutex-shared",
     "mutex",
     NEVER,
     count_lost,
     {shmutex_thread, shmutex_thread, shmutex_thread},
     objects_init},
    {"sem-shared", "sem", NEVER, saw_nothing, {sem_waiter, sem_poster}, objects_init},
    {"rwlock-shared", "rwlock", NEVER, rw_torn, {rw_writer, rw_reader, rw_writer}, objects_init},
    {"barrier-shared",
     "barrier-shared",
     NEVER,
     barrier_blind,
     {barrier_one, barrier_other},
     objects_init},
    {"barrier-shared-relaxed",
     "barrier-shared",
     WEAK,
     saw_nothing,
     {barrier_first_relaxed, barrier_last_relaxed},
     NULL},
    {"cond-shared", "cond-shared", NEVER, saw_nothing, {cond_waiter, cond_destroyer}, cond_init},
    {0}};
