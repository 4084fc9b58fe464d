/* SPDX-License-Identifier: MIT */
/*
 * groups.c - policy "groups": threads that share data form sharing groups (pirn_demand_t.group).
 * After T.-F. Yang, C.-H. Lin and C.-L. Yang, "Cache-aware task scheduling on multi-core
 * architecture", 2010.
 *
 * Private caches (home=cpu): all threads of a group run on one CPU, its home, so that they find
 * each other's data there. A group gets its home when its first thread becomes ready: the CPU that
 * is home to the fewest. Threads without group run anywhere. With home=none, for CPUs that have no
 * caches of their own, those of groups do, too.
 *
 * Shared cache. A CPU that looks for a thread compares the first thread of each group that it may
 * run, in this order:
 *
 *   1. One that fits: its working set and those of the threads on the other CPUs fit into the
 *      cache.
 *   2. One whose group no other CPU runs now. So the CPUs together run as many different groups,
 *      and have as much different data in the cache, as they can: whatever runs next finds its
 *      data there more often.
 *   3. If it fits: one of the group that ran on this CPU last, whose data is in the cache.
 *      If none fits: the smallest working set.
 *   4. The one that has been ready for longest.
 *
 * In the paper, co-schedules of all CPUs are compared at once. Here the CPUs choose one after the
 * other, each beside what the others run at that moment. Both run something in any case: the policy
 * is work conserving. Every OLDEST-th choice of a CPU is the thread that has been ready for
 * longest, so that no group starves.
 *
 * There are SLOTS - 1 groups: numbers that are equal modulo that are the same group. Slot 0 is for
 * threads without group: they share nothing, so each counts as a group that nobody runs.
 *
 * Invariants (lock):
 *   1. A slot's bit in `ready` is set exactly if its list is not empty.
 *   2. waiting[i] counts the ready threads of groups whose home is CPU i; waiting_any the others.
 *      Each is changed with the lists. ORDER(idle-wake)
 *   3. A group's `running` is the number of CPUs whose `slot` it is.
 * Lock: cache.lock (RANK_RUNQ). There are no classes: neither disciplines nor priorities.
 */
#include "cache.h"
#include "mutant.h"

#define SLOTS 64u
#define OLDEST 64u
#define NOWHERE UINT32_MAX

struct group {
    struct list threads;
    uint32_t home;    /* NOWHERE: none yet */
    uint32_t running; /* CPUs that run one of its threads */
};

struct groups_cpu {
    uint32_t slot;              /* (lock) group of the thread that runs here; 0: none */
    uint32_t last;              /* (O) group of the latest one that had one */
    uint32_t choices;           /* (O) */
    uint32_t homes;             /* (lock) groups that are at home here */
    _Atomic(uint32_t) waiting;  /* (lock) written */
    uint64_t reused, different; /* (O) choices of the same group, of one that no other CPU ran */
} ALIGNED(RT_CACHELINE);

static struct {
    bool homeless; /* (C) option home=none */
    uint64_t ready, arrivals;
    _Atomic(uint32_t) waiting_any; /* (lock) written */
    struct group slots[SLOTS];
    struct groups_cpu cpus[RT_MAX_CPUS];
} groups;

/* A candidate: the first thread of a slot. */
struct candidate {
    struct thread *thread;
    uint32_t slot;
    bool fits, different, same;
};

static int groups_set_home(const char *value, const char **why)
{
    (void)why;
    groups.homeless = sched_choice("cpu|none", value) == 1;
    return 0;
}

static int groups_init(unsigned ncpu)
{
    cache_init(ncpu);
    groups.ready = groups.arrivals = 0;
    at_init(&groups.waiting_any, 0u);
    for (unsigned i = 0; i < SLOTS; i++) {
        groups.slots[i] = (struct group){.home = NOWHERE};
        list_init(&groups.slots[i].threads);
    }
    for (unsigned i = 0; i < ncpu; i++) {
        groups.cpus[i] = (struct groups_cpu){0};
        at_init(&groups.cpus[i].waiting, 0u);
    }
    return 0;
}

