/* SPDX-License-Identifier: MIT */
/*
 * confine.c - runs a command as containers are run, without root and without a container manager:
 *
 *   confine [--filter FILE] [--container [--without proc|sys|shm|mask]... [--shm BYTES]
 *           [--noexec] [--hidepid]] -- COMMAND ARGUMENT...
 *
 * --filter: system calls are filtered (filter.h). --container: user, mount, process, network, IPC,
 * host name and cgroup namespaces, where the command is process 1 with an ordinary user's rights.
 * Its root is the system's, read-only; /proc is new, with files masked and others read-only as
 * Docker does it; /sys is read-only, /dev has a few devices, /dev/shm and /tmp are new and empty.
 * --without: nothing is mounted there, or nothing is masked. --shm: bytes in /dev/shm. --noexec:
 * nor can memory of files there be executed. --hidepid: processes of others cannot be seen.
 *
 * Status: the command's; 128 + the signal that ended it; 2: a wrong call; 77: the system does not
 * let this user make namespaces, and a message says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* <sys/mount.h> and <linux/mount.h> do not go together in glibc before 2.36. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);

#include "filter.h"

#define MS_NOSUID_ 2ul
#define MS_NODEV_ 4ul
#define MS_NOEXEC_ 8ul
#define MS_RDONLY_ 1ul
#define MS_BIND_ 4096ul
#define MS_REC_ 16384ul
#define MS_PRIVATE_ (1ul << 18)
#define MS_REMOUNT_ 32ul

enum { REFUSED = 77 };

static struct {
    const char *filter, *shm;
    bool container, no_proc, no_sys, no_shm, no_mask, noexec, hidepid;
} given = {.shm = "64M"};

static _Noreturn void usage(const char *why)
{
    fprintf(stderr,
            "confine: %s\nusage: confine [--filter FILE] [--container [--without "
            "proc|sys|shm|mask]... [--shm BYTES] [--noexec] [--hidepid]] -- COMMAND ARGUMENT...\n",
            why);
    exit(2);
}

static _Noreturn void refused(const char *what)
{
    fprintf(stderr, "confine: skipped: this system does not allow %s: %s\n", what, strerror(errno));
    exit(REFUSED);
}

static void require(bool ok, const char *what)
{
    if (!ok) {
        refused(what);
    }
}

static void file_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0,
            path);
}

/* User 1000 inside is the caller outside: no capabilities are left after execve. */
static void user_map(unsigned inside)
{
    char text[64];
    unsigned user = getuid(), group = getgid();
    require(unshare(CLONE_NEWUSER) == 0, "user namespaces");
    file_put("/proc/self/setgroups", "deny");
    snprintf(text, sizeof(text), "%u %u 1", inside, user);
    file_put("/proc/self/uid_map", text);
    snprintf(text, sizeof(text), "%u %u 1", inside, group);
    file_put("/proc/self/gid_map", text);
}

static void read_only(const char *path)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    require(syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attr, sizeof(attr)) == 0,
            "read-only mounts (mount_setattr)");
}

static void bind_over(const char *from, const char *path, bool is_read_only)
{
    if (access(path, F_OK) != 0) {
        return;
    }
    require(mount(from, path, NULL, MS_BIND_ | MS_REC_, NULL) == 0, path);
    if (is_read_only) {
        read_only(path);
    }
}

static void proc_make(void)
{
    static const char *const masked[] = {
        "/proc/kcore",      "/proc/keys",        "/proc/latency_stats", "/proc/timer_list",
        "/proc/interrupts", "/proc/timer_stats", "/proc/sched_debug"};
    static const char *const fixed[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                        "/proc/sysrq-trigger"};
    const char *options = given.hidepid ? "hidepid=invisible" : NULL;
    require(mount("proc", "/proc", "proc", MS_NOSUID_ | MS_NODEV_ | MS_NOEXEC_, options) == 0,
            "mounting /proc");
    for (unsigned i = 0; i < sizeof(masked) / sizeof(masked[0]) && !given.no_mask; i++) {
        bind_over("/dev/null", masked[i], false);
    }
    for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && !given.no_mask; i++) {
        bind_over(fixed[i], fixed[i], true);
    }
}

