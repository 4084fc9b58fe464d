/* SPDX-License-Identifier: MIT */
/*
 * traced.c - runs with the event trace: the trace changes nothing, and it is true.
 *
 * Each run twice, without and with: the same decisions, the same hash. The second run's trace is
 * compared with the runtime's counters, and with itself:
 *   1. the thread that a CPU leaves is the one to which it switched last, also across blocks;
 *   2. as many switches as the CPU counted, unless some are lost; as many threads stolen, and
 *      consumers placed;
 *   3. a life of a thread is created once, starts at most once, ends at most once;
 *   4. a thread that blocks is switched out at once, and its event has the time of the next one;
 *   5. the file, in which rings are as long as they need to be, has as many events as the memory,
 *      and as many of them are lost.
 */
#include <stdio.h>
#include <string.h>

#include "../../src/core/cpu.h"
#include "../../src/core/runtime.h"
#include "../../src/sched/affinity_queue.h"
#include "../../src/trace/file.h"
#include "../trace/reader.h"
#include "driver.h"

#define THREADS 64u

struct traced_life {
    uint32_t number;
    bool spawned, started, ended;
};

struct check {
    const struct trace_ring *ring; /* the one that is being read */
    uint32_t current;
    bool blocks, late; /* the previous event was `block` */
    uint64_t late_at;
    uint64_t switches, stolen, placed;
    struct traced_life lives[THREADS];
};

static struct check check;
static unsigned long long traced_events, traced_lost;
static unsigned long long events, lost; /* of this run */
static char wrong[256];

static const char *check_switch(const struct trace_seen *e)
{
    if (e->b != check.current) {
        snprintf(wrong, sizeof(wrong), "CPU %u leaves thread %u, and ran %u", e->ring->cpu, e->b,
                 check.current);
        return wrong;
    }
    if (check.blocks != (e->small == TRACE_SWITCH_BLOCK)) {
        return "a thread blocks and is not switched away from, or the other way round";
    }
    check.blocks = false;
    check.current = e->a;
    check.switches++;
    return NULL;
}

/* Rings are read one after the other: a life may end in an earlier ring than the one in which it
 * begins. */
static const char *check_life(const struct trace_seen *e)
{
    if (e->a >= THREADS) {
        return NULL;
    }
    struct traced_life *life = &check.lives[e->a];
    if (life->number != e->b) {
        *life = (struct traced_life){.number = e->b};
    }
    bool *what = e->event == TRACE_EV_SPAWN   ? &life->spawned
                 : e->event == TRACE_EV_START ? &life->started
                                              : &life->ended;
    if (*what) {
        snprintf(wrong, sizeof(wrong), "thread %u.%u: event %u twice", e->a, e->b, e->event);
        return wrong;
    }
    *what = true;
    return NULL;
}

static const char *check_event(const struct trace_seen *e, void *unused)
{
    (void)unused;
    events++;
    if (e->ring->kind == TRACE_RING_ANY) {
        return NULL;
    }
    if (check.ring != e->ring) {
        check.ring = e->ring;
        check.current = e->running;
        check.blocks = check.late = false;
    } else if (e->block_begins && e->running != check.current && e->event != TRACE_EV_CARRY) {
        return "a block begins with another thread than ran before";
    }
    if (check.late && !e->block_begins && e->clock != check.late_at) {
        return "a thread blocks at another time than the event after that";
    }
    check.late = e->event == TRACE_EV_BLOCK;
    check.late_at = e->clock;
    switch (e->event) {
    case TRACE_EV_SWITCH:
        return check_switch(e);
    case TRACE_EV_BLOCK:
        check.blocks = true;
        return NULL;
    case TRACE_EV_CARRY:
        check.current = e->a;
        return NULL;
    case TRACE_EV_STEAL:
        check.stolen += e->a;
        return NULL;
    case TRACE_EV_PLACE:
        check.placed += e->b != TRACE_NO_THREAD; /* others are not counted */
        return NULL;
    case TRACE_EV_SPAWN:
    case TRACE_EV_START:
    case TRACE_EV_EXIT:
        return check_life(e);
    default:
        return NULL;
    }
}

/* By CPUs, for this run. */
static uint64_t placed_count(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < rt.ncpu && affinity.rule != AFFINITY_OFF; i++) {
        n += affinity.cpus[i].counts.here + affinity.cpus[i].counts.there;
    }
    return n;
}

static const char *read_all(const void *file, size_t size)
{
    check = (struct check){.ring = NULL};
    events = 0;
    uint64_t gone;
    const char *why = trace_read(file, size, check_event, NULL, &gone);
    lost = gone;
    return why;
}

/* After the run has been read from memory. */
static const char *check_saved(const void *file, size_t size)
{
    unsigned long long events_before = events, lost_before = lost;
    const char *why = read_all(file, size);
    if (why != NULL || (events == events_before && lost == lost_before)) {
        return why;
    }
    snprintf(wrong, sizeof(wrong), "%llu events in the file and %llu lost, %llu and %llu in memory",
             events, lost, events_before, lost_before);
    return wrong;
}

const char *traced_check(const void *file, size_t size, bool saved)
{
    struct cpu_stats sum = {0};
    if (saved) {
        return check_saved(file, size);
    }
    const char *why = read_all(file, size);
    traced_events += events;
    traced_lost += lost;
    for (unsigned i = 0; i < rt.ncpu; i++) {
        sum.switches += rt.cpus[i]->stats.switches;
        sum.steals += rt.cpus[i]->stats.steals;
    }
    if (why != NULL || lost != 0) {
        return why;
    }
    if (check.switches != sum.switches) {
        snprintf(wrong, sizeof(wrong), "%llu switches in the trace, %llu counted",
                 (unsigned long long)check.switches, (unsigned long long)sum.switches);
        return wrong;
    }
    if (check.placed != placed_count()) {
        return "other consumers placed than counted";
    }
    return strcmp(rt.policy.name, "steal") == 0 && check.stolen != sum.steals
               ? "other threads stolen than counted"
               : NULL;
}

/* One test, one seed. */
static bool traced_one(const struct place *place, const struct test *test, uint64_t seed)
{
    struct sim_result plain, traced;
    char text[WHERE_TEXT];
    options.traced = false;
    run_one(place, test, seed, &plain);
    options.traced = true;
    run_one(place, test, seed, &traced);
    bool same = plain.hash == traced.hash && plain.steps == traced.steps;
    if (same && !traced.failed) {
        return true;
    }
    where_print(text, sizeof(text), where);
    printf("FAILED %s/%s: %s\n%s --traced\n", place->suite->name, test->name,
           same ? traced.why : "another run with the trace than without", text);
    return false;
}

int traced_main(void)
{
    unsigned long long failures = 0;
    for (unsigned i = 0; i < places_count(); i++) {
        struct place place = place_get(i);
        for (uint64_t seed = options.first; seed < options.first + options.seeds; seed++) {
            for (const struct test *test = place.suite->tests; test->name != NULL; test++) {
                if (test_selected(test) && !traced_one(&place, test, seed) && ++failures > 5) {
                    return 1;
                }
            }
        }
    }
    printf("%llu runs, %llu events, %llu lost, %llu failed\n", where->schedules, traced_events,
           traced_lost, failures);
    return failures != 0 || traced_events == 0;
}