static uint32_t slot_of(uint32_t group)
{
    return group == 0 ? 0 : 1 + (group - 1) % (SLOTS - 1);
}

/* The home of a group; NOWHERE: its threads run anywhere. */
static uint32_t home_locked(uint32_t slot)
{
    struct group *g = &groups.slots[slot];
    if (slot == 0 || groups.homeless || MUTANT(GROUPS_ASTRAY)) {
        return NOWHERE;
    }
    if (g->home == NOWHERE) {
        g->home = 0;
        for (unsigned i = 1; i < rt.ncpu; i++) {
            g->home = groups.cpus[i].homes < groups.cpus[g->home].homes ? i : g->home;
        }
        groups.cpus[g->home].homes++;
    }
    return g->home;
}

static void count_locked(uint32_t home, int n)
{
    _Atomic(uint32_t) *waiting = home == NOWHERE ? &groups.waiting_any : &groups.cpus[home].waiting;
    at_store_rlx(waiting, at_load_rlx(waiting) + (uint32_t)n);
}

static struct pirn_kick groups_enqueue(struct cpu *self, struct thread *t, enum pirn_why why)
{
    struct demand_now now = cache_enters(t);
    uint32_t slot = slot_of(now.group);
    struct group *g = &groups.slots[slot];
    spin_lock(&cache.lock, RANK_RUNQ);
    uint32_t home = home_locked(slot);
    cache_room(t)[1] = groups.arrivals++;
    if (why == PIRN_WHY_HANDOFF) {
        list_push_front(&g->threads, &t->rq);
    } else {
        list_push_back(&g->threads, &t->rq);
    }
    groups.ready |= (uint64_t)1 << slot;
    count_locked(home, 1);
    spin_unlock(&cache.lock, RANK_RUNQ);
    if (home == NOWHERE) {
        return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
    }
    bool here = self != NULL && self->id == home;
    return (struct pirn_kick){.cpu = here ? PIRN_KICK_NONE : (int)home};
}

/* ---- the choice ---- */

static struct candidate candidate_at(const struct cpu *self, uint32_t slot)
{
    const struct groups_cpu *c = &groups.cpus[self->id];
    const struct group *g = &groups.slots[slot];
    struct thread *t = CONTAINER_OF(g->threads.next, struct thread, rq);
    uint32_t elsewhere = g->running - (slot != 0 && c->slot == slot);
    return (struct candidate){
        .thread = t,
        .slot = slot,
        .fits = cache_fits(cache_charge(self), cache_working_set(t)) || MUTANT(GROUPS_FULL),
        .different = slot == 0 || elsewhere == 0 || MUTANT(GROUPS_ALIKE),
        .same = slot != 0 && c->last == slot && !MUTANT(GROUPS_FORGET),
    };
}

/* Rules 1 to 4. */
static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    if (a->fits != b->fits) {
        return a->fits;
    }
    if (a->different != b->different) {
        return a->different;
    }
    if (a->fits && a->same != b->same) {
        return a->same;
    }
    uintptr_t size_a = cache_working_set(a->thread), size_b = cache_working_set(b->thread);
    if (!a->fits && size_a != size_b) {
        return size_a < size_b;
    }
    return cache_value(a->thread) < cache_value(b->thread);
}

/* The next thread for `self`. */
static struct candidate choose_locked(const struct cpu *self)
{
    struct candidate best = {0};
    bool oldest = ++groups.cpus[self->id].choices % OLDEST == 0;
    for (uint64_t rest = groups.ready; rest != 0; rest &= rest - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(rest), home = home_locked(slot);
        if (home != NOWHERE && home != self->id) {
            continue;
        }
        struct candidate c = candidate_at(self, slot);
        bool before = best.thread != NULL && oldest
                          ? cache_value(c.thread) < cache_value(best.thread)
                          : best.thread == NULL || goes_before(&c, &best);
        best = before ? c : best;
    }
    return best;
}

