/* SPDX-License-Identifier: MIT */
/*
 * streams.c - streams of stdio on pipes and sockets, from which threads read while others write:
 * nothing is lost, a wait concerns its thread alone, and errors and signals end calls as in
 * read and write.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/socket.h>
#include <wchar.h>

#include "harness.h"

enum { LINES = 200 };

static int ends[2];
static FILE *in, *out;
static flag_t waiting;

static void opened(int pair[2], FILE **from, FILE **to)
{
    *from = fdopen(pair[0], "r");
    *to = fdopen(pair[1], "w");
    CHECK(*from != NULL && *to != NULL);
}

static void pipe_opened(void)
{
    OK(pipe(ends));
    opened(ends, &in, &out);
}

/* ---- who waits ---- */

static void *gets(void *arg)
{
    char line[64];
    flag_add(&waiting, 1);
    CHECK(fgets(line, sizeof(line), arg) == line);
    OK(strcmp(line, "a line\n"));
    return NULL;
}

CASE(fgets_waits_for_a_line)
{
    pipe_opened();
    pthread_t t = start(gets, in);
    flag_wait(&waiting, 1);
    usleep(2000);
    CHECK_EQ(write(ends[1], "a ", 2), 2);
    usleep(2000);
    CHECK_EQ(write(ends[1], "line\n", 5), 5);
    join(t);
}

CASE(many_threads_wait_in_fgets)
{
    enum { MANY = 100 };
    static pthread_t t[MANY];
    static int pairs[MANY][2];
    for (int i = 0; i < MANY; i++) {
        OK(pipe(pairs[i]));
        t[i] = start(gets, fdopen(pairs[i][0], "r"));
    }
    flag_wait(&waiting, MANY);
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK_EQ(write(pairs[i][1], "a line\n", 7), 7);
        join(t[i]);
    }
}

static void *copies_lines(void *arg)
{
    char *line = NULL;
    size_t room = 0;
    for (int i = 0; i < LINES; i++) {
        CHECK(getline(&line, &room, in) > 0);
        CHECK_EQ(atoi(line), i);
    }
    CHECK_EQ(getline(&line, &room, in), -1);
    CHECK(feof(in) && !ferror(in));
    free(line);
    return arg;
}

CASE(getline_gets_what_fprintf_puts)
{
    pipe_opened();
    pthread_t t = start(copies_lines, NULL);
    for (int i = 0; i < LINES; i++) {
        CHECK(fprintf(out, "%d %0200d\n", i, i) > 0);
        if (i % 3 == 0) {
            OK(fflush(out));
        }
    }
    OK(fclose(out));
    join(t);
}

/* More than a pipe holds, in one call. */
static char much[1 << 20], got[1 << 20];

static void *puts_much(void *arg)
{
    CHECK_EQ(fwrite(much, 1, sizeof(much), out), sizeof(much));
    OK(fclose(out));
    return arg;
}

CASE(fwrite_and_fread_move_more_than_a_pipe_holds)
{
    pipe_opened();
    for (size_t i = 0; i < sizeof(much); i++) {
        much[i] = (char)(i * 11 + i / 300);
    }
    pthread_t t = start(puts_much, NULL);
    usleep(2000);
    CHECK_EQ(fread(got, 1, sizeof(got), in), sizeof(got));
    OK(memcmp(got, much, sizeof(got)));
    CHECK_EQ(fgetc(in), EOF);
    join(t);
}

static void *gets_wide(void *arg)
{
    wchar_t line[16];
    flag_set(&waiting, 1);
    CHECK(fgetws(line, COUNT(line), in) == line);
    CHECK(wcscmp(line, L"wide\n") == 0);
    return arg;
}

CASE(fgetws_waits_for_a_line)
{
    pipe_opened();
    pthread_t t = start(gets_wide, NULL);
    flag_wait(&waiting, 1);
    usleep(2000);
    CHECK_EQ(write(ends[1], "wide\n", 5), 5);
    join(t);
}

static void *scans(void *arg)
{
    int a = 0, b = 0;
    flag_set(&waiting, 1);
    CHECK_EQ(fscanf(in, "%d %d", &a, &b), 2);
    CHECK_EQ(a + b, 42);
    return arg;
}

CASE(fscanf_waits_for_numbers)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    opened(ends, &in, &out);
    pthread_t t = start(scans, NULL);
    flag_wait(&waiting, 1);
    CHECK(fprintf(out, "40 ") > 0);
    OK(fflush(out));
    usleep(2000);
    CHECK(fprintf(out, "2\n") > 0);
    OK(fflush(out));
    join(t);
}

