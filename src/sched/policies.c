/* SPDX-License-Identifier: MIT */
/*
 * policies.c - the policies that exist, and those that a program registers.
 *
 * Invariants of the registered ones:
 *   1. An entry is set once, from NULL, by compare-and-swap, and the table behind it is constant.
 *   2. Entries are set in order, and a registration compares its name with all earlier entries: of
 *      two that register the same name at once, one finds the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../core/capacity.h"
#include "affinity.h"
#include "built_in.h"
#include "classes.h"
#include "cpu.h"
#include "options.h"
#include "place.h"
#include "runtime.h"

#define NAME_MAX_BYTES 31

static const struct sched_built_in *const builtin[] = {
    SCHED_STEAL SCHED_SINGLE SCHED_CENTRAL SCHED_DIST SCHED_REQUEST SCHED_GATE SCHED_GROUPS
        SCHED_FAIR SCHED_HW};
static _Atomic(const struct pirn_policy *) registered[SCHED_REGISTERED_MAX];
static char refusal[256]; /* (refusing) */
static _Atomic(uint32_t) refusing;

const struct pirn_policy *sched_at(unsigned i)
{
    if (i < ARRAY_SIZE(builtin)) {
        return &builtin[i]->policy;
    }
    i -= (unsigned)ARRAY_SIZE(builtin);
    return i < SCHED_REGISTERED_MAX ? at_load_acq(&registered[i]) : NULL; /* ORDER(registry) */
}

const struct pirn_policy *sched_find(const char *name, size_t length)
{
    const struct pirn_policy *policy;
    for (unsigned i = 0; (policy = sched_at(i)) != NULL; i++) {
        if (strlen(policy->name) == length && memcmp(policy->name, name, length) == 0) {
            return policy;
        }
    }
    return NULL;
}

bool sched_may_bind;

int sched_bound(struct thread *t)
{
    return sched_binds() ? pinned_bound(t) : -1;
}

void sched_bind(struct thread *t, int cpu)
{
    RT_ASSERT(sched_binds() || cpu < 0);
    if (sched_binds()) {
        pinned_bind(t, cpu);
    }
}

#if RT_ONLY_SINGLE
void sched_use_only(void)
{
    rt.policy = (struct rt_policy){.name = RT_POLICY.name, .classes = sched_has_classes()};
}
#else
static bool never_there(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return false;
}

static struct pirn_rotation never_rotates(struct cpu *self, struct thread *t)
{
    (void)self;
    (void)t;
    return (struct pirn_rotation){0};
}

static const struct sched_built_in *built_in_of(const struct pirn_policy *policy)
{
    for (unsigned i = 0; i < ARRAY_SIZE(builtin); i++) {
        if (policy == &builtin[i]->policy) {
            return builtin[i];
        }
    }
    return NULL;
}

static void use_variant(struct pirn_policy *to, const struct sched_variant *v)
{
    to->enqueue = v->enqueue != NULL ? v->enqueue : to->enqueue;
    to->pick = v->pick != NULL ? v->pick : to->pick;
    to->search = v->search != NULL ? v->search : to->search;
    to->remove = v->remove != NULL ? v->remove : to->remove;
    to->direct = v->direct != NULL ? v->direct : to->direct;
    to->thread_init = v->thread_init != NULL ? v->thread_init : to->thread_init;
    to->preempt = v->preempt;
    to->requeue = v->requeue;
    to->charge = v->charge;
}

void sched_use(struct pirn_policy *to, const struct pirn_policy *policy)
{
    const struct sched_built_in *own = built_in_of(policy);
    bool (*yield)(void) = own != NULL ? own->yield : NULL;
    *to = *policy;
    bool classless = own != NULL && own->classless != NULL && own->classless();
    if (own != NULL && own->classes != NULL && sched_has_classes() && !classless) {
        use_variant(to, own->classes);
        yield = own->classes->yield != NULL ? own->classes->yield : yield;
    }
    rt_yield_use(yield);
    sched_may_bind = RT_BINDS && own != NULL && own->binds;
    affinity_use(own != NULL ? own->affinity : NULL);
    capacity_use(own != NULL ? own->capacity : NULL);
}

void sched_settle(struct pirn_policy *policy, bool detour)
{
    if (affinity_decorate(policy)) {
        rt_yield_use(NULL);
        sched_may_bind = false;
    }
    if (policy->remove == NULL) {
        policy->remove = never_there;
    }
    if (policy->rotate == NULL || detour) {
        policy->rotate = never_rotates;
    }
    if (detour) {
        rt_yield_use(NULL);
    }
}
#endif

