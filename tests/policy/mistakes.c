/* SPDX-License-Identifier: MIT */
/*
 * mistakes.c - see mistakes.h. Common mistakes in policies: a policy of the tests with one
 * operation exchanged.
 */
#include "mistakes.h"

#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "list.h"

/* A second instance of the example, whose queues this file can access. */
#define example_home example_open
#include "example.c"
#undef example_home

enum { SEEDS = 300 };

struct pirn_policy policy_mistake;

static bool sees_nothing(pirn_cpu_t self)
{
    (void)self;
    return false;
}

static void make_blind(struct pirn_policy *p)
{
    *p = example_home;
    p->has_work = sees_nothing;
}

/* Only pick and search see the first queue. */
static bool sees_all_but_one(pirn_cpu_t self)
{
    (void)self;
    for (unsigned k = 1; k < ncpu; k++) {
        if (pirn_runq_length(&home[k].ready) != 0) {
            return true;
        }
    }
    return false;
}

static void make_one_eyed(struct pirn_policy *p)
{
    *p = example_open;
    p->has_work = sees_all_but_one;
}

/* Wakes no CPU, although another one may have to run it. */
static struct pirn_kick kicks_nobody(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    example_home.enqueue(self, t, why);
    return (struct pirn_kick){.cpu = PIRN_KICK_NONE};
}

static void make_mute(struct pirn_policy *p)
{
    *p = example_home;
    p->enqueue = kicks_nobody;
}

/* The thread continues to run while others may take it: its context is not saved. */
static struct pirn_rotation rotates_in_the_open(pirn_cpu_t self, pirn_thread_t t)
{
    pirn_thread_t next = example_home.pick(self);
    if (next != NULL) {
        example_home.enqueue(self, t, PIRN_WHY_YIELD);
    }
    return (struct pirn_rotation){next, NULL};
}

static void make_hasty(struct pirn_policy *p)
{
    *p = example_home;
    p->rotate = rotates_in_the_open;
}

/* Ignores that a ready thread's priority changes. */
static void make_deaf(struct pirn_policy *p)
{
    *p = policy_ranked;
    p->requeue = NULL;
}

/* Loses the second of two threads that it takes. */
static pirn_thread_t takes_two(pirn_cpu_t self)
{
    pirn_thread_t t = home_search(self);
    if (t != NULL) {
        (void)home_search(self);
    }
    return t;
}

static void make_losing(struct pirn_policy *p)
{
    *p = example_open;
    p->search = takes_two;
}

/* Returns true without taking t out. */
static bool leaves_it(pirn_cpu_t self, pirn_thread_t t)
{
    (void)self;
    return pirn_policy_thread_ready(t);
}

static void make_doubling(struct pirn_policy *p)
{
    *p = example_home;
    p->remove = leaves_it;
}

/* Declares that it binds threads, but lets CPUs search for them. */
static void make_straying(struct pirn_policy *p)
{
    *p = example_home;
    p->pinned = true;
}

/* ---- mistakes that end the program ---- */

enum { PICKS = 40 };

static unsigned picks; /* of this run */
static int *volatile nowhere;

static int counts_from_zero(unsigned n)
{
    picks = 0;
    return example_home.init(n);
}

static pirn_thread_t crashes(pirn_cpu_t self)
{
    if (++picks == PICKS) {
        *nowhere = 1;
    }
    return example_home.pick(self);
}

static void make_crashing(struct pirn_policy *p)
{
    *p = example_home;
    p->init = counts_from_zero;
    p->pick = crashes;
}

/* Loops where the simulator cannot end it, because it calls nothing. */
static pirn_thread_t loops(pirn_cpu_t self)
{
    if (++picks == PICKS) {
        for (volatile bool on = true; on;) {
        }
    }
    return example_home.pick(self);
}

static void make_looping(struct pirn_policy *p)
{
    *p = example_home;
    p->init = counts_from_zero;
    p->pick = loops;
}

/* ---- all of them ---- */

static unsigned made;

/* From the first ENDING on they end the program; tests/sim/check_repeat.py covers those. */
static const char *const names[] = {"blind",    "one-eyed", "mute",     "hasty",   "deaf", "losing",
                                    "doubling", "straying", "crashing", "looping", NULL};
static void (*const make[])(struct pirn_policy *) = {
    make_blind,  make_one_eyed, make_mute,     make_hasty,    make_deaf,
    make_losing, make_doubling, make_straying, make_crashing, make_looping};
enum { ENDING = 8 };

const char *const *mistake_names(void)
{
    return names;
}

void mistake_make(unsigned i)
{
    made = i;
    make[i](&policy_mistake);
    policy_mistake.name = "mistake";
}

const char *mistake_made(void)
{
    return names[made];
}

/* Both memory modes in turn. Prints how the mistake is found. */
static bool found_under(uint64_t seed, unsigned i)
{
    for (unsigned s = 0; driver->suites[s] != NULL; s++) {
        struct place place = {driver->suites[s], "mistake", seed % 2 != 0};
        for (const struct test *test = place.suite->tests; test->name != NULL; test++) {
            struct sim_result result;
            char text[WHERE_TEXT];
            if (place.suite->classes) {
                continue;
            }
            run_one(&place, test, seed, &result);
            if (result.failed) {
                where_print(text, sizeof(text), where);
                int length = (int)strcspn(result.why, "\n"); /* the first line, its beginning */
                printf("\"%s\" is found, seed %llu, %s: %.*s\n%s\n", names[i],
                       (unsigned long long)seed, test->name, length < 100 ? length : 100,
                       result.why, text);
                return true;
            }
        }
    }
    return false;
}

static bool found(unsigned i)
{
    mistake_make(i);
    for (uint64_t seed = options.first; seed < options.first + SEEDS; seed++) {
        if (found_under(seed, i)) {
            return true;
        }
    }
    printf("FAILED: \"%s\" is not found\n", names[i]);
    return false;
}

int mistakes_main(void)
{
    unsigned failures = 0;
    for (unsigned i = 0; i < ENDING; i++) {
        failures += !found(i);
    }
    return failures != 0;
}
