/* SPDX-License-Identifier: MIT
 *
 * sudoku: makes puzzles with one solution, and solves them, by backtracking. It computes in many
 * small functions, which stresses a profiler of function calls (the application with which Wikene's
 * thesis on SHMAC measures its profiler).
 *
 * A puzzle is a random full grid from which cells are removed as long as one solution is left.
 * Threads take the next puzzle's number. Each number has its own random sequence, so the result
 * does not depend on the thread that makes it.
 */
#include "check.h"
#include "checksum.h"
#include "clock.h"
#include "grid.h"
#include "options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long puzzles = 200, threads = 1, seed = 1; /* constant while threads run */
static const char *text;

static pthread_mutex_t next_lock = PTHREAD_MUTEX_INITIALIZER;
static long next_puzzle; /* under next_lock */

static uint64_t *results; /* by number; written by its maker */

static const uint8_t in_order[SIDE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void shuffle(uint8_t *list, unsigned n, uint64_t *state)
{
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = (unsigned)(random_next(state) % (i + 1));
        uint8_t taken = list[i];

        list[i] = list[j];
        list[j] = taken;
    }
}

/* A full grid: three boxes that do not touch are filled at random, the search does the rest. */
static void grid_fill(struct grid *g, uint64_t *state)
{
    uint8_t order[SIDE];
    struct grid whole;

    memcpy(order, in_order, sizeof order);
    grid_clear(g);
    for (unsigned box = 0; box < 3; box++) {
        shuffle(order, SIDE, state);
        for (unsigned i = 0; i < SIDE; i++)
            grid_place(g, (3 * box + i / 3) * SIDE + 3 * box + i % 3, order[i]);
    }
    if (grid_solve(g, 1, order, &whole) != 1)
        app_die("three boxes cannot be completed");
    *g = whole;
}

/* Removes cells; returns the number that is left. */
static unsigned grid_dig(struct grid *g, uint64_t *state)
{
    uint8_t cells[CELLS];
    unsigned left = CELLS;

    for (unsigned i = 0; i < CELLS; i++)
        cells[i] = (uint8_t)i;
    shuffle(cells, CELLS, state);
    for (unsigned i = 0; i < CELLS; i++) {
        unsigned digit = g->digit[cells[i]];
        struct grid unused;

        grid_erase(g, cells[i]);
        if (grid_solve(g, 2, in_order, &unused) == 1)
            left--;
        else
            grid_place(g, cells[i], digit);
    }
    return left;
}

static uint64_t puzzle_make(long number)
{
    uint64_t state = (uint64_t)seed * 1000003u + (uint64_t)number;
    uint64_t sum = CHECKSUM_SEED;
    struct grid whole, puzzle, solution;
    unsigned left;

    grid_fill(&whole, &state);
    puzzle = whole;
    left = grid_dig(&puzzle, &state);
    if (grid_solve(&puzzle, 2, in_order, &solution) != 1 ||
        memcmp(solution.digit, whole.digit, sizeof whole.digit) != 0)
        app_die("puzzle %ld does not have the one solution that it was made from", number);
    sum = checksum_word(sum, left);
    return checksum_bytes(sum, puzzle.digit, sizeof puzzle.digit);
}

static void *worker_main(void *arg)
{
    (void)arg;
    for (;;) {
        long number;

        check_rc(pthread_mutex_lock(&next_lock), "pthread_mutex_lock");
        number = next_puzzle++;
        check_rc(pthread_mutex_unlock(&next_lock), "pthread_mutex_unlock");
        if (number >= puzzles)
            return NULL;
        results[number] = puzzle_make(number);
    }
}

/* The puzzle on the command line. */
static void solve_text(void)
{
    struct grid g, solution;
    unsigned found;

    grid_clear(&g);
    if (strlen(text) != CELLS)
        app_die("--puzzle has %zu characters; it takes %d: 1 to 9, and . or 0 for an empty cell",
                strlen(text), CELLS);
    for (unsigned i = 0; i < CELLS; i++) {
        unsigned digit = text[i] == '.' ? 0 : (unsigned)(text[i] - '0');

        if (digit > 9)
            app_die("--puzzle: character %u is '%c'; valid: 1 to 9, and . or 0 for an empty cell",
                    i + 1, text[i]);
        if (digit != 0) {
            if (!(grid_allowed(&g, i) >> digit & 1u))
                app_die(
                    "--puzzle: row %u, column %u: there is another %u in its row, column or box",
                    i / SIDE + 1, i % SIDE + 1, digit);
            grid_place(&g, i, digit);
        }
    }
    found = grid_solve(&g, 2, in_order, &solution);
    if (found == 0)
        app_die("--puzzle has no solution");
    for (unsigned i = 0; i < CELLS; i++)
        printf("%u%s", solution.digit[i], i % SIDE == SIDE - 1 ? "\n" : "");
    if (found > 1)
        printf("sudoku: there are other solutions\n");
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("puzzles", &puzzles, 1, 1000000, "puzzles to make and solve"),
        option_number("threads", &threads, 1, 100000, "threads that make them"),
        option_number("seed", &seed, 0, LONG_MAX, "other numbers, other puzzles"),
        {.name = "puzzle",
         .kind = OPTION_TEXT,
         .value_name = "CELLS",
         .help = "solve this one instead: 81 characters, row by row",
         .text = &text},
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Makes Sudoku puzzles that have one solution, by backtracking.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    uint64_t sum = CHECKSUM_SEED;
    pthread_t *thread;
    double start;

    app_name_set("sudoku");
    parse_arguments(argc, argv);
    if (text != NULL) {
        solve_text();
        return EXIT_SUCCESS;
    }
    results = array_alloc((size_t)puzzles, sizeof *results);
    thread = array_alloc((size_t)threads, sizeof *thread);
    start = clock_seconds();
    for (long i = 0; i < threads; i++)
        thread_start(&thread[i], worker_main, NULL);
    for (long i = 0; i < threads; i++)
        thread_join(thread[i]);
    for (long i = 0; i < puzzles; i++)
        sum = checksum_word(sum, results[i]);
    printf("sudoku: puzzles=%ld threads=%ld seed=%ld seconds=%.6f checksum=%016" PRIx64 "\n",
           puzzles, threads, seed, clock_seconds() - start, sum);
    free(thread);
    free(results);
    return EXIT_SUCCESS;
}
