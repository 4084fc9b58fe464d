/* SPDX-License-Identifier: MIT */
/*
 * place.c - see place.h.
 *
 * File: a line "pirn-place 1", then one line a task, "HASH LOAD_NS" in hexadecimal and decimal;
 * lines that begin with # are comments.
 *
 * The table of loads is constant after place_init. Measuring runs on one CPU, so that its table
 * needs no lock.
 */
#include "place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capacities.h"
#include "classes.h"
#include "port_files.h"
#include "runtime.h"
#include "text.h"

#define ROOT_TASK 0x9ae16a3b2f90404full
#define FILE_MAX (64u << 20)

struct load {
    uint64_t task;
    uint64_t ns;
    uint32_t cpu;
};

static char file[512], measure_file[512];
static bool by_tree;
bool place_measuring;

static struct load *loads; /* sorted by task after placing */
static size_t nloads, room;
static _Atomic(uint32_t) next_cpu;

static struct thread *accounted;
static uint64_t accounted_since;

static int set_path(char *to, size_t size, const char *value)
{
    if (strlen(value) >= size) {
        return -EINVAL;
    }
    strcpy(to, value);
    return 0;
}

int place_set_file(const char *value, const char **why)
{
    (void)why;
    return set_path(file, sizeof(file), value);
}

int place_set_measure(const char *value, const char **why)
{
    (void)why;
    return set_path(measure_file, sizeof(measure_file), value);
}

int place_set_unit(const char *value, const char **why)
{
    (void)why;
    by_tree = sched_choice("task|tree", value) == 1;
    return 0;
}

