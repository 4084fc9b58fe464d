/* SPDX-License-Identifier: MIT */
/* mutexattr.c - attributes of mutexes: defaults, round trips, refused values. */
#include "harness.h"

static void init(pthread_mutexattr_t *a)
{
    memset(a, 0xa5, sizeof(*a));
    OK(pthread_mutexattr_init(a));
}

CASE(init_sets_defaults)
{
    pthread_mutexattr_t a;
    int value;
    init(&a);
    OK(pthread_mutexattr_gettype(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_DEFAULT);
    OK(pthread_mutexattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_STALLED);
    OK(pthread_mutexattr_getprotocol(&a, &value));
    CHECK_EQ(value, PTHREAD_PRIO_NONE);
    OK(pthread_mutexattr_destroy(&a));
}

CASE(init_works_again_after_destroy)
{
    pthread_mutexattr_t a;
    int value;
    for (int i = 0; i < 3; i++) {
        init(&a);
        OK(pthread_mutexattr_gettype(&a, &value));
        CHECK_EQ(value, PTHREAD_MUTEX_DEFAULT);
        OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
        OK(pthread_mutexattr_destroy(&a));
    }
}

/* One attribute: its functions and values. */
struct attribute {
    const char *name;
    int (*set)(pthread_mutexattr_t *, int);
    int (*get)(const pthread_mutexattr_t *, int *);
    int values[5], count, bad;
};

static const struct attribute attributes[] = {
    {"type",
     pthread_mutexattr_settype,
     pthread_mutexattr_gettype,
     {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
      PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_DEFAULT},
     5,
     77},
    {"pshared",
     pthread_mutexattr_setpshared,
     pthread_mutexattr_getpshared,
     {PTHREAD_PROCESS_SHARED, PTHREAD_PROCESS_PRIVATE},
     2,
     77},
    {"robust",
     pthread_mutexattr_setrobust,
     pthread_mutexattr_getrobust,
     {PTHREAD_MUTEX_ROBUST, PTHREAD_MUTEX_STALLED},
     2,
     77},
    {"protocol",
     pthread_mutexattr_setprotocol,
     pthread_mutexattr_getprotocol,
     {PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT, PTHREAD_PRIO_NONE},
     3,
     77},
};

static void is_kept(const void *row)
{
    const struct attribute *attr = row;
    pthread_mutexattr_t a;
    int got;
    init(&a);
    for (int i = 0; i < attr->count; i++) {
        OK(attr->set(&a, attr->values[i]));
        OK(attr->get(&a, &got));
        CHECK_EQ(got, attr->values[i]);
    }
    OK(pthread_mutexattr_destroy(&a));
}

static void is_einval(const void *row)
{
    const struct attribute *attr = row;
    pthread_mutexattr_t a;
    int before, after;
    init(&a);
    OK(attr->get(&a, &before));
    CHECK_EQ(attr->set(&a, attr->bad), EINVAL);
    CHECK_EQ(attr->set(&a, -1), EINVAL);
    OK(attr->get(&a, &after));
    CHECK_EQ(after, before);
    OK(pthread_mutexattr_destroy(&a));
}

static const char *kept_name(const void *row)
{
    static char names[COUNT(attributes)][40];
    const struct attribute *attr = row;
    char *name = names[attr - attributes];
    snprintf(name, sizeof(names[0]), "%s_is_kept", attr->name);
    return name;
}

static const char *einval_name(const void *row)
{
    static char names[COUNT(attributes)][40];
    const struct attribute *attr = row;
    char *name = names[attr - attributes];
    snprintf(name, sizeof(names[0]), "%s_is_einval_for_other_values", attr->name);
    return name;
}

static __attribute__((constructor)) void add(void)
{
    cases_add(is_kept, attributes, sizeof(attributes[0]), COUNT(attributes), kept_name);
    cases_add(is_einval, attributes, sizeof(attributes[0]), COUNT(attributes), einval_name);
}

/* Attributes do not disturb each other. */
CASE(all_are_kept_together)
{
    pthread_mutexattr_t a;
    int value;
    init(&a);
    OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    OK(pthread_mutexattr_setprioceiling(&a, 17));
    OK(pthread_mutexattr_gettype(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutexattr_getpshared(&a, &value));
    CHECK_EQ(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_getprotocol(&a, &value));
    CHECK_EQ(value, PTHREAD_PRIO_PROTECT);
    OK(pthread_mutexattr_getprioceiling(&a, &value));
    CHECK_EQ(value, 17);
    OK(pthread_mutexattr_destroy(&a));
}

CASE(prioceiling_is_kept)
{
    pthread_mutexattr_t a;
    int got;
    init(&a);
    OK(pthread_mutexattr_getprioceiling(&a, &got));
    CHECK(got >= sched_get_priority_min(SCHED_FIFO));
    CHECK(got <= sched_get_priority_max(SCHED_FIFO));
    for (int p = sched_get_priority_min(SCHED_FIFO); p <= sched_get_priority_max(SCHED_FIFO); p++) {
        OK(pthread_mutexattr_setprioceiling(&a, p));
        OK(pthread_mutexattr_getprioceiling(&a, &got));
        CHECK_EQ(got, p);
    }
    OK(pthread_mutexattr_destroy(&a));
}

CASE(prioceiling_is_einval_outside_the_range)
{
    pthread_mutexattr_t a;
    init(&a);
    CHECK_EQ(pthread_mutexattr_setprioceiling(&a, sched_get_priority_max(SCHED_FIFO) + 1), EINVAL);
    CHECK_EQ(pthread_mutexattr_setprioceiling(&a, sched_get_priority_min(SCHED_FIFO) - 1), EINVAL);
    CHECK_EQ(pthread_mutexattr_setprioceiling(&a, -1), EINVAL);
    OK(pthread_mutexattr_destroy(&a));
}

/* The names of the functions before POSIX had them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(robust_np_is_the_same)
{
    NOT_SANITIZED("the layer has this name outside only");
    pthread_mutexattr_t a;
    int value;
    init(&a);
    OK(pthread_mutexattr_setrobust_np(&a, PTHREAD_MUTEX_ROBUST_NP));
    OK(pthread_mutexattr_getrobust(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_STALLED));
    OK(pthread_mutexattr_getrobust_np(&a, &value));
    CHECK_EQ(value, PTHREAD_MUTEX_STALLED_NP);
    OK(pthread_mutexattr_destroy(&a));
}
#pragma GCC diagnostic pop

/* Undefined; programs rely on the C library, which returns. */
CASE(destroy_returns_for_a_null_pointer)
{
    pthread_mutexattr_t *volatile none = NULL;
    OK(pthread_mutexattr_destroy(none));
}
