/* SPDX-License-Identifier: MIT
 *
 * The workload of wavemix by itself: the graph, the waves against floating-point ones, the mixers,
 * and the checksum.
 */
#include "checksum.h"
#include "waves.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1001, BYTES = COUNT * 2, SAMPLE = 3, GUARD = 0x55 };

static const double rate = 48000, full = 32768;

static _Alignas(WAVES_ALIGNMENT) unsigned char memory[NODE_COUNT * (BYTES + WAVES_ALIGNMENT)];

static void __attribute__((format(printf, 2, 3))) check(int good, const char *format, ...)
{
    va_list args;

    if (good)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

static struct waves fresh(void)
{
    struct waves w;

    memset(memory, GUARD, sizeof memory);
    waves_init(&w, memory, BYTES, 1);
    return w;
}

/* Inputs come first; each node but the last has one reader. */
static void check_graph(void)
{
    for (size_t node = 0; node < NODE_COUNT; node++) {
        size_t readers = 0;

        check((wave_nodes[node].input_count == 0) == (node < WAVE_COUNT), "node %zu", node);
        for (size_t i = 0; i < NODE_COUNT; i++)
            for (size_t k = 0; k < wave_nodes[i].input_count; k++) {
                check(wave_nodes[i].inputs[k] < i, "node %zu is before an input", i);
                readers += wave_nodes[i].inputs[k] == node;
            }
        check(readers == (node != NODE_LAST), "node %zu: %zu readers", node, readers);
    }
}

static void check_buffers(const struct waves *w)
{
    check(waves_size(BYTES) <= sizeof memory, "%zu bytes", waves_size(BYTES));
    check(w->count == COUNT, "%zu values", w->count);
    for (size_t node = 0; node < NODE_COUNT; node++) {
        uintptr_t start = (uintptr_t)w->buffers[node];

        check(start % WAVES_ALIGNMENT == 0, "buffer %zu is not aligned", node);
        check(start + BYTES <= (uintptr_t)memory + waves_size(BYTES), "buffer %zu is outside",
              node);
    }
}

/* Of a fraction of the period. */
static double ideal(size_t node, double x)
{
    if (node == 0)
        return sin(2 * acos(-1.0) * x);
    if (node == 1)
        return x < 0.5 ? 1 : -1;
    if (node == 2)
        return x < 0.5 ? 4 * x - 1 : 3 - 4 * x;
    return 2 * x - 1;
}

/* The steps of the square and the sawtooth may come one value earlier or later. */
static void check_wave(const struct waves *w, size_t node, double hertz, double error)
{
    int steps = 0;

    waves_compute(w, node, SAMPLE);
    for (size_t i = 0; i < COUNT; i++) {
        double x = fmod((double)(SAMPLE * COUNT + i) * hertz / rate, 1);
        double is = w->buffers[node][i] / full;

        if (fabs(is - ideal(node, x)) <= error)
            continue;
        check(node != 0 && node != 2 && fabs(x - round(2 * x) / 2) < 1e-3,
              "%s, value %zu: %.4f, not %.4f", wave_nodes[node].name, i, is, ideal(node, x));
        steps++;
    }
    check(steps <= 2, "%s: %d values are wrong", wave_nodes[node].name, steps);
}

static double limited(double x)
{
    return 1.5 * x - 0.5 * x * x * x;
}

static void check_mixer(const struct waves *w, size_t node)
{
    const int16_t *a = w->buffers[wave_nodes[node].inputs[0]];
    const int16_t *b = w->buffers[wave_nodes[node].inputs[1]];

    waves_compute(w, node, SAMPLE);
    for (size_t i = 0; i < COUNT; i++) {
        double is = w->buffers[node][i] / full, should = limited((a[i] + b[i]) / 2 / full);

        check(fabs(is - should) < 1e-4, "%s, value %zu: %.5f, not %.5f", wave_nodes[node].name, i,
              is, should);
    }
}

/* A node writes its own buffer only, all of it, and the same with more work. */
static void check_writes(size_t node)
{
    struct waves w = fresh();
    static int16_t once[COUNT];

    waves_compute(&w, node, SAMPLE);
    memcpy(once, w.buffers[node], BYTES);
    memset(w.buffers[node], GUARD, BYTES);
    for (size_t i = 0; i < sizeof memory; i++)
        check(memory[i] == GUARD, "%s writes elsewhere", wave_nodes[node].name);
    w.work = 3;
    waves_compute(&w, node, SAMPLE);
    check(memcmp(once, w.buffers[node], BYTES) == 0, "%s: other values", wave_nodes[node].name);
}

/* Each value counts, and so does its position. */
static void check_checksum(const struct waves *w)
{
    int16_t *out = w->buffers[NODE_LAST];
    uint64_t right = waves_checksum(w, CHECKSUM_SEED);

    for (size_t i = 1; i < COUNT; i++) {
        int16_t before = out[i - 1], here = out[i];

        out[i] = (int16_t)(here ^ 1);
        check(waves_checksum(w, CHECKSUM_SEED) != right, "value %zu does not count", i);
        out[i - 1] = here;
        out[i] = before;
        check(before == here || waves_checksum(w, CHECKSUM_SEED) != right, "value %zu: order", i);
        out[i - 1] = before;
        out[i] = here;
    }
    check(waves_checksum(w, CHECKSUM_SEED) == right, "the same values");
    check(waves_checksum(w, right) != right, "a sample does not count");
}

int main(void)
{
    static const double hertz[WAVE_COUNT] = {440, 550, 660, 330};
    static const double errors[WAVE_COUNT] = {0.06, 1e-4, 1e-3, 1e-3};
    struct waves w = fresh();

    check_graph();
    check_buffers(&w);
    for (size_t node = 0; node < WAVE_COUNT; node++)
        check_wave(&w, node, hertz[node], errors[node]);
    for (size_t node = WAVE_COUNT; node < NODE_COUNT; node++)
        check_mixer(&w, node);
    check_checksum(&w);
    for (size_t node = 0; node < NODE_COUNT; node++)
        check_writes(node);
    return EXIT_SUCCESS;
}
