/* SPDX-License-Identifier: MIT */
/*
 * tree.c - call trees. A node is a path to a function: its parent, the function and the call site.
 * All trees lie in one hash table, whose key is these three; children are found by linear probing.
 * So a call costs one look-up, and no memory is allocated after the beginning.
 *
 * Invariants:
 *   1. The caller that reserves a node (FREE -> MAKING) writes its key. No caller reads the key
 *      before the state is MADE. ORDER(prof-node). A node stays for ever.
 *   2. No caller waits. A caller that finds a node in state MAKING treats it as another node. So
 *      hooks may interrupt each other (signal handlers, samples), and two callers that make the
 *      same node at once make two nodes; readers of the file add them up.
 *   3. A tree has one writer at a time, its thread, wherever that runs: counts are plain additions.
 *      Trees that threads share have atomic counts.
 *
 * The first threads (as many as the option profthreads says), and the main thread, have trees of
 * their own. All other threads share one tree for each start routine. Scheduler contexts share one,
 * and so do kernel threads that are no workers.
 *
 * Calls for which a tree has no room are counted by function and site, in one tree for all threads
 * (the rest). Their callees are counted in the same way.
 *
 * Functions that are left without a return (longjmp) are found by stack pointers. A node of a
 * thread's own tree keeps the stack pointer of its call, because each node has at most one active
 * call: callees of a function lie below it. In shared trees such functions are found when the
 * function that continues returns.
 */
#include <errno.h>
#include <string.h>

#include "cpu.h"
#include "mutant.h"
#include "port_calls.h"
#include "port_prof.h"
#include "tree.h"

#define PROBES 128u

/* The rest has the trees' number of nodes divided by this. */
#define REST_PART 8u

/* `site` of roots that belong to no single thread. */
#define SITE_MAIN ((uintptr_t)1)
#define SITE_SHARED ((uintptr_t)2) /* to 5: by enum prof_root */

struct tree tree;

#define SITE_OWN ((uintptr_t)8) /* and above: index and generation */

/* From one call to the next a stack grows by less than this. */
#define SP_SPAN ((uintptr_t)1 << 20)

void prof_touch(void *at, size_t size)
{
    for (size_t i = 0; i < size; i += 4096) {
        ((volatile char *)at)[i] = 0;
    }
}

static size_t nodes_size(void)
{
    return ((size_t)tree.mask + 1) * sizeof(struct prof_node);
}

int tree_make(uint32_t nodes, uint32_t threads)
{
    uint32_t bits = 6;
    while ((UINT64_C(3) << bits) / 4 < nodes + nodes / REST_PART) {
        bits++;
    }
    uint32_t epoch = at_load_rlx(&tree.epoch);
    tree = (struct tree){.mask = (1u << bits) - 1,
                         .shift = 64 - bits,
                         .limit = nodes,
                         .limit_rest = nodes + nodes / REST_PART,
                         .epoch = epoch,
                         .nentries = threads + 1,
                         .used = 1};
    tree.nodes = port_table_alloc(nodes_size());
    tree.entries = port_table_alloc(tree.nentries * sizeof(struct prof_entry));
    if (tree.nodes == NULL || tree.entries == NULL) {
        tree_drop();
        return -ENOMEM;
    }
    prof_touch(tree.nodes, nodes_size());
    prof_touch(tree.entries, tree.nentries * sizeof(struct prof_entry));
    tree_restart();
    return 0;
}

void tree_drop(void)
{
    if (tree.nodes != NULL) {
        port_table_free(tree.nodes, nodes_size());
    }
    if (tree.entries != NULL) {
        port_table_free(tree.entries, tree.nentries * sizeof(struct prof_entry));
    }
    tree.nodes = NULL;
    tree.entries = NULL;
}

void tree_restart(void)
{
    at_store_rlx(&tree.epoch, at_load_rlx(&tree.epoch) % 15 + 1);
}

