/* SPDX-License-Identifier: MIT */
/*
 * register.c - pirn_sched_register: the tables that it refuses, with error and message; several
 * kernel threads that register at once; the text of pirn_describe with registered policies.
 */
#include <errno.h>
#include <pirn/policy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8, RACERS = 12 }; /* RACERS / 2 names, two tables each */

static struct pirn_kick enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    (void)self;
    (void)t;
    (void)why;
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

static pirn_thread_t pick(pirn_cpu_t self)
{
    (void)self;
    return NULL;
}

static bool has_work(pirn_cpu_t self)
{
    (void)self;
    return false;
}

static bool charge(pirn_cpu_t self, pirn_thread_t running, unsigned ticks)
{
    (void)self;
    (void)running;
    return ticks != 0;
}

static int set(const char *value, const char **why)
{
    (void)value;
    (void)why;
    return 0;
}

static struct pirn_policy good(const char *name)
{
    return (struct pirn_policy){.version = PIRN_POLICY_VERSION,
                                .name = name,
                                .enqueue = enqueue,
                                .pick = pick,
                                .has_work = has_work};
}

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Refused with this error, and a message that contains `says`. */
static void refused_at(int line, const struct pirn_policy *policy, int error, const char *says)
{
    int got = pirn_sched_register(policy);
    const char *why = pirn_sched_refusal();
    if (got != error || why == NULL || strstr(why, says) == NULL) {
        fprintf(stderr, "line %d: got %d, \"%s\"; wanted %d, \"%s\"\n", line, got,
                why != NULL ? why : "", error, says);
        exit(1);
    }
}
#define REFUSED(policy, error, says) refused_at(__LINE__, policy, error, says)

static void test_table_is_refused_when_its_version_is_another(void)
{
    struct pirn_policy p = good("mine");
    CHECK(pirn_sched_refusal() == NULL);
    REFUSED(NULL, -EFAULT, "NULL");
    p.version = 0;
    REFUSED(&p, -EPROTO, "version 0");
    p.version = PIRN_POLICY_VERSION + 1;
    char takes[32];
    snprintf(takes, sizeof(takes), "takes version %u", PIRN_POLICY_VERSION);
    REFUSED(&p, -EPROTO, takes);
}

static void test_table_is_refused_when_its_name_is_bad(void)
{
    const char *const bad[] = {NULL,       "",       "Mine",
                               "my own",   "my:own", "a,b=",
                               "\xc3\xa4", "a\n",    "a-scheduling-policy-of-32-chars-"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pirn_policy p = good(bad[i]);
        REFUSED(&p, -EINVAL, "1 to 31 characters of a-z");
    }
}

static void test_table_is_refused_when_operations_are_missing(void)
{
    struct pirn_policy p = good("mine");
    p.enqueue = NULL;
    REFUSED(&p, -ENOSYS, "\"mine\" has no operation enqueue");
    p = good("mine");
    p.pick = NULL;
    REFUSED(&p, -ENOSYS, "no operation pick");
    p = good("mine");
    p.has_work = NULL;
    REFUSED(&p, -ENOSYS, "no operation has_work");
    p = good("mine");
    p.charge = charge;
    REFUSED(&p, -ENOSYS, "no operation preempt");
}

static void test_table_is_refused_when_an_option_is_bad(void)
{
    static const struct {
        struct pirn_policy_option options[3];
        const char *says;
    } bad[] = {{{{"Big", "a|b", "a", NULL, set}}, "named \"Big\""},
               {{{"", "a|b", "a", NULL, set}}, "named \"\""},
               {{{"o", NULL, "a", NULL, set}}, "option o needs"},
               {{{"o", "a|b", NULL, NULL, set}}, "option o needs"},
               {{{"o", "a|b", "a", NULL, NULL}}, "option o needs"},
               {{{"o", "a|b", "c", NULL, set}}, "default of option o, \"c\", is not of a|b"},
               {{{"o", "", "", NULL, set}}, "default of option o"},
               {{{"o", "a|b", "a", NULL, set}, {"o", "c", "c", NULL, set}}, "two options o"}};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pirn_policy p = good("mine");
        p.options = bad[i].options;
        REFUSED(&p, -EDOM, bad[i].says);
    }
}

static void test_table_is_refused_when_its_texts_are_too_long(void)
{
    static char text[8192];
    struct pirn_policy p = good("mine");
    memset(text, 'x', sizeof(text) - 1);
    p.help = text;
    REFUSED(&p, -ENOSPC, "help texts of policy \"mine\" are too long");
}

