/* SPDX-License-Identifier: MIT */
/*
 * io_files.c - ordinary files, which are read completely even if they are not in memory; and
 * reading and writing in a restricted process: a filter of system calls, no descriptor left.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "harness.h"

enum { SIZE = 4 << 20, PART = 1 << 20 };

static char written[SIZE], got[SIZE];

static void *nothing(void *arg)
{
    return arg;
}

/* A file of SIZE bytes in the current folder, without a name. */
static int file_made(void)
{
    char name[] = "./conformance-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    OK(unlink(name));
    for (size_t i = 0; i < SIZE; i++) {
        written[i] = (char)(i * 7 + i / 4096);
    }
    for (size_t done = 0; done < SIZE;) {
        ssize_t put = write(fd, written + done, SIZE - done);
        CHECK(put > 0);
        done += (size_t)put;
    }
    OK(fsync(fd));
    in_thread(nothing, NULL); /* there is a runtime */
    return fd;
}

/* The first part is in memory, the rest is not. */
static void grow_cold(int fd)
{
    struct iovec all = {got, SIZE};
    OK(posix_fadvise(fd, PART, SIZE - PART, POSIX_FADV_DONTNEED));
    OK(posix_fadvise(fd, 0, SIZE, POSIX_FADV_RANDOM));
    long n = syscall(SYS_preadv2, fd, &all, 1, 0L, 0L, 8L /* RWF_NOWAIT */);
    if (n < 0 ? errno != EAGAIN : n == SIZE) {
        case_unsupported("the file system does not tell, or keeps everything in memory");
    }
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    memset(got, 0, SIZE);
}

CASE(read_is_whole_when_a_part_is_not_in_memory)
{
    int fd = file_made();
    for (int i = 0; i < 5; i++) {
        grow_cold(fd);
        CHECK_EQ(read(fd, got, SIZE), SIZE);
        OK(memcmp(got, written, SIZE));
    }
}

CASE(readv_is_whole_when_a_part_is_not_in_memory)
{
    int fd = file_made();
    struct iovec iov[2] = {{got, SIZE / 2}, {got + SIZE / 2, SIZE / 2}};
    for (int i = 0; i < 5; i++) {
        grow_cold(fd);
        CHECK_EQ(readv(fd, iov, 2), SIZE);
        OK(memcmp(got, written, SIZE));
    }
}

CASE(pread_is_whole_when_a_part_is_not_in_memory)
{
    int fd = file_made();
    grow_cold(fd);
    CHECK_EQ(pread(fd, got, SIZE, 0), SIZE);
    OK(memcmp(got, written, SIZE));
}

/* Its number belonged to a pipe before, which is read differently. */
CASE(read_is_whole_when_the_number_was_a_pipe)
{
    int ends[2], fd = file_made();
    char b;
    OK(pipe(ends));
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(read(ends[0], &b, 1), 1);
    CHECK_EQ(dup2(fd, ends[0]), ends[0]);
    grow_cold(ends[0]);
    CHECK_EQ(read(ends[0], got, SIZE), SIZE);
    OK(memcmp(got, written, SIZE));
}

static void *reads_late(void *fd)
{
    usleep(200000); /* the writer fills the pipe and waits, longer than a few ticks */
    for (size_t done = 0; done < PART;) {
        ssize_t n = read(*(int *)fd, got, SIZE);
        CHECK(n > 0);
        done += (size_t)n;
    }
    return NULL;
}

/* An attempt with a closed number says nothing about the file that gets the number. */
CASE(write_is_whole_when_the_number_was_used_while_it_was_closed)
{
    int fd[2];
    in_thread(nothing, NULL);
    OK(pipe(fd));
    OK(close(fd[0]));
    OK(close(fd[1]));
    FAILS(write(fd[1], written, 1), EBADF);
    FAILS(read(fd[0], got, 1), EBADF);
    OK(pipe(fd));
    pthread_t reader = start(reads_late, &fd[0]);
    CHECK_EQ(write(fd[1], written, PART), PART);
    join(reader);
}

CASE(read_of_zeroes_is_whole)
{
    int fd = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(read(fd, got, SIZE), SIZE);
    }
}

/* ---- a filter of system calls ---- */

static void refuse(unsigned answer, unsigned one, unsigned other)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {COUNT(code), code};
    in_thread(nothing, NULL);
    OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) {
        case_unsupported("no filters of system calls here");
    }
}

static int ends[2];

static void *echoes(void *arg)
{
    struct iovec iov = {arg, 8};
    CHECK_EQ(read(ends[0], arg, 4), 4);
    CHECK_EQ(readv(ends[0], &iov, 1), 4);
    return NULL;
}

static void works_under_a_filter(unsigned answer, unsigned one, unsigned other)
{
    char b[8];
    OK(pipe(ends));
    refuse(answer, one, other);
    pthread_t t = start(echoes, b);
    give_way();
    CHECK_EQ(write(ends[1], "some", 4), 4);
    while (b[0] != 's') {
        sched_yield();
    }
    struct iovec iov[2] = {{(char *)"mo", 2}, {(char *)"re", 2}};
    CHECK_EQ(writev(ends[1], iov, 2), 4);
    join(t);
    OK(memcmp(b, "more", 4));
}

CASE(pipes_work_when_a_filter_says_eperm)
{
    works_under_a_filter(EPERM, SYS_preadv2, SYS_pwritev2);
}

CASE(pipes_work_when_a_filter_says_enosys)
{
    works_under_a_filter(ENOSYS, SYS_preadv2, SYS_pwritev2);
}

/* Lists of allowed calls from before Linux 5.11, in containers for instance, lack epoll_pwait2. */
CASE(pipes_work_when_a_filter_refuses_epoll_pwait2)
{
    works_under_a_filter(EPERM, SYS_epoll_pwait2, SYS_epoll_pwait2);
}

CASE(pipes_work_when_a_filter_allows_epoll_wait_alone)
{
#ifdef SYS_epoll_wait
    works_under_a_filter(ENOSYS, SYS_epoll_pwait2, SYS_epoll_pwait);
#else
    case_unsupported("no epoll_wait in this architecture's kernel");
#endif
}

/* ---- no descriptor left ---- */

static void *reads_one(void *arg)
{
    char b = 0;
    CHECK_EQ(read(ends[0], &b, 1), 1);
    return arg;
}

/* The number of kernel threads of the process: its folder needs no descriptor. */
static long tasks(void)
{
    struct stat s;
    OK(stat("/proc/self/task", &s));
    return (long)s.st_nlink - 2;
}

CASE(many_wait_when_no_descriptor_is_left)
{
    enum { READERS = 300 };
    static pthread_t t[READERS];
    struct rlimit limit;
    OK(pipe(ends));
    in_thread(nothing, NULL);
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = (rlim_t)ends[1] + 1;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    FAILS(dup(0), EMFILE);
    for (int i = 0; i < READERS; i++) {
        t[i] = start(reads_one, NULL);
    }
    give_way();
#ifdef ON_PIRN
    CHECK(tasks() < READERS / 2); /* not one for each */
#else
    CHECK(tasks() > 0);
#endif
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(write(ends[1], "x", 1), 1);
    }
    for (int i = 0; i < READERS; i++) {
        join(t[i]);
    }
}
