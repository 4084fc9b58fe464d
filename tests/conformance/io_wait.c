/* SPDX-License-Identifier: MIT */
/*
 * io_wait.c - children, locks of files, FIFOs and queues: results, several threads at once, errors;
 * O_NONBLOCK set while others wait.
 * io_block.c tests that others run meanwhile.
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int hold[2];
static flag_t about_to_call, returned;

/* A child that ends with `status` when the pipe is closed. */
static pid_t child_with(int status)
{
    char c;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(hold[1]);
        _exit(read(hold[0], &c, 1) == 0 ? status : 99);
    }
    return child;
}

static void *waits_for_child(void *child)
{
    int status = -1;
    flag_add(&about_to_call, 1);
    CHECK_EQ(waitpid(*(pid_t *)child, &status, 0), *(pid_t *)child);
    CHECK(WIFEXITED(status));
    flag_add(&returned, 1);
    return (void *)(long)WEXITSTATUS(status);
}

CASE(waitpid_gives_each_thread_its_child)
{
    enum { CHILDREN = 5 };
    pthread_t t[CHILDREN];
    pid_t child[CHILDREN];
    OK(pipe(hold));
    for (int i = 0; i < CHILDREN; i++) {
        child[i] = child_with(i + 1);
    }
    for (int i = 0; i < CHILDREN; i++) {
        t[i] = start(waits_for_child, &child[i]);
    }
    flag_wait(&about_to_call, CHILDREN);
    give_way();
    CHECK_EQ(flag_get(&returned), 0);
    OK(close(hold[1]));
    for (int i = 0; i < CHILDREN; i++) {
        CHECK_EQ((long)join(t[i]), i + 1);
    }
}

static flag_t ended;

static void *waits_for_any(void *sum)
{
    int status;
    pid_t child;
    while ((child = wait(&status)) > 0) {
        CHECK(WIFEXITED(status));
        *(int *)sum += WEXITSTATUS(status);
        flag_add(&ended, 1);
    }
    CHECK_EQ(get_errno(), ECHILD); /* ECHILD also for threads that waited when the last child was
                                    * taken */
    return NULL;
}

CASE(wait_by_several_threads_takes_each_child_once)
{
    enum { CHILDREN = 9, WAITERS = 3 };
    pthread_t t[WAITERS];
    int sum[WAITERS] = {0}, total = 0;
    OK(pipe(hold));
    for (int i = 0; i < CHILDREN; i++) {
        child_with(1 << i % 3);
    }
    for (int i = 0; i < WAITERS; i++) {
        t[i] = start(waits_for_any, &sum[i]);
    }
    give_way();
    OK(close(hold[1]));
    for (int i = 0; i < WAITERS; i++) {
        join(t[i]);
        total += sum[i];
    }
    CHECK_EQ(total, 21);
    CHECK_EQ(flag_get(&ended), CHILDREN);
}

CASE(waitpid_with_wnohang_does_not_wait)
{
    int status;
    OK(pipe(hold));
    pid_t child = child_with(3);
    OK(waitpid(child, &status, WNOHANG));
    OK(waitpid(-1, &status, WNOHANG));
    siginfo_t info = {.si_pid = 77};
    OK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
    CHECK_EQ(info.si_pid, 0);
    OK(close(hold[1]));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WEXITSTATUS(status), 3);
    FAILS(waitpid(child, &status, WNOHANG), ECHILD);
}

static pid_t the_child;

