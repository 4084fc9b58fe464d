/* SPDX-License-Identifier: MIT */
/* calls_process.c - calls of children, files, queues and streams; see calls.h. */
#include "calls.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char buffer[65536];
static int fd = -1, other_fd = -1; /* the call's descriptor, and that of `satisfy` */
static pid_t child;

static void pipe_setup(void)
{
    int ends[2];
    OK(pipe(ends));
    fd = ends[0];
    other_fd = ends[1];
}

/* Children: the child ends when the pipe is closed. */

static void child_setup(void)
{
    pipe_setup();
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(other_fd);
        _exit(read(fd, buffer, 1) == 0 ? 0 : 1);
    }
    close(fd);
}

static void end_child(void)
{
    close(other_fd);
}

static int status_zero(long result, int status)
{
    int error = gives(result, child);
    CHECK(error != 0 || status == 0);
    return error;
}

static int run_wait(void)
{
    int status = -1;
    pid_t ended = wait(&status);
    return status_zero(ended, status);
}
static int run_wait3(void)
{
    int status = -1;
    pid_t ended = wait3(&status, 0, NULL);
    return status_zero(ended, status);
}
static int run_wait4(void)
{
    int status = -1;
    struct rusage usage;
    pid_t ended = wait4(child, &status, 0, &usage);
    return status_zero(ended, status);
}
static int run_waitpid(void)
{
    int status = -1;
    pid_t ended = waitpid(child, &status, 0);
    return status_zero(ended, status);
}
static int run_waitid(void)
{
    siginfo_t info = {0};
    int error = gives(waitid(P_PID, (id_t)child, &info, WEXITED), 0);
    CHECK(error != 0 || (info.si_pid == child && info.si_code == CLD_EXITED));
    return error;
}

/* The shell waits for a line on the standard input. */
static void shell_setup(void)
{
    pipe_setup();
    CHECK_EQ(dup2(fd, STDIN_FILENO), STDIN_FILENO);
}

static void send_line(void)
{
    CHECK_EQ(write(other_fd, "x\n", 2), 2);
}

static FILE *stream;

static void popen_setup(void)
{
    shell_setup();
    stream = popen("read line", "r");
    CHECK(stream != NULL);
}

static int run_system(void)
{
    return gives(system("read line"), 0);
}
static int run_pclose(void)
{
    return gives(pclose(stream), 0);
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

static void open_writer(void)
{
    other_fd = open(path, O_WRONLY);
    CHECK(other_fd >= 0);
}

static void open_reader(void)
{
    other_fd = open(path, O_RDONLY);
    CHECK(other_fd >= 0);
}

static int run_open_reader(void)
{
    return error_of(open(path, O_RDONLY));
}
static int run_open_writer(void)
{
    return error_of(open(path, O_WRONLY));
}
static int run_openat(void)
{
    return error_of(openat(AT_FDCWD, path, O_RDONLY));
}
static int run_fopen(void)
{
    return fopen(path, "r") != NULL ? 0 : get_errno();
}

/* Locks of files. */

static void file_setup(void)
{
    char name[] = "/tmp/pirn-conformance-XXXXXX";
    fd = mkstemp(name);
    CHECK(fd >= 0);
    other_fd = open(name, O_RDWR);
    CHECK(other_fd >= 0);
    OK(unlink(name));
}

static void flock_setup(void)
{
    file_setup();
    OK(flock(other_fd, LOCK_EX));
}

static void flock_end(void)
{
    OK(flock(other_fd, LOCK_UN));
}

static void description_lock(short type)
{
    struct flock lock = {.l_type = type};
    OK(fcntl(other_fd, F_OFD_SETLK, &lock));
}

static void description_lock_setup(void)
{
    file_setup();
    description_lock(F_WRLCK);
}

static void description_unlock(void)
{
    description_lock(F_UNLCK);
}

/* Another process holds it until the pipe is closed. */
static void process_lock_setup(void)
{
    int sent[2], hold[2];
    file_setup();
    OK(pipe(sent));
    OK(pipe(hold));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(hold[1]);
        OK(lockf(fd, F_LOCK, 0));
        CHECK_EQ(write(sent[1], "x", 1), 1);
        _exit(read(hold[0], buffer, 1) == 0 ? 0 : 1);
    }
    CHECK_EQ(read(sent[0], buffer, 1), 1);
    close(hold[0]);
    other_fd = hold[1];
}