static int refuse(int error, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Of several at once, one remains. */
static int refuse(int error, const char *fmt, ...)
{
    if (at_xchg_acq(&refusing, 1u) == 0) { /* ORDER(registry) */
        va_list args;
        va_start(args, fmt);
        vsnprintf(refusal, sizeof(refusal), fmt, args);
        va_end(args);
        at_store_rel(&refusing, 0u); /* ORDER(registry) */
    }
    return error;
}

const char *sched_refusal(void)
{
    return refusal[0] != '\0' ? refusal : NULL;
}

bool sched_good_name(const char *name)
{
    static const char valid[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = name != NULL ? strlen(name) : 0;
    return length != 0 && length <= NAME_MAX_BYTES && strspn(name, valid) == length;
}

static int check_operations(const struct pirn_policy *p)
{
    const char *missing = p->enqueue == NULL    ? "enqueue"
                          : p->pick == NULL     ? "pick"
                          : p->has_work == NULL ? "has_work"
                          : p->preempt == NULL && p->charge != NULL
                              ? "preempt (there is a \"charge\")"
                              : NULL;
    if (missing != NULL) {
        return refuse(-ENOSYS, "policy \"%s\" has no operation %s", p->name, missing);
    }
    return 0;
}

static int check_option(const struct pirn_policy *p, const struct pirn_policy_option *o)
{
    if (!sched_good_name(o->name)) {
        return refuse(-EDOM,
                      "policy \"%s\": an option is named \"%.64s\"; valid: 1 to %d "
                      "characters of a-z, 0-9, - and _",
                      p->name, o->name, NAME_MAX_BYTES);
    }
    if (o->values == NULL || o->deflt == NULL || o->set == NULL) {
        return refuse(-EDOM, "policy \"%s\": option %s needs values, deflt and set", p->name,
                      o->name);
    }
    if (o->values[0] != '<' && sched_choice(o->values, o->deflt) < 0) {
        return refuse(-EDOM, "policy \"%s\": the default of option %s, \"%.64s\", is not of %.64s",
                      p->name, o->name, o->deflt, o->values);
    }
    for (const struct pirn_policy_option *other = p->options; other != o; other++) {
        if (strcmp(other->name, o->name) == 0) {
            return refuse(-EDOM, "policy \"%s\" has two options %s", p->name, o->name);
        }
    }
    return 0;
}

static int check_table(const struct pirn_policy *p)
{
    if (p == NULL) {
        return refuse(-EFAULT, "there is no table (NULL)");
    }
    if (p->version != PIRN_POLICY_VERSION) {
        return refuse(-EPROTO,
                      "the table has version %" PRIu32
                      ", and Pirn %s takes version %u: compile it against "
                      "the headers of the library that is used",
                      p->version, RT_VERSION, PIRN_POLICY_VERSION);
    }
    if (!sched_good_name(p->name)) {
        return refuse(-EINVAL,
                      "a policy is named \"%.64s\"; valid: 1 to %d characters of a-z, 0-9, "
                      "- and _",
                      p->name != NULL ? p->name : "", NAME_MAX_BYTES);
    }
    int error = check_operations(p);
    for (const struct pirn_policy_option *o = p->options;
         error == 0 && o != NULL && o->name != NULL; o++) {
        error = check_option(p, o);
    }
    return error;
}

int sched_register(const struct pirn_policy *policy)
{
    int error = check_table(policy);
    if (error != 0) {
        return error;
    }
    if (at_load_acq(&rt.started) != 0) { /* ORDER(start) */
        return refuse(-EBUSY, "policy \"%s\" comes too late: the runtime has started",
                      policy->name);
    }
    if (sched_find(policy->name, strlen(policy->name)) != NULL) {
        return refuse(-EEXIST, "there is a policy \"%s\" already", policy->name);
    }
    if (!options_describe_fits(policy)) {
        return refuse(-ENOSPC, "the help texts of policy \"%s\" are too long", policy->name);
    }
    for (unsigned i = 0; i < SCHED_REGISTERED_MAX; i++) {
        const struct pirn_policy *there = NULL;
        if (at_cas_acq_rel(&registered[i], &there, policy)) { /* ORDER(registry) */
            return 0;
        }
        if (strcmp(there->name, policy->name) == 0) {
            return refuse(-EEXIST, "there is a policy \"%s\" already", policy->name);
        }
    }
    return refuse(-ENOSPC, "policy \"%s\" is one too many: %d are registered", policy->name,
                  SCHED_REGISTERED_MAX);
}

int sched_choice(const char *values, const char *value)
{
    size_t length = strlen(value);
    int index = 0;
    for (const char *p = values; *p != '\0'; index++) {
        size_t n = strcspn(p, "|");
        if (n == length && memcmp(p, value, n) == 0) {
            return index;
        }
        p += n + (p[n] == '|');
    }
    return -1;
}
