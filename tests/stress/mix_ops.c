/* SPDX-License-Identifier: MIT */
/*
 * mix_ops.c - random operations on shared objects, each with an invariant: exclusion inside
 * (checked at once), and conservation of units that were done, put or written (checked at the end).
 */
#include <errno.h>

#include "mix.h"

enum { MUTEXES = 4, SEMS = 3, RWLOCKS = 2, WORDS = 2, CAPACITY = 4 };

static struct {
    pirn_mutex_t mutex;
    uint64_t visits; /* (mutex) */
    unsigned inside;
    uint64_t granted;
} mutexes[MUTEXES];

static struct {
    pirn_sem_t sem;
    unsigned units;
    unsigned inside;
    uint64_t granted;
} sems[SEMS];

static struct {
    pirn_rwlock_t lock;
    uint64_t a, b; /* (lock) equal */
    unsigned readers, writers;
    uint64_t read, written;
} rwlocks[RWLOCKS];

static struct {
    pirn_mutex_t mutex;
    pirn_cond_t not_full, not_empty;
    uint64_t items[CAPACITY]; /* (mutex) */
    unsigned first, used;     /* (mutex) */
    bool closed;              /* (mutex) no thread waits for a partner any more */
    uint64_t put, taken, sum_put, sum_taken;
} buffer;

static struct {
    pirn_fe_t word;
    uint64_t written, taken, sum_written, sum_taken;
} words[WORDS];

void actor_pause(struct actor *a)
{
    switch (actor_random(a, 8)) {
    case 0:
        pirn_sleep(actor_random(a, 100000));
        break;
    case 1:
    case 2:
        pirn_yield();
        break;
    default:
        break;
    }
}

uint64_t actor_deadline(struct actor *a)
{
    switch (actor_random(a, 4)) {
    case 0:
        return 0;
    case 1:
        return PIRN_FOREVER;
    default:
        return pirn_now() + actor_random(a, 200000);
    }
}

static void mutex_visit(struct actor *a, unsigned i)
{
    CHECK(ADD(&mutexes[i].inside, 1u) == 1);
    mutexes[i].visits++;
    actor_pause(a);
    CHECK(ADD(&mutexes[i].inside, -1u) == 0);
    ADD(&mutexes[i].granted, 1u);
    pirn_mutex_unlock(&mutexes[i].mutex);
}

static void op_mutex(struct actor *a)
{
    unsigned i = actor_random(a, MUTEXES);
    int error = 0;
    switch (actor_random(a, 3)) {
    case 0:
        pirn_mutex_lock(&mutexes[i].mutex);
        break;
    case 1:
        error = pirn_mutex_trylock(&mutexes[i].mutex);
        CHECK(error == 0 || error == -EBUSY);
        break;
    default:
        error = pirn_mutex_lock_until(&mutexes[i].mutex, actor_deadline(a));
        CHECK(error == 0 || error == -ETIMEDOUT);
        break;
    }
    if (error == 0) {
        mutex_visit(a, i);
    }
}

static void op_sem(struct actor *a)
{
    unsigned i = actor_random(a, SEMS);
    int error = 0;
    switch (actor_random(a, 3)) {
    case 0:
        pirn_sem_wait(&sems[i].sem);
        break;
    case 1:
        error = pirn_sem_trywait(&sems[i].sem);
        CHECK(error == 0 || error == -EAGAIN);
        break;
    default:
        error = pirn_sem_wait_until(&sems[i].sem, actor_deadline(a));
        CHECK(error == 0 || error == -ETIMEDOUT);
        break;
    }
    if (error == 0) {
        CHECK(ADD(&sems[i].inside, 1u) <= sems[i].units);
        actor_pause(a);
        ADD(&sems[i].inside, -1u);
        ADD(&sems[i].granted, 1u);
        CHECK(pirn_sem_post(&sems[i].sem) == 0);
    }
}

static void rwlock_read(struct actor *a, unsigned i)
{
    uint64_t deadline = actor_deadline(a);
    int error = pirn_rwlock_rdlock_until(&rwlocks[i].lock, deadline);
    if (error != 0) {
        CHECK(error == -ETIMEDOUT && deadline != PIRN_FOREVER);
        return;
    }
    ADD(&rwlocks[i].readers, 1u);
    CHECK(GET(&rwlocks[i].writers) == 0 && rwlocks[i].a == rwlocks[i].b);
    actor_pause(a);
    CHECK(GET(&rwlocks[i].writers) == 0 && rwlocks[i].a == rwlocks[i].b);
    ADD(&rwlocks[i].readers, -1u);
    ADD(&rwlocks[i].read, 1u);
    pirn_rwlock_unlock(&rwlocks[i].lock);
}

static void rwlock_write(struct actor *a, unsigned i)
{
    uint64_t deadline = actor_deadline(a);
    int error = pirn_rwlock_wrlock_until(&rwlocks[i].lock, deadline);
    if (error != 0) {
        CHECK(error == -ETIMEDOUT && deadline != PIRN_FOREVER);
        return;
    }
    CHECK(ADD(&rwlocks[i].writers, 1u) == 1 && GET(&rwlocks[i].readers) == 0);
    rwlocks[i].a++;
    actor_pause(a);
    rwlocks[i].b++;
    CHECK(ADD(&rwlocks[i].writers, -1u) == 0 && GET(&rwlocks[i].readers) == 0);
    ADD(&rwlocks[i].written, 1u);
    pirn_rwlock_unlock(&rwlocks[i].lock);
}

static void op_rwlock(struct actor *a)
{
    unsigned i = actor_random(a, RWLOCKS);
    if (actor_random(a, 4) == 0) {
        rwlock_write(a, i);
    } else {
        rwlock_read(a, i);
    }
}

