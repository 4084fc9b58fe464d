/* SPDX-License-Identifier: MIT */
/* stdio.c - streams and threads: each call is atomic; flockfile holds a stream over several. */
#include "harness.h"

static FILE *file;

static void *tries(void *arg)
{
    (void)arg;
    int error = ftrylockfile(file);
    if (error == 0) {
        funlockfile(file);
    }
    return (void *)(long)(error != 0);
}

static void open_file(void)
{
    file = tmpfile();
    CHECK(file != NULL);
}

CASE(ftrylockfile_fails_when_another_thread_holds_it)
{
    NOT_SANITIZED("threads share TLS in these builds");
    open_file();
    flockfile(file);
    CHECK_EQ((long)in_thread(tries, NULL), 1);
    funlockfile(file);
    CHECK_EQ((long)in_thread(tries, NULL), 0);
}

CASE(flockfile_counts)
{
    NOT_SANITIZED("threads share TLS in these builds");
    open_file();
    for (int i = 0; i < 3; i++) {
        flockfile(file);
        OK(ftrylockfile(file));
    }
    for (int i = 0; i < 6; i++) {
        CHECK_EQ((long)in_thread(tries, NULL), 1);
        funlockfile(file);
    }
    CHECK_EQ((long)in_thread(tries, NULL), 0);
}

static flag_t waiting, got;

static void *locks(void *arg)
{
    flag_set(&waiting, 1);
    flockfile(file);
    flag_set(&got, 1);
    funlockfile(file);
    return arg;
}

CASE(flockfile_waits)
{
    NOT_SANITIZED("threads share TLS in these builds");
    open_file();
    flockfile(file);
    pthread_t t = start(locks, NULL);
    flag_wait(&waiting, 1);
    give_way();
    CHECK_EQ(flag_get(&got), 0);
    funlockfile(file);
    join(t);
    CHECK_EQ(flag_get(&got), 1);
}

static void *writes_words(void *arg)
{
    for (int i = 0; i < 200; i++) {
        flockfile(file);
        for (const char *c = arg; *c != '\0'; c++) {
            putc_unlocked(*c, file);
            if (i % 20 == 0) {
                sched_yield();
            }
        }
        putc_unlocked('\n', file);
        funlockfile(file);
    }
    return NULL;
}

static const char *const words[] = {"alpha", "beta", "gamma", "delta"};

static void check_lines(int want)
{
    char line[64];
    int count[COUNT(words)] = {0}, total = 0;
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        bool known = false;
        for (size_t i = 0; i < COUNT(words); i++) {
            if (strcmp(line, words[i]) == 0) {
                known = true;
                count[i]++;
            }
        }
        CHECK(known);
        total++;
    }
    CHECK_EQ(total, want * (int)COUNT(words));
    for (size_t i = 0; i < COUNT(words); i++) {
        CHECK_EQ(count[i], want);
    }
}

static void all_write(void *(*fn)(void *))
{
    pthread_t t[COUNT(words)];
    open_file();
    for (size_t i = 0; i < COUNT(words); i++) {
        t[i] = start(fn, (void *)words[i]);
    }
    for (size_t i = 0; i < COUNT(words); i++) {
        join(t[i]);
    }
}

CASE(flockfile_keeps_calls_together)
{
    NOT_SANITIZED("threads share TLS in these builds");
    all_write(writes_words);
    check_lines(200);
}

static void *prints_words(void *arg)
{
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(fprintf(file, "%s\n", (char *)arg), (int)strlen(arg) + 1);
        if (i % 16 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

CASE(each_call_is_atomic)
{
    all_write(prints_words);
    check_lines(500);
}

static flag_t sum, characters;

static void *reads_characters(void *arg)
{
    int c;
    while ((c = getc(file)) != EOF) {
        flag_add(&sum, c);
        flag_add(&characters, 1);
        if (c % 8 == 0) {
            sched_yield();
        }
    }
    return arg;
}

CASE(each_character_is_read_once)
{
    enum { N = 5000 };
    pthread_t t[4];
    int want = 0;
    open_file();
    for (int i = 0; i < N; i++) {
        CHECK_EQ(putc(i % 100, file), i % 100);
        want += i % 100;
    }
    rewind(file);
    for (int i = 0; i < 4; i++) {
        t[i] = start(reads_characters, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&characters), N);
    CHECK_EQ(flag_get(&sum), want);
}

CASE(unlocked_calls_of_the_holder)
{
    open_file();
    flockfile(file);
    CHECK_EQ(putc_unlocked('a', file), 'a');
    CHECK_EQ(putc('b', file), 'b'); /* locks again, which the holder may */
    rewind(file);
    CHECK_EQ(getc_unlocked(file), 'a');
    CHECK_EQ(getc(file), 'b');
    CHECK_EQ(getc_unlocked(file), EOF);
    funlockfile(file);
    FILE *out = stdout;
    flockfile(out);
    CHECK_EQ(putchar_unlocked('\n'), '\n');
    funlockfile(out);
}

/* Threads open and close streams: the list of all streams is a lock, too. */
static void *opens_and_closes(void *arg)
{
    for (int i = 0; i < 50; i++) {
        FILE *own = fopen("/dev/null", "w");
        CHECK(own != NULL);
        CHECK(fputs("text", own) >= 0);
        if (i % 8 == 0) {
            OK(fflush(NULL));
            sched_yield();
        }
        OK(fclose(own));
    }
    return arg;
}

CASE(streams_are_opened_and_closed_by_threads)
{
    pthread_t t[4];
    open_file();
    for (int i = 0; i < 4; i++) {
        t[i] = start(opens_and_closes, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
}