/* `self` runs a thread of this slot from now on; 0: of no group, or none. */
static void runs_locked(const struct cpu *self, uint32_t slot)
{
    struct groups_cpu *c = &groups.cpus[self->id];
    groups.slots[c->slot].running -= c->slot != 0;
    groups.slots[slot].running += slot != 0;
    c->slot = slot;
    c->last = slot != 0 ? slot : c->last;
}

static void take_locked(struct cpu *self, const struct candidate *c)
{
    struct group *g = &groups.slots[c->slot];
    list_remove(&c->thread->rq);
    if (list_empty(&g->threads)) {
        groups.ready &= ~((uint64_t)1 << c->slot);
    }
    count_locked(home_locked(c->slot), -1);
    if (c->slot != 0) {
        STAT_ADD(&groups.cpus[self->id].reused, c->same);
        STAT_ADD(&groups.cpus[self->id].different, c->different);
    }
    runs_locked(self, c->slot);
    cache_charge_locked(self, cache_working_set(c->thread));
}

static bool groups_has_work(struct cpu *self)
{
    bool any = at_load_rlx(&groups.waiting_any) != 0;                  /* ORDER(idle-wake) */
    return any || (at_load_rlx(&groups.cpus[self->id].waiting) != 0 && /* ORDER(idle-wake) */
                   !MUTANT(GROUPS_BLIND));
}

static struct thread *groups_pick(struct cpu *self)
{
    bool stops = cache_stops(self);
    const struct groups_cpu *c = &groups.cpus[self->id];
    bool leaves = stops && (c->slot != 0 || cache_charge(self) != 0);
    if (!leaves && !groups_has_work(self)) {
        cache_of(self)->ends = false;
        return NULL;
    }
    spin_lock(&cache.lock, RANK_RUNQ);
    if (stops) {
        runs_locked(self, 0);
        cache_charge_locked(self, 0);
    }
    struct candidate next = choose_locked(self);
    if (next.thread != NULL) {
        take_locked(self, &next);
    }
    spin_unlock(&cache.lock, RANK_RUNQ);
    return next.thread;
}

static void groups_stat(struct cpu *self, void (*emit)(void *to, const char *name, uint64_t value),
                        void *to)
{
    const struct groups_cpu *c = &groups.cpus[self->id];
    cache_stat(self, emit, to);
    emit(to, "groups-reused", STAT_GET(&c->reused));
    emit(to, "groups-different", STAT_GET(&c->different));
}

static void check_slot_locked(uint32_t slot)
{
    const struct group *g = &groups.slots[slot];
    uint32_t running = 0;
    for (const struct list *node = g->threads.next; node != &g->threads; node = node->next) {
        RT_VERIFY(at_load_rlx(&CONTAINER_OF(node, struct thread, rq)->state) == THREAD_READY);
    }
    for (unsigned i = 0; i < rt.ncpu; i++) {
        running += slot != 0 && groups.cpus[i].slot == slot;
    }
    RT_VERIFY(running == g->running);
    RT_VERIFY(list_empty(&g->threads) == ((groups.ready >> slot & 1) == 0));
}

static void groups_check(void)
{
    spin_lock(&cache.lock, RANK_RUNQ);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        check_slot_locked(slot);
    }
    cache_check_locked();
    spin_unlock(&cache.lock, RANK_RUNQ);
}

static const struct pirn_policy_option groups_options[] = {
    {.name = "home",
     .values = "cpu|none",
     .deflt = "cpu",
     .help = "cpu: the threads of a group run on one CPU, for caches that CPUs do not share; none: "
             "on any",
     .set = groups_set_home},
    CACHE_OPTION,
    {0}};

const struct sched_built_in sched_groups = {
    .policy =
        {
            .name = "groups",
            .help = "threads that share data run on one CPU; CPUs run different groups that fit "
                    "into the shared cache",
            .options = SCHED_OPTIONS_OF(groups_options),
            .init = groups_init,
            .enqueue = groups_enqueue,
            .pick = groups_pick,
            .has_work = groups_has_work,
            .thread_exit = cache_thread_exit,
            .stat = groups_stat,
            .check = FOR_TESTS(groups_check),
        },
};
