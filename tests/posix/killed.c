/* SPDX-License-Identifier: MIT */
/*
 * killed.c - robust mutexes between processes, one of which is killed again and again, while
 * threads of both take the mutexes. The next owner must learn of it if the data are inconsistent,
 * and nobody may wait for ever.
 *
 *     killed [PROGRAM]           PROGRAM is this program, linked with other threads
 *     killed --peer AREA         the process that is killed
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
#include "common/options.h"

#define THREADS 3
#define MUTEXES 3
#define KILLS 40

extern char **environ;

static struct area {
    struct {
        pthread_mutex_t mutex;
        long first, second; /* the same, unless somebody is between them */
    } each[MUTEXES];
    long turns; /* of the process that is killed */
} * area;

static char area_name[64];
static bool is_peer;
static bool stop;
static long repaired;

static void area_open(bool new)
{
    int fd = shm_open(area_name, O_RDWR | (new ? O_CREAT | O_EXCL : 0), 0600);
    CHECK(fd >= 0);
    OK(ftruncate(fd, sizeof(*area)));
    area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(area != MAP_FAILED);
    close(fd);
}

/* Lock it, and repair what it guards. */
static void take(int i)
{
    pthread_mutex_t *m = &area->each[i].mutex;
    int error = pthread_mutex_lock(m);
    if (error == EOWNERDEAD) {
        area->each[i].second = area->each[i].first;
        OK(pthread_mutex_consistent(m));
        __atomic_add_fetch(&repaired, 1, __ATOMIC_RELAXED);
    } else {
        OK(error);
    }
    CHECK_EQ(area->each[i].first, area->each[i].second);
}

static void *takes_turns(void *arg)
{
    for (unsigned turn = (unsigned)(long)arg; !__atomic_load_n(&stop, __ATOMIC_RELAXED); turn++) {
        int i = (int)(turn % MUTEXES);
        take(i);
        area->each[i].first++;
        if (turn % 7 == 0) {
            sched_yield();
        }
        area->each[i].second++;
        OK(pthread_mutex_unlock(&area->each[i].mutex));
        if (is_peer) {
            __atomic_add_fetch(&area->turns, 1, __ATOMIC_RELAXED);
        } else {
            usleep(100); /* the other process shall have its turns */
        }
    }
    return NULL;
}

static void start_all(pthread_t *t)
{
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(takes_turns, (void *)i);
    }
}

static void join_all(const pthread_t *t)
{
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

/* Until it is killed. */
static void peer(void)
{
    pthread_t t[THREADS];
    is_peer = true;
    area_open(false);
    start_all(t);
    join_all(t);
}

static void kill_one(const char *program, long turns)
{
    pid_t pid;
    int status;
    char *argv[] = {"killed", "--peer", area_name, NULL};
    long until = __atomic_load_n(&area->turns, __ATOMIC_RELAXED) + turns;
    OK(posix_spawn(&pid, program, NULL, NULL, argv, environ));
    while (__atomic_load_n(&area->turns, __ATOMIC_RELAXED) < until) {
        CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
        usleep(100);
    }
    OK(kill(pid, SIGKILL));
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(100);
    }
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (int i = 0; i < MUTEXES; i++) { /* each can be had */
        take(i);
        OK(pthread_mutex_unlock(&area->each[i].mutex));
    }
}

static void mutexes_init(void)
{
    static const int types[MUTEXES] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK,
                                       PTHREAD_MUTEX_RECURSIVE};
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    for (int i = 0; i < MUTEXES; i++) {
        OK(pthread_mutexattr_settype(&a, types[i]));
        OK(pthread_mutex_init(&area->each[i].mutex, &a));
    }
    OK(pthread_mutexattr_destroy(&a));
}

int main(int argc, char **argv)
{
    const char *name = NULL;
    const struct option_spec options[] = {
        option_text("peer", "AREA", &name, "be the one that is killed"), {0}};
    const struct option_page page = {
        .summary =
            "Robust mutexes of this process and of PROGRAM, which is killed again and again.",
        .operand = "[PROGRAM]",
        .options = options};
    const char *operand = options_parse(argc, argv, &page)[0];
    const char *program = operand != NULL ? operand : "/proc/self/exe";
    if (name != NULL) {
        snprintf(area_name, sizeof(area_name), "%s", name);
        peer();
        return 1;
    }
    pthread_t t[THREADS];
    snprintf(area_name, sizeof(area_name), "/pirn-killed-%d", (int)getpid());
    area_open(true);
    mutexes_init();
    start_all(t);
    for (int i = 0; i < KILLS; i++) {
        kill_one(program, 1 + (long)i * i);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    join_all(t);
    for (int i = 0; i < MUTEXES; i++) {
        OK(pthread_mutex_destroy(&area->each[i].mutex));
    }
    OK(shm_unlink(area_name));
    printf("%d killed, %ld mutexes repaired\n", KILLS, repaired);
    return 0;
}
