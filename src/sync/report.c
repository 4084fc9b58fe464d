/* SPDX-License-Identifier: MIT */
/*
 * report.c - see report.h.
 */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "id.h"
#include "label.h"
#include "omutex.h"
#include "port_foreign.h"
#include "port_io.h"
#include "port_report.h"
#include "port_signals.h"
#include "runtime.h"
#include "wake.h"

#define QUIET_NS 100000000ull       /* look when no CPU has moved for so long */
#define AGAIN_NS 200000000ull       /* first interval between looks */
#define AGAIN_MAX_NS 60000000000ull /* last one */
#define SECOND_NS 1000000000ull
#define LINES_MAX 200u

const char rt_wait_text[WAIT_REASONS][REPORT_TEXT_MAX] = REPORT_TEXTS;

/* A wait that only threads end. */
static bool wait_is_inner(uint8_t reason)
{
    switch (reason) {
    case WAIT_MUTEX:
    case WAIT_COND:
    case WAIT_SEM:
    case WAIT_RDLOCK:
    case WAIT_WRLOCK:
    case WAIT_BARRIER:
    case WAIT_ONCE:
    case WAIT_JOIN:
    case WAIT_FE_FULL:
    case WAIT_FE_EMPTY:
    case WAIT_FUTEX:
    case WAIT_FLAGS:
    case WAIT_MESSAGE:
    case WAIT_ROOM:
    case WAIT_TIMER:
    case WAIT_POLL:
    case WAIT_LABEL:
        return true;
    default:
        return false;
    }
}

static _Atomic(uint32_t) watched; /* a CPU has said that it is the last one, and a turn will come */
static _Atomic(uint32_t) dump;    /* asked for */
static _Atomic(uint32_t) dumping; /* by rt_dump */

/* (caller of rt_report_turn: one at a time, by `watched`) */
static struct {
    uint64_t at;       /* when to look; UINT64_MAX: not */
    uint64_t interval; /* between this look and the next */
    uint64_t moves;    /* when the look was planned */
    uint64_t since;    /* no CPU has moved */
    uint64_t quiet;    /* ns after which that is reported; UINT64_MAX: never */
} watch;

void rt_report_start(void)
{
    at_init(&watched, 0u);
    at_init(&dump, 0u);
    at_init(&dumping, 0u);
    watch.at = UINT64_MAX;
    watch.quiet = rt.quiet_s != 0 ? rt.quiet_s * SECOND_NS : UINT64_MAX;
}

void rt_report_idle(void)
{
    RT_ASSERT(rt_is_inside() && lockrank_none_held());
    if (rt.deadlock != RT_DEADLOCK_OFF && at_load_rlx(&watched) == 0 && rt_all_asleep() &&
        at_xchg_acq_rel(&watched, 1u) == 0) { /* ORDER(deadlock-watch) */
        port_report_poke();
    }
}

void rt_dump_asked(void)
{
    at_store_rel(&dump, 1u); /* ORDER(deadlock-watch) */
    port_report_poke();
}

/* Grows whenever a CPU switches threads or sleeps. */
static uint64_t moves(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        sum += STAT_GET(&rt.cpus[i]->stats.switches) + STAT_GET(&rt.cpus[i]->stats.sleeps);
    }
    return sum;
}

static bool timers_armed(void)
{
    for (unsigned i = 0; i < rt.ncpu; i++) {
        if (timer_any(&rt.cpus[i]->timers)) {
            return true;
        }
    }
    return false;
}

struct tally {
    unsigned wait, others;
};

/* The waiter writes these fields before its CPU says that it sleeps. Otherwise a CPU has moved, and
 * the look does not count. */
static NO_TSAN void tally_thread(struct thread *t, void *arg)
{
    struct tally *tally = arg;
    uint32_t state = at_load_rlx(&t->state);
    if ((t->flags & THREAD_IDLE) || state == THREAD_EXITED) {
        return;
    }
    if (state == THREAD_BLOCKED && wait_is_inner(t->wait_reason)) {
        tally->wait++;
    } else {
        tally->others++;
    }
}