static void *waits_until_it_stops(void *arg)
{
    int status;
    flag_add(&about_to_call, 1);
    CHECK_EQ(waitpid(the_child, &status, WUNTRACED), the_child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    flag_add(&about_to_call, 1);
    CHECK_EQ(waitpid(the_child, &status, WCONTINUED), the_child);
    CHECK(WIFCONTINUED(status));
    flag_add(&about_to_call, 1);
    CHECK_EQ(waitpid(the_child, &status, 0), the_child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return arg;
}

CASE(waitpid_tells_that_a_child_stops_and_continues)
{
    static const int numbers[] = {SIGSTOP, SIGCONT, SIGKILL};
    OK(pipe(hold));
    the_child = child_with(0);
    pthread_t t = start(waits_until_it_stops, NULL);
    for (int i = 0; i < 3; i++) {
        flag_wait(&about_to_call, i + 1);
        give_way();
        OK(kill(the_child, numbers[i]));
    }
    join(t);
}

CASE(waitid_leaves_the_child_with_wnowait)
{
    siginfo_t info = {0};
    int status;
    OK(pipe(hold));
    pid_t child = child_with(4);
    OK(close(hold[1]));
    OK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    CHECK(info.si_pid == child && info.si_status == 4);
    CHECK_EQ(waitpid(child, &status, 0), child);
}

CASE(waits_are_echild_without_children)
{
    siginfo_t info;
    int status;
    FAILS(wait(&status), ECHILD);
    FAILS(waitpid(-1, &status, 0), ECHILD);
    FAILS(waitpid(1, &status, 0), ECHILD);
    FAILS(waitid(P_ALL, 0, &info, WEXITED), ECHILD);
}

CASE(waits_are_einval_for_bad_options)
{
    siginfo_t info;
    int status;
    FAILS(waitpid(-1, &status, 0x4000), EINVAL);
    FAILS(waitid(P_ALL, 0, &info, 0), EINVAL);
    FAILS(waitid((idtype_t)99, 0, &info, WEXITED), EINVAL);
}

/* Locks. */

static int file[2];

static void open_file(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX";
    file[0] = mkstemp(name);
    CHECK(file[0] >= 0);
    file[1] = open(name, O_RDWR);
    CHECK(file[1] >= 0);
    OK(unlink(name));
}

CASE(flock_is_ewouldblock_when_asked)
{
    open_file();
    OK(flock(file[0], LOCK_EX));
    FAILS(flock(file[1], LOCK_EX | LOCK_NB), EWOULDBLOCK);
    FAILS(flock(file[1], LOCK_SH | LOCK_NB), EWOULDBLOCK);
    OK(flock(file[0], LOCK_SH));
    OK(flock(file[1], LOCK_SH | LOCK_NB));
    OK(flock(file[0], LOCK_UN));
    OK(flock(file[1], LOCK_EX | LOCK_NB));
    FAILS(flock(file[0], 77), EINVAL);
    FAILS(flock(-1, LOCK_EX), EBADF);
}

static int inside, most_inside;

static void *locks_in_turn(void *arg)
{
    int mine = *(int *)arg;
    for (int i = 0; i < 50; i++) {
        OK(flock(mine, LOCK_EX));
        inside++;
        most_inside = inside > most_inside ? inside : most_inside;
        sched_yield();
        inside--;
        OK(flock(mine, LOCK_UN));
    }
    return NULL;
}

CASE(flock_excludes_threads_with_files_of_their_own)
{
    open_file();
    pthread_t t[2] = {start(locks_in_turn, &file[0]), start(locks_in_turn, &file[1])};
    join(t[0]);
    join(t[1]);
    CHECK_EQ(most_inside, 1);
}

static void is_locked(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    set_errno(0);
    CHECK_EQ(fcntl(file[0], F_SETLK, &lock), -1);
    CHECK(get_errno() == EAGAIN || get_errno() == EACCES);
    OK(fcntl(file[0], F_GETLK, &lock));
    CHECK_EQ(lock.l_pid, getppid());
}

static void *locks_for_the_process(void *arg)
{
    struct flock lock = {.l_type = F_WRLCK};
    OK(fcntl(file[0], F_SETLKW, &lock));
    return arg;
}

/* The process has them, whichever thread takes them, so its threads do not wait for each other. */
CASE(fcntl_locks_belong_to_the_process)
{
    open_file();
    in_thread(locks_for_the_process, NULL);
    in_thread(locks_for_the_process, NULL);
    locks_for_the_process(NULL);
    in_child(is_locked);
}

/* Two processes, each with a lock that the other wants: the one that closes the cycle gets an
 * error. */
static int answers[2];

static void holds_the_second(void)
{
    struct flock second = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
    struct flock first = {.l_type = F_WRLCK, .l_start = 0, .l_len = 1};
    OK(fcntl(file[0], F_SETLKW, &second));
    CHECK_EQ(write(answers[1], "x", 1), 1);
    int rc = fcntl(file[0], F_SETLKW, &first);
    CHECK(rc == 0 || get_errno() == EDEADLK);
    CHECK_EQ(write(answers[1], rc == 0 ? "y" : "d", 1), 1);
}

CASE(fcntl_lock_is_edeadlk_in_a_circle)
{
    char answer;
    struct flock second = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
    struct flock first = {.l_type = F_WRLCK, .l_start = 0, .l_len = 1};
    open_file();
    OK(pipe(answers));
    OK(fcntl(file[0], F_SETLKW, &first));
    pid_t child = child_start(holds_the_second);
    CHECK_EQ(read(answers[0], &answer, 1), 1);
    int rc = fcntl(file[0], F_SETLKW, &second);
    CHECK(rc == 0 || get_errno() == EDEADLK);
    first.l_type = F_UNLCK;
    OK(fcntl(file[0], F_SETLK, &first));
    CHECK_EQ(read(answers[0], &answer, 1), 1);
    CHECK_EQ(answer, rc == 0 ? 'd' : 'y'); /* one of the two */
    child_ends_well(child);
}

CASE(fcntl_lock_is_an_error_for_bad_arguments)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = -1};
    open_file();
    FAILS(fcntl(file[0], F_SETLKW, &lock), EINVAL);
    lock = (struct flock){.l_type = F_WRLCK};
    FAILS(fcntl(-1, F_SETLKW, &lock), EBADF);
    int end = open("/dev/null", O_RDONLY);
    FAILS(fcntl(end, F_SETLKW, &lock), EBADF); /* not open for writing */
}

/* FIFOs, without a name that could remain: an open descriptor has a path. */
static char path[64];

