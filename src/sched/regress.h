/* SPDX-License-Identifier: MIT */
/*
 * regress.h - linear regression in whole numbers, for policy fair (fair.c): of y over x, by least
 * squares. No locks, no floating point: it runs at ticks, in handlers, and on any board.
 *
 * The sums grow with each sample; when there are REGRESS_MOST samples, all sums and the number are
 * halved. So older samples count less and less.
 *
 * Invariant: x and y are at most REGRESS_X and REGRESS_Y, so that no product below exceeds 63 bits.
 */
#ifndef PIRN_SCHED_REGRESS_H
#define PIRN_SCHED_REGRESS_H

#include "check.h"
#include "compiler.h"

#define REGRESS_MOST 64u
#define REGRESS_X (1u << 24)
#define REGRESS_Y (1u << 24)
#define REGRESS_ONE 65536 /* slope 1 */
#define REGRESS_STEEPEST (16 * REGRESS_ONE)

struct regress {
    uint32_t n;
    uint64_t x, y, xx, xy; /* sums */
};

ALWAYS_INLINE uint32_t regress_bounded(uint64_t value, uint32_t most)
{
    return value < most ? (uint32_t)value : most;
}

ALWAYS_INLINE void regress_add(struct regress *r, uint32_t x, uint32_t y)
{
    RT_ASSERT(x <= REGRESS_X && y <= REGRESS_Y);
    if (r->n == REGRESS_MOST) {
        *r = (struct regress){r->n / 2, r->x / 2, r->y / 2, r->xx / 2, r->xy / 2};
    }
    r->n++;
    r->x += x;
    r->y += y;
    r->xx += (uint64_t)x * x;
    r->xy += (uint64_t)x * y;
}

/* In units of REGRESS_ONE. False: the samples do not tell, because x has hardly changed. */
ALWAYS_INLINE bool regress_slope(const struct regress *r, int64_t *slope)
{
    int64_t spread = (int64_t)(r->n * r->xx - r->x * r->x) / REGRESS_ONE;
    int64_t common = (int64_t)(r->n * r->xy - r->x * r->y);
    if (spread <= 0) {
        return false;
    }
    *slope = common / spread;
    *slope = *slope > REGRESS_STEEPEST ? REGRESS_STEEPEST : *slope;
    *slope = *slope < -REGRESS_STEEPEST ? -REGRESS_STEEPEST : *slope;
    return true;
}

/* y at this x, not below 0. Without a slope: the mean. */
ALWAYS_INLINE int64_t regress_at(const struct regress *r, int64_t x)
{
    int64_t slope = 0, n = r->n, mean_x = (int64_t)r->x / n, mean_y = (int64_t)r->y / n;
    regress_slope(r, &slope);
    int64_t y = mean_y + slope * (x - mean_x) / REGRESS_ONE;
    return y > 0 ? y : 0;
}

/*
 * The y at which x == m * y on the line: a / (1 - slope * m), where a is the line at 0. Of m
 * co-runners of equal rates, that is the rate that all have. False: the samples do not tell: x
 * has hardly changed, or the line is so steep that it meets the other one far away or never.
 */
ALWAYS_INLINE bool regress_fixed(const struct regress *r, uint32_t m, int64_t *y)
{
    int64_t slope, n = r->n;
    if (!regress_slope(r, &slope) || slope * m > REGRESS_ONE * 7 / 8) {
        return false;
    }
    int64_t at_zero = (int64_t)r->y / n - slope * ((int64_t)r->x / n) / REGRESS_ONE;
    int64_t fixed = at_zero * REGRESS_ONE / (REGRESS_ONE - slope * m);
    *y = fixed < 0 ? 0 : fixed > REGRESS_Y ? REGRESS_Y : fixed;
    return true;
}

#endif