static int run_flock(void)
{
    return gives(flock(fd, LOCK_EX), 0);
}
static int run_description_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    return gives(fcntl(fd, F_OFD_SETLKW, &lock), 0);
}
static int run_process_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    return gives(fcntl(fd, F_SETLKW, &lock), 0);
}
static int run_lockf(void)
{
    return gives(lockf(fd, F_LOCK, 0), 0);
}

/* Queues. */

static mqd_t queue;

static void queue_open(bool full)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(path, sizeof(path), "/pirn-conformance-%d", (int)getpid());
    queue = mq_open(path, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
    if (queue == (mqd_t)-1 && get_errno() == ENOSYS) {
        case_unsupported("no message queues (ENOSYS)");
    }
    CHECK(queue != (mqd_t)-1);
    OK(mq_unlink(path));
    if (full) {
        OK(mq_send(queue, "x", 1, 0));
    }
}

static void queue_setup(void)
{
    queue_open(false);
}

static void full_queue_setup(void)
{
    queue_open(true);
}

static void queue_send(void)
{
    OK(mq_send(queue, "x", 1, 0));
}

static void queue_receive(void)
{
    CHECK_EQ(mq_receive(queue, buffer, 8, NULL), 1);
}

static int run_mq_receive(void)
{
    return gives(mq_receive(queue, buffer, 8, NULL), 1);
}
static int run_mq_timedreceive(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    return gives(mq_timedreceive(queue, buffer, 8, NULL, &at), 1);
}
static int run_mq_send(void)
{
    return gives(mq_send(queue, "x", 1, 0), 0);
}
static int run_mq_timedsend(void)
{
    struct timespec at = after_ms(CLOCK_REALTIME, LONG_MS);
    return gives(mq_timedsend(queue, "x", 1, 0, &at), 0);
}

static int ipc = -1;

struct letter {
    long type;
    char text[1024];
};

static void remove_queue(void)
{
    msgctl(ipc, IPC_RMID, NULL);
}

static void remove_semaphore(void)
{
    semctl(ipc, 0, IPC_RMID);
}

static void ipc_open(int id, void (*remove)(void))
{
    if (id < 0 && get_errno() == ENOSYS) {
        case_unsupported("no System V objects (ENOSYS)");
    }
    CHECK(id >= 0);
    ipc = id;
    OK(atexit(remove));
}

/* Runs while the process has one kernel thread. If it is allowed, the objects end with the
 * process. */
__attribute__((constructor)) static void have_ipc_of_our_own(void)
{
    unshare(CLONE_NEWIPC);
}

static void ipc_setup(void)
{
    ipc_open(msgget(IPC_PRIVATE, 0600), remove_queue);
}

static void full_ipc_setup(void)
{
    static struct letter letter = {.type = 1};
    ipc_setup();
    while (msgsnd(ipc, &letter, sizeof(letter.text), IPC_NOWAIT) == 0) {
    }
    CHECK_EQ(get_errno(), EAGAIN);
}

static void ipc_send(void)
{
    static struct letter letter = {.type = 1};
    OK(msgsnd(ipc, &letter, 1, 0));
}

static void ipc_receive(void)
{
    static struct letter letter;
    CHECK_EQ(msgrcv(ipc, &letter, sizeof(letter.text), 0, 0), sizeof(letter.text));
}

static int run_msgrcv(void)
{
    static struct letter letter;
    return gives(msgrcv(ipc, &letter, sizeof(letter.text), 0, 0), 1);
}
static int run_msgsnd(void)
{
    static struct letter letter = {.type = 1};
    return gives(msgsnd(ipc, &letter, 1, 0), 0);
}

static void semaphore_setup(void)
{
    ipc_open(semget(IPC_PRIVATE, 1, 0600), remove_semaphore);
}

static void semaphore_up(void)
{
    struct sembuf up = {.sem_op = 1};
    OK(semop(ipc, &up, 1));
}

static int run_semop(void)
{
    struct sembuf down = {.sem_op = -1};
    return gives(semop(ipc, &down, 1), 0);
}
static int run_semtimedop(void)
{
    struct sembuf down = {.sem_op = -1};
    struct timespec time = {.tv_sec = LONG_MS / 1000};
    return gives(semtimedop(ipc, &down, 1, &time), 0);
}

/* Streams on a pipe. */

static void stream_setup(void)
{
    pipe_setup();
    stream = fdopen(fd, "r");
    CHECK(stream != NULL);
}

