/* SPDX-License-Identifier: MIT
 *
 * Graph and computations of wavemix (see waves.h). A phase is the fraction of a period in 32 bits,
 * so it wraps around by itself. Values are fractions with 15 bits behind the point.
 */
#include "waves.h"

#include "checksum.h"

/* The waves' frequencies at 48,000 values a second. */
#define PHASE_STEP(hertz) ((uint32_t)(((uint64_t)(hertz) << 32) / 48000))

enum { VALUE_MAX = 32767, VALUE_ONE = 32768 };

const struct wave_node wave_nodes[NODE_COUNT] = {
    {.name = "wave0", .cpu = 1},
    {.name = "wave1", .cpu = 2},
    {.name = "wave2", .cpu = 3},
    {.name = "wave3", .cpu = 4},
    {.name = "mixer0", .input_count = 2, .inputs = {0, 1}, .cpu = 1},
    {.name = "mixer1", .input_count = 2, .inputs = {2, 3}, .cpu = 3},
    {.name = "mixer2", .input_count = 2, .inputs = {4, 5}, .cpu = 3},
};

static size_t stride_of(size_t bytes)
{
    return (bytes + WAVES_ALIGNMENT - 1) / WAVES_ALIGNMENT * WAVES_ALIGNMENT;
}

size_t waves_size(size_t bytes)
{
    return NODE_COUNT * stride_of(bytes);
}

void waves_init(struct waves *waves, void *memory, size_t bytes, long work)
{
    for (size_t i = 0; i < NODE_COUNT; i++)
        waves->buffers[i] = (int16_t *)memory + i * (stride_of(bytes) / sizeof(int16_t));
    waves->count = bytes / sizeof(int16_t);
    waves->work = work;
}

/* 1.5 x - 0.5 x^3: steep at 0, and flat at the ends of the range. */
static int16_t soft_limit(int32_t x)
{
    int32_t y = (3 * x - ((x * x >> 15) * x >> 15)) >> 1;

    return (int16_t)(y > VALUE_MAX ? VALUE_MAX : y);
}

/* ---- waves ---- */

static int16_t square(uint32_t phase)
{
    return phase >> 31 ? -VALUE_ONE : VALUE_MAX;
}

static int16_t triangle(uint32_t phase)
{
    uint32_t rising = phase >> 31 ? ~phase : phase;

    return (int16_t)((int32_t)(rising >> 15) - VALUE_ONE);
}

/* A parabola for each half: 6 % of the amplitude is its largest error. A better one would take a
 * multiple of the other waves' time. */
static int16_t sine(uint32_t phase)
{
    uint32_t x = phase >> 15 & 0xffff; /* in the half */
    int32_t y = (int32_t)(x * (0xffff - x) >> 15);

    return (int16_t)(phase >> 31 ? -y : y);
}

static int16_t sawtooth(uint32_t phase)
{
    return (int16_t)((int32_t)(phase >> 16) - VALUE_ONE);
}

/* Inlined with its shape: a call for each value would cost more than most shapes. */
static inline __attribute__((always_inline)) void fill(const struct waves *waves, size_t node,
                                                       uint64_t sample, uint32_t step,
                                                       int16_t (*shape)(uint32_t))
{
    uint32_t phase = (uint32_t)(sample * waves->count) * step;
    int16_t *out = waves->buffers[node];

    for (size_t i = 0; i < waves->count; i++, phase += step)
        out[i] = shape(phase);
}

static void fill_wave(const struct waves *waves, size_t node, uint64_t sample)
{
    switch (node) {
    case 0:
        fill(waves, node, sample, PHASE_STEP(440), sine);
        return;
    case 1:
        fill(waves, node, sample, PHASE_STEP(550), square);
        return;
    case 2:
        fill(waves, node, sample, PHASE_STEP(660), triangle);
        return;
    default:
        fill(waves, node, sample, PHASE_STEP(330), sawtooth);
    }
}

/* ---- mixers ---- */

/* The mean of both inputs, limited. */
static void mix(const struct waves *waves, size_t node)
{
    const int16_t *a = waves->buffers[wave_nodes[node].inputs[0]];
    const int16_t *b = waves->buffers[wave_nodes[node].inputs[1]];
    int16_t *out = waves->buffers[node];

    for (size_t i = 0; i < waves->count; i++)
        out[i] = soft_limit((a[i] + b[i]) >> 1);
}

/* ---- samples ---- */

void waves_compute(const struct waves *waves, size_t node, uint64_t sample)
{
    for (long pass = 0; pass < waves->work; pass++) {
        if (wave_nodes[node].input_count == 0)
            fill_wave(waves, node, sample);
        else
            mix(waves, node);
        /* Else a compiler might compute equal passes once. */
        __asm__ volatile("" ::: "memory");
    }
}

/* Four values in one word; a load on most machines. */
static uint64_t four_values(const int16_t *p)
{
    return (uint64_t)(uint16_t)p[0] | (uint64_t)(uint16_t)p[1] << 16 |
           (uint64_t)(uint16_t)p[2] << 32 | (uint64_t)(uint16_t)p[3] << 48;
}

/* Two sums, the second of which makes the order count. checksum_word for each word would take half
 * as long as the mixing. */
uint64_t waves_checksum(const struct waves *waves, uint64_t sum)
{
    const int16_t *out = waves->buffers[NODE_LAST];
    uint64_t first = 0, second = 0;
    size_t i = 0;

    for (; i + 4 <= waves->count; i += 4) {
        first += four_values(out + i);
        second += first;
    }
    for (; i < waves->count; i++) {
        first += (uint16_t)out[i];
        second += first;
    }
    return checksum_word(checksum_word(sum, first), second);
}

uint64_t waves_reference(const struct waves *waves, uint64_t samples)
{
    struct waves once = *waves;
    uint64_t sum = CHECKSUM_SEED;

    once.work = 1;
    for (uint64_t sample = 0; sample < samples; sample++) {
        for (size_t node = 0; node < NODE_COUNT; node++)
            waves_compute(&once, node, sample);
        sum = waves_checksum(&once, sum);
    }
    return sum;
}
