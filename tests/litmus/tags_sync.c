/* SPDX-License-Identifier: MIT */
/*
 * tags_sync.c - the orders of the life cycle and of the synchronisation objects. The objects are
 * the real ones, used by foreign threads; the rest has the shape of the code.
 */
#include "../../src/sync/sync.h"
#include "litmus.h"

#define ROUNDS 3u

static bool saw_nothing(void)
{
    return r[0] == 1 && r[1] == 0;
}

/* ---- park: the waker and the timer claim a wait; the winner's word reaches the waiter ---- */

static void park_init(void)
{
    at_store_rel(&F, (uint32_t)PARK_PARKED);
}
static void park_waker(void)
{
    uint32_t from = PARK_PARKED;
    at_store_rlx(&X, 1u);
    r[2] = (uint32_t)at_cas_acq_rel(&F, &from, (uint32_t)PARK_WOKEN);
}
static void park_waker_relaxed(void)
{
    uint32_t from = PARK_PARKED;
    at_store_rlx(&X, 1u);
    at_cas_rlx(&F, &from, (uint32_t)PARK_WOKEN);
}
static void park_timer(void)
{
    uint32_t from = PARK_PARKED;
    r[3] = (uint32_t)at_cas_acq_rel(&F, &from, (uint32_t)PARK_TIMEDOUT);
}
static void park_waiter(void)
{
    r[0] = at_load_acq(&F) == PARK_WOKEN;
    r[1] = at_load_rlx(&X);
}
static bool park_ends_twice(void)
{
    return saw_nothing() || (r[2] && r[3]);
}

/* ---- exit: X the return value, F the state ---- */

static void exit_thread(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, (uint32_t)THREAD_EXITED);
}
static void exit_thread_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&F, (uint32_t)THREAD_EXITED);
}
static void exit_joiner(void)
{
    r[0] = at_load_acq(&F) == THREAD_EXITED;
    r[1] = at_load_rlx(&X);
}

/* ---- start, id-chunk, id-entry: written once, then read by any thread ---- */

static void start_first(void)
{
    uint32_t state = 0;
    if (at_cas_acq(&F, &state, 1u)) {
        at_store_rlx(&X, 1u);
        at_store_rel(&F, 2u);
    }
}
static void start_second(void)
{
    start_first();
    r[0] = at_load_acq(&F) == 2;
    r[1] = at_load_rlx(&X);
}
static void id_writer(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&Y, 1u); /* the chunk */
    at_store_rel(&Z, 1u); /* the entry */
}
static void id_reader(void)
{
    r[2] = at_load_acq(&Z);
    r[3] = at_load_acq(&Y);
    r[0] = r[2] | r[3];
    r[1] = at_load_rlx(&X);
}
static bool id_blind(void)
{
    return saw_nothing() || (r[2] && !r[3]);
}

/*
 * ---- life: word[0] and word[1] count the threads created and ended on CPUs 0 and 1 ----
 *
 * A parent (alive throughout, created = 1) makes a child, which runs on the other CPU and ends. A
 * thread that counts never finds that no thread lives.
 */
static void life_init(void)
{
    at_store_rel(&word[0], 1u);
}
static void life_parent(void)
{
    at_store_rel(&word[0], 2u);
    at_store_rel(&F, 1u); /* the child goes through a queue */
}
static void life_parent_relaxed(void)
{
    at_store_rlx(&word[0], 2u);
    at_store_rlx(&F, 1u);
}
static void life_child(void)
{
    while (at_load_acq(&F) == 0) {
        sim_pause();
    }
    at_store_rel(&word[1], 1u);
}
static void life_counts(void)
{
    uint32_t exited = at_load_acq(&word[1]);
    r[0] = at_load_acq(&word[0]) == exited;
}
static bool life_none_left(void)
{
    return r[0] == 1;
}

/* ---- life-main: two last threads end, then the second one's main_gone is F ---- */

