/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the call trees of all threads, in one table: see tree.c.
 */
#ifndef PIRN_PROF_TREE_H
#define PIRN_PROF_TREE_H

#include "atomic.h"
#include "config.h"
#include "port.h"
#include "prof.h"

enum prof_kind { PROF_ROOT, PROF_CALL, PROF_FRAME };
enum prof_root { PROF_MAIN, PROF_USER, PROF_IDLE, PROF_FOREIGN, PROF_OTHERS, PROF_REST };

/* Values of node.state. The states from NODE_MADE on number the nodes in the order of making. */
enum { NODE_FREE, NODE_MAKING, NODE_MADE };

struct prof_node {
    _Atomic(uint32_t) state;
    uint32_t parent;    /* (C) its index in the table; 0: none, a root */
    uintptr_t fn, site; /* (C) */
    uintptr_t sp;       /* of the active call; UINTPTR_MAX: unknown */
    _Atomic(uintptr_t) calls;
    uint32_t kind;  /* (C) enum prof_kind */
    uint32_t entry; /* of a root: its entry, or PROF_NO_ENTRY */
} ALIGNED(RT_CACHELINE);

/* Data of the root of a thread's own tree that its key does not contain. */
struct prof_entry {
    uint32_t index, generation;
    char name[RT_NAME_MAX];
};
#define PROF_NO_ENTRY UINT32_MAX

/* Look-ups by the distance between the callee and the first position; the last element counts all
 * longer ones. */
#define TREE_DISTANCES 32u

struct tree {
    struct prof_node *nodes;    /* (C) a power of two; index 0 is not used */
    uint32_t mask;              /* (C) */
    uint32_t shift;             /* (C) of the hash */
    uint32_t limit;             /* (C) maximum number of nodes of trees */
    uint32_t limit_rest;        /* (C) maximum number of nodes, including the rest */
    _Atomic(uint32_t) epoch;    /* 1 to 15: see life_of */
    struct prof_entry *entries; /* (C) the first is the main thread's */
    uint32_t nentries;          /* (C) maximum number of threads with a tree of their own */
    _Atomic(uint32_t) made;     /* nodes */
    _Atomic(uint32_t) used;     /* entries */
    _Atomic(uintptr_t) lost, unmatched, left;
    _Atomic(uintptr_t) distance[TREE_DISTANCES];
};

HIDDEN extern struct tree tree;

/* Touch memory before it is needed: page faults would appear in the profile. */
void prof_touch(void *at, size_t size);

/* Allocate memory for this many nodes and threads. 0 or -ENOMEM. tree_drop releases it when it is
 * no longer in use. */
int tree_make(uint32_t nodes, uint32_t threads);
void tree_drop(void);

/* Threads begin again at their roots; calls that began earlier are forgotten. */
void tree_restart(void);

/* The state of the calling thread, of a valid life; *t: its descriptor, or NULL. Returns NULL if
 * there is no room for its tree. */
struct prof_thread *tree_self(struct thread **t);

/* The node below parent with this key; made if it does not exist. 0: no room. */
uint32_t tree_child(uint32_t parent, enum prof_kind kind, uintptr_t fn, uintptr_t site);

/* The end of a chain of frames below the node, the innermost first in the array; as far as there is
 * room. */
uint32_t tree_frames(uint32_t node, const uintptr_t *frames, unsigned n);

/* Whose tree it is; index and generation, where it is one thread's. */
enum prof_root tree_root(const struct prof_node *root, uint32_t *index, uint32_t *generation);

/* The bounds of t's own stack; false: unknown. */
bool tree_stack(const struct thread *t, uintptr_t *low, uintptr_t *high);

void tree_rename(const struct thread *t);
void tree_adopt(struct thread *t);

#endif