enum look { LOOK_AWAKE, LOOK_LATER, LOOK_OUTSIDERS, LOOK_DEADLOCK };

static enum look look(unsigned *waiting)
{
    struct tally tally = {0, 0};
    uint64_t before = moves();
    if (!rt_all_asleep()) {
        return LOOK_AWAKE;
    }
    if (timers_armed() || (RT_INPUT && rt_io_waiting() != 0)) {
        return LOOK_LATER;
    }
    if (port_outsiders()) {
        return LOOK_OUTSIDERS;
    }
    id_for_each_locked(tally_thread, &tally);
    if (tally.others != 0 || tally.wait == 0) {
        return LOOK_LATER;
    }
    at_fence_heavy(); /* ORDER(deadlock-watch) */
    *waiting = tally.wait;
    return rt_all_asleep() && moves() == before ? LOOK_DEADLOCK : LOOK_AWAKE;
}

/* ---- the text ---- */

enum { SAY_ALL, SAY_QUIET, SAY_DEADLOCK };

/* For the report, which has no arguments. */
static unsigned nwaiting;
static int says;
static const struct thread *reporter; /* the stand-in of the thread that writes the report */

static void say(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void say(const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

struct find {
    const struct thread *wanted;
    struct thread *found;
};

static void find_thread(struct thread *t, void *arg)
{
    struct find *find = arg;
    if (t == find->wanted && at_load_rlx(&t->state) != THREAD_EXITED) {
        find->found = t;
    }
}

/* The pointer may be stale: owners are noted, and never cleared. */
static struct thread *living(const void *wanted)
{
    struct find find = {wanted, NULL};
    if (wanted != NULL) {
        id_for_each(find_thread, &find);
    }
    return find.found;
}

static void find_main(struct thread *t, void *arg)
{
    struct thread **found = arg;
    if (t->flags & THREAD_MAIN) {
        *found = t;
    }
}

/* Without an identity before the runtime's start, what is locked then is noted without an owner. */
static struct thread *early_owner(void)
{
    struct thread *found = NULL;
    if (!PORT_IDENTITY) {
        id_for_each(find_main, &found);
    }
    return living(found);
}

static struct thread *mutex_owner(const struct rt_mutex *m)
{
    if (rt_mutex_form(m->kind) == MUTEX_IS_OMUTEX) {
        uint32_t index = at_load_rlx(&((struct rt_omutex *)(uintptr_t)m)->word) & OM_OWNER;
        return index != 0 && index != OM_LOST && index != OM_GONE ? living(id_thread(index)) : NULL;
    }
    return m->owner != NULL ? living(m->owner) : early_owner();
}

/* The thread that must end the wait that t describes; NULL: none in particular. */
static struct thread *wait_ender(const struct thread *t)
{
    switch (t->wait_reason) {
    case WAIT_MUTEX:
        return mutex_owner(t->wait_object);
    case WAIT_RDLOCK:
    case WAIT_WRLOCK: {
        uint32_t hint = ((const struct rt_rwlock *)t->wait_object)->owner_hint;
        return hint != 0 ? living(id_thread(hint - 1)) : NULL;
    }
    case WAIT_JOIN:
        return living(t->wait_object);
    default:
        return NULL;
    }
}

static struct thread *waits_on(const struct thread *t)
{
    return at_load_rlx(&t->state) == THREAD_BLOCKED ? wait_ender(t) : NULL;
}

/* The thread that locked it last is known, and none that lives. */
static bool owner_has_ended(const struct rt_mutex *m)
{
    if (m->kind & (OM_ROBUST | OM_INHERIT | OM_PROTECT)) {
        return false;
    }
    return m->owner != NULL && living(m->owner) == NULL;
}

/* It has the program's name, unless the program gives it another one. */
static const char *main_text(const struct thread *t)
{
    return t->flags & THREAD_MAIN && strcmp(t->name, "main") != 0 ? " (main)" : "";
}

bool rt_describe_wait(const struct thread *t, char *text, size_t size)
{
    char object[24] = "", owner[RT_NAME_MAX + 40] = "";
    const struct thread *on = wait_ender(t);
    if (RT_LABELS && t->wait_reason == WAIT_LABEL) {
        rt_label_text(t->wait_object, text, size);
        return true;
    }
    if (t->wait_reason == WAIT_JOIN) {
        snprintf(owner, sizeof(owner), " %" PRIu32 " \"%s\"", on != NULL ? on->index : 0,
                 on != NULL ? on->name : "");
    } else if (wait_is_inner(t->wait_reason) && t->wait_object != NULL) {
        snprintf(object, sizeof(object), " %p", t->wait_object);
        if (on == t && at_load_rlx(&t->state) == THREAD_BLOCKED) {
            snprintf(owner, sizeof(owner), ", which it holds itself");
        } else if (on != NULL) {
            snprintf(owner, sizeof(owner), ", owned by thread %" PRIu32 " \"%s\"", on->index,
                     on->name);
        } else if (t->wait_reason == WAIT_MUTEX && owner_has_ended(t->wait_object)) {
            snprintf(owner, sizeof(owner), ", whose owner has ended");
        }
    }
    snprintf(text, size, "%s%s%s",
             t->wait_reason < WAIT_REASONS ? rt_wait_text[t->wait_reason] : "?", object, owner);
    return t->wait_reason != WAIT_NONE;
}

void rt_describe_index(uint32_t index, char *text, size_t size)
{
    const struct thread *t = living(id_thread(index));
    text[0] = '\0';
    if (t != NULL) {
        snprintf(text, size, "thread %" PRIu32 " \"%s\"", t->index, t->name);
    }
}

static void say_wait(const struct thread *t)
{
    char where[160] = "";
    char what[RT_LABELS ? PIRN_LABEL_TEXT_MAX : REPORT_TEXT_MAX + RT_NAME_MAX + 64];
    if (!port_where(t, where, sizeof(where))) {
        where[0] = '\0';
    }
    rt_describe_wait(t, what, sizeof(what));
    say("pirn:   thread %" PRIu32 " \"%s\"%s waits for %s", t->index, t->name, main_text(t), what);
    say("%s%s\n", where[0] != '\0' ? ", in " : "", where);
    port_say_calls(t);
}

static void say_thread(struct thread *t, void *arg)
{
    unsigned *lines = arg;
    uint32_t state = at_load_rlx(&t->state);
    if ((t->flags & THREAD_IDLE) || t == reporter || state == THREAD_EXITED ||
        ++*lines > LINES_MAX) {
        return;
    }
    if (state == THREAD_BLOCKED) {
        say_wait(t);
    } else {
        say("pirn:   thread %" PRIu32 " \"%s\"%s %s\n", t->index, t->name, main_text(t),
            (t->flags & THREAD_FOREIGN)                ? "is a kernel thread of the program's"
            : state != THREAD_RUNNING                  ? "is ready"
            : t->cpu != NULL && rt_cpu_runs(t->cpu, t) ? "runs"
                                                       : "is in a call");
    }
}

/* Each cycle once: by its smallest index. */
static void say_cycle(struct thread *t, void *arg)
{
    (void)arg;
    unsigned steps = 0;
    if ((t->flags & THREAD_IDLE) || at_load_rlx(&t->state) != THREAD_BLOCKED) {
        return;
    }
    for (struct thread *at = waits_on(t); at != t; at = waits_on(at)) {
        if (at == NULL || at->index < t->index || ++steps > LINES_MAX) {
            return;
        }
    }
    say("pirn: cycle: thread %" PRIu32 " \"%s\"", t->index, t->name);
    struct thread *at = t;
    do {
        at = waits_on(at);
        say(" -> %" PRIu32 " \"%s\"", at->index, at->name);
    } while (at != t);
    say("\n");
}

static NO_TSAN void report(void)
{
    unsigned lines = 0;
    reporter = port_cpu_self() == NULL ? port_foreign_self() : NULL;
    if (says == SAY_DEADLOCK) {
        say("pirn: deadlock: %u thread%s wait%s, and nothing is left that can wake %s\n", nwaiting,
            nwaiting == 1 ? "" : "s", nwaiting == 1 ? "s" : "", nwaiting == 1 ? "it" : "one");
    } else if (says == SAY_QUIET) {
        say("pirn: nothing has run for %u s; waiting:\n",
            (unsigned)((port_now() - watch.since) / SECOND_NS));
    } else {
        say("pirn: threads:\n");
    }
    id_for_each(say_thread, &lines);
    if (lines > LINES_MAX) {
        say("pirn:   and %u more\n", lines - LINES_MAX);
    }
    id_for_each(say_cycle, NULL);
    port_say_places();
}

/* All threads, while they run: at once where the port writes reports in the caller, else soon. Any
 * context. Two at the same time are one. */
void rt_dump(void)
{
    if (!PORT_DUMPS_HERE) {
        rt_dump_asked();
    } else if (at_xchg_acq(&dumping, 1u) == 0) { /* ORDER(deadlock-watch) */
        says = SAY_ALL;
        report();
        at_store_rel(&dumping, 0u); /* ORDER(deadlock-watch) */
    }
}

static void report_deadlock(unsigned waiting)
{
    RT_ASSERT(waiting != 0 && rt.deadlock != RT_DEADLOCK_OFF);
    nwaiting = waiting;
    says = SAY_DEADLOCK;
    port_report_run(report);
    if (rt.deadlock == RT_DEADLOCK_ABORT) {
        port_panic();
    }
}

/* No more looks until a CPU asks for one. False: all CPUs sleep meanwhile, so none will ask. */
static bool watch_end(void)
{
    RT_ASSERT(at_peek(&watched) == 1);
    at_store_rel(&watched, 0u); /* ORDER(deadlock-watch) */
    at_fence_heavy();           /* ORDER(deadlock-watch) */
    if (rt_all_asleep() && moves() != watch.moves && at_xchg_acq_rel(&watched, 1u) == 0) {
        return false; /* ORDER(deadlock-watch) */
    }
    watch.at = UINT64_MAX;
    return true;
}

static void watch_plan(uint64_t now)
{
    RT_ASSERT(at_peek(&watched) == 1);
    watch.moves = moves();
    watch.interval = AGAIN_NS;
    watch.since = now;
    watch.at = now + QUIET_NS;
}

/* Only an outsider can wake a thread. Each time for twice as long as was reported before. */
static void watch_outsiders(uint64_t now)
{
    if (now - watch.since >= watch.quiet) {
        watch.quiet = 2 * (now - watch.since);
        says = SAY_QUIET;
        port_report_run(report);
    }
    uint64_t report_at = watch.quiet != UINT64_MAX ? watch.since + watch.quiet : UINT64_MAX;
    watch.at = now + watch.interval < report_at ? now + watch.interval : report_at;
    watch.interval = watch.interval * 2 < AGAIN_MAX_NS ? watch.interval * 2 : AGAIN_MAX_NS;
}

static void watch_look(uint64_t now)
{
    unsigned waiting = 0;
    RT_ASSERT(watch.interval >= AGAIN_NS);
    if (moves() != watch.moves && rt_all_asleep()) {
        watch_plan(now);
        return;
    }
    enum look seen = look(&waiting);
    if (seen == LOOK_OUTSIDERS) {
        watch_outsiders(now);
        return;
    }
    if (seen == LOOK_DEADLOCK) {
        report_deadlock(waiting);
    }
    if (!watch_end()) {
        watch_plan(now);
    }
}

uint64_t rt_report_turn(uint64_t now)
{
    if (at_xchg_acq(&dump, 0u) != 0) { /* ORDER(deadlock-watch) */
        says = SAY_ALL;
        port_report_run(report);
    }
    if (watch.at == UINT64_MAX) {
        if (at_load_acq(&watched) == 0) { /* ORDER(deadlock-watch) */
            return UINT64_MAX;
        }
        watch_plan(now);
    } else if (now >= watch.at) {
        watch_look(now);
    }
    return watch.at;
}
