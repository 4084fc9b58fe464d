/* SPDX-License-Identifier: MIT
 *
 * Rows of threads that wait on condition variables: bounded channels (pipeline, sieve, producers),
 * two threads that take turns, with a deadline and without, and a crowd that one broadcast wakes.
 * Systems that define SYS_COND have them. Results are checked.
 *
 * A channel holds its mutex while it signals, and signals at every put and get, as textbooks do.
 */
#include SYS_HEADER

#include "rows.h"
#include "rows_threads.h"

#ifdef SYS_COND

/* ---- bounded channel ---- */

#define SLOTS 32
#define NARROW 16 /* slots between two stages */

struct channel {
    sys_mutex mutex;
    sys_cond nonempty, nonfull;
    uint64_t slots[SLOTS];
    unsigned first, count, capacity;
};

static void channel_init(struct channel *c, unsigned capacity)
{
    sys_mutex_init(&c->mutex);
    sys_cond_init(&c->nonempty);
    sys_cond_init(&c->nonfull);
    c->first = c->count = 0;
    c->capacity = capacity;
}

static void channel_fini(struct channel *c)
{
    sys_cond_fini(&c->nonfull);
    sys_cond_fini(&c->nonempty);
    sys_mutex_fini(&c->mutex);
}

static void put(struct channel *c, uint64_t value)
{
    sys_mutex_lock(&c->mutex);
    while (c->count == c->capacity)
        sys_cond_wait(&c->nonfull, &c->mutex);
    c->slots[(c->first + c->count++) % SLOTS] = value;
    sys_cond_signal(&c->nonempty);
    sys_mutex_unlock(&c->mutex);
}

static uint64_t get(struct channel *c)
{
    uint64_t value;

    sys_mutex_lock(&c->mutex);
    while (c->count == 0)
        sys_cond_wait(&c->nonempty, &c->mutex);
    value = c->slots[c->first];
    c->first = (c->first + 1) % SLOTS;
    c->count--;
    sys_cond_signal(&c->nonfull);
    sys_mutex_unlock(&c->mutex);
    return value;
}

/* ---- ten stages between a source and a sink ---- */

#define STAGES 10
#define HOPS (STAGES + 1)

struct stage {
    struct channel *in, *out;
    uint64_t items;
};

static void *stage_main(void *arg)
{
    struct stage *s = (struct stage *)arg;

    for (uint64_t i = 0; i < s->items; i++)
        put(s->out, get(s->in) + 1);
    return NULL;
}

static void *source_main(void *arg)
{
    struct stage *s = (struct stage *)arg;

    for (uint64_t i = 0; i < s->items; i++)
        put(s->out, i);
    return NULL;
}

static void *sink_main(void *arg)
{
    struct stage *s = (struct stage *)arg;

    for (uint64_t i = 0; i < s->items; i++)
        sys_check(get(s->in) == i + STAGES, "order of the pipeline");
    return NULL;
}

