/* SPDX-License-Identifier: MIT */
/* Suite sync: readers-writer lock. */
#include "sync_tests.h"

struct shared {
    pirn_rwlock_t lock;
    int readers, writers; /* inside */
    int reads, writes, failed, left;
    uint64_t deadline;
    pirn_barrier_t meeting;
    pirn_sem_t leave, inside;
};

static void shared_init(struct shared *s, bool prefer_writer)
{
    memset((void *)s, 0, sizeof(*s));
    pirn_rwlock_init(&s->lock);
    s->lock.prefer_writer = prefer_writer;
    CHECK(pirn_sem_init(&s->leave, 0) == 0 && pirn_sem_init(&s->inside, 0) == 0);
}

static void read_inside(struct shared *s)
{
    TEST_ADD(&s->readers, 1);
    CHECK(TEST_GET(&s->writers) == 0);
    if (test_random(2) != 0) {
        test_pause();
    }
    CHECK(TEST_GET(&s->writers) == 0);
    TEST_ADD(&s->reads, 1);
    TEST_ADD(&s->readers, -1);
}

static void write_inside(struct shared *s)
{
    CHECK(TEST_ADD(&s->writers, 1) == 1);
    CHECK(TEST_GET(&s->readers) == 0);
    if (test_random(2) != 0) {
        test_pause();
    }
    CHECK(TEST_GET(&s->readers) == 0);
    s->writes++;
    CHECK(TEST_ADD(&s->writers, -1) == 0);
}

static int read_once(struct shared *s, uint64_t deadline)
{
    int error = pirn_rwlock_rdlock_until(&s->lock, deadline);
    CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
    if (error == 0) {
        read_inside(s);
        pirn_rwlock_unlock(&s->lock);
    } else {
        TEST_ADD(&s->failed, 1);
    }
    return error;
}

static int write_once(struct shared *s, uint64_t deadline)
{
    int error = pirn_rwlock_wrlock_until(&s->lock, deadline);
    CHECK(error == 0 || error == -ETIMEDOUT || error == -ECANCELED);
    if (error == 0) {
        write_inside(s);
        pirn_rwlock_unlock(&s->lock);
    } else {
        TEST_ADD(&s->failed, 1);
    }
    return error;
}

static void visit_somehow(struct shared *s)
{
    int error;
    switch (test_random(6)) {
    case 0:
        if ((error = pirn_rwlock_tryrdlock(&s->lock)) == 0) {
            read_inside(s);
            pirn_rwlock_unlock(&s->lock);
        } else {
            CHECK(error == -EBUSY);
            TEST_ADD(&s->failed, 1);
        }
        break;
    case 1:
        if ((error = pirn_rwlock_trywrlock(&s->lock)) == 0) {
            write_inside(s);
            pirn_rwlock_unlock(&s->lock);
        } else {
            CHECK(error == -EBUSY);
            TEST_ADD(&s->failed, 1);
        }
        break;
    case 2:
        read_once(s, test_after(test_random(500)));
        break;
    case 3:
        write_once(s, test_after(test_random(500)));
        break;
    case 4:
        read_once(s, PIRN_FOREVER);
        break;
    default:
        write_once(s, PIRN_FOREVER);
        break;
    }
}

static void *visits(void *arg)
{
    for (int i = 0; i < 3; i++) {
        visit_somehow(arg);
    }
    return NULL;
}

static void visit_foreign(void *arg)
{
    struct shared *s = arg;
    visits(s);
    TEST_ADD(&s->left, -1);
}

void test_rwlock_excludes_when_contended(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[4];
    unsigned n = 2 + test_random(3);
    shared_init(&s, test_random(2) != 0);
    for (unsigned i = 0; i < n; i++) {
        t[i] = test_spawn(visits, &s);
    }
    for (unsigned i = 0; i < n; i++) {
        test_end(t[i]);
    }
    CHECK(s.reads + s.writes + s.failed == (int)n * 3);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

void test_rwlock_excludes_when_foreign_threads_lock(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, test_random(2) != 0);
    s.left = 2;
    test_foreign(visit_foreign, &s);
    test_foreign(visit_foreign, &s);
    pirn_thread_t t = test_spawn(visits, &s);
    visits(&s);
    test_end(t);
    test_await_zero(&s.left);
    CHECK(s.reads + s.writes + s.failed == 12);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

/* All readers are inside at once, or the test hangs. */
static void *meets_inside(void *arg)
{
    struct shared *s = arg;
    pirn_rwlock_rdlock(&s->lock);
    pirn_barrier_wait(&s->meeting);
    pirn_rwlock_unlock(&s->lock);
    return NULL;
}

static void meet(struct shared *s, bool behind_writer)
{
    pirn_thread_t t[3];
    CHECK(pirn_barrier_init(&s->meeting, 3) == 0);
    if (behind_writer) {
        pirn_rwlock_wrlock(&s->lock);
    }
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(meets_inside, s);
    }
    if (behind_writer) {
        pirn_sleep(test_ns(test_random(800)));
        pirn_rwlock_unlock(&s->lock);
    }
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    CHECK(pirn_rwlock_trywrlock(&s->lock) == 0);
}

