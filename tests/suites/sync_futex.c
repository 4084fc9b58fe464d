/* SPDX-License-Identifier: MIT */
/*
 * Suite sync: waiting for words (src/sync/futex.h). In the simulator only: the native API has none.
 */
#include "sync_tests.h"

#ifdef PIRN_SIM
#include "../../src/sync/futex.h"

#define WORDS 3
#define THREADS 4

static int wait_for(_Atomic(uint32_t) *word, uint32_t value, uint64_t deadline)
{
    struct futex_wait wait = {.value = value, .deadline = deadline, .reason = WAIT_FUTEX};
    return rt_futex_wait(word, &wait);
}

/* A mutex on a word: 0 free, 1 held, 2 held and somebody may wait. */
static void word_lock(_Atomic(uint32_t) *word)
{
    uint32_t free = 0;
    if (!at_cas_acq(word, &free, 1u)) {
        while (at_xchg_acq_rel(word, 2u) != 0) {
            int error = wait_for(word, 2, UINT64_MAX);
            CHECK(error == 0 || error == -EAGAIN);
        }
    }
}

static void word_unlock(_Atomic(uint32_t) *word)
{
    if (at_xchg_acq_rel(word, 0u) == 2) {
        rt_futex_wake(word, 1);
    }
}

struct words {
    _Atomic(uint32_t) word[WORDS];
    struct room room[WORDS];
    int turns, woken, timeouts, waiting;
    uint64_t deadline;
};

static void *visits_rooms(void *arg)
{
    struct words *w = arg;
    for (int i = 0; i < 4; i++) {
        unsigned at = test_random(WORDS);
        word_lock(&w->word[at]);
        room_visit(&w->room[at]);
        word_unlock(&w->word[at]);
    }
    return NULL;
}

void test_futex_excludes_when_words_share_queues(void *unused)
{
    (void)unused;
    struct words w = {0};
    pirn_thread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = test_spawn(visits_rooms, &w);
    }
    int visits = 0;
    for (int i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    for (int i = 0; i < WORDS; i++) {
        visits += w.room[i].visits;
        CHECK(rt_futex_wake(&w.word[i], UINT32_MAX) == 0);
    }
    CHECK(visits == 4 * THREADS);
}

static void *waits_for_word(void *arg)
{
    struct words *w = arg;
    CHECK(wait_for(&w->word[0], 0, UINT64_MAX) == 0);
    TEST_ADD(&w->woken, 1);
    return NULL;
}

static void *waits_for_other(void *arg)
{
    struct words *w = arg;
    CHECK(wait_for(&w->word[1], 0, UINT64_MAX) == 0);
    TEST_ADD(&w->turns, 1);
    return NULL;
}

void test_futex_wakes_as_many_as_asked(void *unused)
{
    (void)unused;
    struct words w = {0};
    pirn_thread_t t[THREADS], other = test_spawn(waits_for_other, &w);
    test_await_blocked(other);
    for (int i = 0; i < THREADS; i++) {
        t[i] = test_spawn(waits_for_word, &w);
        test_await_blocked(t[i]);
    }
    CHECK(wait_for(&w.word[0], 1, UINT64_MAX) == -EAGAIN);
    CHECK(rt_futex_wake(&w.word[0], 0) == 0);
    CHECK(rt_futex_wake(&w.word[0], 2) == 2);
    test_end(t[0]);
    test_end(t[1]);
    CHECK(TEST_GET(&w.woken) == 2 && TEST_GET(&w.turns) == 0);
    CHECK(rt_futex_wake(&w.word[0], UINT32_MAX) == THREADS - 2);
    for (int i = 2; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK(rt_futex_wake(&w.word[0], 1) == 0);
    CHECK(rt_futex_wake(&w.word[1], 1) == 1);
    test_end(other);
    CHECK(w.turns == 1);
}

/* The word is whose turn it is. */
struct turn {
    struct words *words;
    uint32_t own;
};

static void *takes_turns(void *arg)
{
    struct turn *turn = arg;
    _Atomic(uint32_t) *word = &turn->words->word[0];
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t want = round * THREADS + turn->own, seen;
        while ((seen = at_load_acq(word)) != want) {
            int error = wait_for(word, seen, UINT64_MAX);
            CHECK(error == 0 || error == -EAGAIN);
        }
        TEST_ADD(&turn->words->turns, 1);
        at_store_rel(word, want + 1);
        rt_futex_wake(word, UINT32_MAX);
    }
    return NULL;
}

void test_futex_passes_turns_when_words_change(void *unused)
{
    (void)unused;
    struct words w = {0};
    struct turn turns[THREADS];
    pirn_thread_t t[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        turns[i] = (struct turn){&w, i};
        t[i] = test_spawn(takes_turns, &turns[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK(w.turns == 3 * THREADS);
}

static void *waits_a_while(void *arg)
{
    struct words *w = arg;
    int error = wait_for(&w->word[0], 0, w->deadline);
    CHECK(error == 0 || error == -ETIMEDOUT || error == -EAGAIN);
    CHECK(error != -ETIMEDOUT || pirn_now() >= w->deadline);
    TEST_ADD(error == 0 ? &w->woken : &w->timeouts, 1);
    return NULL;
}

void test_futex_ends_once_when_wake_races_timeout(void *unused)
{
    (void)unused;
    struct words w = {.deadline = test_after(test_random(800))};
    pirn_thread_t t[THREADS];
    unsigned woken = 0;
    for (int i = 0; i < THREADS; i++) {
        t[i] = test_spawn(waits_a_while, &w);
    }
    for (int i = 0; i < 3; i++) {
        pirn_yield();
        woken += rt_futex_wake(&w.word[0], 1);
    }
    for (int i = 0; i < THREADS; i++) {
        test_end(t[i]);
    }
    CHECK((unsigned)w.woken == woken && w.woken + w.timeouts == THREADS);
}

#endif
