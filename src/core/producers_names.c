/* SPDX-License-Identifier: MIT */
/*
 * producers_names.c - option affinity: dependencies by the names of threads, for programs that
 * cannot be changed. See producers.h.
 *
 * A rule is PRODUCERS:CONSUMERS, two patterns. Whenever a thread gets a name, it becomes a consumer
 * of all threads that live and are producers by a rule, and a producer of all consumers. The other
 * threads are looked for by index, one at a time, so that the lock of the id table is not held
 * while a dependency is added; one that ends meanwhile is named by a life that is over.
 *
 * The rules are constant from the start of the runtime.
 */
#include <errno.h>
#include <string.h>

#include "cpu.h"
#include "producers.h"

struct producers_options producers_options;

/* Does the name fit the pattern of `length` bytes? */
static bool name_fits(const char *pattern, size_t length, const char *name)
{
    if (length == 0) {
        return *name == '\0';
    }
    if (*pattern == '*') {
        for (;; name++) {
            if (name_fits(pattern + 1, length - 1, name)) {
                return true;
            }
            if (*name == '\0') {
                return false;
            }
        }
    }
    return *name != '\0' && (*pattern == '?' || *pattern == *name) &&
           name_fits(pattern + 1, length - 1, name + 1);
}

/* One rule of the option's text. */
struct rule {
    const char *producers, *consumers;
    size_t producers_length, consumers_length;
};

/* Read the rule at *next, and move on to the one behind it. False: there is none. */
static bool rule_next(const char **next, struct rule *rule)
{
    const char *text = *next;
    if (*text == '\0') {
        return false;
    }
    size_t length = strcspn(text, ",");
    size_t colon = strcspn(text, ":,");
    rule->producers = text;
    rule->producers_length = colon;
    rule->consumers = text + colon + (colon < length);
    rule->consumers_length = length - colon - (colon < length);
    *next = text + length + (text[length] == ',');
    return true;
}

int producers_check_names(const char *value, const char **why)
{
    const char *next = value;
    struct rule rule;
    *why = "valid: off, or PRODUCERS:CONSUMERS[,...], names of threads with * and ?";
    if (*value == '\0' || value[strlen(value) - 1] == ',') {
        return -EINVAL;
    }
    while (rule_next(&next, &rule)) {
        if (rule.producers_length == 0 || rule.consumers_length == 0 ||
            memchr(rule.consumers, ':', rule.consumers_length) != NULL) {
            return -EINVAL;
        }
    }
    return 0;
}

/* ---- a thread gets a name ---- */

struct found {
    const char *pattern;
    size_t length;
    const struct thread *except;
    struct life life;
    bool fits;
};

/* With the id table locked. */
static void compare(struct thread *t, void *arg)
{
    struct found *found = arg;
    found->fits = t != found->except && name_fits(found->pattern, found->length, t->name);
    found->life = life_of(t);
}

static COLD void report(const struct thread *t, int error)
{
    static _Atomic(uint32_t) reported;
    if (at_xchg_rlx(&reported, 1u) == 0) {
        rt_say("pirn: option affinity=\"%s\": not all dependencies of thread \"%s\" could be "
               "recorded: %s. Further ones are not reported.\n",
               producers_options.names, t->name,
               error == -ELOOP    ? "a thread would depend on itself, directly or through others"
               : error == -ENOSPC ? "it has too many producers"
                                  : "there is no memory");
    }
}

/* Make t depend on all threads that fit, or, as a producer, all of them on t. */
static void relate(struct thread *t, bool consumer, const char *pattern, size_t length)
{
    struct found found = {.pattern = pattern, .length = length, .except = t};
    uint32_t bound = id_bound();
    for (uint32_t i = 0; i < bound; i++) {
        found.fits = false;
        if (id_visit(i, 0, 0, true, compare, &found) && found.fits) {
            int error = consumer ? producers_add(life_of(t), found.life)
                                 : producers_add(found.life, life_of(t));
            if (error != 0) {
                report(t, error);
            }
        }
    }
}

void producers_named_slow(struct thread *t)
{
    const char *next = producers_options.names;
    struct rule rule;
    while (rule_next(&next, &rule)) {
        if (name_fits(rule.consumers, rule.consumers_length, t->name)) {
            relate(t, true, rule.producers, rule.producers_length);
        }
        if (name_fits(rule.producers, rule.producers_length, t->name)) {
            relate(t, false, rule.consumers, rule.consumers_length);
        }
    }
}
