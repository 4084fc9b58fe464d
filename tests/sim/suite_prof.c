/* SPDX-License-Identifier: MIT */
/*
 * suite_prof.c - suite prof, of the simulator alone: the profiler's call trees and samples, under
 * switches, migrations, preemptions, and samples at every scheduling point of the profiler itself.
 *
 * Threads call made-up functions. Function f calls g from site SITE(f, g), so that each node of the
 * trees must lie below one of its site's function; how often each function is called is counted
 * beside the profiler.
 */
#include "../../src/prof/sample.h"
#include "../../src/prof/tree.h"
#include "../../src/prof/waits.h"
#include "cpu.h"
#include "driver.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { FUNCTIONS = 4, THREADS = 5, DEPTH = 4 };

#define FN(f) (0x1000u + (uintptr_t)(f)*0x10u)
#define SITE(f, g) (0x100000u + (uintptr_t)(f)*0x1000u + (uintptr_t)(g)*4u)
#define SITE_CALLER(site) (((site)-0x100000u) / 0x1000u)
/* Reads values that no thread changes any more; no scheduling point. */
#define PEEK(p) (*(volatile const __typeof__(*(p) + 0) *)(p))

#define NOBODY FUNCTIONS /* the caller of the outermost function */

struct shared {
    uint32_t calls[FUNCTIONS]; /* begun */
    bool jumps;                /* some are left without a return */
};

static void profile_begins(uint32_t nodes, uint32_t threads, uint32_t wait_ns)
{
    strcpy(prof_options.path, "simulated");
    prof_options.waits = wait_ns != 0;
    prof_options.wait_ns = wait_ns;
    prof_options.rate = 1000000000u / (100 + test_random(3000));
    prof_options.frames = test_random(2) != 0;
    prof_options.nodes = nodes;
    prof_options.threads = threads;
    prof_start();
    CHECK(prof_set_on(true) == 0);
}

/* True: left by a jump to the caller that was called with `jump`. */
static NOINLINE bool function(struct shared *s, unsigned caller, unsigned f, unsigned depth)
{
    bool left = false;
    prof_enter(FN(f), SITE(caller, f), (uintptr_t)__builtin_frame_address(0));
    TEST_ADD(&s->calls[f], 1u);
    if (test_random(4) == 0) {
        pirn_yield();
    }
    for (unsigned i = test_random(3); depth > 0 && i > 0 && !left; i--) {
        left = function(s, f, test_random(FUNCTIONS), depth - 1);
    }
    if (left && test_random(2) != 0) {
        return true; /* further up */
    }
    if (s->jumps && test_random(4) == 0) {
        return true;
    }
    prof_exit(FN(f), SITE(caller, f));
    return false;
}

static void *calls_functions(void *arg)
{
    struct shared *s = arg;
    for (unsigned i = 0; i < 4; i++) {
        function(s, NOBODY, test_random(FUNCTIONS), DEPTH);
    }
    return NULL;
}

static void all_call(struct shared *s)
{
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, calls_functions, s) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
}

static bool is_rest(const struct prof_node *n)
{
    uint32_t index, generation;
    return n->kind == PROF_ROOT && tree_root(n, &index, &generation) == PROF_REST;
}

static void node_is_below_its_caller(const struct prof_node *n)
{
    unsigned caller = (unsigned)SITE_CALLER(n->site);
    const struct prof_node *above = &tree.nodes[n->parent];
    CHECK(PEEK(&above->state) >= NODE_MADE);
    if (is_rest(above)) {
        return;
    }
    if (caller == NOBODY) {
        CHECK(above->kind == PROF_ROOT);
    } else {
        CHECK(above->kind == PROF_CALL && above->fn == FN(caller));
    }
}

static bool is_root(const struct prof_node *n)
{
    return PEEK(&n->state) >= NODE_MADE && n->kind == PROF_ROOT;
}

/* Two nodes of one tree's root count once: a hook that interrupts a thread's first hook makes
 * another. */
