/* SPDX-License-Identifier: MIT */
/*
 * posix_ops.c - the list of operations, their frequencies, and --features.
 */
#include "common/options.h"
#include "posix_mix.h"

static const char *const names[FEATURES] = {
    [F_MUTEX] = "mutex",     [F_RWLOCK] = "rwlock",     [F_COND] = "cond",
    [F_SEM] = "sem",         [F_BARRIER] = "barrier",   [F_RELAY] = "relay",
    [F_ONCE] = "once",       [F_KEY] = "key",           [F_TLS] = "tls",
    [F_PIPE] = "pipe",       [F_SCHED] = "sched",       [F_AFFINITY] = "affinity",
    [F_SIGNAL] = "signal",   [F_ALTSTACK] = "altstack", [F_CANCEL] = "cancel",
    [F_ASYNC] = "async",     [F_ROBUST] = "robust",     [F_NEST] = "nest",
    [F_FORK] = "fork",       [F_SYSCALL] = "syscall",   [F_LIBC] = "libc",
    [F_COMPUTE] = "compute",
};

static struct {
    enum feature feature;
    unsigned weight;
    void (*run)(struct actor *);
    uint64_t done; /* (A) */
} ops[] = {
    {F_MUTEX, 240, op_mutex, 0},      {F_RWLOCK, 120, op_rwlock, 0},
    {F_COND, 150, op_cond, 0},        {F_SEM, 100, op_sem, 0},
    {F_ONCE, 30, op_once, 0},         {F_KEY, 60, op_key, 0},
    {F_TLS, 60, op_tls, 0},           {F_PIPE, 100, op_pipe, 0},
    {F_SCHED, 20, op_sched, 0},       {F_SIGNAL, 60, op_signal, 0},
    {F_AFFINITY, 20, op_affinity, 0}, {F_ALTSTACK, 20, op_altstack, 0},
    {F_CANCEL, 30, op_cancel, 0},     {F_ROBUST, 6, op_robust, 0},
    {F_NEST, 6, op_nest, 0},          {F_FORK, 2, op_fork, 0},
    {F_SYSCALL, 4, op_syscall, 0},    {F_LIBC, 10, op_libc, 0},
    {F_COMPUTE, 6, op_compute, 0},
};

enum { OPS = sizeof(ops) / sizeof(ops[0]), ENDLESS_MAX = 4 };

static bool on[FEATURES];
static unsigned weights; /* sum of those that are enabled */
static unsigned endless; /* (A) */
static unsigned endless_most;

/* ---- --features ---- */

static void feature_set(const char *name, size_t length, bool value)
{
    char text[32];
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    on[operand_choice("--features", text, names, FEATURES, sizeof(names[0]))] = value;
}

static void features_all(bool value)
{
    for (unsigned i = 0; i < FEATURES; i++) {
        on[i] = value;
    }
}

static void weigh(void)
{
    for (unsigned i = 0; i < OPS; i++) {
        weights += on[ops[i].feature] ? ops[i].weight : 0;
    }
}

void features_parse(const char *list)
{
    bool others = *list == '-', all = strcmp(list, "all") == 0;
    features_all(others || all);
    for (const char *name = list; !all && *name != '\0';) {
        size_t length = strcspn(name, ",");
        if ((*name == '-') != others) {
            options_refuse("--features=%s: either all names with \"-\", or none", list);
        }
        feature_set(name + others, length - others, !others);
        name += length + (name[length] == ',');
    }
    weigh();
    if (weights == 0) {
        options_refuse("--features=%s: nothing is left for the actors to do", list);
    }
}

bool feature_on(enum feature f)
{
    return on[f];
}

/* ---- operations ---- */

void ops_one(struct actor *a)
{
    unsigned i = 0, ticket = mix_random(a, weights);
    while (!on[ops[i].feature] || ticket >= ops[i].weight) {
        ticket -= on[ops[i].feature] ? ops[i].weight : 0;
        i++;
    }
    mix_doing(a, names[ops[i].feature]);
    ops[i].run(a);
    ADD(&ops[i].done, 1u);
}

uint64_t ops_done(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < OPS; i++) {
        n += GET(&ops[i].done);
    }
    return n;
}

bool endless_begin(void)
{
    bool granted = ADD(&endless, 1u) <= endless_most && !GET(&mix_stop);
    if (!granted) {
        endless_end();
    }
    return granted;
}

void endless_end(void)
{
    ADD(&endless, -1u);
}

void ops_init(uint64_t seed, unsigned actors)
{
    endless_most = actors > ENDLESS_MAX ? ENDLESS_MAX : actors - 1;
    locks_init();
    waits_init();
    threads_init();
    own_init();
    signals_init(seed);
}

void ops_release(void)
{
    waits_release();
}

void ops_verify(void)
{
    CHECK_EQ(endless, 0);
    threads_verify();
    locks_verify();
    waits_verify();
    own_verify();
    signals_verify();
    for (unsigned i = 0; i < OPS; i++) {
        if (on[ops[i].feature]) {
            printf("%s %lu ", names[ops[i].feature], (unsigned long)ops[i].done);
        }
    }
    printf("\n");
}
