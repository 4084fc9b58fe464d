/* SPDX-License-Identifier: MIT */
/*
 * caches_test.c - the cache model by itself: short sequences of accesses, whose sources, times and
 * states were worked out by hand.
 */
#include <string.h>

#include "caches/caches.h"
#include "check.h"

/* Four cores on two nodes. An L1 has 2 sets of 2 lines, an L2 4 sets of 2, an LLC 8 sets of 4. */
static const struct caches_topology small = {.name = "small",
                                             .cores = 4,
                                             .per_node = 2,
                                             .l1 = {256, 2},
                                             .l2 = {512, 2},
                                             .llc = {2048, 4},
                                             .ps = {.l1 = 1,
                                                    .l2 = 10,
                                                    .llc = 100,
                                                    .core_clean = 200,
                                                    .core_modified_l2 = 300,
                                                    .core_modified_l1 = 400,
                                                    .far_shared = 1000,
                                                    .far_exclusive = 2000,
                                                    .far_modified = 3000,
                                                    .memory = 5000,
                                                    .far_memory = 7000,
                                                    .far_upgrade = 600},
                                             .far_clean = true};

static struct caches *machine;
static void *memory;
static uint64_t now;

static void begin(const struct caches_topology *t, bool prefetch)
{
    free(memory);
    memory = calloc(1, caches_size(t));
    machine = caches_init(memory, t, prefetch);
    now = 0;
}

static struct caches_outcome last;

static uint64_t access_line(unsigned core, uint64_t line, bool write)
{
    last = caches_access(machine, core, line, write, now);
    now += last.ps;
    return last.ps;
}
#define READ(core, line) access_line((core), (line), false)
#define WRITE(core, line) access_line((core), (line), true)

/* The states of a line in the four cores and the two LLCs. */
static void states(uint64_t line, const char *cores, const char *llcs)
{
    char got[8] = {0};
    for (unsigned i = 0; i < 4; i++) {
        got[i] = caches_state(machine, i, line);
    }
    got[4] = ' ';
    got[5] = caches_state_llc(machine, 0, line);
    got[6] = caches_state_llc(machine, 1, line);
    if (memcmp(got, cores, 4) != 0 || memcmp(got + 5, llcs, 2) != 0) {
        fprintf(stderr, "FAILED: line %" PRIu64 " is in states %s, not %s %s\n", line, got, cores,
                llcs);
        exit(1);
    }
}

static const uint64_t node1 = 1ull << CACHES_NODE_SHIFT; /* its memory has this line */

static void test_miss_takes_memorys_time_by_node(void)
{
    begin(&small, false);
    EQUAL(READ(0, 1), 5000);
    EQUAL(last.source, CACHES_MEMORY);
    EQUAL(READ(0, node1 + 1), 7000);
    EQUAL(last.source, CACHES_FAR_MEMORY);
    EQUAL(READ(2, node1 + 2), 5000);
    states(1, "EIII", "EI");
}

static void test_copies_change_state_when_one_node_reads_and_writes(void)
{
    begin(&small, false);
    READ(0, 1);
    EQUAL(READ(0, 1), 1);
    states(1, "EIII", "EI");
    EQUAL(WRITE(0, 1), 1); /* E to M, silently */
    EQUAL(last.upgrade, 0);
    states(1, "MIII", "MI");
    EQUAL(READ(1, 1), 400); /* M to S, and the line moves */
    EQUAL(last.source, CACHES_CORE);
    states(1, "SSII", "MI");
    EQUAL(READ(0, 1), 1);
    EQUAL(WRITE(1, 1), 101); /* S to M, the other to I */
    EQUAL(last.upgrade, 1);
    EQUAL(last.invalidated, 1);
    states(1, "IMII", "MI");
    EQUAL(WRITE(0, 1), 400); /* M to I, by another's write */
    EQUAL(last.source, CACHES_CORE);
    EQUAL(last.invalidated, 1);
    states(1, "MIII", "MI");
}

