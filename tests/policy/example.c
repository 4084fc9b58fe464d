/* SPDX-License-Identifier: MIT */
/*
 * example.c - the worked example of docs/guide/policies.md: policy "home".
 *
 * A ready queue for each CPU. A thread goes back to the CPU that it ran on last; a CPU without work
 * looks through the queues of the others. New threads start at their creator's CPU or in turn.
 */
#include <pirn/policy.h>

static struct {
    pirn_policy_lock_t lock __attribute__((aligned(64)));
    pirn_runq_t ready; /* (lock) */
} home[PIRN_POLICY_CPUS];

static unsigned ncpu;
static bool in_turn;
static pirn_policy_word_t turn;

static int home_set_start(const char *value, const char **why)
{
    (void)why;
    in_turn = value[0] == 't';
    return 0;
}

static int home_init(unsigned n)
{
    ncpu = n;
    pirn_policy_word_init(&turn, 0);
    for (unsigned i = 0; i < n; i++) {
        pirn_policy_lock_init(&home[i].lock);
        pirn_runq_init(&home[i].ready, false);
    }
    return 0;
}

static struct pirn_kick home_enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    int k = pirn_policy_thread_cpu(t);
    if (k < 0 || (in_turn && why == PIRN_WHY_SPAWN)) {
        k = (int)(pirn_policy_add(&turn, 1) % ncpu);
    }
    pirn_policy_lock(&home[k].lock);
    pirn_runq_push(&home[k].ready, t, why);
    pirn_policy_unlock(&home[k].lock);
    (void)self;
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static pirn_thread_t take(unsigned k)
{
    if (pirn_runq_length(&home[k].ready) == 0) {
        return NULL;
    }
    pirn_policy_lock(&home[k].lock);
    pirn_thread_t t = pirn_runq_pop(&home[k].ready);
    pirn_policy_unlock(&home[k].lock);
    return t;
}

static pirn_thread_t home_pick(pirn_cpu_t self)
{
    return take(pirn_policy_cpu_id(self));
}

static pirn_thread_t home_search(pirn_cpu_t self)
{
    pirn_thread_t t = NULL;
    for (unsigned k = 1; k < ncpu && t == NULL; k++) {
        t = take((pirn_policy_cpu_id(self) + k) % ncpu);
    }
    return t;
}

static bool home_has_work(pirn_cpu_t self)
{
    (void)self; /* any CPU may run any thread */
    for (unsigned k = 0; k < ncpu; k++) {
        if (pirn_runq_length(&home[k].ready) != 0) {
            return true;
        }
    }
    return false;
}

static const struct pirn_policy_option home_options[] = {
    {"start", "here|turn", "here", "where a new thread goes", home_set_start}, {0}};

const struct pirn_policy example_home = {
    .version = PIRN_POLICY_VERSION,
    .name = "home",
    .help = "a thread goes back to the CPU that it ran on last",
    .options = home_options,
    .init = home_init,
    .enqueue = home_enqueue,
    .pick = home_pick,
    .search = home_search,
    .has_work = home_has_work,
};