/* As long and as awkward as texts may be. */
static void test_description_is_whole_when_texts_need_quoting(void)
{
    static char text[3800];
    static const struct pirn_policy_option options[] = {
        {"file", "<path>", "", "a \"path\"", set}, {"how", "a\\b|c", "c", NULL, set}, {0}};
    static struct pirn_policy odd, longest;
    odd = good("odd");
    odd.help = "says \"so\"\nand \\ so";
    odd.options = options;
    CHECK(pirn_sched_register(&odd) == 0);
    const char *json = pirn_describe();
    CHECK(
        strstr(
            json,
            "{\"name\":\"odd\",\"help\":\"says \\\"so\\\"\\u000aand \\\\ so\",\"options\":["
            "{\"name\":\"file\",\"values\":\"path\",\"default\":\"\",\"help\":\"a \\\"path\\\"\"},"
            "{\"name\":\"how\",\"values\":[\"a\\\\b\",\"c\"],\"default\":\"c\",\"help\":\"\"}"
            "]}") != NULL);
    longest = good("a-scheduling-policy-of-31-chars");
    memset(text, 'x', sizeof(text) - 1);
    longest.help = text;
    CHECK(pirn_sched_register(&longest) == 0);
    CHECK(strstr(pirn_describe(), text) != NULL);
}

static void test_name_is_refused_when_it_is_taken(void)
{
    struct pirn_policy p = good("steal");
    REFUSED(&p, -EEXIST, "\"steal\" already");
    p = good("odd");
    REFUSED(&p, -EEXIST, "\"odd\" already");
}

static struct pirn_policy raced[RACERS];
static char names[RACERS / 2][8];
static pthread_barrier_t start;
static int outcome[RACERS];

static void *races(void *arg)
{
    uintptr_t i = (uintptr_t)arg;
    pthread_barrier_wait(&start);
    outcome[i] = pirn_sched_register(&raced[i]);
    return NULL;
}

/* Two are registered already, so ROOM - 2 fit: one table of each name. */
static void test_one_table_of_a_name_wins_when_two_are_registered_at_once(void)
{
    pthread_t t[RACERS];
    pthread_barrier_init(&start, NULL, RACERS);
    for (uintptr_t i = 0; i < RACERS; i++) {
        snprintf(names[i / 2], sizeof(names[0]), "race-%u", (unsigned)i / 2);
        raced[i] = good(names[i / 2]);
        CHECK(pthread_create(&t[i], NULL, races, (void *)i) == 0);
    }
    for (int i = 0; i < RACERS; i++) {
        pthread_join(t[i], NULL);
    }
    for (int i = 0; i < RACERS; i += 2) {
        CHECK(outcome[i] + outcome[i + 1] == -EEXIST && outcome[i] * outcome[i + 1] == 0);
        CHECK(strstr(pirn_describe(), names[i / 2]) != NULL);
    }
    pthread_barrier_destroy(&start);
}

static void test_table_is_refused_when_eight_are_registered(void)
{
    struct pirn_policy p = good("ninth");
    REFUSED(&p, -ENOSPC, "\"ninth\" is one too many: 8");
    CHECK(strstr(pirn_describe(), "ninth") == NULL);
}

static void test_table_is_refused_when_the_runtime_has_started(void)
{
    struct pirn_policy p = good("late");
    CHECK(pirn_self() != NULL);
    REFUSED(&p, -EBUSY, "\"late\" comes too late");
}

/* With an argument it ends with the text of pirn_describe. */
int main(int argc, char **argv)
{
    _Static_assert(RACERS / 2 == ROOM - 2, "the races fill what is left");
    test_table_is_refused_when_its_version_is_another();
    test_table_is_refused_when_its_name_is_bad();
    test_table_is_refused_when_operations_are_missing();
    test_table_is_refused_when_an_option_is_bad();
    test_table_is_refused_when_its_texts_are_too_long();
    test_description_is_whole_when_texts_need_quoting();
    test_name_is_refused_when_it_is_taken();
    test_one_table_of_a_name_wins_when_two_are_registered_at_once();
    test_table_is_refused_when_eight_are_registered();
    test_table_is_refused_when_the_runtime_has_started();
    (void)argv;
    printf("%s\n", argc > 1 ? pirn_describe() : "all refused as they should be");
    return 0;
}