/* True if the condition came true; the mutex is held in any case. */
static bool buffer_wait(pirn_cond_t *cond, unsigned unwanted, uint64_t deadline)
{
    while (buffer.used == unwanted) {
        if (buffer.closed || pirn_cond_wait_until(cond, &buffer.mutex, deadline) == -ETIMEDOUT) {
            return buffer.used != unwanted;
        }
    }
    return true;
}

static void op_buffer(struct actor *a)
{
    uint64_t value = actor_random(a, 1000), deadline = actor_deadline(a);
    bool put = actor_random(a, 2) != 0;
    pirn_mutex_lock(&buffer.mutex);
    if (put && buffer_wait(&buffer.not_full, CAPACITY, deadline)) {
        buffer.items[(buffer.first + buffer.used++) % CAPACITY] = value;
        buffer.put++;
        buffer.sum_put += value;
        pirn_cond_signal(&buffer.not_empty);
    } else if (!put && buffer_wait(&buffer.not_empty, 0, deadline)) {
        buffer.taken++;
        buffer.sum_taken += buffer.items[buffer.first];
        buffer.first = (buffer.first + 1) % CAPACITY;
        buffer.used--;
        pirn_cond_signal(&buffer.not_full);
    }
    pirn_mutex_unlock(&buffer.mutex);
}

static void word_write(unsigned i, uint64_t value, uint64_t deadline)
{
    if (pirn_fe_write_until(&words[i].word, value, deadline) == 0) {
        ADD(&words[i].written, 1u);
        ADD(&words[i].sum_written, value);
    }
}

static void word_take(unsigned i, uint64_t deadline)
{
    uint64_t value;
    if (pirn_fe_take_until(&words[i].word, &value, deadline) == 0) {
        ADD(&words[i].taken, 1u);
        ADD(&words[i].sum_taken, value);
    }
}

static void op_word(struct actor *a)
{
    unsigned i = actor_random(a, WORDS);
    uint64_t value = 1 + actor_random(a, 1000);
    switch (actor_random(a, 5)) {
    case 0:
    case 1:
        word_write(i, value, actor_deadline(a));
        break;
    case 2:
    case 3:
        word_take(i, actor_deadline(a));
        break;
    default:
        if (pirn_fe_read_until(&words[i].word, &value, actor_deadline(a)) == 0) {
            CHECK(value >= 1 && value <= 1000);
        }
        break;
    }
}

static const struct {
    const char *name;
    void (*run)(struct actor *);
} ops[] = {{"mutex", op_mutex},   {"semaphore", op_sem},        {"rwlock", op_rwlock},
           {"buffer", op_buffer}, {"Full/Empty word", op_word}, {"flags", op_flags},
           {"queue", op_queue},   {"timer", op_timer},          {"pause", actor_pause}};

void ops_one(struct actor *a)
{
    unsigned i = actor_random(a, sizeof(ops) / sizeof(ops[0]));
    SET(&a->doing, ops[i].name);
    ops[i].run(a);
    SET(&a->doing, "between operations");
}

void ops_init(void)
{
    static const unsigned units[SEMS] = {1, 3, 8};
    for (unsigned i = 0; i < SEMS; i++) {
        sems[i].units = units[i];
        CHECK(pirn_sem_init(&sems[i].sem, units[i]) == 0);
    }
    for (unsigned i = 0; i < RWLOCKS; i++) {
        rwlocks[i].lock.prefer_writer = i;
    }
    objects_init();
}

void ops_release(void)
{
    pirn_mutex_lock(&buffer.mutex);
    buffer.closed = true;
    pirn_cond_broadcast(&buffer.not_empty);
    pirn_cond_broadcast(&buffer.not_full);
    pirn_mutex_unlock(&buffer.mutex);
    for (unsigned i = 0; i < WORDS; i++) {
        word_write(i, 1, pirn_now() + 1000000);
        word_take(i, pirn_now() + 1000000);
    }
    objects_release();
}

static uint64_t verify_locks(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < MUTEXES; i++) {
        CHECK(mutexes[i].visits == mutexes[i].granted);
        CHECK(pirn_mutex_trylock(&mutexes[i].mutex) == 0);
        n += mutexes[i].granted;
    }
    for (unsigned i = 0; i < SEMS; i++) {
        CHECK(pirn_sem_value(&sems[i].sem) == sems[i].units && sems[i].inside == 0);
        n += sems[i].granted;
    }
    for (unsigned i = 0; i < RWLOCKS; i++) {
        CHECK(rwlocks[i].a == rwlocks[i].written && rwlocks[i].b == rwlocks[i].written);
        CHECK(pirn_rwlock_trywrlock(&rwlocks[i].lock) == 0);
        n += rwlocks[i].read + rwlocks[i].written;
    }
    return n;
}

static uint64_t verify_buffer(void)
{
    uint64_t rest = 0;
    for (unsigned i = 0; i < buffer.used; i++) {
        rest += buffer.items[(buffer.first + i) % CAPACITY];
    }
    CHECK(buffer.put == buffer.taken + buffer.used);
    CHECK(buffer.sum_put == buffer.sum_taken + rest);
    return buffer.put + buffer.taken;
}

static uint64_t verify_words(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        bool full = pirn_fe_full(&words[i].word);
        uint64_t rest = full ? pirn_fe_take(&words[i].word) : 0;
        CHECK(words[i].written == words[i].taken + full);
        CHECK(words[i].sum_written == words[i].sum_taken + rest);
        n += words[i].written + words[i].taken;
    }
    return n;
}

void ops_verify(void)
{
    uint64_t locks = verify_locks(), items = verify_buffer(), values = verify_words();
    printf("%" PRIu64 " locks, %" PRIu64 " items, %" PRIu64 " words", locks, items, values);
    objects_verify();
}
