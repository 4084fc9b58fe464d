/* SPDX-License-Identifier: MIT */
/*
 * identity.c - setuid and its relatives change the ids of the whole process, whatever its kernel
 * threads are doing: computing, waiting in the kernel, ending, being created.
 *
 * Run by root the cases change ids for real. Run by another user, or after root has become one,
 * they show that a refused call changes nothing. Each case is a process.
 */
#include "../posix/check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SOMEBODY 4321
#define THREADS 12

/* ---- the ids of every kernel thread, from the kernel ---- */

struct ids {
    unsigned uid[4], gid[4]; /* real, effective, saved, file system */
    char groups[256];
};

static int tasks; /* /proc/self/task, also when that path is out of reach */

static bool ids_of(const char *tid, struct ids *ids)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "%s/status", tid);
    int fd = openat(tasks, path, O_RDONLY);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    int found = 0;
    if (f == NULL) {
        return false; /* ended */
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        unsigned *u = ids->uid, *g = ids->gid;
        found += sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4;
        found += sscanf(line, "Gid: %u %u %u %u", &g[0], &g[1], &g[2], &g[3]) == 4;
        if (strncmp(line, "Groups:", 7) == 0) {
            snprintf(ids->groups, sizeof(ids->groups), "%.250s", line + 7);
            found++;
        }
    }
    fclose(f);
    return found == 3;
}

static bool agree(const struct ids *a, const struct ids *b)
{
    return memcmp(a->uid, b->uid, sizeof(a->uid)) == 0 &&
           memcmp(a->gid, b->gid, sizeof(a->gid)) == 0 && strcmp(a->groups, b->groups) == 0;
}

/* A thread that is about to end is not asked to change (the C library does not either), but can be
 * visible for a while: it must disappear soon, unchanged. */
static bool ends_as_it_is(const char *tid, const struct ids *was)
{
    struct ids now;
    for (int i = 0; i < 200; i++) {
        if (!ids_of(tid, &now)) {
            return true;
        }
        if (!agree(was, &now)) {
            return false; /* it has changed too late */
        }
        usleep(10000);
    }
    return false;
}

/* All kernel threads have the caller's ids, and at least `least` threads were checked. */
static struct ids all_agree(int least)
{
    struct ids mine, other;
    char self[32];
    int seen = 0;
    snprintf(self, sizeof(self), "%ld", syscall(SYS_gettid));
    memset(&mine, 0, sizeof(mine));
    CHECK(ids_of(self, &mine));
    DIR *dir = fdopendir(dup(tasks));
    CHECK(dir != NULL);
    rewinddir(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.' && ids_of(e->d_name, &other)) {
            seen++;
            CHECK(agree(&mine, &other) || ends_as_it_is(e->d_name, &other));
        }
    }
    closedir(dir);
    CHECK(seen >= least);
    return mine;
}

/* ---- actions of the other threads meanwhile ---- */

static flag_t over;
static int never[2];

static void *computes(void *arg)
{
    while (!flag_get(&over)) {
        for (volatile int i = 0; i < 1000; i++) {
        }
        sched_yield();
    }
    return arg;
}

static void *sleeps(void *arg)
{
    while (!flag_get(&over)) {
        usleep(300);
    }
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *creates(void *arg)
{
    while (!flag_get(&over)) {
        join(start(nothing, NULL));
    }
    return arg;
}

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*join_fn)(pthread_t, void **);
static create_fn kernel_create;
static join_fn kernel_join;

/* Foreign kernel threads come and go, created by another foreign thread. */
static void *creates_kernel_threads(void *arg)
{
    while (!flag_get(&over)) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++) {
            OK(kernel_create(&t[i], NULL, nothing, NULL));
        }
        for (int i = 0; i < 4; i++) {
            OK(kernel_join(t[i], NULL));
        }
    }
    return arg;
}

static void *waits_in_the_kernel(void *arg)
{
    char c;
    CHECK_EQ(read(never[0], &c, 1), 0); /* not EINTR: restarted */
    return arg;
}

/* Blocks all signals that can be blocked. */
static void *hears_nothing(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
    return waits_in_the_kernel(arg);
}

static pthread_t threads[THREADS], makers[3];

static void others_start(void)
{
    static void *(*const does[])(void *) = {computes, sleeps, creates};
    void *libc = dlopen("libpthread.so.0", RTLD_NOW); /* or what it depends on */
    CHECK(libc != NULL);
    *(void **)&kernel_create = dlsym(libc, "pthread_create");
    *(void **)&kernel_join = dlsym(libc, "pthread_join");
    tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    CHECK(tasks >= 0);
    OK(pipe(never));
    OK(kernel_create(&makers[0], NULL, creates_kernel_threads, NULL));
    OK(kernel_create(&makers[1], NULL, waits_in_the_kernel, NULL));
    OK(kernel_create(&makers[2], NULL, hears_nothing, NULL));
    for (int i = 0; i < THREADS; i++) {
        threads[i] = start(does[i % 3], NULL);
    }
}

