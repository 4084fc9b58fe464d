/* SPDX-License-Identifier: MIT */
/*
 * options_fixed.c - what options.c is without settings that are read: those that the program has
 * when it is linked (static.h), else the defaults. Called once, by rt_start.
 */
#include <pirn/static.h>

#include "cpu.h"
#include "options.h"

extern const struct sched_built_in RT_SCHED_FIRST; /* the build's choice */

const struct pirn_settings pirn_settings __attribute__((weak)) = {0};

static uint32_t or_default(uint32_t value, uint32_t deflt)
{
    return value != 0 ? value : deflt;
}

static void options_check(const struct pirn_settings *s)
{
    uint32_t tick = or_default(s->tick_us, 10000), slice = or_default(s->slice_us, 10000);
    const char *wrong = s->cpus > RT_MAX_CPUS                ? "cpus: more than there may be"
                        : tick < RT_TICK_MIN || slice < tick ? "tick_us, slice_us: 1000 <= tick "
                                                               "<= slice"
                        : s->preempt && !RT_PREEMPT          ? "preempt: left out of this build"
                                                             : NULL;
    if (wrong != NULL) {
        rt_refuse("pirn: pirn_settings.%s\n", wrong);
    }
}

static void policy_use(void)
{
    const struct pirn_policy *first = &RT_SCHED_FIRST.policy;
    const char *why = NULL;
    for (const struct pirn_policy_option *o = first->options; o != NULL && o->name != NULL; o++) {
        o->set(o->deflt, &why);
    }
    sched_use(&rt.policy, first);
}

void options_load(void)
{
    const struct pirn_settings *s = &pirn_settings;
    unsigned there = port_cpu_count();
    options_check(s);
    rt.ncpu = s->cpus != 0 && s->cpus < there ? s->cpus : there;
    rt.preempt = s->preempt || (rt_personality.preempt && RT_PREEMPT);
    rt.preempt_asked = s->preempt;
    rt.tick_ns = or_default(s->tick_us, 10000) * 1000ull;
    rt.slice_ns = or_default(s->slice_us, 10000) * 1000ull;
    rt.slice_ticks = (or_default(s->slice_us, 10000) - 1) / or_default(s->tick_us, 10000) + 1;
    rt.spin_ns = RT_SPIN_DEFAULT * 1000ull;
    rt.deadlock = RT_DEADLOCK_ABORT;
    rt.stack_size = or_default(s->stack_size, RT_STACK_DEFAULT);
    rt.stack_fill = RT_MARKS && s->stack_fill;
    rt.reservoir = s->reservoir;
    rt.stack_cache_limit = s->reservoir / (2 * rt.ncpu);
    policy_use();
}

void options_load_of(const char *prefix)
{
    (void)prefix;
}

/* Nothing can be chosen. */
const char *options_describe(void)
{
    return "{\"version\":\"" RT_VERSION "\",\"options\":[],\"policies\":[]}";
}

bool options_describe_fits(const struct pirn_policy *policy)
{
    (void)policy;
    return true;
}