static void test_exclusive_copy_becomes_shared_when_neighbour_reads(void)
{
    begin(&small, false);
    READ(0, 1);
    EQUAL(READ(1, 1), 200);
    EQUAL(last.source, CACHES_LLC);
    EQUAL(last.snooped, 1);
    states(1, "SSII", "EI");
}

static void test_writer_owns_the_line_when_it_misses(void)
{
    begin(&small, false);
    EQUAL(WRITE(0, 1), 5000); /* I to M */
    states(1, "MIII", "MI");
    WRITE(2, 1);
    EQUAL(last.ps, 3000);
    EQUAL(last.source, CACHES_FAR);
    EQUAL(last.invalidated, 1);
    states(1, "IIMI", "IM");
}

static void test_nodes_share_when_they_read(void)
{
    begin(&small, false);
    READ(0, 1);
    EQUAL(READ(2, 1), 2000); /* the other node's is E */
    states(1, "SISI", "SS");
    EQUAL(READ(3, 1), 100); /* node 1's own LLC, which is Shared: nobody is asked */
    states(1, "SISS", "SS");
    EQUAL(WRITE(0, 1), 1 + 100 + 600);
    EQUAL(last.invalidated, 2);
    states(1, "MIII", "MI");
    EQUAL(READ(3, 1), 3000);
    EQUAL(caches_events(machine)->writebacks, 1);
    states(1, "SIIS", "SS");
    EQUAL(WRITE(2, 1), 100 + 600); /* from its LLC, and the others' end: 0's, 3's */
    EQUAL(last.invalidated, 2);
    states(1, "IIMI", "IM");
}

static void test_memory_answers_for_clean_lines_when_nodes_do_not(void)
{
    struct caches_topology bus = small;
    bus.far_clean = false;
    begin(&bus, false);
    READ(0, 1);
    EQUAL(READ(2, 1), 7000);
    EQUAL(last.source, CACHES_FAR_MEMORY);
    states(1, "SISI", "SS");
}

/* Lines 0, 2, 4 have one set of the L1; 0, 4, 8 one of the L2; 0, 8, 16, 24, 32 one of the LLC. */
static void test_least_recently_used_line_leaves_when_a_set_is_full(void)
{
    begin(&small, false);
    READ(0, 0);
    READ(0, 2);
    READ(0, 0); /* now 2 is the older one */
    READ(0, 4);
    EQUAL(caches_state_l1(machine, 0, 0), 'E');
    EQUAL(caches_state_l1(machine, 0, 2), 'I');
    EQUAL(READ(0, 2), 10); /* its L2 has it still */
    EQUAL(last.source, CACHES_L2);
    EQUAL(caches_state_l1(machine, 0, 0), 'I');
}

static void test_hit_makes_a_line_the_newest_in_its_level(void)
{
    begin(&small, false);
    READ(0, 0);
    READ(0, 4); /* the L2's set is full */
    READ(0, 2);
    READ(0, 6); /* the L1's, with these */
    EQUAL(READ(0, 0), 10);
    READ(0, 8); /* in the L2 in place of 4 */
    READ(0, 2);
    READ(0, 6);
    EQUAL(READ(0, 0), 10);
    EQUAL(READ(0, 4), 100);

    begin(&small, false);
    for (unsigned i = 0; i < 4; i++) {
        READ(1, 8 * i); /* the LLC's set is full */
    }
    READ(0, 0);
    READ(0, 32); /* in place of 8 */
    states(0, "EIII", "EI");
    EQUAL(caches_state_llc(machine, 0, 8), 'I');
}

static void test_modified_line_is_written_back_when_it_leaves(void)
{
    begin(&small, false);
    WRITE(0, 0);
    READ(0, 2);
    READ(0, 6); /* the L1 has 2 and 6; 0 is in the L2, modified */
    EQUAL(caches_state_l1(machine, 0, 0), 'I');
    states(0, "MIII", "MI");
    EQUAL(READ(1, 0), 300); /* a modified line in another's L2 */
    states(0, "SSII", "MI");
    WRITE(0, 0);
    READ(0, 4);
    READ(0, 8); /* 0 leaves the L1, and is the newest in the L2 */
    READ(0, 12);
    READ(0, 16); /* both levels are full of others */
    states(0, "IIII", "MI");
    EQUAL(READ(1, 0), 100); /* written back: no core is asked */
    states(0, "IEII", "MI");
}

