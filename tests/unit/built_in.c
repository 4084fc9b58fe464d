/* SPDX-License-Identifier: MIT */
/*
 * built_in.c - the operations in use of a built-in policy are those that its table declares
 * (src/sched/policy.h): under fifo and lifo the member `policy`, under posix and shmac with the
 * operations of `classes`, and the yield that belongs to it.
 */
#include <stdio.h>
#include <string.h>

#include "../../src/sched/built_in.h"
#include "../../src/sched/classes.h"

static const struct sched_built_in *const all[] = {&sched_steal, &sched_single, &sched_central,
                                                   &sched_dist, &sched_request};
static bool (*no_yield)(void); /* rt_yield of a policy without a yield of its own */
static int failures;

static void expect(bool right, const struct pirn_policy *policy, const char *discipline,
                   const char *what)
{
    if (!right) {
        fprintf(stderr, "FAILED %s:discipline=%s: %s\n", policy->name, discipline, what);
        failures++;
    }
}

static void use(struct pirn_policy *used, const struct sched_built_in *own, const char *discipline)
{
    const char *why = NULL;
    expect(sched_set_discipline(discipline, &why) == 0, &own->policy, discipline, "is refused");
    memset((void *)used, 0, sizeof(*used));
    sched_use(used, &own->policy);
}

static void test_lists(const struct sched_built_in *own, const char *discipline)
{
    struct pirn_policy used;
    use(&used, own, discipline);
    expect(memcmp(&used, &own->policy, sizeof(used)) == 0, &own->policy, discipline,
           "is not the table");
    expect(used.preempt == NULL && used.requeue == NULL && used.charge == NULL, &own->policy,
           discipline, "has operations for classes");
    expect(rt_yield_way == (own->yield != NULL ? own->yield : no_yield), &own->policy, discipline,
           "takes another yield");
}

/* The operation of the variant, if it has one. */
#define EXPECT_OPERATION(own, used, discipline, op)                                                \
    expect((used)->op == ((own)->classes->op != NULL ? (own)->classes->op : (own)->policy.op),     \
           &(own)->policy, discipline, #op " is another one")

static void test_classes(const struct sched_built_in *own, const char *discipline)
{
    struct pirn_policy used;
    bool (*yield)(void) = own->classes->yield != NULL ? own->classes->yield : own->yield;
    use(&used, own, discipline);
    expect(used.name == own->policy.name && used.options == own->policy.options, &own->policy,
           discipline, "has another name or other options");
    expect(used.preempt != NULL && used.requeue != NULL && used.charge != NULL, &own->policy,
           discipline, "lacks an operation for classes");
    EXPECT_OPERATION(own, &used, discipline, enqueue);
    EXPECT_OPERATION(own, &used, discipline, pick);
    EXPECT_OPERATION(own, &used, discipline, search);
    EXPECT_OPERATION(own, &used, discipline, remove);
    EXPECT_OPERATION(own, &used, discipline, direct);
    EXPECT_OPERATION(own, &used, discipline, thread_init);
    EXPECT_OPERATION(own, &used, discipline, preempt);
    EXPECT_OPERATION(own, &used, discipline, requeue);
    EXPECT_OPERATION(own, &used, discipline, charge);
    expect(used.has_work == own->policy.has_work, &own->policy, discipline, "has_work is another");
    expect(rt_yield_way == (yield != NULL ? yield : no_yield), &own->policy, discipline,
           "takes another yield");
}

/* With the detour every yield takes the slow path. */
static void test_detour(const struct sched_built_in *own)
{
    struct pirn_policy used;
    use(&used, own, "fifo");
    sched_settle(&used, true);
    expect(rt_yield_way == no_yield, &own->policy, "fifo", "has its own yield with the detour");
}

int main(void)
{
    no_yield = rt_yield_way; /* nothing is in use yet */
    for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
        expect(sched_at(i) == &all[i]->policy, &all[i]->policy, "any", "is not listed");
        test_lists(all[i], "fifo");
        test_lists(all[i], "lifo");
        test_classes(all[i], "posix");
        test_classes(all[i], "shmac");
        test_detour(all[i]);
    }
    return failures != 0;
}
