/* SPDX-License-Identifier: MIT */
/*
 * fair_steps.c - the arithmetic of policy fair (sched/regress.h, sched/fair.h) on samples whose
 * results are worked out by hand.
 */
#include <stdio.h>
#include <string.h>

#include "../../src/sched/fair.h"
#include "mutant.h"

enum { U = 1 << 16, WORK = FAIR_RATE_ONE };

static const char *where = "start";
static int failures;

static void expect(int64_t got, int64_t want, const char *what)
{
    if (got != want) {
        fprintf(stderr, "FAILED %s: %s: %lld, not %lld\n", where, what, (long long)got,
                (long long)want);
        failures++;
    }
}

/* ---- the regression ---- */

/* Samples on the line y == U + x / 2, at 0, U and 2U. */
static struct regress line(unsigned samples)
{
    struct regress r = {0};
    for (unsigned i = 0; i < samples; i++) {
        uint32_t x = i % 3 * U;
        regress_add(&r, x, U + x / 2);
    }
    return r;
}

static void test_line_is_found(void)
{
    struct regress r = line(3);
    int64_t slope = 0, y = 0;
    where = "samples on a line";
    expect(regress_slope(&r, &slope), true, "there is a slope");
    expect(slope, REGRESS_ONE / 2, "of a half");
    expect(regress_at(&r, 4 * U), 3 * U, "U + 4U / 2");
    expect(regress_fixed(&r, 1, &y), true, "one co-runner");
    expect(y, 2 * U, "y == U + y / 2");
    expect(regress_fixed(&r, 2, &y), false, "y == U + 2y / 2 has no solution");
}

/* (0, 2U), (U, U), (2U, 0): the thread misses less, the more the others miss. */
static void test_falling_line_meets_too(void)
{
    struct regress r = {0};
    int64_t y = 0;
    where = "a falling line";
    for (uint32_t i = 0; i < 3; i++) {
        regress_add(&r, i * U, (2 - i) * U);
    }
    expect(regress_fixed(&r, 1, &y), true, "one co-runner");
    expect(y, U, "y == 2U - y");
    expect(regress_fixed(&r, 3, &y), true, "three");
    expect(y, U / 2, "y == 2U - 3y");
    expect(regress_at(&r, 5 * U), 0, "never below 0");
}

static void test_samples_that_are_alike_tell_no_slope(void)
{
    struct regress r = {0};
    int64_t y = 0;
    where = "x does not change";
    for (uint32_t i = 0; i < 3; i++) {
        regress_add(&r, U, i * U);
    }
    expect(regress_fixed(&r, 1, &y), false, "the samples do not tell");
    expect(regress_at(&r, 7 * U), U, "the mean");
}

static void test_old_samples_count_less(void)
{
    struct regress r = {0};
    where = "many samples";
    for (uint32_t i = 0; i < REGRESS_MOST; i++) {
        regress_add(&r, U, U);
    }
    regress_add(&r, U, 4 * U);
    expect(r.n, REGRESS_MOST / 2 + 1, "half of those before, and the new one");
    expect((int64_t)r.y, 36 * U, "32 of U, and 4U");
}

/* The largest values in each sample: no sum overflows. */
static void test_largest_values_do_not_overflow(void)
{
    struct regress r = {0};
    int64_t slope = 0;
    where = "the largest values";
    for (uint32_t i = 0; i < 4 * REGRESS_MOST; i++) {
        regress_add(&r, i % 2 * REGRESS_X, i % 2 * REGRESS_Y);
    }
    expect(regress_slope(&r, &slope), true, "there is a slope");
    expect(slope, REGRESS_ONE, "of one");
    expect(regress_at(&r, REGRESS_X), REGRESS_Y, "through the corner");
}

/* ---- slices ---- */

/* WORK accesses of which so many missed, in a time that makes this cost. */
static struct fair_span span(uint32_t misses, uint32_t cost)
{
    return (struct fair_span){
        .ns = (uint64_t)cost * WORK / FAIR_COST_ONE, .misses = misses, .work = WORK};
}