/* Never 0, and different for each life of a descriptor and each beginning of a profile. */
ALWAYS_INLINE uint32_t life_of(const struct thread *t)
{
    return ((t != NULL ? t->generation : 0) << 4) + at_load_rlx(&tree.epoch);
}

struct key {
    uint32_t parent, kind;
    uintptr_t fn, site;
};

ALWAYS_INLINE uint32_t place_of(struct key key)
{
    uint64_t mix =
        (uint64_t)key.site ^ (uint64_t)key.fn << 24 ^ key.parent * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix * UINT64_C(0xd6e8feb86659fd93)) >> tree.shift);
}

static void count_shared(_Atomic(uintptr_t) *n)
{
    at_add_rlx(n, (uintptr_t)1);
}

static void distance_is(uint32_t distance)
{
    if (distance != 0) {
        count_shared(&tree.distance[distance < TREE_DISTANCES ? distance : TREE_DISTANCES - 1]);
    }
}

/* Reserve and write the free node, unless another caller is faster. */
static bool node_make(struct prof_node *n, struct key key)
{
    uint32_t state = NODE_FREE;
    if (MUTANT(PROF_TAKE)) {
        at_store_rlx(&n->state, (uint32_t)NODE_MAKING);
    } else if (!at_cas_acq(&n->state, &state, (uint32_t)NODE_MAKING)) {
        return false;
    }
    uint32_t order = at_add_rlx(&tree.made, 1u);
    n->parent = key.parent;
    n->kind = key.kind;
    n->fn = key.fn;
    n->site = key.site;
    n->sp = UINTPTR_MAX;
    n->entry = PROF_NO_ENTRY;
    at_store_rel(&n->state, NODE_MADE + order); /* ORDER(prof-node) */
    return true;
}

ALWAYS_INLINE bool same(const struct prof_node *n, struct key key)
{
    return n->site == key.site && n->parent == key.parent && n->fn == key.fn && n->kind == key.kind;
}

/* The node's place if it is at the position of its hash, else 0. */
ALWAYS_INLINE uint32_t node_at_once(struct key key)
{
    uint32_t at = place_of(key);
    const struct prof_node *n = &tree.nodes[at];
    bool made = at_load_acq(&n->state) >= NODE_MADE; /* ORDER(prof-node) */
    return likely(made && same(n, key)) ? at : 0;
}

/* The place of a root does not depend on the program's load address, so that the simulator's runs
 * repeat. */
static uint32_t first_place_of(struct key key)
{
    key.fn = key.kind == PROF_ROOT ? 0 : key.fn;
    return place_of(key);
}

/* *made: this call made the node. */
static NOINLINE uint32_t node_get(struct key key, uint32_t limit, bool *made)
{
    uint32_t at = first_place_of(key);
    for (uint32_t d = 0; d < PROBES; d++, at = (at + 1) & tree.mask) {
        struct prof_node *n = &tree.nodes[at];
        uint32_t state = at != 0 ? at_load_acq(&n->state) : (uint32_t)NODE_MAKING;
        if (state >= NODE_MADE && same(n, key)) { /* ORDER(prof-node) */
            distance_is(key.kind == PROF_CALL ? d : 0);
            return at;
        }
        if (state == NODE_FREE) {
            if (at_load_rlx(&tree.made) >= limit) {
                return 0;
            }
            if (node_make(n, key)) {
                *made = true;
                distance_is(key.kind == PROF_CALL ? d : 0);
                return at;
            }
        }
    }
    return 0;
}

uint32_t tree_child(uint32_t parent, enum prof_kind kind, uintptr_t fn, uintptr_t site)
{
    bool made = false;
    return node_get((struct key){parent, kind, fn, site}, tree.limit, &made);
}

uint32_t tree_frames(uint32_t node, const uintptr_t *frames, unsigned n)
{
    for (; n > 0; n--) {
        uint32_t next = tree_child(node, PROF_FRAME, frames[n - 1], 0);
        if (next == 0) {
            break;
        }
        node = next;
    }
    return node;
}

