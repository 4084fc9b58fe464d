/* SPDX-License-Identifier: MIT */
/*
 * fair.h - what policy fair (fair.c) knows of a thread, and how it corrects slices. For fair.c and
 * its test.
 *
 * Rates are misses of the shared cache by work, costs are time by work (port_misses.h), both in
 * fixed point.
 */
#ifndef PIRN_SCHED_FAIR_H
#define PIRN_SCHED_FAIR_H

#include "../core/demand.h"
#include "mutant.h"
#include "regress.h"

#define FAIR_RATE_ONE (1u << 20)  /* one miss by unit of work */
#define FAIR_RATE_MOST (4u << 20) /* of one thread */
#define FAIR_COST_ONE (1u << 10)  /* one ns by unit of work */
#define FAIR_SAMPLES 10u          /* at least, before anything is corrected */
#define FAIR_FACTOR_ONE 1024      /* a slice of the usual length */
#define FAIR_FACTOR_LEAST (FAIR_FACTOR_ONE / 2)
#define FAIR_FACTOR_MOST (2 * FAIR_FACTOR_ONE)

/* In the record of its demand (demand.room). */
struct fair_thread {
    uint32_t life;       /* the thread's generation; others: nothing is known */
    int32_t credit;      /* ticks that it shall have, by FAIR_FACTOR_ONE; negative: give */
    struct regress rate; /* of its rate over the sum of its co-runners' */
    struct regress cost; /* of its cost over its rate */
};
_Static_assert(sizeof(struct fair_thread) <= RT_DEMAND_ROOM, "RT_DEMAND_ROOM");

/* What a thread did in some time. */
struct fair_span {
    uint64_t ns, misses, work;
};

ALWAYS_INLINE uint32_t fair_rate(const struct fair_span *s)
{
    return s->work != 0 ? regress_bounded(s->misses * FAIR_RATE_ONE / s->work, FAIR_RATE_MOST) : 0;
}

ALWAYS_INLINE uint32_t fair_cost(const struct fair_span *s)
{
    return s->work != 0 ? regress_bounded(s->ns * FAIR_COST_ONE / s->work, REGRESS_Y) : 0;
}

/* A span of t, while its co-runners' rates had this sum. */
ALWAYS_INLINE void fair_sample(struct fair_thread *t, const struct fair_span *s, uint64_t others)
{
    uint32_t rate = fair_rate(s);
    regress_add(&t->rate, regress_bounded(others, REGRESS_X), rate);
    regress_add(&t->cost, rate, fair_cost(s));
}

/*
 * How much longer than usual t should have run for the work of span s (its last slice), by
 * FAIR_FACTOR_ONE: its cost by the cost that it would have if it shared the cache fairly with
 * `others` threads.
 */
ALWAYS_INLINE int32_t fair_factor(const struct fair_thread *t, const struct fair_span *s,
                                  uint32_t others)
{
    int64_t rate;
    if (t->rate.n < FAIR_SAMPLES || s->work == 0 || !regress_fixed(&t->rate, others, &rate)) {
        return FAIR_FACTOR_ONE;
    }
    int64_t fair = regress_at(&t->cost, rate);
    int64_t factor = (int64_t)fair_cost(s) * FAIR_FACTOR_ONE / (fair > 0 ? fair : 1);
    factor = MUTANT(FAIR_INVERSE) ? FAIR_FACTOR_ONE * FAIR_FACTOR_ONE / (factor + 1) : factor;
    return factor < FAIR_FACTOR_LEAST  ? FAIR_FACTOR_LEAST
           : factor > FAIR_FACTOR_MOST ? FAIR_FACTOR_MOST
                                       : (int32_t)factor;
}

/* t's slice of `slice` ticks has ended: how many ticks more (or fewer) its next one has. What is
 * left over is kept as credit, a slice at most. */
ALWAYS_INLINE int32_t fair_correction(struct fair_thread *t, int32_t factor, int32_t slice)
{
    int32_t most = slice * FAIR_FACTOR_ONE;
    t->credit += (factor - FAIR_FACTOR_ONE) * slice;
    t->credit = t->credit > most ? most : t->credit < -most ? -most : t->credit;
    int32_t ticks = t->credit / FAIR_FACTOR_ONE;
    ticks = ticks < 1 - slice ? 1 - slice : ticks;
    t->credit -= MUTANT(FAIR_FORGETS) ? t->credit : ticks * FAIR_FACTOR_ONE;
    return ticks;
}

#endif
