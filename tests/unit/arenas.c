/* SPDX-License-Identifier: MIT */
/*
 * arenas.c - the lists of the Linux port's stacks (linux_arena.h) against a model, with random
 * requests; and their steps counted: ten times the stacks take ten times the steps.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t steps;
#define ARENA_STEP() (steps++)
#include "common/options.h"
#include "linux_arena.h"

#define SEEDED "pirn-arenas"
#include "seeded.h"

enum { PAGE = 4096, SMALL_SLOTS = 16 };

static struct arenas arenas;
static unsigned living, living_kinds;

static void *alloc(size_t size)
{
    void *p = calloc(1, size);
    CHECK(p != NULL);
    return p;
}

/* As in linux_stack.c, but without mappings: a stack is a number in its arena. */
struct stack {
    struct arena *arena;
    unsigned slot;
};

static struct arena *arena_new(struct arena_kind *kind, size_t slot, size_t guard, unsigned slots)
{
    struct arena *a = alloc(sizeof(*a));
    if (kind == NULL) {
        kind = alloc(sizeof(*kind));
        living_kinds++;
    }
    a->slots = slots;
    arena_add(&arenas, kind, slot, guard, a);
    living++;
    return a;
}

static struct stack take(size_t slot, size_t guard, unsigned slots)
{
    bool fresh;
    struct arena_kind *kind = arena_kind_find(&arenas, slot, guard);
    struct arena *a = arena_of_kind(kind);
    if (a == NULL) {
        a = arena_new(kind, slot, guard, slots);
    }
    struct stack stack = {a, arena_next(a, &fresh)};
    arena_taken(&arenas, a, fresh);
    return stack;
}

static void give_back(struct stack stack)
{
    struct arena_kind *kind = NULL;
    arena_return(&arenas, stack.arena, stack.slot);
    struct arena *surplus = arena_surplus(&arenas, &kind);
    if (surplus != NULL) {
        free(surplus);
        living--;
    }
    if (kind != NULL) {
        free(kind);
        living_kinds--;
    }
    CHECK(arenas.spares <= ARENA_SPARES);
}

static void drain(void)
{
    while (arenas.spares != 0) {
        struct arena_kind *kind;
        struct arena *a = CONTAINER_OF(arenas.spare.next, struct arena, spare);
        arena_remove(&arenas, a, &kind);
        free(a);
        free(kind);
        living--;
        living_kinds -= kind != NULL;
    }
    CHECK(living == 0 && living_kinds == 0);
}

/* ---- against a model ---- */

enum { STACKS = 3000, REQUESTS = 200000, KINDS = 40 };

/* Each number of an arena is handed out once, and lists say what the numbers say. */
static void check_all(const struct stack *stacks, unsigned n)
{
    unsigned handed_out = 0, unused = 0;
    for (unsigned b = 0; b < ARENA_BUCKETS; b++) {
        for (struct arena_kind *kind = arenas.buckets[b]; kind != NULL; kind = kind->next) {
            CHECK(kind->arenas != 0);
            for (struct list *l = kind->roomy.next; l != &kind->roomy; l = l->next) {
                struct arena *a = CONTAINER_OF(l, struct arena, link);
                CHECK(a->kind == kind && arena_roomy(a));
                CHECK(arena_unused(a) == list_linked(&a->spare));
                unused += arena_unused(a);
            }
        }
    }
    for (unsigned i = 0; i < n; i++) {
        struct arena *a = stacks[i].arena;
        if (a == NULL) {
            continue;
        }
        handed_out++;
        CHECK(stacks[i].slot < a->bump && list_linked(&a->link) == arena_roomy(a));
        for (unsigned k = 0; k < a->nfree; k++) {
            CHECK(a->free[k] != stacks[i].slot);
        }
    }
    CHECK(unused == arenas.spares);
    CHECK(handed_out <= n);
}

static void test_slots_are_handed_out_once_when_requests_are_random(void)
{
    static struct stack stacks[STACKS];
    memset(stacks, 0, sizeof(stacks));
    for (unsigned r = 0; r < REQUESTS; r++) {
        struct stack *s = &stacks[below(below(2) != 0 ? STACKS : STACKS / 50)];
        if (s->arena != NULL) {
            give_back(*s);
            s->arena = NULL;
        } else {
            unsigned kind = below(below(KINDS) + 1);
            *s = take((kind + 2) * (size_t)PAGE, kind % 3 * (size_t)PAGE, 1 + kind % SMALL_SLOTS);
            for (unsigned i = 0; i < STACKS && r % 64 == 0; i++) {
                CHECK(&stacks[i] == s || stacks[i].arena != s->arena || stacks[i].slot != s->slot);
            }
        }
        if (r % 1000 == 0) {
            check_all(stacks, STACKS);
        }
    }
    for (unsigned i = 0; i < STACKS; i++) {
        if (stacks[i].arena != NULL) {
            give_back(stacks[i]);
        }
    }
    drain();
}

/* ---- steps ---- */

/* n stacks of 8 MiB are made, and then end in another order. */
static uint64_t steps_of(unsigned n, unsigned kinds)
{
    struct stack *stacks = alloc(n * sizeof(*stacks));
    steps = 0;
    for (unsigned i = 0; i < n; i++) {
        stacks[i] = take((8u << 20) + i % kinds * (size_t)PAGE, PAGE, SMALL_SLOTS);
    }
    for (unsigned i = n; i > 0; i--) {
        unsigned k = below(i);
        give_back(stacks[k]);
        stacks[k] = stacks[i - 1];
    }
    uint64_t taken = steps;
    drain();
    free(stacks);
    return taken;
}

/* A list of all arenas would take one step for each arena to make one stack. */
static void test_steps_grow_with_stacks_when_there_are_many(void)
{
    uint64_t few = steps_of(20000, 1), many = steps_of(200000, 1);
    printf("one kind: %" PRIu64 " steps for 20000 stacks, %" PRIu64 " for 200000\n", few, many);
    CHECK(few != 0 && many <= 11 * few);
}

/* Kinds share buckets. */
static void test_steps_grow_with_kinds_of_a_bucket_when_sizes_differ(void)
{
    enum { N = 20000, MOST = 2000 };
    uint64_t taken = steps_of(N, MOST);
    printf("%d kinds: %" PRIu64 " steps for %d stacks\n", MOST, taken, N);
    CHECK(taken <= 10ull * N);
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_count("seed", &seed, 0, UINT64_MAX, "of the random requests"), {0}};
    options_parse(argc, argv,
                  &(struct option_page){.summary = "The arenas of stacks against a model.",
                                        .options = options});
    state = seed;
    arenas_init(&arenas);
    test_slots_are_handed_out_once_when_requests_are_random();
    test_steps_grow_with_stacks_when_there_are_many();
    test_steps_grow_with_kinds_of_a_bucket_when_sizes_differ();
    return 0;
}