void test_rwlock_admits_all_readers_when_shared(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, test_random(2) != 0);
    meet(&s, false);
}

void test_rwlock_wakes_all_readers_when_writer_leaves(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, test_random(2) != 0);
    meet(&s, true);
}

static void *reads_timed(void *arg)
{
    struct shared *s = arg;
    return read_once(s, s->deadline) == 0 ? arg : NULL;
}

static void *writes_timed(void *arg)
{
    struct shared *s = arg;
    return write_once(s, s->deadline) == 0 ? arg : NULL;
}

void test_rwlock_times_out_when_writer_holds(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, test_random(2) != 0);
    s.deadline = test_after(test_random(800));
    pirn_rwlock_wrlock(&s.lock);
    CHECK(pirn_rwlock_tryrdlock(&s.lock) == -EBUSY && pirn_rwlock_trywrlock(&s.lock) == -EBUSY);
    pirn_thread_t a = test_spawn(reads_timed, &s);
    pirn_thread_t b = test_spawn(writes_timed, &s);
    CHECK(test_end(a) == NULL && test_end(b) == NULL);
    CHECK(pirn_now() >= s.deadline);
    pirn_rwlock_unlock(&s.lock);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

void test_rwlock_times_out_when_reader_holds(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, test_random(2) != 0);
    s.deadline = test_after(test_random(800));
    pirn_rwlock_rdlock(&s.lock);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == -EBUSY);
    pirn_thread_t t = test_spawn(writes_timed, &s);
    CHECK(test_end(t) == NULL && pirn_now() >= s.deadline);
    /* No writer waits any more, so a reader is not kept out. */
    CHECK(pirn_rwlock_tryrdlock(&s.lock) == 0);
    pirn_rwlock_unlock(&s.lock);
    pirn_rwlock_unlock(&s.lock);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

/* Reports that it is inside, and stays until asked to leave. */
static void *reads_and_stays(void *arg)
{
    struct shared *s = arg;
    pirn_rwlock_rdlock(&s->lock);
    CHECK(TEST_GET(&s->writers) == 0);
    pirn_sem_post(&s->inside);
    pirn_sem_wait(&s->leave);
    pirn_rwlock_unlock(&s->lock);
    return NULL;
}

/* A reader holds the lock, a writer waits with a deadline, readers come behind it. The holder
 * leaves only when they are in. */
