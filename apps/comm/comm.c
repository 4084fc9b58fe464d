/* SPDX-License-Identifier: MIT
 *
 * comm: couples of threads that exchange data through a FIFO, each couple on its
 * own (the application COMM of Pétrot, Gomez and Hommais). With little work per
 * item the run is almost nothing but calls into the scheduler.
 *
 * A producer creates its own consumer, so that a runtime that places a thread
 * beside its creator keeps a couple on one processor.
 *
 * Invariants:
 *  1. Item n of a couple is at ring[n % places] until the consumer has taken item
 *     n, because the ring has `fifo` + 2 places: `fifo` in the FIFO, one in the
 *     hands of each thread.
 *  2. The consumer works out by itself what item n must be.
 */
#include "check.h"
#include "checksum.h"
#include "clock.h"
#include "fifo.h"
#include "options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
    uint64_t number;
    uint64_t value;
};

struct couple {
    long index;
    struct fifo fifo;
    struct item *ring;
    size_t places;
    pthread_t producer, consumer;
    uint64_t checksum; /* written by the consumer, read after the join */
};

static long pairs = 4, items = 100000, depth = 8, work = 10; /* constant while threads run */

/* `work` units of computation on a number; the result is different for each couple and item. */
static uint64_t produce(long couple, uint64_t number)
{
    uint64_t value = checksum_word(CHECKSUM_SEED + (uint64_t)couple, number);

    for (long unit = 0; unit < work; unit++)
        value = checksum_word(value, number);
    return value;
}

static void *consumer_main(void *arg)
{
    struct couple *c = arg;
    uint64_t sum = CHECKSUM_SEED;

    for (uint64_t n = 0; n < (uint64_t)items; n++) {
        const struct item *item = fifo_pop(&c->fifo);

        if (item->number != n || item->value != produce(c->index, n))
            app_die("couple %ld: item %" PRIu64 " arrived where %" PRIu64
                    " was expected, or is damaged",
                    c->index, item->number, n);
        sum = checksum_word(sum, item->value);
    }
    c->checksum = sum;
    return NULL;
}

static void *producer_main(void *arg)
{
    struct couple *c = arg;

    thread_start(&c->consumer, consumer_main, c);
    for (uint64_t n = 0; n < (uint64_t)items; n++) {
        struct item *item = &c->ring[n % c->places];

        *item = (struct item){.number = n, .value = produce(c->index, n)};
        fifo_push(&c->fifo, item);
    }
    thread_join(c->consumer);
    return NULL;
}

static void couple_init(struct couple *c, long index)
{
    c->index = index;
    c->places = (size_t)depth + 2;
    c->ring = array_alloc(c->places, sizeof *c->ring);
    fifo_init(&c->fifo, (size_t)depth);
}

static void couple_fini(struct couple *c)
{
    fifo_destroy(&c->fifo);
    free(c->ring);
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("pairs", &pairs, 1, 100000, "couples of threads"),
        option_number("items", &items, 1, LONG_MAX, "items each couple exchanges"),
        option_number("fifo", &depth, 1, 1 << 20, "depth of a couple's FIFO"),
        option_number("work", &work, 0, LONG_MAX, "units of work per item and thread"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Couples of threads exchange data through FIFOs; no traffic between couples.",
        .options = options,
    };

    options_parse(argc, argv, &page);
}

int main(int argc, char **argv)
{
    uint64_t sum = CHECKSUM_SEED;
    struct couple *couples;
    double start;

    app_name_set("comm");
    parse_arguments(argc, argv);
    couples = array_alloc((size_t)pairs, sizeof *couples);
    for (long i = 0; i < pairs; i++)
        couple_init(&couples[i], i);
    start = clock_seconds();
    for (long i = 0; i < pairs; i++)
        thread_start(&couples[i].producer, producer_main, &couples[i]);
    for (long i = 0; i < pairs; i++) {
        thread_join(couples[i].producer);
        sum = checksum_word(sum, couples[i].checksum);
    }
    printf("comm: pairs=%ld items=%ld fifo=%ld work=%ld seconds=%.6f checksum=%016" PRIx64 "\n",
           pairs, items, depth, work, clock_seconds() - start, sum);
    for (long i = 0; i < pairs; i++)
        couple_fini(&couples[i]);
    free(couples);
    return EXIT_SUCCESS;
}
