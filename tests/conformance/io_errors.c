/* SPDX-License-Identifier: MIT */
/* io_errors.c - the errors of reading and writing, at once and after a wait. */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

static unsigned char out[PIPE_BUF], in[PIPE_BUF];
static int fd[2];
static flag_t about_to_call;

static void *is_epipe(void *arg)
{
    flag_add(&about_to_call, 1);
    FAILS(write(fd[1], "x", 1), EPIPE);
    return arg;
}

static void fill(int end)
{
    OK(fcntl(end, F_SETFL, O_NONBLOCK));
    while (write(end, out, PIPE_BUF) > 0) {
    }
    OK(fcntl(end, F_SETFL, 0));
}

CASE(write_is_epipe_without_a_reader)
{
    signal(SIGPIPE, SIG_IGN);
    OK(pipe(fd));
    OK(close(fd[0]));
    FAILS(write(fd[1], "x", 1), EPIPE);
    struct iovec v = {out, 1};
    FAILS(writev(fd[1], &v, 1), EPIPE);
}

CASE(write_that_waits_is_epipe_when_the_reader_closes)
{
    signal(SIGPIPE, SIG_IGN);
    OK(pipe(fd));
    fill(fd[1]);
    pthread_t t = start(is_epipe, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(close(fd[0]));
    join(t);
}

static pthread_t writer;
static flag_t got_sigpipe;

static void on_sigpipe(int number)
{
    (void)number;
    flag_set(&got_sigpipe, pthread_equal(pthread_self(), writer) ? 1 : 2);
}

/* SIGPIPE goes to the thread that writes. */
CASE(write_without_a_reader_raises_sigpipe_in_its_thread)
{
    NOT_SANITIZED("handlers call the API here");
    struct sigaction action = {.sa_handler = on_sigpipe};
    OK(sigaction(SIGPIPE, &action, NULL));
    OK(pipe(fd));
    fill(fd[1]);
    writer = start(is_epipe, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    OK(close(fd[0]));
    join(writer);
    CHECK_EQ(flag_get(&got_sigpipe), 1);
}

static void dies_of_sigpipe(void)
{
    OK(pipe(fd));
    OK(close(fd[0]));
    CHECK_EQ(write(fd[1], "x", 1), 0);
}

CASE(write_without_a_reader_ends_the_process)
{
    int status;
    pid_t child = child_start(dies_of_sigpipe);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGPIPE);
}

CASE(calls_are_ebadf_for_no_descriptor)
{
    int closed = dup(STDIN_FILENO);
    struct iovec v = {in, 1};
    OK(close(closed));
    for (int i = 0; i < 3; i++) {
        int bad = (int[]){-1, closed, INT_MAX}[i];
        FAILS(read(bad, in, 1), EBADF);
        FAILS(write(bad, out, 1), EBADF);
        FAILS(readv(bad, &v, 1), EBADF);
        FAILS(writev(bad, &v, 1), EBADF);
        FAILS(pread(bad, in, 1, 0), EBADF);
        FAILS(pwrite(bad, out, 1, 0), EBADF);
        FAILS(close(bad), EBADF);
    }
}

CASE(calls_are_ebadf_for_the_wrong_direction)
{
    OK(pipe(fd));
    FAILS(read(fd[1], in, 1), EBADF);
    FAILS(write(fd[0], out, 1), EBADF);
    int null = open("/dev/null", O_WRONLY);
    FAILS(read(null, in, 1), EBADF);
}

/* The kernel detects the bad address during the call. */
static void *nowhere(void)
{
    void *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

CASE(calls_are_efault_for_memory_that_is_not_there)
{
    NOT_SANITIZED("it looks at the memory first");
    OK(pipe(fd));
    FAILS(write(fd[1], nowhere(), 8), EFAULT);
    CHECK_EQ(write(fd[1], "xyz", 3), 3);
    FAILS(read(fd[0], nowhere(), 8), EFAULT);
    FAILS(readv(fd[0], nowhere(), 1), EFAULT);
    CHECK_EQ(read(fd[0], in, 8), 3); /* nothing is lost */
}

static void *is_efault(void *arg)
{
    flag_add(&about_to_call, 1);
    FAILS(read(fd[0], nowhere(), 8), EFAULT);
    return arg;
}

CASE(read_that_waited_is_efault)
{
    NOT_SANITIZED("it looks at the memory first");
    OK(pipe(fd));
    pthread_t t = start(is_efault, NULL);
    flag_wait(&about_to_call, 1);
    give_way();
    CHECK_EQ(write(fd[1], "x", 1), 1);
    join(t);
}

CASE(vectors_are_einval_when_too_many)
{
    static struct iovec v[IOV_MAX + 1];
    OK(pipe(fd));
    FAILS(readv(fd[0], v, IOV_MAX + 1), EINVAL);
    FAILS(writev(fd[1], v, IOV_MAX + 1), EINVAL);
    v[0] = (struct iovec){in, SIZE_MAX};
    v[1] = (struct iovec){in, 1};
    FAILS(writev(fd[1], v, 2), EINVAL);
    CHECK_EQ(write(fd[1], "x", 1), 1);
    FAILS(readv(fd[0], v, 2), EINVAL);
}

CASE(positions_are_espipe_on_a_pipe)
{
    struct iovec v = {in, 1};
    OK(pipe(fd));
    CHECK_EQ(write(fd[1], "x", 1), 1);
    FAILS(pread(fd[0], in, 1, 0), ESPIPE);
    FAILS(pwrite(fd[1], out, 1, 0), ESPIPE);
    FAILS(preadv(fd[0], &v, 1, 0), ESPIPE);
    FAILS(pwritev(fd[1], &v, 1, 0), ESPIPE);
}

CASE(read_is_eisdir_for_a_directory)
{
    int dir = open("/", O_RDONLY);
    FAILS(read(dir, in, 1), EISDIR);
}

static int file_open(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX";
    int f = mkstemp(name);
    CHECK(f >= 0);
    OK(unlink(name));
    return f;
}

CASE(write_is_efbig_above_the_limit)
{
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    OK(setrlimit(RLIMIT_FSIZE, &limit));
    int f = file_open();
    CHECK_EQ(write(f, out, 200), 100);
    FAILS(write(f, out, 1), EFBIG);
}