/* Roots. */

static enum prof_root kind_of(const struct thread *t)
{
    return t == NULL                   ? port_prof_main() ? PROF_MAIN : PROF_FOREIGN
           : t->flags & THREAD_MAIN    ? PROF_MAIN
           : t->flags & THREAD_IDLE    ? PROF_IDLE
           : t->flags & THREAD_FOREIGN ? PROF_FOREIGN
                                       : PROF_USER;
}

static struct key root_key(const struct thread *t, enum prof_root kind)
{
    const unsigned half = 4 * sizeof(uintptr_t);
    struct key key = {.kind = PROF_ROOT, .site = SITE_MAIN};
    if (kind == PROF_USER) {
        uintptr_t low = t->generation & (((uintptr_t)1 << half) - 1);
        key.fn = (uintptr_t)t->start;
        key.site = ((uintptr_t)t->index << half | low) + SITE_OWN;
    } else if (kind != PROF_MAIN) {
        key.fn = kind == PROF_OTHERS ? (uintptr_t)t->start : 0;
        key.site = SITE_SHARED + kind - PROF_IDLE;
    }
    return key;
}

enum prof_root tree_root(const struct prof_node *root, uint32_t *index, uint32_t *generation)
{
    const unsigned half = 4 * sizeof(uintptr_t);
    *index = *generation = 0;
    if (root->entry != PROF_NO_ENTRY) {
        *index = tree.entries[root->entry].index;
        *generation = tree.entries[root->entry].generation;
    } else if (root->site >= SITE_OWN) {
        *index = (uint32_t)((root->site - SITE_OWN) >> half);
        *generation = (uint32_t)((root->site - SITE_OWN) & (((uintptr_t)1 << half) - 1));
    }
    return root->site >= SITE_OWN    ? PROF_USER
           : root->site == SITE_MAIN ? PROF_MAIN
                                     : (enum prof_root)(root->site - SITE_SHARED + PROF_IDLE);
}

static void entry_set(uint32_t i, const struct thread *t)
{
    struct prof_entry *e = &tree.entries[i];
    e->index = t->index;
    e->generation = t->generation;
    memcpy(e->name, t->name, RT_NAME_MAX);
}

bool tree_stack(const struct thread *t, uintptr_t *low, uintptr_t *high)
{
    if (t == NULL ? port_prof_main() : (t->flags & THREAD_MAIN) != 0) {
        return port_prof_stack(low, high);
    }
    if (t == NULL) {
        return false;
    }
    *low = (uintptr_t)t->stack.low;
    *high = *low + t->stack.size;
    return *low != 0;
}

/* An entry for one more thread with a tree of its own, if one is left. */
static uint32_t entry_take(void)
{
    uint32_t n = at_load_rlx(&tree.used);
    while (n < tree.nentries) {
        if (at_cas_rlx(&tree.used, &n, n + 1)) {
            return n;
        }
    }
    return PROF_NO_ENTRY;
}

/* The entry of the calling thread. A hook that interrupts the thread's first hook finds it
 * taken. */
static uint32_t entry_get(struct prof_thread *p, const struct thread *t)
{
    if (p->entry_life != life_of(t)) {
        p->entry = entry_take();
        p->entry_life = life_of(t);
    }
    return p->entry;
}

/* Fills the root of a thread's own tree. */
static void root_made(struct prof_node *root, const struct thread *t, uint32_t entry)
{
    uintptr_t low, high;
    if (t != NULL) {
        entry_set(entry, t);
    }
    root->entry = entry;
    if (tree_stack(t, &low, &high)) {
        root->sp = high;
    }
}

/* entry: PROF_NO_ENTRY for a tree that is shared, or that exists already. 0: no room. */
static uint32_t root_get(const struct thread *t, enum prof_root kind, uint32_t entry)
{
    bool made = false;
    struct key key = root_key(t, kind);
    uint32_t root = node_get(key, kind == PROF_REST ? tree.limit_rest : tree.limit, &made);
    if (root != 0 && made && entry != PROF_NO_ENTRY) {
        root_made(&tree.nodes[root], t, entry);
    }
    return root;
}