static void last_thread(unsigned i, bool fences)
{
    at_store_rel(&word[i], 1u);
    if (fences) {
        at_fence_light();
    }
    if (at_load_rlx(&F)) {
        if (fences) {
            at_fence_heavy();
        }
        if (at_load_acq(&word[0]) + at_load_acq(&word[1]) == 2 && at_xchg_acq_rel(&X, 1u) == 0) {
            r[i] = 1;
        }
    }
}
static void last_main(void)
{
    at_store_rlx(&F, 1u);
    at_fence_heavy();
    last_thread(0, true);
}
static void last_other(void)
{
    last_thread(1, true);
}
static void last_main_hasty(void)
{
    at_store_rlx(&F, 1u);
    last_thread(0, false);
}
static void last_other_hasty(void)
{
    last_thread(1, false);
}
static bool not_ended_once(void)
{
    return r[0] + r[1] != 1;
}

/* ---- join-cycle: X and Y, the threads for which 1 and 2 wait ---- */

#define JOIN(name, fence)                                                                          \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        at_xchg_acq(&word[2], 1u);                                                                 \
        at_store_rlx(&X, 2u);                                                                      \
        fence;                                                                                     \
        r[0] = at_load_rlx(&Y) == 1;                                                               \
    }                                                                                              \
    static void name##_2(void)                                                                     \
    {                                                                                              \
        at_xchg_acq(&word[1], 1u);                                                                 \
        at_store_rlx(&Y, 1u);                                                                      \
        fence;                                                                                     \
        r[1] = at_load_rlx(&X) == 2;                                                               \
    }
JOIN(join_fenced, at_fence_seq())
JOIN(join_rmw_before, (void)0) /* the read-modify-write precedes the store: it does not help */

static bool cycle_unseen(void)
{
    return r[0] == 0 && r[1] == 0;
}

/* ---- consumer: F a thread has a record, X its life; Z it has a producer, Y which one ---- */

static void consumer_adds(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, 1u);
    at_store_rlx(&Y, 1u);
    at_store_rel(&Z, 1u);
}
static void consumer_adds_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&F, 1u);
    at_store_rlx(&Y, 1u);
    at_store_rlx(&Z, 1u);
}
static void consumer_wakes(void)
{
    r[0] = at_load_acq(&F);
    r[1] = at_load_rlx(&X);
    r[2] = at_load_acq(&Z);
    r[3] = at_load_rlx(&Y);
}
static bool consumer_half_made(void)
{
    return (r[0] == 1 && r[1] == 0) || (r[2] == 1 && r[3] == 0);
}

/* ---- cond-destroy: F waiters that are still leaving, X the last one's last access ---- */

static void leaving_init(void)
{
    at_store_rel(&F, 1u);
}
static void leaving_waiter(void)
{
    at_store_rlx(&X, 1u);
    at_sub_acq_rel(&F, 1u);
}
static void leaving_waiter_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_add_rlx(&F, ~0u);
}
static void leaving_destroyer(void)
{
    r[0] = at_load_acq(&F) == 0;
    r[1] = at_load_rlx(&X);
}

/* ---- mutex, sem, rwlock, once ---- */

static struct rt_mutex mutex;
static struct rt_sem sem;
static struct rt_rwlock rwlock;
static struct rt_once once;