/* Rate U + x / 2 beside others with rate x, and cost 2U + rate. */
static struct fair_thread sampled(unsigned samples)
{
    struct fair_thread t = {0};
    for (unsigned i = 0; i < samples; i++) {
        uint32_t others = i % 3 * U, rate = U + others / 2;
        struct fair_span s = span(rate, 2 * U + rate);
        fair_sample(&t, &s, others);
    }
    return t;
}

/* The fair rate beside one co-runner is 2U, so the fair cost is 4U. */
static int32_t factor_at(const struct fair_thread *t, uint32_t cost)
{
    struct fair_span s = span(U, cost);
    return fair_factor(t, &s, 1);
}

static void test_factor_is_the_cost_by_the_fair_cost(void)
{
    struct fair_thread nine = sampled(FAIR_SAMPLES - 1), ten = sampled(FAIR_SAMPLES);
    struct fair_span nothing = {0};
    where = "a slice ends";
    expect(factor_at(&nine, 6 * U), FAIR_FACTOR_ONE, "too few samples");
    expect(factor_at(&ten, 4 * U), FAIR_FACTOR_ONE, "its cost is the fair one");
    expect(factor_at(&ten, 6 * U), FAIR_FACTOR_ONE * 3 / 2, "6U by 4U");
    expect(factor_at(&ten, 3 * U), FAIR_FACTOR_ONE * 3 / 4, "3U by 4U");
    expect(factor_at(&ten, 20 * U), FAIR_FACTOR_MOST, "twice as long at most");
    expect(factor_at(&ten, U), FAIR_FACTOR_LEAST, "half as long at least");
    expect(fair_factor(&ten, &nothing, 1), FAIR_FACTOR_ONE, "it has done nothing");
    expect(fair_factor(&ten, &(struct fair_span){.ns = 1, .work = 1}, 2), FAIR_FACTOR_ONE,
           "beside two there is no fair rate");
}

static void test_correction_keeps_what_is_left_over(void)
{
    struct fair_thread t = {0};
    where = "corrections";
    expect(fair_correction(&t, FAIR_FACTOR_ONE, 4), 0, "none");
    expect(fair_correction(&t, FAIR_FACTOR_ONE * 3 / 2, 4), 2, "half of four ticks");
    expect(fair_correction(&t, FAIR_FACTOR_ONE / 2, 4), -2, "and back");
    expect(fair_correction(&t, FAIR_FACTOR_ONE * 5 / 4, 2), 0, "half a tick");
    expect(fair_correction(&t, FAIR_FACTOR_ONE * 5 / 4, 2), 1, "and another half");
    expect(t.credit, 0, "nothing is left");
}

static void test_correction_leaves_a_tick(void)
{
    struct fair_thread t = {0};
    where = "slices of one tick";
    for (int i = 0; i < 4; i++) {
        expect(fair_correction(&t, FAIR_FACTOR_LEAST, 1), 0, "cannot be shorter");
    }
    expect(t.credit, -FAIR_FACTOR_ONE, "a slice is owed at most");
    expect(fair_correction(&t, FAIR_FACTOR_MOST, 1), 0, "and paid");
    expect(fair_correction(&t, FAIR_FACTOR_MOST, 1), 1, "before one is longer");
}

static void choose_mutant(int argc, char **argv)
{
#ifdef PIRN_SIM
    static const struct {
        const char *name;
        enum mutant mutant;
    } mutants[] = {{"fair-inverse", MUTANT_FAIR_INVERSE}, {"fair-forgets", MUTANT_FAIR_FORGETS}};
    for (unsigned i = 0; argc == 2 && i < sizeof(mutants) / sizeof(mutants[0]); i++) {
        if (strcmp(argv[1], mutants[i].name) == 0) {
            sim_mutant = mutants[i].mutant;
        }
    }
#else
    (void)argc;
    (void)argv;
#endif
}

int main(int argc, char **argv)
{
    choose_mutant(argc, argv);
    test_line_is_found();
    test_falling_line_meets_too();
    test_samples_that_are_alike_tell_no_slope();
    test_old_samples_count_less();
    test_largest_values_do_not_overflow();
    test_factor_is_the_cost_by_the_fair_cost();
    test_correction_keeps_what_is_left_over();
    test_correction_leaves_a_tick();
    if (failures != 0) {
        fprintf(stderr, "fair steps: failed\n");
        return 1;
    }
    printf("fair steps: done\n");
    return 0;
}
