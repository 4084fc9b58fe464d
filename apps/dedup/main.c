/* SPDX-License-Identifier: MIT
 *
 * dedup: packs a file by writing each of its parts once (after the program of that name in PARSEC,
 * with a format of its own). Exit status 0: done; 1: bad input or a call that failed; 2: wrong
 * command line.
 */
#include "check.h"
#include "clock.h"
#include "options.h"
#include "pipeline.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LEAST_AVERAGE = 4 * RABIN_WINDOW, MOST_AVERAGE = CHUNK_MOST / 4 };

struct arguments {
    bool restore;
    long threads, fragment, average, inflight, fifo, level;
    char **operands;
};

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
    const struct option_spec options[] = {
        {.name = "decompress",
         .letter = 'd',
         .kind = OPTION_FLAG,
         .flag = &a->restore,
         .help = "restore what an archive was made of"},
        option_number("threads", &a->threads, 1, 10000, "threads of each stage in the middle"),
        option_number("fragment", &a->fragment, 1024, 1 << 28, "bytes read at a time"),
        option_number("average", &a->average, LEAST_AVERAGE, MOST_AVERAGE,
                      "bytes of a chunk, about; a power of two"),
        option_number("inflight", &a->inflight, 1, 10000, "most fragments at a time"),
        option_number("fifo", &a->fifo, 1, 1 << 20, "places of the FIFOs between stages"),
        option_number("level", &a->level, 1, 9, "zlib's: 1 is fast, 9 is small"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Packs a file in a pipeline of threads: equal parts of it are written once.",
        .operand = "INPUT OUTPUT",
        .options = options,
    };

    a->operands = options_parse(argc, argv, &page);
    if (a->average & (a->average - 1))
        app_die("--average=%ld: not a power of two from %d to %d", a->average, LEAST_AVERAGE,
                MOST_AVERAGE);
}

static void run_encode(const struct arguments *a)
{
    struct encoding e = {
        .input = a->operands[0],
        .output = a->operands[1],
        .threads = (size_t)a->threads,
        .fragment_size = (size_t)a->fragment,
        .inflight = (size_t)a->inflight,
        .depth = (size_t)a->fifo,
        .level = (int)a->level,
    };
    double start = clock_seconds();

    cutter_init(&e.cutter, (size_t)a->average);
    encode(&e);
    printf("dedup: bytes=%" PRIu64 " chunks=%" PRIu64 " unique=%" PRIu64 " packed=%" PRIu64
           " archive=%" PRIu64 " threads=%ld seconds=%.6f\n",
           e.bytes, e.count, e.unique, e.packed, e.archive, a->threads, clock_seconds() - start);
}

static void run_decode(const struct arguments *a)
{
    double start = clock_seconds();
    struct decoded d;

    decode(a->operands[0], a->operands[1], &d);
    printf("dedup: restored bytes=%" PRIu64 " chunks=%" PRIu64 " unique=%" PRIu64 " seconds=%.6f\n",
           d.bytes, d.count, d.unique, clock_seconds() - start);
}

int main(int argc, char **argv)
{
    struct arguments a = {
        .threads = 4,
        .fragment = 1 << 17,
        .average = 1 << 12,
        .inflight = 64,
        .fifo = 64,
        .level = 6,
    };

    app_name_set("dedup");
    parse_arguments(argc, argv, &a);
    if (a.restore)
        run_decode(&a);
    else
        run_encode(&a);
    return EXIT_SUCCESS;
}
