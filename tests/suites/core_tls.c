/* SPDX-License-Identifier: MIT */
/*
 * Suite core: thread-local storage, in the runs in which threads have blocks of their own (in the
 * simulator about half of them; on Linux those with PIRN_TLS=own). test_tls() is the caller's
 * instance of one thread-local word.
 */
#include "core_tests.h"
#include "suite.h"

#define THREADS 4

static void *keeps_its_word(void *arg)
{
    uint64_t *word = test_tls();
    CHECK(*word == 0);
    for (uint64_t i = 1; i <= 3; i++) {
        *word = (uintptr_t)arg * 100 + i;
        pirn_yield();
        CHECK(test_tls() == word && *word == (uintptr_t)arg * 100 + i);
    }
    pirn_sleep(10 + test_random(50));
    CHECK(test_tls() == word && *word == (uintptr_t)arg * 100 + 3);
    return NULL;
}

void test_tls_belongs_to_its_thread_when_others_run(void *unused)
{
    (void)unused;
    if (test_tls() == NULL) {
        return;
    }
    uint64_t before = *test_tls();
    *test_tls() = 42;
    for (int life = 0; life < 3; life++) {
        pirn_thread_t t[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++) {
            CHECK(pirn_create(&t[i], NULL, keeps_its_word, (void *)(i + 1)) == 0);
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK(pirn_join(t[i], NULL) == 0);
        }
    }
    CHECK(*test_tls() == 42);
    *test_tls() = before;
}

static void *creates_own_kind(void *arg)
{
    static pirn_thread_storage_t storage;
    static char stack[64 << 10] __attribute__((aligned(64)));
    pirn_attr_t attr = {.stack_size = sizeof(stack), .stack = stack};
    pirn_thread_t t;
    CHECK(*test_tls() == 0);
    CHECK(pirn_create(&t, &attr, keeps_its_word, arg) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    attr.storage = &storage;
    CHECK(pirn_create(&t, &attr, keeps_its_word, arg) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    attr = (pirn_attr_t){.storage = &storage};
    CHECK(pirn_create(&t, &attr, keeps_its_word, arg) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    attr = (pirn_attr_t){.stack_size = 200 << 10};
    CHECK(pirn_create(&t, &attr, keeps_its_word, arg) == 0);
    CHECK(pirn_join(t, NULL) == 0);
    return NULL;
}

void test_tls_is_there_when_stack_or_descriptor_is_the_callers(void *unused)
{
    (void)unused;
    pirn_thread_t t;
    if (test_tls() == NULL) {
        return;
    }
    CHECK(pirn_create(&t, NULL, creates_own_kind, (void *)7) == 0);
    CHECK(pirn_join(t, NULL) == 0);
}