static void others_end(void)
{
    flag_set(&over, 1);
    close(never[1]);
    for (int i = 0; i < THREADS; i++) {
        join(threads[i]);
    }
    for (int i = 0; i < 3; i++) {
        OK(kernel_join(makers[i], NULL));
    }
}

/* ---- cases ---- */

/* As an ordinary user: only the real, effective and saved id can be chosen. */
static void refused_changes_nothing(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    struct ids before = all_agree(4);
    FAILS(setuid(0), EPERM);
    FAILS(seteuid(0), EPERM);
    FAILS(setreuid(0, 0), EPERM);
    FAILS(setresuid((uid_t)-1, (uid_t)-1, 0), EPERM);
    FAILS(setgid(0), EPERM);
    FAILS(setegid(0), EPERM);
    FAILS(setregid(0, (gid_t)-1), EPERM);
    FAILS(setresgid(0, 0, 0), EPERM);
    FAILS(setgroups(1, &gid), EPERM);
    FAILS(seteuid((uid_t)-1), EINVAL);
    FAILS(setegid((gid_t)-1), EINVAL);
    OK(setuid(uid));
    OK(seteuid(uid));
    OK(setreuid(uid, uid));
    OK(setresuid(uid, uid, uid));
    OK(setgid(gid));
    OK(setegid(gid));
    OK(setregid(gid, gid));
    OK(setresgid(gid, gid, gid));
    struct ids after = all_agree(4);
    CHECK_EQ(memcmp(before.uid, after.uid, sizeof(before.uid)), 0);
    CHECK_EQ(memcmp(before.gid, after.gid, sizeof(before.gid)), 0);
    CHECK_EQ(strcmp(before.groups, after.groups), 0);
}

static void *changes_in_a_thread(void *arg)
{
    for (int i = 0; i < 20; i++) {
        OK(setegid(SOMEBODY + (i & 1)));
        sched_yield();
    }
    OK(setegid(SOMEBODY));
    return arg;
}

static void root_changes_everything(void)
{
    const gid_t groups[] = {7, 77, 777};
    others_start();
    all_agree(4);
    OK(setgroups(3, groups));
    struct ids ids = all_agree(4);
    CHECK(strstr(ids.groups, "7 77 777") != NULL);
    OK(initgroups("root", 99));
    CHECK(strstr(all_agree(4).groups, "99") != NULL);
    for (int i = 0; i < 40; i++) {
        OK(setegid(SOMEBODY));
        OK(seteuid(SOMEBODY + i));
        ids = all_agree(4);
        CHECK_EQ(ids.uid[1], SOMEBODY + i);
        CHECK_EQ(ids.uid[0], 0);
        CHECK_EQ(ids.gid[1], SOMEBODY);
        OK(seteuid(0));
        CHECK_EQ(all_agree(4).uid[1], 0);
    }
    /* several at once */
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(changes_in_a_thread, NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    CHECK_EQ(all_agree(4).gid[1], SOMEBODY);
    OK(setresgid(SOMEBODY, SOMEBODY, SOMEBODY));
    OK(setgroups(0, NULL));
    OK(setuid(SOMEBODY));
    ids = all_agree(4);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(ids.uid[i], SOMEBODY);
        CHECK_EQ(ids.gid[i], SOMEBODY);
    }
    CHECK_EQ(strspn(ids.groups, " \t\n"), strlen(ids.groups));
    refused_changes_nothing();
    others_end();
}

static char place[] = "/tmp/pirn-identity-XXXXXX";

/* In a root directory without /proc, as daemons are. */
static void root_in_an_empty_place(void)
{
    others_start();
    if (chroot(place) != 0 && errno == EPERM) {
        printf("   left out: a filter of system calls refuses chroot\n");
        others_end();
        return;
    }
    OK(chdir("/"));
    OK(setuid(SOMEBODY));
    FAILS(setuid(0), EPERM);
    CHECK_EQ(all_agree(4).uid[1], SOMEBODY);
    others_end();
}

static void anybody_is_refused(void)
{
    if (getuid() == 0) { /* this process has one thread so far */
        OK(setgroups(0, NULL));
        OK(setresgid(SOMEBODY, SOMEBODY, SOMEBODY));
        OK(setresuid(SOMEBODY, SOMEBODY, SOMEBODY));
        prctl(PR_SET_DUMPABLE, 1); /* so that /proc/self belongs to us */
    }
    others_start();
    for (int i = 0; i < 10; i++) {
        refused_changes_nothing();
    }
    others_end();
}

static void run(const char *name, void (*test)(void))
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        test();
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    printf("ok %s\n", name);
}

int main(void)
{
    run("anybody_is_refused", anybody_is_refused);
    if (getuid() != 0) {
        printf("   not root: what root may do is left out\n");
        return 0;
    }
    run("root_changes_everything", root_changes_everything);
    CHECK(mkdtemp(place) != NULL);
    run("root_in_an_empty_place", root_in_an_empty_place);
    OK(rmdir(place));
    return 0;
}
