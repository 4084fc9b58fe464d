/* SPDX-License-Identifier: MIT */
/*
 * policy.c - the promises of <pirn/policy.h> about memory, called as an external policy calls it:
 * words order as release and acquire, peek does not, and no word is a fence.
 */
#include <pirn/policy.h>

#include "litmus.h"

static pirn_policy_word_t flag, other;
static pirn_policy_lock_t lock;

static void words_init(void)
{
    pirn_policy_word_init(&flag, 0);
    pirn_policy_word_init(&other, 0);
    pirn_policy_lock_init(&lock);
}

static void stores(void)
{
    at_store_rlx(&X, 1u);
    pirn_policy_store(&flag, 1);
}
static void adds(void)
{
    at_store_rlx(&X, 1u);
    pirn_policy_add(&flag, 1);
}
static void swaps(void)
{
    uintptr_t want = 0;
    at_store_rlx(&X, 1u);
    pirn_policy_swap(&flag, &want, 1);
}
static void loads(void)
{
    r[0] = pirn_policy_load(&flag) != 0;
    r[1] = at_load_rlx(&X);
}
static void takes(void)
{
    uintptr_t want = 1;
    r[0] = pirn_policy_swap(&flag, &want, 2);
    r[1] = at_load_rlx(&X);
}
static void counts(void)
{
    r[0] = pirn_policy_add(&flag, 1) != 0;
    r[1] = at_load_rlx(&X);
}
static void peeks(void)
{
    r[0] = pirn_policy_peek(&flag) != 0;
    r[1] = at_load_rlx(&X);
}
static bool saw_the_flag_only(void)
{
    return r[0] && !r[1];
}

static void mine_then_yours(void)
{
    pirn_policy_store(&flag, 1);
    r[0] = pirn_policy_load(&other) != 0;
}
static void yours_then_mine(void)
{
    pirn_policy_store(&other, 1);
    r[1] = pirn_policy_load(&flag) != 0;
}
static bool both_missed(void)
{
    return !r[0] && !r[1];
}

enum { ROUNDS = 3 };

static void increments(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pirn_policy_lock(&lock);
        at_store_rlx(&X, at_load_rlx(&X) + 1);
        pirn_policy_unlock(&lock);
    }
}
static void increments_if_free(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        while (!pirn_policy_trylock(&lock)) {
            sim_pause();
        }
        at_store_rlx(&X, at_load_rlx(&X) + 1);
        pirn_policy_unlock(&lock);
    }
}
static bool lost_one(void)
{
    return at_load_rlx(&X) != 3 * ROUNDS;
}

const struct litmus litmus_policy[] = {
    {"policy-word", "policy-word", NEVER, saw_the_flag_only, {stores, loads}, words_init},
    {"policy-word-add", "policy-word", NEVER, saw_the_flag_only, {adds, takes}, words_init},
    {"policy-word-swap", "policy-word", NEVER, saw_the_flag_only, {swaps, counts}, words_init},
    {"policy-word-peek", "policy-word", WEAK, saw_the_flag_only, {stores, peeks}, words_init},
    {"policy-word-no-fence",
     "policy-word",
     WEAK,
     both_missed,
     {mine_then_yours, yours_then_mine},
     words_init},
    {"policy-lock",
     "spinlock",
     NEVER,
     lost_one,
     {increments, increments_if_free, increments},
     words_init},
    {0}};