static void full_stream_setup(void)
{
    int ends[2];
    OK(pipe(ends));
    other_fd = ends[0];
    OK(fcntl(ends[1], F_SETFL, O_NONBLOCK));
    for (size_t n = sizeof(buffer); n > 0; n /= 2) {
        while (write(ends[1], buffer, n) > 0) {
        }
    }
    OK(fcntl(ends[1], F_SETFL, 0));
    stream = fdopen(ends[1], "w");
    CHECK(stream != NULL);
}

static void take_much(void)
{
    CHECK(read(other_fd, buffer, sizeof(buffer)) > 0);
}

static int unless(bool good)
{
    return good ? 0 : get_errno();
}

static int run_fgetc(void)
{
    return unless(fgetc(stream) == 'x');
}
static int run_fgets(void)
{
    char line[8];
    return unless(fgets(line, sizeof(line), stream) == line && strcmp(line, "x\n") == 0);
}
static int run_fread(void)
{
    return unless(fread(buffer, 1, 2, stream) == 2);
}
static int run_getline(void)
{
    char *line = NULL;
    size_t size = 0;
    return unless(getline(&line, &size, stream) == 2);
}
static int run_fscanf(void)
{
    char word[8];
    return unless(fscanf(stream, "%7s", word) == 1);
}
static int run_fflush(void)
{
    CHECK(fputs("text", stream) >= 0);
    return unless(fflush(stream) == 0);
}
static int run_fwrite(void)
{
    static const char text[2 * BUFSIZ];
    return unless(fwrite(text, 1, sizeof(text), stream) == sizeof(text));
}
static int run_fprintf(void)
{
    OK(setvbuf(stream, NULL, _IONBF, 0));
    return unless(fprintf(stream, "%d", 5) == 1);
}

static const struct call calls[] = {
    {"wait", child_setup, run_wait, end_child, RESTARTS},
    {"wait3", child_setup, run_wait3, end_child, RESTARTS},
    {"wait4", child_setup, run_wait4, end_child, RESTARTS},
    {"waitpid", child_setup, run_waitpid, end_child, RESTARTS},
    {"waitid", child_setup, run_waitid, end_child, RESTARTS},
    {"system", shell_setup, run_system, send_line, HIDDEN},
    {"pclose", popen_setup, run_pclose, send_line, HIDDEN},
    {"open_fifo_to_read", fifo_setup, run_open_reader, open_writer, RESTARTS},
    {"open_fifo_to_write", fifo_setup, run_open_writer, open_reader, RESTARTS},
    {"openat_fifo", fifo_setup, run_openat, open_writer, RESTARTS},
    {"fopen_fifo", fifo_setup, run_fopen, open_writer, RESTARTS},
    {"flock", flock_setup, run_flock, flock_end, RESTARTS},
    {"fcntl_lock_of_description", description_lock_setup, run_description_lock, description_unlock,
     RESTARTS},
    {"fcntl_lock_of_process", process_lock_setup, run_process_lock, end_child, RESTARTS},
    {"lockf", process_lock_setup, run_lockf, end_child, RESTARTS},
    {"mq_receive", queue_setup, run_mq_receive, queue_send, RESTARTS},
    {"mq_timedreceive", queue_setup, run_mq_timedreceive, queue_send, RESTARTS},
    {"mq_send", full_queue_setup, run_mq_send, queue_receive, RESTARTS},
    {"mq_timedsend", full_queue_setup, run_mq_timedsend, queue_receive, RESTARTS},
    {"msgrcv", ipc_setup, run_msgrcv, ipc_send, ALWAYS_EINTR},
    {"msgsnd", full_ipc_setup, run_msgsnd, ipc_receive, ALWAYS_EINTR},
    {"semop", semaphore_setup, run_semop, semaphore_up, ALWAYS_EINTR},
    {"semtimedop", semaphore_setup, run_semtimedop, semaphore_up, ALWAYS_EINTR},
    {"fgetc", stream_setup, run_fgetc, send_line, RESTARTS},
    {"fgets", stream_setup, run_fgets, send_line, RESTARTS},
    {"fread", stream_setup, run_fread, send_line, RESTARTS},
    {"getline", stream_setup, run_getline, send_line, RESTARTS},
    {"fscanf", stream_setup, run_fscanf, send_line, RESTARTS},
    {"fflush", full_stream_setup, run_fflush, take_much, RESTARTS},
    {"fwrite", full_stream_setup, run_fwrite, take_much, RESTARTS},
    {"fprintf", full_stream_setup, run_fprintf, take_much, RESTARTS},
};

const struct call_table process_calls = {calls, COUNT(calls)};
