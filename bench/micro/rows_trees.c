/* SPDX-License-Identifier: MIT
 *
 * Rows that search a tree, with a thread for each node that creates one for each child and joins
 * them: a search in which every node does a little work (nqueens) and an unbalanced one (uts).
 * Every system with create and join has them. Results are checked.
 *
 * Where each thread is a kernel thread, the trees are smaller, as FIB_N is.
 */
#include SYS_HEADER

#include "rows.h"
#include "rows_threads.h"

#define SMALL (FIB_N < 20)

/* Runs whole trees until they had `count` nodes; returns the time of `count` nodes. */
static uint64_t trees(uint64_t count, uint64_t (*tree)(void))
{
    uint64_t start = clock_ns(), nodes = 0;

    while (nodes < count)
        nodes += tree();
    start = clock_ns() - start;
    return (uint64_t)((double)start * (double)count / (double)nodes);
}

/* ---- n queens: all solutions, without cut-off ---- */

#define BOARD_MAX 10

struct board {
    uint32_t columns, left, right; /* attacked squares of this row */
    int rows;                      /* still without a queen */
    uint64_t solutions, nodes;
};

static uint32_t full(void)
{
    return (1u << (SMALL ? 7 : BOARD_MAX)) - 1;
}

static void *board_main(void *arg)
{
    struct board *b = (struct board *)arg;
    struct board children[BOARD_MAX];
    sys_thread threads[BOARD_MAX];
    uint32_t open = full() & ~(b->columns | b->left | b->right), square;
    int count = 0;

    b->solutions = b->rows == 0;
    b->nodes = 1;
    for (; b->rows > 0 && open != 0; open &= open - 1) {
        struct board *child = &children[count];

        square = open & (~open + 1);
        child->columns = b->columns | square;
        child->left = (b->left | square) << 1;
        child->right = (b->right | square) >> 1;
        child->rows = b->rows - 1;
        sys_create(&threads[count++], board_main, child);
    }
    for (int i = 0; i < count; i++) {
        sys_join(&threads[i]);
        b->solutions += children[i].solutions;
        b->nodes += children[i].nodes;
    }
    return NULL;
}

static uint64_t board_tree(void)
{
    struct board root = {0, 0, 0, SMALL ? 7 : BOARD_MAX, 0, 0};

    board_main(&root);
    sys_check(root.solutions == (SMALL ? 40 : 724), "counting the solutions of n queens");
    return root.nodes;
}

static uint64_t nqueens_run(uint64_t count)
{
    return trees(count, board_tree);
}

/*
 * ---- unbalanced tree search ----
 *
 * The binomial trees of Olivier et al., UTS: An Unbalanced Tree Search Benchmark (LCPC 2006), with
 * a cheaper hash than theirs: the root has many children, any other node eight or none. Few of the
 * subtrees contain most of the nodes.
 */
#define ROOT_CHILDREN (SMALL ? 40 : 2000)
#define ROOT_CHILDREN_MAX 2000
#define CHILDREN_OF_NODE 8
#define HAS_CHILDREN 0.1225 /* probability; 8 * 0.1225 = 0.98 children a node */

struct node {
    uint64_t state, nodes;
};

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t mixed(uint64_t state)
{
    state += 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    return state ^ (state >> 31);
}

static int has_children(uint64_t state)
{
    return (double)(mixed(state) >> 11) < HAS_CHILDREN * (double)(UINT64_C(1) << 53);
}

static uint64_t child_of(uint64_t state, int index)
{
    return mixed(state + (uint64_t)index + 1);
}

static void *node_main(void *arg)
{
    struct node *n = (struct node *)arg;
    struct node children[CHILDREN_OF_NODE];
    sys_thread threads[CHILDREN_OF_NODE];

    n->nodes = 1;
    if (!has_children(n->state))
        return NULL;
    for (int i = 0; i < CHILDREN_OF_NODE; i++) {
        children[i].state = child_of(n->state, i);
        sys_create(&threads[i], node_main, &children[i]);
    }
    for (int i = 0; i < CHILDREN_OF_NODE; i++) {
        sys_join(&threads[i]);
        n->nodes += children[i].nodes;
    }
    return NULL;
}

static uint64_t nodes_below(uint64_t state)
{
    uint64_t nodes = 1;

    for (int i = 0; has_children(state) && i < CHILDREN_OF_NODE; i++)
        nodes += nodes_below(child_of(state, i));
    return nodes;
}

/* The root's children stay outside its stack, which may be small. */
static uint64_t node_tree(void)
{
    static struct node nodes[ROOT_CHILDREN_MAX];
    static sys_thread threads[ROOT_CHILDREN_MAX];
    static uint64_t expected;
    int first = expected == 0;
    uint64_t count = 0;

    for (int i = 0; i < ROOT_CHILDREN; i++) {
        nodes[i].state = child_of(76, i);
        sys_create(&threads[i], node_main, &nodes[i]);
    }
    for (int i = 0; i < ROOT_CHILDREN; i++) {
        sys_join(&threads[i]);
        count += nodes[i].nodes;
    }
    for (int i = 0; first && i < ROOT_CHILDREN; i++)
        expected += nodes_below(child_of(76, i));
    sys_check(count == expected, "counting the nodes of the unbalanced tree");
    return count;
}

static uint64_t uts_run(uint64_t count)
{
    return trees(count, node_tree);
}

const struct row tree_rows[] = {
    {"nqueens", 1, nqueens_run},
    {"uts", 1, uts_run},
    {NULL, 0, NULL},
};