static void give_up(bool second_reader_leaves)
{
    struct shared s;
    shared_init(&s, true);
    s.deadline = test_after(300 + test_random(500));
    pirn_rwlock_rdlock(&s.lock);
    pirn_thread_t other = NULL;
    if (second_reader_leaves) {
        other = test_spawn(reads_and_stays, &s);
        pirn_sem_wait(&s.inside);
    }
    pirn_thread_t writer = test_spawn(writes_timed, &s);
    pirn_sleep(test_ns(test_random(250)));
    pirn_thread_t late[2] = {test_spawn(reads_and_stays, &s), test_spawn(reads_and_stays, &s)};
    if (second_reader_leaves) {
        pirn_sleep_until(s.deadline + test_ns(test_random(300)) - test_ns(150));
        pirn_sem_post(&s.leave);
    }
    pirn_sem_wait(&s.inside);
    pirn_sem_wait(&s.inside);
    CHECK(test_end(writer) == NULL);
    pirn_rwlock_unlock(&s.lock);
    pirn_sem_post(&s.leave);
    pirn_sem_post(&s.leave);
    test_end(late[0]);
    test_end(late[1]);
    if (other != NULL) {
        test_end(other);
    }
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

void test_rwlock_lets_readers_in_when_writer_gives_up(void *unused)
{
    (void)unused;
    give_up(false);
}

void test_rwlock_lets_readers_in_when_writer_gives_up_and_reader_leaves(void *unused)
{
    (void)unused;
    give_up(true);
}

void test_rwlock_ends_once_when_unlock_races_timeout(void *unused)
{
    (void)unused;
    struct shared s;
    pirn_thread_t t[4];
    shared_init(&s, test_random(2) != 0);
    s.deadline = test_after(200 + test_random(500));
    bool writer = test_random(2) != 0;
    if (writer) {
        pirn_rwlock_wrlock(&s.lock);
    } else {
        pirn_rwlock_rdlock(&s.lock);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = test_spawn(i % 2 != 0 ? reads_timed : writes_timed, &s);
    }
    pirn_sleep_until(s.deadline - test_ns(test_random(150)));
    pirn_rwlock_unlock(&s.lock);
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(s.reads + s.writes + s.failed == 4);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

/* The thread that drops the last reference destroys the lock. */
struct counted {
    pirn_rwlock_t lock;
    int references;
};

static void drop(struct counted *c)
{
    for (unsigned i = test_random(40); i > 0; i--) {
        test_pause();
    }
    if (test_random(2) != 0) {
        while (pirn_rwlock_wrlock_until(&c->lock, test_after(test_random(100))) != 0) {
        }
    } else {
        pirn_rwlock_rdlock(&c->lock);
    }
    bool last = TEST_ADD(&c->references, -1) == 0;
    pirn_rwlock_unlock(&c->lock);
    if (last) { /* the others have counted before they unlocked: wait for them as a writer */
        pirn_rwlock_wrlock(&c->lock);
        pirn_rwlock_unlock(&c->lock);
        memset((void *)c, 0x5a, sizeof(*c));
    }
}

static void *drops(void *arg)
{
    drop(arg);
    return NULL;
}

void test_rwlock_is_not_touched_when_freed_after_unlock(void *unused)
{
    (void)unused;
    struct counted c;
    pirn_thread_t t[3];
    pirn_rwlock_init(&c.lock);
    c.references = 4;
    for (int i = 0; i < 3; i++) {
        t[i] = test_spawn(drops, &c);
    }
    drop(&c);
    for (int i = 0; i < 3; i++) {
        test_end(t[i]);
    }
    for (size_t i = 0; i < sizeof(c); i++) {
        CHECK(((unsigned char *)&c)[i] == 0x5a);
    }
}

#ifdef PIRN_SIM
void test_rwlock_refuses_readers_when_writer_is_preferred(void *unused)
{
    (void)unused;
    struct shared s;
    bool prefer = test_random(2) != 0;
    shared_init(&s, prefer);
    s.deadline = PIRN_FOREVER;
    pirn_rwlock_rdlock(&s.lock);
    pirn_thread_t writer = test_spawn(writes_timed, &s);
    test_await_blocked(writer);
    CHECK(pirn_rwlock_tryrdlock(&s.lock) == (prefer ? -EBUSY : 0));
    CHECK(pirn_rwlock_rdlock_until(&s.lock, test_after(100)) == (prefer ? -ETIMEDOUT : 0));
    CHECK(TEST_GET(&s.writes) == 0);
    pirn_rwlock_unlock(&s.lock);
    if (!prefer) {
        pirn_rwlock_unlock(&s.lock);
        pirn_rwlock_unlock(&s.lock);
    }
    CHECK(test_end(writer) != NULL && s.writes == 1);
}

void test_rwlock_lets_readers_in_when_writer_is_removed(void *unused)
{
    (void)unused;
    struct shared s;
    shared_init(&s, true);
    s.deadline = test_far();
    pirn_rwlock_rdlock(&s.lock);
    pirn_thread_t writer = test_spawn(writes_timed, &s);
    test_await_blocked(writer);
    pirn_thread_t reader = test_spawn(reads_and_stays, &s);
    test_remove_surely(writer);
    pirn_sem_wait(&s.inside);
    CHECK(test_end(writer) == NULL);
    pirn_rwlock_unlock(&s.lock);
    pirn_sem_post(&s.leave);
    test_end(reader);
    CHECK(pirn_rwlock_trywrlock(&s.lock) == 0);
}

static int order[4], served;

struct numbered {
    struct shared *s;
    int number;
    bool writer;
};

static void *enters_numbered(void *arg)
{
    struct numbered *n = arg;
    if (n->writer) {
        pirn_rwlock_wrlock(&n->s->lock);
    } else {
        pirn_rwlock_rdlock(&n->s->lock);
    }
    order[TEST_ADD(&served, 1) - 1] = n->number;
    pirn_rwlock_unlock(&n->s->lock);
    return NULL;
}

/* Writer, reader, writer, reader behind a writer: handed over in this order where writers are
 * preferred; without preference a reader's turn takes all readers along. */
void test_rwlock_serves_in_order_when_many_wait(void *unused)
{
    (void)unused;
    struct shared s;
    struct numbered n[4];
    pirn_thread_t t[4];
    bool prefer = test_random(2) != 0;
    shared_init(&s, prefer);
    served = 0;
    pirn_rwlock_wrlock(&s.lock);
    for (int i = 0; i < 4; i++) {
        n[i] = (struct numbered){&s, i, i % 2 == 0};
        t[i] = test_spawn(enters_numbered, &n[i]);
        test_await_blocked(t[i]);
    }
    pirn_rwlock_unlock(&s.lock);
    for (int i = 0; i < 4; i++) {
        test_end(t[i]);
    }
    CHECK(order[0] == 0);
    if (prefer) {
        CHECK(order[1] == 1 && order[2] == 2 && order[3] == 3);
    } else {
        CHECK(order[3] == 2);
    }
}
#endif