static uint64_t pipeline_run(uint64_t count)
{
    struct channel *channels = (struct channel *)new_array(HOPS, sizeof *channels);
    struct stage stages[STAGES + 2];
    sys_thread threads[STAGES + 2];
    uint64_t start;

    for (int i = 0; i < HOPS; i++)
        channel_init(&channels[i], NARROW);
    for (int i = 0; i < STAGES + 2; i++) {
        stages[i].in = i > 0 ? &channels[i - 1] : NULL;
        stages[i].out = i < HOPS ? &channels[i] : NULL;
        stages[i].items = count / HOPS;
    }
    start = clock_ns();
    for (int i = 0; i < STAGES + 2; i++)
        sys_create(&threads[i],
                   i == 0      ? source_main
                   : i == HOPS ? sink_main
                               : stage_main,
                   &stages[i]);
    for (int i = 0; i < STAGES + 2; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    for (int i = 0; i < HOPS; i++)
        channel_fini(&channels[i]);
    free(channels);
    return start;
}

/* ---- prime sieve: a thread for each prime, which takes its multiples out ---- */

#define NUMBERS 1223 /* the 200th prime */
#define PRIMES 200
#define SIEVE_HOPS 22300u

struct sieve {
    uint64_t hops, primes; /* the last thread's first */
};

struct filter {
    struct channel in;
    struct sieve *sieve;
};

static struct filter *filter_new(struct sieve *sieve)
{
    struct filter *f = (struct filter *)calloc(1, sizeof *f);

    sys_check(f != NULL, "calloc");
    channel_init(&f->in, NARROW);
    f->sieve = sieve;
    return f;
}

/* Zero is the end. A filter creates the next one when the first number passes it. */
static void *filter_main(void *arg)
{
    struct filter *f = (struct filter *)arg, *next = NULL;
    uint64_t prime = get(&f->in), hops = 1, number = prime;
    sys_thread thread;

    while (number != 0) {
        number = get(&f->in);
        hops++;
        if (number != 0 && number % prime == 0)
            continue;
        if (next == NULL) {
            next = filter_new(f->sieve);
            sys_create(&thread, filter_main, next);
        }
        put(&next->in, number);
    }
    if (next != NULL) {
        sys_join(&thread);
        f->sieve->primes++;
    }
    f->sieve->hops += hops; /* after the join: one thread at a time */
    channel_fini(&f->in);
    free(f);
    return NULL;
}

static uint64_t sieve_run(uint64_t count)
{
    uint64_t start = clock_ns(), hops = 0;

    while (hops < count) {
        struct sieve sieve = {0, 0};
        struct filter *first = filter_new(&sieve);
        sys_thread thread;

        sys_create(&thread, filter_main, first);
        for (uint64_t i = 2; i <= NUMBERS; i++)
            put(&first->in, i);
        put(&first->in, 0);
        sys_join(&thread);
        sys_check(sieve.primes == PRIMES && sieve.hops == SIEVE_HOPS, "sieving primes");
        hops += sieve.hops;
    }
    start = clock_ns() - start;
    return (uint64_t)((double)start * (double)count / (double)hops);
}

/* ---- producers and consumers at one buffer ---- */

struct shop {
    struct channel goods;
    uint64_t each, sum;
};

static void *producer_main(void *arg)
{
    struct shop *s = (struct shop *)arg;

    for (uint64_t i = 1; i <= s->each; i++)
        put(&s->goods, i);
    return NULL;
}

static void *consumer_main(void *arg)
{
    struct shop *s = (struct shop *)arg;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < s->each; i++)
        sum += get(&s->goods);
    __atomic_fetch_add(&s->sum, sum, __ATOMIC_RELAXED);
    return NULL;
}

