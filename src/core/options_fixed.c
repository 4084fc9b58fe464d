/* SPDX-License-Identifier: MIT */
/*
 * options_fixed.c - replaces options.c in builds that read no settings: the values are those with
 * which the program is linked (static.h), else the defaults of options.def. Called once, by
 * rt_start.
 */
#include <pirn/static.h>

#include "options.h"
#include "runtime.h"

#if RT_ONLY_SINGLE
#define POLICY_USE() sched_use_only()
#else
extern const struct sched_built_in RT_SCHED_FIRST; /* the build's choice */
#define POLICY_USE() sched_use(&rt.policy, &RT_SCHED_FIRST.policy)
#endif

const struct pirn_settings pirn_settings __attribute__((weak)) = {0};

/* DEFAULT_stack and so on. */
#define OPTION_FLAG(name, place, deflt, ...) DEFAULT_##name = (deflt),
#define OPTION_NUMBER(name, place, deflt, ...) DEFAULT_##name = (deflt),
#define OPTION_SIZE(name, place, deflt, ...) DEFAULT_##name = (deflt),
#define OPTION_DURATION(name, place, deflt, ...) DEFAULT_##name = (deflt),
#define OPTION_CHOICE(name, place, deflt, ...) DEFAULT_##name = (deflt),
#define OPTION_TEXT(...)
#define OPTION_NAMES(...)
#define OPTION_CUSTOM(...)
enum {
#include "options.def"
};

static uint32_t or_default(uint32_t value, uint32_t deflt)
{
    return value != 0 ? value : deflt;
}

static void settings_check(const struct pirn_settings *s, uint32_t tick, uint32_t slice)
{
    const char *wrong = s->cpus > RT_MAX_CPUS                ? "cpus: more than there may be"
                        : tick < RT_TICK_MIN || slice < tick ? "tick_us, slice_us: 1000 <= tick "
                                                               "<= slice"
                        : s->preempt && !RT_PREEMPT          ? "preempt: left out of this build"
                        : s->priorities && !RT_CLASSES       ? "priorities: left out of this build"
                                                             : NULL;
    if (wrong != NULL) {
        rt_refuse("pirn: pirn_settings.%s\n", wrong);
    }
}

void options_load(void)
{
    const struct pirn_settings *s = &pirn_settings;
    unsigned there = port_cpu_count();
    uint32_t tick = or_default(s->tick_us, DEFAULT_tick);
    uint32_t slice = or_default(s->slice_us, tick > DEFAULT_slice ? tick : DEFAULT_slice);
    settings_check(s, tick, slice);
    rt.ncpu = s->cpus != 0 && s->cpus < there ? s->cpus : there;
    rt.preempt = s->preempt || (rt_personality.preempt && RT_PREEMPT);
    rt.preempt_asked = s->preempt;
    rt.tick_ns = tick * 1000ull;
    rt.slice_ns = slice * 1000ull;
    rt.slice_ticks = (slice - 1) / tick + 1;
    rt.spin_ns = DEFAULT_spin * 1000ull;
    if (RT_REPORT) {
        rt.deadlock = (enum rt_deadlock)DEFAULT_deadlock;
        rt.quiet_s = DEFAULT_quiet;
    }
    rt.stack_size = or_default(s->stack_size, DEFAULT_stack);
    rt.stack_fill = RT_MARKS && s->stack_fill;
    if (RT_STACKS) {
        rt.reservoir = s->reservoir;
        rt.stack_cache_limit = s->reservoir / (2 * rt.ncpu);
    }
    sched_use_discipline(s->priorities);
    POLICY_USE();
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