/* True if t has had a tree of its own since before a pause. */
static bool had_own(const struct prof_thread *p, const struct thread *t)
{
    struct key key = root_key(t, PROF_USER);
    return !p->shared && p->root != 0 && p->root <= tree.mask &&
           at_load_acq(&tree.nodes[p->root].state) >= NODE_MADE && /* ORDER(prof-node) */
           same(&tree.nodes[p->root], key);
}

/* The profiler sees the thread for the first time in this life, or after a pause. */
static COLD bool thread_begins(struct prof_thread *p, const struct thread *t)
{
    enum prof_root kind = kind_of(t);
    bool again = kind == PROF_USER && had_own(p, t);
    uint32_t entry = kind == PROF_MAIN ? 0 : PROF_NO_ENTRY;
    if (kind == PROF_USER && !again) {
        entry = entry_get(p, t);
        kind = entry != PROF_NO_ENTRY ? PROF_USER : PROF_OTHERS;
    }
    uint32_t root = root_get(t, kind, entry);
    if (root == 0) {
        return false;
    }
    if (!again) {
        count_shared(&tree.nodes[root].calls);
    }
    p->shared = kind != PROF_USER && kind != PROF_MAIN;
    p->skipped = 0;
    p->root = p->node = root;
    p->life = life_of(t);
    return true;
}

ALWAYS_INLINE struct prof_thread *self(struct thread **out)
{
    struct cpu *cpu = port_cpu_self();
    struct thread *t = likely(cpu != NULL) ? cpu->current : port_left_self();
    *out = t;
    return likely(t != NULL) ? &t->prof : port_prof_outside();
}

struct prof_thread *tree_self(struct thread **t)
{
    struct prof_thread *p = self(t);
    return p->life == life_of(*t) || thread_begins(p, *t) ? p : NULL;
}

void tree_rename(const struct thread *t)
{
    const struct prof_thread *p = &t->prof;
    if (p->life == life_of(t) && tree.nodes[p->root].entry != PROF_NO_ENTRY) {
        entry_set(tree.nodes[p->root].entry, t);
    }
}

void tree_adopt(struct thread *t)
{
    struct prof_thread *from = port_prof_outside();
    if (from->life == life_of(NULL) && port_prof_main()) {
        t->prof = *from;
        t->prof.life = life_of(t);
        entry_set(0, t);
    }
}

/* ---- calls ---- */

/* True if the active call n of the thread's own tree was left without a return. The caller is at
 * sp, in a call of fn from site. While another stack (a signal's) is in use nothing is known about
 * its calls. If the caller is on its own stack again, the other stack is no longer in use. */
static bool was_left(const struct thread *t, const struct prof_node *n, struct key to, uintptr_t sp)
{
    uintptr_t low, high;
    if (n->kind != PROF_CALL || !tree_stack(t, &low, &high) || sp < low || sp >= high) {
        return false;
    }
    if (n->sp < low || n->sp >= high) {
        return n->sp != UINTPTR_MAX;
    }
    return n->sp < sp || (n->sp == sp && (n->site != to.site || n->fn == to.fn));
}

static COLD void leave_those(struct prof_thread *p, const struct thread *t, struct key to,
                             uintptr_t sp)
{
    while (was_left(t, &tree.nodes[p->node], to, sp)) {
        p->node = tree.nodes[p->node].parent;
        count_shared(&tree.left);
    }
}

/* Counts a call that finds no room by function and site, for all threads together, as long as there
 * is room for that. */
static COLD void count_rest(uintptr_t fn, uintptr_t site)
{
    bool made = false;
    uint32_t root = root_get(NULL, PROF_REST, PROF_NO_ENTRY);
    struct key key = {root, PROF_CALL, fn, site};
    uint32_t node = root != 0 ? node_get(key, tree.limit_rest, &made) : 0;
    count_shared(node != 0 ? &tree.nodes[node].calls : &tree.lost);
}