static void objects_init(void)
{
    rt_mutex_init(&mutex);
    rt_sem_init(&sem, 0);
    rt_rwlock_init(&rwlock);
    at_init(&once.state, 0u);
}
static void mutex_thread(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        rt_mutex_lock_until(&mutex, UINT64_MAX);
        uint32_t x = at_load_rlx(&X);
        at_store_rlx(&X, x + 1);
        rt_mutex_unlock(&mutex);
    }
}
static bool mutex_lost(void)
{
    return at_load_rlx(&X) != 3 * ROUNDS;
}
static void sem_poster(void)
{
    at_store_rlx(&X, 1u);
    rt_sem_post(&sem);
}
static void sem_waiter(void)
{
    rt_sem_wait_until(&sem, UINT64_MAX);
    r[0] = 1;
    r[1] = at_load_rlx(&X);
}
static void rw_writer(void)
{
    rt_rwlock_wrlock_until(&rwlock, UINT64_MAX);
    at_store_rlx(&X, at_load_rlx(&X) + 1);
    at_store_rlx(&Y, at_load_rlx(&Y) + 1);
    rt_rwlock_unlock(&rwlock);
}
static void rw_reader(void)
{
    rt_rwlock_rdlock_until(&rwlock, UINT64_MAX);
    r[0] = at_load_rlx(&Y);
    r[1] = at_load_rlx(&X);
    rt_rwlock_unlock(&rwlock);
}
static bool rw_torn(void)
{
    return r[0] != r[1] || at_load_rlx(&X) != 2 || at_load_rlx(&Y) != 2;
}
static void once_fn(void)
{
    at_store_rlx(&X, at_load_rlx(&X) + 1);
}
static void once_thread(void)
{
    rt_once(&once, once_fn);
    r[0] += at_load_rlx(&X) != 1;
}
static bool once_blind(void)
{
    return r[0] != 0 || at_load_rlx(&X) != 1;
}

const struct litmus litmus_sync[] = {
    {"park", "park", NEVER, park_ends_twice, {park_waker, park_timer, park_waiter}, park_init},
    {"park-relaxed", "park", WEAK, saw_nothing, {park_waker_relaxed, park_waiter}, park_init},
    {"exit", "exit", NEVER, saw_nothing, {exit_thread, exit_joiner}, NULL},
    {"exit-relaxed", "exit", WEAK, saw_nothing, {exit_thread_relaxed, exit_joiner}, NULL},
    {"start", "start", NEVER, saw_nothing, {start_first, start_second}, NULL},
    {"id", "id-chunk", NEVER, id_blind, {id_writer, id_reader}, NULL},
    {"life", "life", NEVER, life_none_left, {life_parent, life_child, life_counts}, life_init},
    {"life-relaxed",
     "life",
     WEAK,
     life_none_left,
     {life_parent_relaxed, life_child, life_counts},
     life_init},
    {"life-main", "life-main", NEVER, not_ended_once, {last_main, last_other}, NULL},
    {"life-main-no-fences",
     "life-main",
     WEAK,
     not_ended_once,
     {last_main_hasty, last_other_hasty},
     NULL},
    {"join-cycle", "join-cycle", NEVER, cycle_unseen, {join_fenced_1, join_fenced_2}, NULL},
    {"join-cycle-no-fence",
     "join-cycle",
     WEAK,
     cycle_unseen,
     {join_rmw_before_1, join_rmw_before_2},
     NULL},
    {"consumer", "consumer", NEVER, consumer_half_made, {consumer_adds, consumer_wakes}, NULL},
    {"consumer-relaxed",
     "consumer",
     WEAK,
     consumer_half_made,
     {consumer_adds_relaxed, consumer_wakes},
     NULL},
    {"cond-destroy",
     "cond-destroy",
     NEVER,
     saw_nothing,
     {leaving_waiter, leaving_destroyer},
     leaving_init},
    {"cond-destroy-relaxed",
     "cond-destroy",
     WEAK,
     saw_nothing,
     {leaving_waiter_relaxed, leaving_destroyer},
     leaving_init},
    {"mutex", "mutex", NEVER, mutex_lost, {mutex_thread, mutex_thread, mutex_thread}, objects_init},
    {"sem", "sem", NEVER, saw_nothing, {sem_waiter, sem_poster}, objects_init},
    {"rwlock", "rwlock", NEVER, rw_torn, {rw_writer, rw_reader, rw_writer}, objects_init},
    {"once", "once", NEVER, once_blind, {once_thread, once_thread, once_thread}, objects_init},
    {0}};
