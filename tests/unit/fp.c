/* SPDX-License-Identifier: MIT */
/*
 * fp.c - floating-point control of native threads: those with pirn_attr_t.fp have their own, across
 * switches to threads without; those without never see another thread's.
 */
#include <fenv.h>
#include <pirn/pirn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum { THREADS = 8, ROUNDS = 200 };

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void *has_its_own(void *arg)
{
    int mode = modes[(size_t)arg % 4];
    CHECK(fegetround() == FE_TONEAREST);
    CHECK(fesetround(mode) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 64 == 0) {
            pirn_sleep(1000);
        } else {
            pirn_yield();
        }
        CHECK(fegetround() == mode);
    }
    return NULL;
}

static void *has_none(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(fegetround() == FE_TONEAREST);
        pirn_yield();
    }
    return arg;
}

int main(void)
{
    pirn_attr_t attr = {.fp = true};
    for (int life = 0; life < 5; life++) {
        pirn_thread_t own[THREADS], none[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            CHECK(pirn_create(&own[i], &attr, has_its_own, (void *)i) == 0);
            CHECK(pirn_create(&none[i], NULL, has_none, NULL) == 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            CHECK(pirn_join(own[i], NULL) == 0 && pirn_join(none[i], NULL) == 0);
            CHECK(fegetround() == FE_TONEAREST);
        }
    }
    puts("ok");
    return 0;
}
