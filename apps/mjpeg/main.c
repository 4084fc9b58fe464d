/* SPDX-License-Identifier: MIT
 *
 * mjpeg: decodes a Motion-JPEG stream, that is JPEG pictures one after the other
 * in one file. Exit status 0: all pictures decoded; 1: bad input or a call that
 * failed; 2: wrong command line.
 */
#include "check.h"
#include "clock.h"
#include "options.h"
#include "pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COUNT = 1000000000 };

struct arguments {
    long graph, slices, inflight, pictures, repeat;
    bool checksum, quiet;
    const char *output, *checksum_file, *input;
};

static const struct graph *const graphs[] = {&graph_tasks, &graph_stages};
static const char *const graph_names[] = {"tasks", "stages", NULL};

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
    const struct option_spec options[] = {
        {.name = "graph",
         .kind = OPTION_CHOICE,
         .value_name = "GRAPH",
         .number = &a->graph,
         .choices = graph_names,
         .help = "tasks: a thread per slice and stage; stages: fixed threads"},
        option_number("slices", &a->slices, 1, PICTURE_MAX_SLICES,
                      "most slices a picture is cut into"),
        option_number("inflight", &a->inflight, 1, 1024, "most pictures being decoded at a time"),
        option_number("pictures", &a->pictures, 0, MAX_COUNT,
                      "stop after N pictures; 0: at the end"),
        option_number("repeat", &a->repeat, 1, MAX_COUNT, "decode the stream N times"),
        {.name = "output",
         .kind = OPTION_TEXT,
         .value_name = "FILE",
         .text = &a->output,
         .help = "write raw planar frames"},
        {.name = "checksum",
         .kind = OPTION_FLAG_AND_TEXT,
         .value_name = "FILE",
         .flag = &a->checksum,
         .text = &a->checksum_file,
         .help = "print a checksum per frame"},
        {.name = "quiet", .kind = OPTION_FLAG, .flag = &a->quiet, .help = "no line about the run"},
        {.name = NULL},
    };
    const struct option_page page = {
        .summary =
            "Decodes a Motion-JPEG stream (baseline JPEG pictures in one file) with many threads.",
        .operand = "FILE",
        .options = options,
    };

    a->input = options_parse(argc, argv, &page)[0];
}

/* Reads to the end rather than asking for the size, so that pipes work too. */
static struct stream read_stream(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t allocated = 1 << 20;
    uint8_t *data = NULL;
    size_t size = 0;

    if (file == NULL)
        app_die("cannot open '%s': %s", path, strerror(errno));
    do {
        allocated *= 2;
        data = check_alloc(realloc(data, allocated), allocated);
        size += fread(data + size, 1, allocated - size, file);
    } while (size == allocated);
    if (ferror(file))
        app_die("cannot read '%s': %s", path, strerror(errno));
    fclose(file);
    return (struct stream){data, size};
}

static FILE *open_output(const char *path)
{
    FILE *file;

    if (path == NULL)
        return NULL;
    file = fopen(path, "wb");
    if (file == NULL)
        app_die("cannot write '%s': %s", path, strerror(errno));
    return file;
}

/* The last writes may fail only here, when the buffer goes out. */
static void close_output(FILE *file, const char *path)
{
    if (file && fclose(file) != 0)
        app_die("cannot write '%s': %s", path, strerror(errno));
}

static void report(const struct arguments *a, const struct pipeline_result *result, double seconds)
{
    if (result->error.set)
        fprintf(stderr, "mjpeg: %s: picture %ld, byte %zu: %s\n", a->input, result->pictures,
                result->error.offset, result->error.text);
    else if (!a->quiet)
        fprintf(
            stderr,
            "mjpeg: %s: graph %s, at most %ld slices, %ld pictures in flight, %.1f pictures/s\n",
            a->input, graph_names[a->graph], a->slices, a->inflight,
            (double)result->pictures / seconds);
    printf("mjpeg: pictures=%ld width=%d height=%d threads=%ld seconds=%.6f checksum=%016" PRIx64
           "\n",
           result->pictures, result->width, result->height, result->threads, seconds,
           result->checksum);
}

int main(int argc, char **argv)
{
    struct arguments a = {.slices = 8, .inflight = 8, .repeat = 1};
    struct pipeline_settings settings;
    struct pipeline_result result;
    struct stream stream;
    FILE *checksum_file;
    double start;

    app_name_set("mjpeg");
    parse_arguments(argc, argv, &a);
    stream = read_stream(a.input);
    checksum_file = open_output(a.checksum_file);
    settings = (struct pipeline_settings){
        .graph = graphs[a.graph],
        .max_slices = (int)a.slices,
        .inflight = (int)a.inflight,
        .pictures = a.pictures,
        .repeat = a.repeat,
        .output = open_output(a.output),
        .checksums = checksum_file ? checksum_file
                     : a.checksum  ? stdout
                                   : NULL,
    };
    start = clock_seconds();
    pipeline_run(&stream, &settings, &result);
    report(&a, &result, clock_seconds() - start);
    close_output(settings.output, a.output);
    close_output(checksum_file, a.checksum_file);
    free((void *)stream.data);
    return result.error.set ? EXIT_FAILURE : EXIT_SUCCESS;
}