static uint32_t roots(enum prof_root kind)
{
    uint32_t n = 0, index, generation;
    for (const struct prof_node *at = &tree.nodes[1]; at <= &tree.nodes[tree.mask]; at++) {
        const struct prof_node *same = &tree.nodes[1];
        if (!is_root(at) || tree_root(at, &index, &generation) != kind) {
            continue;
        }
        while (!is_root(same) || same->site != at->site || same->fn != at->fn) {
            same++;
        }
        n += same == at;
    }
    return n;
}

static void trees_are_as_counted(struct shared *s, bool whole)
{
    uint64_t found[FUNCTIONS] = {0}, all = 0, expected = 0;
    for (uint32_t i = 1; i <= tree.mask; i++) {
        const struct prof_node *n = &tree.nodes[i];
        if (PEEK(&n->state) < NODE_MADE || n->kind != PROF_CALL) {
            continue;
        }
        unsigned f = (unsigned)((n->fn - FN(0)) / 0x10u);
        CHECK(f < FUNCTIONS);
        found[f] += PEEK(&n->calls);
        node_is_below_its_caller(n);
    }
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        CHECK(!whole || found[f] == TEST_GET(&s->calls[f]));
        all += found[f];
        expected += TEST_GET(&s->calls[f]);
    }
    CHECK(all + PEEK(&tree.lost) == expected);
    CHECK(!whole || (PEEK(&tree.lost) == 0 && roots(PROF_REST) == 0));
}

static void samples_are_all_there(void)
{
    uint64_t n = PEEK(&sample.lost);
    for (uint32_t i = 0; i <= sample.mask; i++) {
        if (PEEK(&sample.places[i].state) >= NODE_MADE) {
            n += PEEK(&sample.places[i].count);
        }
    }
    CHECK(n == sim_samples());
}

/* whole: there is room for each path to a function. */
static void calls_are_counted(struct shared *s, uint32_t nodes, uint32_t threads, bool whole)
{
    profile_begins(nodes, threads, test_random(2) * 1000);
    all_call(s);
    prof_set_on(false);
    trees_are_as_counted(s, whole);
    samples_are_all_there();
}

static void test_own_trees_have_every_call(void *unused)
{
    struct shared s = {.jumps = false};
    (void)unused;
    calls_are_counted(&s, 1024, 16, true);
    CHECK(roots(PROF_USER) >= THREADS && roots(PROF_OTHERS) == 0);
    CHECK(PEEK(&tree.unmatched) == 0 && PEEK(&tree.left) == 0);
}

static void test_shared_trees_have_every_call(void *unused)
{
    struct shared s = {.jumps = false};
    (void)unused;
    calls_are_counted(&s, 1024, 1, true);
    CHECK(roots(PROF_USER) <= 1 && roots(PROF_OTHERS) >= 1);
    CHECK(PEEK(&tree.unmatched) == 0 && PEEK(&tree.left) == 0);
}

/* By function, while there is room for that: 8 nodes for the rest do not always suffice. */
static void test_calls_without_a_node_are_counted(void *unused)
{
    struct shared s = {.jumps = false};
    (void)unused;
    calls_are_counted(&s, 64, 1 + test_random(8), false);
    CHECK(PEEK(&tree.lost) == 0 || roots(PROF_REST) >= 1);
}

static void test_functions_left_by_jumps_leave_the_tree(void *unused)
{
    struct shared s = {.jumps = true};
    (void)unused;
    calls_are_counted(&s, 1024, 16, true);
}

/* Calls before and after are complete; calls that begin in a pause are missing. */
static void test_pause_forgets_active_calls_only(void *unused)
{
    struct shared s = {.jumps = false}, unseen = {.jumps = false};
    (void)unused;
    profile_begins(1024, 16, 0);
    all_call(&s);
    CHECK(prof_set_on(false) == 0);
    if (test_random(2) != 0) {
        CHECK(prof_set_on(true) == 0);
        all_call(&s);
        CHECK(prof_set_on(false) == 0);
    }
    for (unsigned i = 0; i < 2 && prof_is_on(); i++) {
        function(&unseen, NOBODY, 0, DEPTH);
    }
    trees_are_as_counted(&s, true);
    CHECK(roots(PROF_OTHERS) == 0);
}