static void fifo_setup(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX", fifo[64];
    CHECK(mkdtemp(name) != NULL);
    snprintf(fifo, sizeof(fifo), "%s/fifo", name);
    OK(mkfifo(fifo, 0600));
    int inode = open(fifo, O_PATH);
    CHECK(inode >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", inode);
    OK(unlink(fifo));
    OK(rmdir(name));
}

static void *sends_through_fifo(void *arg)
{
    int f = open(path, O_WRONLY);
    CHECK(f >= 0);
    CHECK_EQ(fcntl(f, F_GETFL) & O_NONBLOCK, 0);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(write(f, &i, sizeof(i)), sizeof(i));
    }
    OK(close(f));
    return arg;
}

static void *receives_through_fifo(void *arg)
{
    int f = open(path, O_RDONLY), value, count = 0;
    CHECK(f >= 0);
    CHECK_EQ(fcntl(f, F_GETFL) & O_NONBLOCK, 0);
    while (read(f, &value, sizeof(value)) > 0) {
        CHECK_EQ(value, count++);
    }
    CHECK_EQ(count, 1000);
    OK(close(f)); /* else the next writer would find a reader */
    return arg;
}

CASE(fifo_is_opened_by_reader_and_writer_together)
{
    fifo_setup();
    pthread_t r = start(receives_through_fifo, NULL), w = start(sends_through_fifo, NULL);
    join(r);
    join(w);
    w = start(sends_through_fifo, NULL);
    r = start(receives_through_fifo, NULL);
    join(r);
    join(w);
}

CASE(fifo_is_enxio_without_a_reader_when_nonblocking)
{
    fifo_setup();
    FAILS(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
    int r = open(path, O_RDONLY | O_NONBLOCK); /* it does not wait */
    CHECK(r >= 0);
    int w = open(path, O_WRONLY | O_NONBLOCK);
    CHECK(w >= 0);
    FAILS(read(r, &w, 1), EAGAIN);
}

CASE(open_is_an_error_for_bad_paths)
{
    FAILS(open("/no-such-file", O_RDONLY), ENOENT);
    FAILS(open("/dev/null/x", O_RDONLY), ENOTDIR);
    FAILS(open("/", O_WRONLY), EISDIR);
    FAILS(open("/dev/null", O_RDONLY | O_CREAT | O_EXCL, 0600), EEXIST);
    FAILS(openat(-1, "x", O_RDONLY), EBADF);
}

/* The mode is the third argument, and the umask holds. */
CASE(open_creates_with_the_mode)
{
    struct stat s;
    char name[] = "/tmp/pirn-conformance-XXXXXX", made[64];
    CHECK(mkdtemp(name) != NULL);
    snprintf(made, sizeof(made), "%s/file", name);
    umask(027);
    int f = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    unlink(made);
    rmdir(name);
    OK(fstat(f, &s));
    CHECK_EQ(s.st_mode & 0777, 0640);
    CHECK(fcntl(f, F_GETFD) & FD_CLOEXEC);
}

/* Shells. */

static void *calls_system(void *arg)
{
    int status = system("exit 3");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return arg;
}

CASE(system_by_several_threads_gives_the_status)
{
    pthread_t t[4];
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(calls_system, NULL);
    }
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
    CHECK(system(NULL) != 0);
}

static void *reads_from_shell(void *arg)
{
    char line[32];
    FILE *f = popen("echo line; exit 5", "r");
    CHECK(f != NULL);
    CHECK(fgets(line, sizeof(line), f) == line);
    OK(strcmp(line, "line\n"));
    CHECK(fgets(line, sizeof(line), f) == NULL);
    int status = pclose(f);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return arg;
}

CASE(popen_by_several_threads)
{
    pthread_t t[3];
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(reads_from_shell, NULL);
    }
    for (size_t i = 0; i < COUNT(t); i++) {
        join(t[i]);
    }
}

/* ---- O_NONBLOCK while others wait ---- */

static flag_t reads_begun;

/* 1, or -EAGAIN. */
static void *reads_or_not(void *arg)
{
    char c;
    flag_add(&reads_begun, 1);
    ssize_t n = read(hold[0], &c, 1);
    if (n < 0) {
        CHECK_EQ(get_errno(), EAGAIN);
        return (void *)-1L;
    }
    CHECK_EQ(n, 1);
    return arg;
}

/* False: a reader had not begun to wait, and so did not. */
static bool two_go_on_waiting(void)
{
    pthread_t t[2];
    long sum = 0;
    flag_set(&reads_begun, 0);
    OK(pipe(hold));
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = start(reads_or_not, NULL);
    }
    flag_wait(&reads_begun, 2);
    give_way();
    OK(fcntl(hold[0], F_SETFL, O_NONBLOCK));
    CHECK_EQ(write(hold[1], "x", 1), 1);
    give_way(); /* the other one may look, too */
    CHECK_EQ(write(hold[1], "x", 1), 1);
    for (size_t i = 0; i < COUNT(t); i++) {
        sum += (long)join(t[i]);
    }
    OK(close(hold[0]));
    OK(close(hold[1]));
    return sum == 0;
}

/* It counts for calls that begin later. */
CASE(reads_go_on_waiting_when_o_nonblock_is_set)
{
    unsigned tries = 0;
    while (!two_go_on_waiting()) {
        CHECK(++tries < 100);
    }
}