static void *runs_program(void *arg)
{
    char line[16];
    FILE *program = popen("sleep 0.02; echo done", "r");
    CHECK(program != NULL);
    CHECK(fgets(line, sizeof(line), program) == line);
    OK(strcmp(line, "done\n"));
    OK(pclose(program));
    return arg;
}

CASE(fgets_waits_for_a_program)
{
    pthread_t t[4];
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(runs_program, NULL);
    }
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
}

/* ---- one stream, several threads ---- */

enum { WRITERS = 8 };
static pthread_t writers[WRITERS];

static void *puts_lines(void *arg)
{
    for (int i = 0; i < LINES; i++) {
        CHECK(fprintf(out, "%ld:%d:%s\n", (long)arg, i, "some text that fills the pipe") > 0);
    }
    return NULL;
}

static void *joins_writers(void *arg)
{
    for (int i = 0; i < WRITERS; i++) {
        join(writers[i]);
    }
    OK(fclose(out));
    return arg;
}

CASE(lines_of_several_writers_stay_whole)
{
    int next[WRITERS] = {0}, lines = 0;
    char line[128];
    pipe_opened();
    for (long i = 0; i < WRITERS; i++) {
        writers[i] = start(puts_lines, (void *)i);
    }
    pthread_t t = start(joins_writers, NULL);
    for (; fgets(line, sizeof(line), in) != NULL; lines++) {
        int writer = -1, number = -1, end = 0;
        CHECK_EQ(sscanf(line, "%d:%d:some text that fills the pipe%n", &writer, &number, &end), 2);
        CHECK(writer >= 0 && writer < WRITERS && line[end] == '\n');
        CHECK_EQ(number, next[writer]);
        next[writer]++;
    }
    CHECK_EQ(lines, WRITERS * LINES);
    join(t);
}

/* ---- errors and signals ---- */

CASE(fprintf_fails_when_nobody_reads)
{
    pipe_opened();
    signal(SIGPIPE, SIG_IGN);
    OK(fclose(in));
    setbuf(out, NULL);
    FAILS(fputc('x', out) == EOF ? -1 : 0, EPIPE);
    CHECK(ferror(out));
}

static void *fails_without_data(void *arg)
{
    OK(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    FAILS(fgetc(in), EAGAIN);
    CHECK(ferror(in) && !feof(in));
    clearerr(in);
    CHECK_EQ(write(ends[1], "y", 1), 1);
    CHECK_EQ(fgetc(in), 'y');
    return arg;
}

CASE(fgetc_of_a_nonblocking_pipe_fails)
{
    pipe_opened();
    in_thread(fails_without_data, NULL);
}

static flag_t handled;

static void on_signal(int signal)
{
    (void)signal;
    flag_add(&handled, 1);
}

static void *is_interrupted(void *arg)
{
    flag_set(&waiting, 1);
    FAILS(fgetc(in), EINTR);
    CHECK(ferror(in));
    return arg;
}

CASE(fgetc_ends_when_a_handler_has_run)
{
    struct sigaction action = {.sa_handler = on_signal};
    pipe_opened();
    OK(sigaction(SIGUSR1, &action, NULL));
    pthread_t t = start(is_interrupted, NULL);
    flag_wait(&waiting, 1);
    while (pthread_tryjoin_np(t, NULL) == EBUSY) { /* the signal may come before the call */
        OK(pthread_kill(t, SIGUSR1));
        usleep(1000);
    }
}

static void *goes_on(void *arg)
{
    flag_set(&waiting, 1);
    CHECK_EQ(fgetc(in), 'z');
    return arg;
}

CASE(fgetc_goes_on_when_handlers_restart)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pipe_opened();
    OK(sigaction(SIGUSR1, &action, NULL));
    pthread_t t = start(goes_on, NULL);
    flag_wait(&waiting, 1);
    usleep(2000);
    OK(pthread_kill(t, SIGUSR1));
    flag_wait(&handled, 1);
    CHECK_EQ(write(ends[1], "z", 1), 1);
    join(t);
}

static void *nothing(void *arg)
{
    return arg;
}

CASE(position_is_right_after_writing)
{
    out = tmpfile();
    CHECK(out != NULL);
    in_thread(nothing, NULL); /* there is a runtime */
    CHECK_EQ(ftell(out), 0);
    CHECK_EQ(fwrite(much, 1, 100000, out), 100000);
    CHECK_EQ(ftell(out), 100000);
    OK(fseek(out, -5, SEEK_CUR));
    CHECK(fputs("end", out) >= 0);
    OK(fflush(out));
    CHECK_EQ(ftell(out), 99998);
    OK(fseek(out, 0, SEEK_END));
    CHECK_EQ(ftell(out), 100000);
}