static NORETURN void place_fatal(const char *path, unsigned line, const char *what)
{
    char text[768];
    int n =
        snprintf(text, sizeof(text), "pirn: place file \"%s\", line %u: %s\n", path, line, what);
    port_write(text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
    port_exit_now(2);
}

static bool loads_add(uint64_t task, uint64_t ns)
{
    if (nloads == room) {
        size_t more = room != 0 ? room * 2 : 256;
        struct load *bigger = port_table_alloc(more * sizeof(*loads));
        if (bigger == NULL) {
            return false;
        }
        if (room != 0) {
            memcpy(bigger, loads, nloads * sizeof(*loads));
            port_table_free(loads, room * sizeof(*loads));
        }
        loads = bigger;
        room = more;
    }
    loads[nloads++] = (struct load){.task = task, .ns = ns};
    return true;
}

static void place_parse(char *text)
{
    unsigned line = 1;
    char *next = text;
    if (strncmp(text, "pirn-place 1\n", 13) != 0) {
        place_fatal(file, 1, "the first line is not \"pirn-place 1\"");
    }
    for (next = text + 13; *next != '\0';) {
        char *at = next;
        size_t n = strcspn(at, "\n");
        next = at + n + (at[n] == '\n');
        at[n] = '\0';
        line++;
        if (at[0] == '#' || at[0] == '\0') {
            continue;
        }
        char *end;
        uint64_t task = strtoull(at, &end, 16);
        char *number = end;
        uint64_t ns = strtoull(number, &end, 10);
        if (end == at || end == number || *end != '\0') {
            place_fatal(file, line, "expected a task (hexadecimal) and its load in nanoseconds");
        }
        if (!loads_add(task, ns)) {
            place_fatal(file, line, "no memory");
        }
    }
}

static int by_load(const void *a, const void *b)
{
    const struct load *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : (x->task > y->task) - (x->task < y->task);
}

static int by_task(const void *a, const void *b)
{
    const struct load *x = a, *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

/* Longest processing time first: each task goes to the CPU that would be done with it first. */
static void place_spread(unsigned ncpu)
{
    uint64_t sum[RT_MAX_CPUS] = {0};
    qsort(loads, nloads, sizeof(*loads), by_load);
    for (size_t i = 0; i < nloads; i++) {
        unsigned least = 0;
        for (unsigned c = 1; c < ncpu; c++) {
            uint64_t here = (sum[c] + loads[i].ns) * capacity_share(least);
            uint64_t there = (sum[least] + loads[i].ns) * capacity_share(c);
            least = here < there ? c : least;
        }
        loads[i].cpu = least;
        sum[least] += loads[i].ns;
    }
    qsort(loads, nloads, sizeof(*loads), by_task);
}

static void place_read(void)
{
    size_t size;
    char *text = port_file_read(file, FILE_MAX, &size);
    if (text == NULL) {
        place_fatal(file, 0, "cannot be read");
    }
    place_parse(text);
    port_table_free(text, size);
}

int place_init(unsigned ncpu)
{
    at_init(&next_cpu, 0u);
    capacity_init();
    place_measuring = measure_file[0] != '\0';
    if (place_measuring && ncpu != 1) {
        place_fatal(measure_file, 0, "loads are measured on one CPU: run with cpus=1");
    }
    if (file[0] != '\0') {
        place_read();
        place_spread(ncpu);
    }
    return 0;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

ALWAYS_INLINE unsigned place_choose(uint64_t task)
{
    struct load key = {.task = task};
    struct load *known = nloads != 0 ? bsearch(&key, loads, nloads, sizeof(*loads), by_task) : NULL;
    return known != NULL ? known->cpu : capacity_turn(at_add_rlx(&next_cpu, 1u));
}

/* The main thread, and threads that foreign kernel threads make. */
static COLD int place_root(struct thread *t)
{
    struct pinned *p = pinned_of(t);
    if (t->flags & THREAD_MAIN) {
        *p = (struct pinned){.task = ROOT_TASK};
        return 0;
    }
    *p = (struct pinned){.task = mix(at_add_rlx(&next_cpu, 0u))};
    p->home = (uint16_t)place_choose(p->task);
    t->cpu = rt.cpus[p->home];
    return 0;
}

int place_thread_init(struct thread *t, struct thread *creator)
{
    if (sched_has_classes()) {
        classes_thread_init(t, creator);
    }
    if (unlikely(creator == NULL)) {
        return place_root(t);
    }
    struct pinned *p = pinned_of(t);
    struct pinned *parent = pinned_of(creator);
    if (by_tree && parent->task != ROOT_TASK) { /* one task, whose load is that of all of it */
        *p = (struct pinned){.task = parent->task, .home = parent->home};
    } else {
        STORE_RLX(&parent->children, parent->children + 1);
        *p = (struct pinned){.task = mix(parent->task + (parent->children & ~PINNED_BOUND))};
        p->home = (uint16_t)place_choose(p->task);
    }
    pinned_inherit(p, parent);
    t->cpu = rt.cpus[p->home];
    return 0;
}

void place_account(struct thread *t)
{
    uint64_t now = port_now();
    if (accounted != NULL) {
        loads_add(pinned_of(accounted)->task, now - accounted_since);
    }
    accounted = t;
    accounted_since = now;
}

static void place_write(void)
{
    size_t size = 64 + nloads * 40;
    char *text = port_table_alloc(size);
    if (text == NULL) {
        return;
    }
    size_t n = (size_t)snprintf(text, size, "pirn-place 1\n# task, nanoseconds\n");
    qsort(loads, nloads, sizeof(*loads), by_task);
    for (size_t i = 0; i < nloads;) {
        uint64_t task = loads[i].task, ns = 0;
        for (; i < nloads && loads[i].task == task; i++) {
            ns += loads[i].ns;
        }
        n += (size_t)snprintf(text + n, size - n, "%llx %llu\n", (unsigned long long)task,
                              (unsigned long long)ns);
    }
    int error = port_file_write(measure_file, text, n);
    port_table_free(text, size);
    if (error != 0) {
        char why[192];
        snprintf(why, sizeof(why), "cannot be written: %s", text_file_error(error));
        place_fatal(measure_file, 0, why);
    }
}

void place_at_exit(void)
{
    if (place_measuring) {
        place_account(NULL);
        place_write();
    }
}

void place_fini(void)
{
    if (room != 0) {
        port_table_free(loads, room * sizeof(*loads));
    }
    loads = NULL;
    nloads = room = 0;
    accounted = NULL;
    place_measuring = false;
}
