/* SPDX-License-Identifier: MIT */
/*
 * stdio.c - flockfile, ftrylockfile, funlockfile: the stream belongs to the thread, across yields,
 * waits and other workers; a thread that waits for it does not keep the holder from running.
 */
#include "../posix/check.h"

#define THREADS 8
#define ROUNDS 60

static FILE *file;
static flag_t holders, waiting;

/* A line in pieces, with others running in between. */
static void *writes_lines(void *arg)
{
    int me = (int)(long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        flockfile(file);
        CHECK_EQ(flag_add(&holders, 1), 1);
        flockfile(file); /* again */
        putc_unlocked('a' + me, file);
        sched_yield();
        fprintf(file, "%c", 'a' + me);
        funlockfile(file);
        if (i % 8 == 0) {
            usleep(100);
        } else {
            sched_yield();
        }
        putc_unlocked('a' + me, file);
        putc_unlocked('\n', file);
        CHECK_EQ(flag_add(&holders, -1), 0);
        funlockfile(file);
        if (i % 4 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void test_lines_stay_whole(void)
{
    char line[16];
    int count[THREADS] = {0};
    pthread_t t[THREADS];
    file = tmpfile();
    CHECK(file != NULL);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(writes_lines, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        CHECK_EQ(strlen(line), 4);
        CHECK(line[0] == line[1] && line[1] == line[2]);
        count[line[0] - 'a']++;
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(count[i], ROUNDS);
    }
    OK(fclose(file));
}

static void *waits_for_it(void *arg)
{
    flag_add(&waiting, 1);
    flockfile(file);
    *(int *)arg = 1;
    funlockfile(file);
    return NULL;
}

static void *finds_it_busy(void *arg)
{
    CHECK(ftrylockfile(file) != 0);
    return arg;
}

static void *finds_it_free(void *arg)
{
    OK(ftrylockfile(file));
    funlockfile(file);
    return arg;
}

static void test_holder_blocks_while_others_wait(void)
{
    int had_it[THREADS] = {0};
    pthread_t t[THREADS];
    file = tmpfile();
    CHECK(file != NULL);
    OK(ftrylockfile(file));
    flockfile(file);
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(waits_for_it, &had_it[i]);
    }
    flag_wait(&waiting, THREADS);
    join(start(finds_it_busy, NULL));
    usleep(5000);
    funlockfile(file);
    join(start(finds_it_busy, NULL)); /* held once more */
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(had_it[i], 0);
    }
    funlockfile(file);
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
        CHECK_EQ(had_it[i], 1);
    }
    join(start(finds_it_free, NULL));
    OK(fclose(file));
}

/* Longer than a tick: with preemption on, a thread that prints meanwhile must not stop the worker
 * that the holder needs. */
static void *holds_and_computes(void *arg)
{
    for (int i = 0; i < 4; i++) {
        struct timespec until = after_ms(CLOCK_MONOTONIC, 10);
        flockfile(file);
        while (!has_passed(CLOCK_MONOTONIC, &until)) {
            for (volatile int k = 0; k < 20000; k++) {
            }
        }
        funlockfile(file);
        sched_yield();
    }
    return arg;
}

static void *prints(void *arg)
{
    for (int i = 0; i < 200; i++) {
        fprintf(file, "%d\n", i);
        sched_yield();
    }
    return arg;
}

static void test_holder_computes_while_others_print(void)
{
    pthread_t t[4];
    file = fopen("/dev/null", "w");
    CHECK(file != NULL);
    for (int i = 0; i < 4; i++) {
        t[i] = start(i % 2 ? prints : holds_and_computes, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    OK(fclose(file));
}

int main(void)
{
    RUN(test_lines_stay_whole);
    RUN(test_holder_blocks_while_others_wait);
    RUN(test_holder_computes_while_others_print);
    return 0;
}
