/* SPDX-License-Identifier: MIT
 *
 * wakeup-producers: what a wake-up costs that has to look for the consumer's producers (task
 * affinity: PIRN_SCHED=steal:affinity=declared).
 *
 * The main thread posts a semaphore for which the consumer waits, and lets it run. The consumer
 * depends on --producers threads: that many less one which wait, declared first, and the main
 * thread, declared last, so that every one of them is looked at. 0: it depends on nobody. Printed
 * is the time of a post, the median of the samples; for counts of instructions run it under
 * callgrind with two numbers of rounds, and take the difference.
 */
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "common/options.h"

enum { BATCH = 64, SAMPLES_MOST = 100000 };

static struct options {
    uint64_t producers, samples;
} options = {.producers = 1, .samples = 1000};

static pirn_sem_t data, done, end;

static void *waits(void *unused)
{
    pirn_sem_wait(&end);
    return unused;
}

static void *consumes(void *rounds)
{
    for (uintptr_t i = 0; i < (uintptr_t)rounds; i++) {
        pirn_sem_wait(&data);
        pirn_sem_post(&done);
    }
    return NULL;
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "wakeup-producers: %s: error %d\n", what, -error);
        exit(1);
    }
}

/* The consumer waits when the post begins; it runs when the caller waits. */
static uint64_t post_ns(void)
{
    uint64_t ns = 0;
    for (unsigned i = 0; i < BATCH; i++) {
        pirn_yield();
        uint64_t from = clock_ns();
        pirn_sem_post(&data);
        ns += clock_ns() - from;
        pirn_sem_wait(&done);
    }
    return ns;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void declare(pirn_thread_t consumer, pirn_thread_t *others)
{
    for (unsigned i = 0; i + 1 < options.producers; i++) {
        must(pirn_create(&others[i], NULL, waits, NULL), "a thread");
        must(pirn_affinity_add_to(consumer, others[i]), "a dependency");
    }
    if (options.producers != 0) {
        must(pirn_affinity_add_to(consumer, pirn_self()), "a dependency");
    }
}

int main(int argc, char **argv)
{
    const struct option_spec specs[] = {
        option_count("producers", &options.producers, 0, PIRN_PRODUCERS_MAX,
                     "threads on which the consumer depends"),
        option_count("samples", &options.samples, 1, SAMPLES_MOST, "how often, times 64"),
        {0}};
    options_parse(
        argc, argv,
        &(struct option_page){.summary = "The cost of a wake-up by the number of producers.",
                              .options = specs});
    uint64_t *ns = calloc(options.samples, sizeof(*ns));
    pirn_thread_t consumer, others[PIRN_PRODUCERS_MAX];
    if (ns == NULL) {
        must(-12, "memory");
    }
    must(pirn_create(&consumer, NULL, consumes, (void *)(uintptr_t)(options.samples * BATCH)),
         "a thread");
    declare(consumer, others);
    for (uint64_t i = 0; i < options.samples; i++) {
        ns[i] = post_ns();
    }
    qsort(ns, options.samples, sizeof(*ns), by_value);
    printf("producers=%llu post_ns=%.1f\n", (unsigned long long)options.producers,
           (double)ns[options.samples / 2] / BATCH);
    must(pirn_join(consumer, NULL), "join");
    for (unsigned i = 0; i + 1 < options.producers; i++) {
        pirn_sem_post(&end);
        must(pirn_join(others[i], NULL), "join");
    }
    free(ns);
    return 0;
}