static void test_clean_line_costs_a_snoop_when_it_has_left_silently(void)
{
    begin(&small, false);
    READ(0, 0);
    READ(0, 4);
    READ(0, 8);
    READ(0, 12);
    states(0, "IIII", "EI");
    EQUAL(READ(1, 0), 200); /* its bit was still set */
    states(0, "IEII", "EI");
}

static void test_line_leaves_the_cores_when_it_leaves_the_last_level(void)
{
    begin(&small, false);
    WRITE(0, 0);
    for (unsigned i = 1; i < 4; i++) {
        READ(1, 8 * i);
    }
    READ(0, 0); /* a hit in the L1: the LLC does not see it, so there 0 is the oldest */
    EQUAL(last.source, CACHES_L1);
    EQUAL(caches_events(machine)->evicted, 0);
    READ(1, 32);
    states(0, "IIII", "II");
    EQUAL(caches_events(machine)->evicted, 1);
    EQUAL(caches_events(machine)->writebacks, 1);
    EQUAL(READ(0, 0), 5000);
}

static void loop_over(unsigned bytes, bool write)
{
    for (uint64_t line = 0; line < bytes / CACHES_LINE; line++) {
        access_line(0, line, write);
    }
}

/* The second of two passes: misses of each level. */
static void expect_misses(const char *topology, unsigned bytes, uint64_t l1, uint64_t l2,
                          uint64_t llc)
{
    begin(caches_topology_find(topology), false);
    loop_over(bytes, false);
    struct caches_counts counts = *caches_core(machine, 0);
    loop_over(bytes, false);
    struct caches_counts second = *caches_core(machine, 0);
    caches_counts_take(&second, &counts);
    EQUAL(caches_accesses(&second, false), bytes / CACHES_LINE);
    EQUAL(caches_misses(&second, false, CACHES_L1), l1);
    EQUAL(caches_misses(&second, false, CACHES_L2), l2);
    EQUAL(caches_misses(&second, false, CACHES_LLC), llc);
}

static void test_loop_hits_the_level_that_holds_it(void)
{
    enum { KB = 1024, MB = 1024 * KB };
    expect_misses("i7", 16 * KB, 0, 0, 0);
    expect_misses("i7", 32 * KB, 0, 0, 0);
    expect_misses("i7", 64 * KB, 1024, 0, 0); /* LRU keeps nothing of a longer loop */
    expect_misses("i7", 512 * KB, 8192, 8192, 0);
    expect_misses("i7", 16 * MB, 262144, 262144, 262144);
    expect_misses("xeon", 16 * KB, 0, 0, 0);
    expect_misses("xeon", 64 * KB, 1024, 1024, 0); /* its L2 is the last level */
    expect_misses("xeon", 8 * MB, 131072, 131072, 131072);
}

static void test_latencies_are_those_of_the_table(void)
{
    begin(caches_topology_find("i7"), false);
    EQUAL(WRITE(0, 1), 65000);
    EQUAL(READ(0, 1), 1300);
    EQUAL(READ(1, 1), 28300);
    EQUAL(READ(2, 1), 13000);
    begin(caches_topology_find("xeon"), false);
    EQUAL(WRITE(0, 1), 120000);
    EQUAL(READ(1, 1), 12000);  /* the pair's L2 */
    EQUAL(READ(2, 1), 120000); /* the other die */
    EQUAL(last.source, CACHES_FAR);
    EQUAL(WRITE(3, 1), 5300 + 60000);
    EQUAL(last.invalidated, 3);
    begin(caches_topology_find("numa64"), false);
    EQUAL(WRITE(0, node1 + 1), 106000);
    EQUAL(READ(63, node1 + 1), 106000);
    EQUAL(last.source, CACHES_FAR);
    EQUAL(READ(62, node1 + 1), 13000);
    EQUAL(READ(8, node1 + 1), 58000);
}

