/* SPDX-License-Identifier: MIT
 *
 * The threads of wavemix (see run.h). Each node has one buffer and one reader, and two gates:
 * `filled` tells the reader that the buffer has the next sample, `emptied` tells the writer that
 * the reader has finished with it. A wave begins with sample n + 1 when its mixer has mixed sample
 * n, that is beside mixer2's sample n.
 *
 * Invariants:
 *  1. A buffer belongs to its writer from emptied to filled, then to its reader.
 *  2. spans[i] belongs to node i's thread until it is joined; the checksum to mixer2's.
 *  3. Threads compute only after they are named, pinned, and their dependencies declared: main
 *     opens the gate `start` for each of them.
 */
#include "run.h"

#include "affinity.h"
#include "check.h"
#include "checksum.h"
#include "clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct mixing {
    const struct waves *waves;
    const struct run_settings *settings;
    struct run_result *result;
    struct gate start;
    struct gate filled[NODE_COUNT], emptied[NODE_COUNT]; /* not of the last node */
};

/* A thread's argument. */
struct player {
    struct mixing *mixing;
    size_t node;
};

static long total_samples(const struct run_settings *settings)
{
    return settings->warmup + settings->samples;
}

static void compute(struct mixing *m, size_t node, long sample)
{
    struct span *span = &m->result->spans[node][sample];

    span->place = place_here();
    span->begin = clock_seconds();
    waves_compute(m->waves, node, (uint64_t)sample);
    span->end = clock_seconds();
}

/* ---- one thread for each node ---- */

static void wait_for_buffers(struct mixing *m, size_t node)
{
    for (size_t k = 0; k < wave_nodes[node].input_count; k++)
        gate_wait(&m->filled[wave_nodes[node].inputs[k]]);
    if (node != NODE_LAST)
        gate_wait(&m->emptied[node]);
}

/* The output stays valid until its thread computes again, so the checksum delays nobody else. */
static void hand_buffers_over(struct mixing *m, size_t node)
{
    for (size_t k = 0; k < wave_nodes[node].input_count; k++)
        gate_post(&m->emptied[wave_nodes[node].inputs[k]]);
    if (node != NODE_LAST)
        gate_post(&m->filled[node]);
    else
        m->result->checksum = waves_checksum(m->waves, m->result->checksum);
}

static void *node_main(void *arg)
{
    struct player *p = arg;
    struct mixing *m = p->mixing;
    long total = total_samples(m->settings);

    gate_wait(&m->start);
    for (long sample = 0; sample < total; sample++) {
        wait_for_buffers(m, p->node);
        compute(m, p->node, sample);
        hand_buffers_over(m, p->node);
    }
    return NULL;
}

/* ---- one thread for all ---- */

static void *serial_main(void *arg)
{
    struct player *p = arg;
    struct mixing *m = p->mixing;
    long total = total_samples(m->settings);

    gate_wait(&m->start);
    for (long sample = 0; sample < total; sample++) {
        for (size_t node = 0; node < NODE_COUNT; node++)
            compute(m, node, sample);
        m->result->checksum = waves_checksum(m->waves, m->result->checksum);
    }
    return NULL;
}

/* ---- threads ---- */

static void __attribute__((noreturn)) die_not_permitted(const struct run_settings *settings)
{
    const char *name = settings->policy == SCHED_FIFO ? "fifo" : "rr";

    if (place_is_worker())
        app_die("class %s with priority %d: the scheduler has no classes; give it discipline=posix "
                "(PIRN_SCHED)",
                name, settings->priority);
    app_die("class %s with priority %d: not permitted; it needs CAP_SYS_NICE (root has it), or a "
            "limit of real-time priorities (ulimit -r) of %d or more",
            name, settings->priority, settings->priority);
}

static void create(pthread_t *thread, void *(*entry)(void *), struct player *player)
{
    const struct run_settings *settings = player->mixing->settings;
    const struct sched_param param = {.sched_priority = settings->priority};
    pthread_attr_t attr;
    int rc;

    small_stack_attr(&attr);
    check_rc(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
             "pthread_attr_setinheritsched");
    check_rc(pthread_attr_setschedpolicy(&attr, settings->policy), "pthread_attr_setschedpolicy");
    check_rc(pthread_attr_setschedparam(&attr, &param), "pthread_attr_setschedparam");
    rc = pthread_create(thread, &attr, entry, player);
    if (rc == EPERM)
        die_not_permitted(settings);
    check_rc(rc, "pthread_create");
    check_rc(pthread_attr_destroy(&attr), "pthread_attr_destroy");
}

static void run_serial(struct mixing *m)
{
    struct player player = {.mixing = m};
    pthread_t thread;

    create(&thread, serial_main, &player);
    gate_post(&m->start);
    thread_join(thread);
}

static void run_parallel(struct mixing *m)
{
    struct player players[NODE_COUNT];
    pthread_t threads[NODE_COUNT];

    for (size_t i = 0; i < NODE_COUNT; i++) {
        players[i] = (struct player){.mixing = m, .node = i};
        create(&threads[i], node_main, &players[i]);
        check_rc(pthread_setname_np(threads[i], wave_nodes[i].name), "pthread_setname_np");
    }
    place_pin(threads, m->settings->pin);
    if (m->settings->affinity)
        affinity_declare(threads);
    for (size_t i = 0; i < NODE_COUNT; i++)
        gate_post(&m->start);
    for (size_t i = 0; i < NODE_COUNT; i++)
        thread_join(threads[i]);
}

static void gates_init(struct mixing *m)
{
    gate_init(&m->start, m->settings->sync, 0);
    for (size_t i = 0; i < NODE_LAST; i++) {
        gate_init(&m->filled[i], m->settings->sync, 0);
        gate_init(&m->emptied[i], m->settings->sync, 1);
    }
}

static void gates_destroy(struct mixing *m)
{
    for (size_t i = 0; i < NODE_LAST; i++) {
        gate_destroy(&m->filled[i]);
        gate_destroy(&m->emptied[i]);
    }
    gate_destroy(&m->start);
}

/* Written to, so that no page of it is new to the kernel while threads are measured. */
static struct span *make_spans(size_t count)
{
    struct span *spans = array_alloc(count, sizeof *spans);

    for (size_t i = 0; i < count; i++)
        spans[i].place = -1;
    return spans;
}

double run_sample_begin(const struct run_result *result, size_t sample)
{
    double begin = result->spans[0][sample].begin;

    for (size_t i = 1; i < WAVE_COUNT; i++)
        begin = fmin(begin, result->spans[i][sample].begin);
    return begin;
}

void run(const struct waves *waves, const struct run_settings *settings, struct run_result *result)
{
    struct mixing m = {.waves = waves, .settings = settings, .result = result};
    size_t total = (size_t)total_samples(settings);

    result->checksum = CHECKSUM_SEED;
    for (size_t i = 0; i < NODE_COUNT; i++)
        result->spans[i] = make_spans(total);
    gates_init(&m);
    if (settings->serial)
        run_serial(&m);
    else
        run_parallel(&m);
    gates_destroy(&m);
    result->seconds = result->spans[NODE_LAST][total - 1].end - run_sample_begin(result, 0);
}

void run_free(struct run_result *result)
{
    for (size_t i = 0; i < NODE_COUNT; i++)
        free(result->spans[i]);
}