static COLD void enter_skipped(struct prof_thread *p, struct key key, uintptr_t sp)
{
    if (p->skipped++ == 0) {
        p->skipped_sp = sp;
    }
    count_rest(key.fn, key.site);
}

ALWAYS_INLINE void node_enter(struct prof_thread *p, uint32_t to, uintptr_t sp)
{
    struct prof_node *n = &tree.nodes[to];
    if (likely(!p->shared) || MUTANT(PROF_PLAIN)) {
        at_store_rlx(&n->calls, at_load_rlx(&n->calls) + 1);
        n->sp = MUTANT(PROF_PLAIN) ? UINTPTR_MAX : sp;
    } else {
        count_shared(&n->calls);
    }
    p->node = to;
}

/* All cases that are not common. */
static NOINLINE void enter_slow(uintptr_t fn, uintptr_t site, uintptr_t sp)
{
    struct thread *t;
    struct prof_thread *p = tree_self(&t);
    if (p == NULL) {
        count_rest(fn, site);
        return;
    }
    struct key key = {.kind = PROF_CALL, .fn = fn, .site = site};
    if (p->skipped != 0) {
        if (sp <= p->skipped_sp || p->shared) {
            enter_skipped(p, key, sp);
            return;
        }
        p->skipped = 0; /* these calls were left */
    }
    if (!p->shared) {
        leave_those(p, t, key, sp);
    }
    bool made = false;
    key.parent = p->node;
    uint32_t to = node_get(key, tree.limit, &made);
    if (to == 0) {
        enter_skipped(p, key, sp);
    } else {
        node_enter(p, to, sp);
    }
}

/* The innermost active call is further up on the same stack. An inlined function shares the frame
 * and the call site of the function that contains it. In all other cases was_left decides. */
ALWAYS_INLINE bool is_below(const struct prof_node *n, uintptr_t fn, uintptr_t site, uintptr_t sp)
{
    uintptr_t down = n->sp - sp;
    return likely(down - 1 < SP_SPAN) || (down == 0 && n->site == site && n->fn != fn);
}

void prof_enter(uintptr_t fn, uintptr_t site, uintptr_t sp)
{
    struct thread *t;
    struct prof_thread *p = self(&t);
    if (likely(p->life == life_of(t) && p->skipped == 0)) {
        if (is_below(&tree.nodes[p->node], fn, site, sp) || p->shared) {
            uint32_t to = node_at_once((struct key){p->node, PROF_CALL, fn, site});
            if (likely(to != 0)) {
                node_enter(p, to, sp);
                return;
            }
        }
    }
    enter_slow(fn, site, sp);
}

/* A return from a function that is not the innermost: from one above it, or from none. */
static NOINLINE void exit_slow(uintptr_t fn, uintptr_t site)
{
    struct thread *t;
    struct prof_thread *p = tree_self(&t);
    uintptr_t left = 0;
    if (p == NULL) {
        return;
    }
    if (p->skipped != 0) {
        p->skipped--;
        return;
    }
    for (uint32_t at = p->node; at != 0; at = tree.nodes[at].parent, left++) {
        const struct prof_node *n = &tree.nodes[at];
        if (n->kind == PROF_CALL && n->fn == fn && n->site == site) {
            p->node = n->parent;
            at_add_rlx(&tree.left, left);
            return;
        }
    }
    count_shared(&tree.unmatched);
}

void prof_exit(uintptr_t fn, uintptr_t site)
{
    struct thread *t;
    struct prof_thread *p = self(&t);
    if (likely(p->life == life_of(t) && p->skipped == 0)) {
        const struct prof_node *n = &tree.nodes[p->node];
        if (likely(n->fn == fn && n->kind == PROF_CALL)) {
            p->node = n->parent;
            return;
        }
    }
    exit_slow(fn, site);
}