static void test_bus_carries_one_line_at_a_time(void)
{
    begin(caches_topology_find("xeon"), false);
    EQUAL(caches_access(machine, 0, 1, false, 0).ps, 120000);
    EQUAL(caches_access(machine, 2, 2, false, 0).ps, 126000);
    EQUAL(caches_access(machine, 1, 3, false, 2000).ps, 130000);
    EQUAL(caches_access(machine, 0, 4, false, 18000).ps, 120000);
}

/* A run of three lines; the program takes 1000 for itself between two. */
static void test_prefetcher_asks_for_the_third_line_of_a_run(void)
{
    begin(&small, true);
    EQUAL(READ(0, 1), 5000);
    now += 1000;
    EQUAL(READ(0, 2), 5000); /* a run: 3 is asked for, and will be there after 5000 */
    EQUAL(caches_events(machine)->prefetches, 1);
    now += 1000;
    EQUAL(READ(0, 3), 4000 + 10);
    EQUAL(last.prefetched, 1);
    EQUAL(last.source, CACHES_L2);
    now += 9000;
    EQUAL(READ(0, 4), 10); /* it has come long ago */
    EQUAL(caches_state(machine, 0, 5), 'E');
    EQUAL(caches_state_l1(machine, 0, 5), 'I');
    begin(&small, true); /* with the rights of the run */
    WRITE(0, 1);
    WRITE(0, 2);
    states(3, "MIII", "MI");
    begin(&small, true); /* not beyond a page */
    READ(0, CACHES_PAGE - 2);
    READ(0, CACHES_PAGE - 1);
    EQUAL(caches_events(machine)->prefetches, 0);
}

/* Any sequence of accesses keeps the invariants that the header of caches.c names. */
static void invariants(uint64_t line)
{
    for (unsigned node = 0; node < 2; node++) {
        char llc = caches_state_llc(machine, node, line);
        char other = caches_state_llc(machine, 1 - node, line);
        char a = caches_state(machine, 2 * node, line),
             b = caches_state(machine, 2 * node + 1, line);
        EQUAL((llc == 'M' || llc == 'E') && other != 'I', 0);
        EQUAL((a == 'M' || a == 'E') && b != 'I', 0);
        EQUAL((b == 'M' || b == 'E') && a != 'I', 0);
        EQUAL((a != 'I' || b != 'I') && llc == 'I', 0);
        EQUAL((a == 'M' || b == 'M') && llc != 'M', 0);
        EQUAL((a == 'E' || b == 'E') && llc == 'S', 0);
    }
}

static void test_invariants_hold_when_accesses_are_random(void)
{
    uint64_t x = 88172645463325252ull;
    for (unsigned prefetch = 0; prefetch < 2; prefetch++) {
        begin(&small, prefetch != 0);
        for (unsigned i = 0; i < 200000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            uint64_t line = (x >> 8) % 48;
            access_line(x % 4, line, (x >> 4) % 3 == 0);
            invariants(line);
            invariants((x >> 20) % 48);
        }
    }
}

int main(void)
{
    test_miss_takes_memorys_time_by_node();
    test_copies_change_state_when_one_node_reads_and_writes();
    test_exclusive_copy_becomes_shared_when_neighbour_reads();
    test_writer_owns_the_line_when_it_misses();
    test_nodes_share_when_they_read();
    test_memory_answers_for_clean_lines_when_nodes_do_not();
    test_least_recently_used_line_leaves_when_a_set_is_full();
    test_hit_makes_a_line_the_newest_in_its_level();
    test_modified_line_is_written_back_when_it_leaves();
    test_clean_line_costs_a_snoop_when_it_has_left_silently();
    test_line_leaves_the_cores_when_it_leaves_the_last_level();
    test_loop_hits_the_level_that_holds_it();
    test_latencies_are_those_of_the_table();
    test_bus_carries_one_line_at_a_time();
    test_prefetcher_asks_for_the_third_line_of_a_run();
    test_invariants_hold_when_accesses_are_random();
    free(memory);
    return 0;
}
