/* SPDX-License-Identifier: MIT
 *
 * mjpeg_mutate FILE COUNT [SEED]: damages a Motion-JPEG stream in COUNT ways, the
 * same ones for the same seed, and decodes each result with both graphs. A run
 * passes if the decoder neither crashes nor hangs (ctest's time limit), and if both
 * graphs agree on everything: pictures, checksum, and where the fault is.
 *
 * Meant for a build with AddressSanitizer and UndefinedBehaviorSanitizer; without
 * them it finds only what crashes by itself.
 */
#include "check.h"
#include "options.h"
#include "pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64*: any generator would do, but it must be the same everywhere. */
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(2685821657736338717) >> 11) % limit;
}

static struct stream read_file(const char *path)
{
    enum { LARGEST = 16 << 20 };
    uint8_t *data = check_alloc(malloc(LARGEST), LARGEST);
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        app_die("cannot open '%s': %s", path, strerror(errno));
    size_t size = fread(data, 1, LARGEST, file);
    if (size < 4 || size == LARGEST)
        app_die("'%s' is too short or too long for this test", path);
    fclose(file);
    return (struct stream){data, size};
}

/* Half of the damage goes to the headers, which are few bytes but most of the code:
 * the place is chosen within a few hundred bytes after some SOI. */
static size_t choose_place(const uint8_t *data, size_t size)
{
    size_t at = random_below(size);

    if (random_below(2) == 0)
        return at;
    while (at > 0 && !(data[at] == 0xff && at + 1 < size && data[at + 1] == 0xd8))
        at--;
    at += random_below(700);
    return at < size ? at : size - 1;
}

static void damage(uint8_t *data, size_t *size)
{
    static const uint8_t telling[] = {0x00, 0xff, 0xd0, 0xd8, 0xd9, 0xda,
                                      0xc4, 0xdd, 0x01, 0x7f, 0x80};
    size_t at = choose_place(data, *size);
    size_t length = 1 + random_below(8);

    if (length > *size - at)
        length = *size - at;
    switch (random_below(6)) {
    case 0: /* flip a bit */
        data[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1: /* any byte */
        data[at] = (uint8_t)random_below(256);
        break;
    case 2: /* a byte with a meaning */
        data[at] = telling[random_below(sizeof telling)];
        break;
    case 3: /* lose some bytes */
        memmove(data + at, data + at + length, *size - at - length);
        *size -= length;
        break;
    case 4: /* copy some bytes over others */
        memmove(data + at, data + random_below(*size - length + 1), length);
        break;
    default: /* cut the stream, but seldom: it hides everything after the cut */
        if (random_below(8) == 0)
            *size = at;
        break;
    }
}

static struct pipeline_result decode(const struct stream *stream, const struct graph *graph)
{
    struct pipeline_settings settings = {
        .graph = graph, .max_slices = 3, .inflight = 2, .pictures = 3, .repeat = 1};
    struct pipeline_result result;

    pipeline_run(stream, &settings, &result);
    return result;
}

static bool agree(const struct pipeline_result *a, const struct pipeline_result *b)
{
    return a->pictures == b->pictures && a->checksum == b->checksum &&
           a->error.set == b->error.set &&
           (!a->error.set ||
            (a->error.offset == b->error.offset && strcmp(a->error.text, b->error.text) == 0));
}

/* A copy of exactly the right size, so that a read behind its end is detected. */
static struct stream mutant_of(const struct stream *original)
{
    uint8_t *data = check_alloc(malloc(original->size), original->size);
    size_t size = original->size;

    memcpy(data, original->data, size);
    for (uint64_t n = 1 + random_below(4); n > 0 && size > 1; n--)
        damage(data, &size);
    return (struct stream){check_alloc(realloc(data, size ? size : 1), size), size};
}

int main(int argc, char **argv)
{
    long bad = 0;

    const struct option_spec options[] = {
        option_count("seed", &random_state, 1, UINT64_MAX, "of the first mutant"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Decodes damaged copies of FILE, in two ways that must agree.",
        .operand = "FILE COUNT",
        .options = options,
    };

    app_name_set("mjpeg_mutate");
    char **operands = options_parse(argc, argv, &page);
    long count = operand_number("COUNT", operands[1], 1, 1000000000);
    struct stream original = read_file(operands[0]);

    for (long i = 0; i < count; i++) {
        uint64_t state = random_state;
        struct stream mutant = mutant_of(&original);
        struct pipeline_result tasks = decode(&mutant, &graph_tasks);
        struct pipeline_result stages = decode(&mutant, &graph_stages);

        if (!agree(&tasks, &stages)) {
            fprintf(stderr, "repeat: mjpeg_mutate --seed=%" PRIu64 " %s 1\n", state, operands[0]);
            app_die("mutant %ld: tasks: %ld pictures, '%s' at %zu; stages: %ld "
                    "pictures, '%s' at %zu",
                    i, tasks.pictures, tasks.error.text, tasks.error.offset, stages.pictures,
                    stages.error.text, stages.error.offset);
        }
        bad += tasks.error.set;
        free((void *)mutant.data);
    }
    printf("mjpeg_mutate: mutants=%ld refused=%ld\n", count, bad);
    free((void *)original.data);
    return EXIT_SUCCESS;
}