static uint64_t shop_run(uint64_t count, uint64_t pairs)
{
    struct shop *s = (struct shop *)new_array(1, sizeof *s);
    sys_thread *threads = new_threads(2 * pairs);
    uint64_t start;

    channel_init(&s->goods, SLOTS);
    s->each = count / pairs;
    start = clock_ns();
    for (uint64_t i = 0; i < 2 * pairs; i++)
        sys_create(&threads[i], i % 2 ? consumer_main : producer_main, s);
    for (uint64_t i = 0; i < 2 * pairs; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    sys_check(s->sum == pairs * (s->each * (s->each + 1) / 2), "handing over all goods");
    channel_fini(&s->goods);
    free(threads);
    free(s);
    return start;
}

#define FEW 4
#define MANY 64

static uint64_t producers_few_run(uint64_t count)
{
    return shop_run(count, FEW);
}

static uint64_t producers_many_run(uint64_t count)
{
    return shop_run(count, MANY);
}

/* ---- two threads that take turns ---- */

#define FAR_NS UINT64_C(10000000000) /* a deadline that is not reached */

struct turns {
    sys_mutex mutex;
    sys_cond changed[2];
    int turn, timed; /* timed: wait with a deadline */
    uint64_t count;
};

struct player {
    struct turns *turns;
    int index;
};

static void *player_main(void *arg)
{
    struct player *p = (struct player *)arg;
    struct turns *t = p->turns;

    for (uint64_t i = 0; i < t->count; i++) {
        sys_mutex_lock(&t->mutex);
        while (t->turn != p->index) {
            if (!t->timed)
                sys_cond_wait(&t->changed[p->index], &t->mutex);
            else
                sys_check(sys_cond_wait_for(&t->changed[p->index], &t->mutex, FAR_NS),
                          "waiting for less than 10 s");
        }
        t->turn = !p->index;
        sys_cond_signal(&t->changed[t->turn]);
        sys_mutex_unlock(&t->mutex);
    }
    return NULL;
}

static uint64_t turns_of(uint64_t count, int timed)
{
    struct turns t;
    struct player players[2] = {{&t, 0}, {&t, 1}};
    sys_thread threads[2];
    uint64_t start;

    sys_mutex_init(&t.mutex);
    for (int i = 0; i < 2; i++)
        sys_cond_init(&t.changed[i]);
    t.turn = 0;
    t.timed = timed;
    t.count = count;
    start = clock_ns();
    for (int i = 0; i < 2; i++)
        sys_create(&threads[i], player_main, &players[i]);
    for (int i = 0; i < 2; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    for (int i = 0; i < 2; i++)
        sys_cond_fini(&t.changed[i]);
    sys_mutex_fini(&t.mutex);
    return start;
}

static uint64_t turns_run(uint64_t count)
{
    return turns_of(count, 0);
}

static uint64_t turns_timed_run(uint64_t count)
{
    return turns_of(count, 1);
}

/* ---- a crowd that waits for one broadcast ---- */

struct crowd {
    sys_mutex mutex;
    sys_cond opened, complete;
    uint64_t waiting;
    int open;
};

static void *crowd_main(void *arg)
{
    struct crowd *c = (struct crowd *)arg;

    sys_mutex_lock(&c->mutex);
    if (++c->waiting == CROWD)
        sys_cond_signal(&c->complete);
    while (!c->open)
        sys_cond_wait(&c->opened, &c->mutex);
    sys_mutex_unlock(&c->mutex);
    return NULL;
}

static uint64_t crowd_once(sys_thread *threads)
{
    struct crowd c;
    uint64_t start;

    sys_mutex_init(&c.mutex);
    sys_cond_init(&c.opened);
    sys_cond_init(&c.complete);
    c.waiting = 0;
    c.open = 0;
    start = clock_ns();
    for (int i = 0; i < CROWD; i++)
        sys_create(&threads[i], crowd_main, &c);
    sys_mutex_lock(&c.mutex);
    while (c.waiting < CROWD)
        sys_cond_wait(&c.complete, &c.mutex);
    c.open = 1;
    sys_cond_broadcast(&c.opened);
    sys_mutex_unlock(&c.mutex);
    for (int i = 0; i < CROWD; i++)
        sys_join(&threads[i]);
    start = clock_ns() - start;
    sys_cond_fini(&c.complete);
    sys_cond_fini(&c.opened);
    sys_mutex_fini(&c.mutex);
    return start;
}

static uint64_t crowd_run(uint64_t count)
{
    sys_thread *threads = new_threads(CROWD);
    uint64_t ns = 0;

    for (uint64_t done = 0; done < count; done += CROWD)
        ns += crowd_once(threads);
    free(threads);
    return ns;
}

#endif

/* clang-format off */
const struct row condition_rows[] = {
#ifdef SYS_COND
    {"pipeline", HOPS, pipeline_run},
    {"sieve", 1, sieve_run},
    {"producers_4", FEW, producers_few_run},
    {"producers_64", MANY, producers_many_run},
    {"turns", 1, turns_run},
    {"turns_timed", 1, turns_timed_run},
    {"crowd", CROWD, crowd_run},
#endif
    {NULL, 0, NULL},
};
/* clang-format on */