/* Waits. */

enum { LOCKS = 4, NAP = 1000 };

struct waiting {
    pirn_mutex_t mutex;
    uint32_t timeouts, naps, slept;
};

/* At the same address in each process: locks are found by a hash of theirs, and a run has to be
 * repeatable. */
static struct waiting *waiting_make(void)
{
    static struct waiting *w;
    if (w == NULL) {
        void *at = (void *)(uintptr_t)0x10000000000; /* far from what the kernel places */
        w = mmap(at, sizeof(*w), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        CHECK(w == at);
    }
    *w = (struct waiting){.timeouts = 0};
    return w;
}

static void *waits_for_locks(void *arg)
{
    struct waiting *w = arg;
    for (unsigned i = 0; i < LOCKS; i++) {
        uint64_t deadline = test_random(2) ? UINT64_MAX : port_now() + test_random(4000);
        int error = pirn_mutex_lock_until(&w->mutex, deadline);
        CHECK(error == 0 || error == -ETIMEDOUT);
        if (error != 0) {
            TEST_ADD(&w->timeouts, 1u);
            continue;
        }
        if (test_random(2) != 0) {
            uint64_t from = port_now();
            pirn_sleep(NAP);
            TEST_ADD(&w->naps, 1u);
            TEST_ADD(&w->slept, (uint32_t)(port_now() - from));
        }
        pirn_mutex_unlock(&w->mutex);
    }
    return NULL;
}

/* How many there are; *ns: how long they were. */
static uint64_t waits_of(enum prof_wait_kind kind, uint32_t reason, uint64_t *ns)
{
    uint64_t n = 0;
    *ns = 0;
    for (uint32_t i = 0; i <= waits.mask; i++) {
        const struct prof_wait *w = &waits.places[i];
        if (PEEK(&w->state) >= NODE_MADE && w->key.kind == kind && w->key.reason == reason) {
            CHECK(w->key.object == 0 || reason == WAIT_MUTEX);
            CHECK(PEEK(&w->longest) <= PEEK(&w->waited) + PEEK(&w->ready));
            n += PEEK(&w->count);
            *ns += PEEK(&w->waited);
        }
    }
    return n;
}

/* Each wait is there, with who ended it: a thread that unlocked, or the clock. */
static void test_waits_are_counted_with_their_ends(void *unused)
{
    struct waiting *w = waiting_make();
    pirn_thread_t t[THREADS];
    uint64_t slept, waited, released;
    (void)unused;
    profile_begins(1024, 16, 1);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_create(&t[i], NULL, waits_for_locks, w) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
    prof_set_on(false);
    CHECK(PEEK(&waits.lost) == 0);
    CHECK(waits_of(PROF_WAITED, WAIT_SLEEP, &slept) == TEST_GET(&w->naps));
    CHECK(slept <= TEST_GET(&w->slept));
    uint64_t n = waits_of(PROF_WAITED, WAIT_MUTEX, &waited);
    CHECK(waits_of(PROF_RELEASED, WAIT_MUTEX, &released) + TEST_GET(&w->timeouts) == n);
    CHECK(released <= waited);
}

static const struct test tests[] = {
    {"own_trees_have_every_call", test_own_trees_have_every_call, MUTANT_PROF_TAKE},
    {"shared_trees_have_every_call", test_shared_trees_have_every_call, MUTANT_PROF_PLAIN},
    {"calls_without_a_node_are_counted", test_calls_without_a_node_are_counted, 0},
    {"functions_left_by_jumps_leave_the_tree", test_functions_left_by_jumps_leave_the_tree, 0},
    {"pause_forgets_active_calls_only", test_pause_forgets_active_calls_only, 0},
    {"waits_are_counted_with_their_ends", test_waits_are_counted_with_their_ends,
     MUTANT_WAITS_TIMER},
    {0}};

const struct suite suite_prof = {"prof", tests, NULL, false};