static void empty(const char *path, const char *options, unsigned long flags)
{
    require(mount("tmpfs", path, "tmpfs", MS_NOSUID_ | MS_NODEV_ | flags, options) == 0, path);
}

/* The devices are the system's own. */
static void dev_make(void)
{
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
    char from[64], to[64], options[64];
    int opened[sizeof(devices) / sizeof(devices[0])];
    for (unsigned i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        snprintf(from, sizeof(from), "/dev/%s", devices[i]);
        opened[i] = open(from, O_PATH | O_CLOEXEC);
    }
    empty("/dev", "size=64k,mode=755", 0);
    for (unsigned i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        snprintf(from, sizeof(from), "/proc/self/fd/%d", opened[i]);
        snprintf(to, sizeof(to), "/dev/%s", devices[i]);
        int fd = opened[i] >= 0 ? open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
        if (fd >= 0) {
            close(fd);
            require(mount(from, to, NULL, MS_BIND_, NULL) == 0, to);
        }
    }
    if (!given.no_shm) {
        snprintf(options, sizeof(options), "size=%s,mode=1777", given.shm);
        require(mkdir("/dev/shm", 01777) == 0, "/dev/shm");
        empty("/dev/shm", options, given.noexec ? MS_NOEXEC_ : 0);
    }
}

static void mounts_make(void)
{
    require(mount(NULL, "/", NULL, MS_PRIVATE_ | MS_REC_, NULL) == 0, "private mounts");
    read_only("/");
    dev_make();
    if (!given.no_sys && access("/sys/class", F_OK) == 0) {
        read_only("/sys");
    }
    if (given.no_sys) {
        empty("/sys", "size=4k,mode=555", MS_RDONLY_);
    }
    empty("/tmp", "mode=1777", given.noexec ? MS_NOEXEC_ : 0);
    if (given.no_proc) {
        empty("/proc", "size=4k,mode=555", MS_RDONLY_);
    } else {
        proc_make();
    }
}

static _Noreturn void execute(char **command)
{
    if (given.filter != NULL) {
        filter_install(given.filter);
    }
    execvp(command[0], command);
    fprintf(stderr, "confine: %s: %s\n", command[0], strerror(errno));
    exit(127);
}

static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* In new namespaces, as process 1. If this process ends, the command does, too. The filter's file
 * is opened by its name inside: it must not lie in a folder that is new. */
static int contain(char **command)
{
    int status;
    user_map(1000);
    require(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                    CLONE_NEWCGROUP) == 0,
            "namespaces of mounts, processes and others");
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        mounts_make();
        execute(command);
    }
    require(child > 0 && waitpid(child, &status, 0) == child, "a process");
    return status_of(status);
}

static void without(const char *what)
{
    static const struct {
        const char *name;
        bool *flag;
    } all[] = {{"proc", &given.no_proc},
               {"sys", &given.no_sys},
               {"shm", &given.no_shm},
               {"mask", &given.no_mask}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (what != NULL && strcmp(what, all[i].name) == 0) {
            *all[i].flag = true;
            return;
        }
    }
    usage("--without takes proc, sys, shm or mask");
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            given.filter = argv[++i];
        } else if (strcmp(argv[i], "--shm") == 0 && i + 1 < argc) {
            given.shm = argv[++i];
        } else if (strcmp(argv[i], "--without") == 0 && i + 1 < argc) {
            without(argv[++i]);
        } else if (strcmp(argv[i], "--container") == 0) {
            given.container = true;
        } else if (strcmp(argv[i], "--noexec") == 0) {
            given.noexec = true;
        } else if (strcmp(argv[i], "--hidepid") == 0) {
            given.hidepid = true;
        } else {
            usage(argv[i]);
        }
    }
    if (i + 1 >= argc) {
        usage("no command");
    }
    if (given.container) {
        return contain(argv + i + 1);
    }
    execute(argv + i + 1);
}
