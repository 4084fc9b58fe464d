/* SPDX-License-Identifier: MIT */
/*
 * fenv.c - the floating-point environment belongs to the thread: rounding mode and exception flags
 * stay when other threads run, and a new thread inherits its creator's.
 */
#include "../posix/check.h"

#include <fenv.h>
#include <math.h>
#include <time.h>

#define THREADS 8

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* 1/3 rounded as the mode says: a sum shows the direction. Volatile: computed at run time. */
static double third(void)
{
    volatile double one = 1.0, three = 3.0;
    return one / three;
}

static long double third_long(void)
{
    volatile long double one = 1.0L, three = 3.0L;
    return one / three;
}

static void *keeps_its_mode(void *arg)
{
    int mode = modes[(long)arg % 4];
    OK(fesetround(FE_UPWARD));
    double up = third();
    OK(fesetround(FE_DOWNWARD));
    CHECK(third() < up); /* the mode makes a difference here */
    OK(fesetround(mode));
    double want = third();
    long double want_long = third_long();
    for (int i = 0; i < 300; i++) {
        if (i % 50 == 0) {
            usleep(20);
        }
        sched_yield();
        CHECK_EQ(fegetround(), mode);
        CHECK(third() == want);
        CHECK(third_long() == want_long);
    }
    return NULL;
}

static void test_rounding_modes_belong_to_the_thread(void)
{
    for (int life = 0; life < 3; life++) {
        pthread_t t[THREADS];
        for (long i = 0; i < THREADS; i++) {
            t[i] = start(keeps_its_mode, (void *)i);
        }
        for (int i = 0; i < 100; i++) {
            sched_yield();
            CHECK_EQ(fegetround(), FE_TONEAREST);
        }
        for (int i = 0; i < THREADS; i++) {
            join(t[i]);
        }
        CHECK_EQ(fegetround(), FE_TONEAREST);
    }
}

/* Some ticks long, without a call: with PIRN_PREEMPT=1 others run in between. */
static void *keeps_its_mode_alone(void *arg)
{
    int mode = modes[(long)arg % 4];
    struct timespec from, now;
    OK(fesetround(mode));
    double want = third();
    long double want_long = third_long();
    OK(clock_gettime(CLOCK_MONOTONIC, &from));
    do {
        for (int i = 0; i < 20000; i++) {
            CHECK(third() == want);
            CHECK(third_long() == want_long);
        }
        OK(clock_gettime(CLOCK_MONOTONIC, &now));
    } while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 60);
    CHECK_EQ(fegetround(), mode);
    return NULL;
}

static void test_rounding_modes_stay_when_threads_are_preempted(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(keeps_its_mode_alone, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

static void *has_mode(void *arg)
{
    CHECK_EQ(fegetround(), (int)(long)arg);
    sched_yield();
    CHECK_EQ(fegetround(), (int)(long)arg);
    return NULL;
}

static void test_new_threads_inherit_the_mode(void)
{
    for (int i = 0; i < 4; i++) {
        OK(fesetround(modes[i]));
        pthread_t t = start(has_mode, (void *)(long)modes[i]);
        OK(fesetround(FE_TONEAREST));
        join(t);
    }
}

static void *raises(void *arg)
{
    bool overflows = (long)arg % 2 != 0;
    volatile double huge = 1e308, small = 1.0;
    OK(feclearexcept(FE_ALL_EXCEPT));
    volatile double result = overflows ? huge * huge : small + small;
    (void)result;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(!!fetestexcept(FE_OVERFLOW), overflows);
        CHECK(!fetestexcept(FE_DIVBYZERO));
        sched_yield();
    }
    return NULL;
}

static void test_exception_flags_belong_to_the_thread(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(raises, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    CHECK(!fetestexcept(FE_OVERFLOW));
}

int main(void)
{
    RUN(test_rounding_modes_belong_to_the_thread);
    RUN(test_rounding_modes_stay_when_threads_are_preempted);
    RUN(test_new_threads_inherit_the_mode);
    RUN(test_exception_flags_belong_to_the_thread);
    return 0;
}
