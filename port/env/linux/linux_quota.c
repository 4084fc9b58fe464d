/* SPDX-License-Identifier: MIT */
/*
 * linux_quota.c (Linux) - the CPU time that control groups (cgroups(7)) leave to the process, as
 * containers and service managers limit it. Called while the runtime starts, if nobody has said how
 * many workers there are to be.
 *
 * /proc/self/cgroup names the group, /proc/self/mountinfo the folders where groups can be seen. A
 * group's own limit and those of all groups above it count, the smallest of them; groups above the
 * mounted one cannot be seen. Version 2 has the limit in cpu.max ("50000 100000": microseconds in
 * each period, or "max 100000"), version 1 in cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us.
 * The controller belongs to one version at a time; so version 2 is not looked at if version 1 has
 * it.
 *
 *   1. Both paths are as the process's cgroup namespace shows them. The mounted group is at the
 *      mount point; if it is not at or above the process's group, that mount tells nothing. One
 *      exception: a mounted group above the namespace's ("/..") is above every group in the
 *      namespace. Where version 2 is mounted at /sys/fs/cgroup and has a folder with the group's
 *      path, that is taken for the group: mountinfo is not read.
 *   2. What cannot be read or is no limit as the kernel writes it is passed over: a wrong number of
 *      workers costs some speed only.
 *   3. System calls, because the POSIX layer may have the names of the C library's functions; and
 *      no memory but static, because the caller's stack may be small.
 */
#include "linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "port_quota.h"

#define LINE_MAX_HERE 4096u
#define PERIODS_MAX UINT64_C(1000000000000) /* microseconds: what is more is no limit */

/* While the runtime starts there is one caller. */
static struct {
    char group[PATH_MAX]; /* the process's group, in the hierarchy that has the controller */
    char folder[2 * PATH_MAX];
    bool old;  /* that is version 1 */
    bool seen; /* a file with a limit, or with none */
    uint32_t cpus;
} found;

/* ---- files, line by line ---- */

static struct {
    int fd;
    size_t from, end;
    bool cut; /* the line's beginning was longer than the buffer, and is gone */
    char text[LINE_MAX_HERE];
} lines;

static int file_open(const char *root, const char *path)
{
    static char name[sizeof(found.folder) + PATH_MAX];
    int n = snprintf(name, sizeof(name), "%s%s", root, path);
    return n < (int)sizeof(name) ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0)
                                 : -1;
}

static bool lines_open(const char *root, const char *path)
{
    lines.fd = file_open(root, path);
    lines.from = lines.end = 0;
    lines.cut = false;
    return lines.fd >= 0;
}

static void lines_close(void)
{
    syscall(SYS_close, lines.fd);
}

/* More text behind what is there: false at the end of the file. A line that fills the buffer is
 * thrown away. */
static bool lines_fill(void)
{
    size_t kept = lines.end - lines.from;
    RT_ASSERT(lines.from <= lines.end && lines.end <= sizeof(lines.text));
    if (kept == sizeof(lines.text)) {
        lines.cut = true;
        kept = 0;
    }
    memmove(lines.text, lines.text + lines.from, kept);
    lines.from = 0;
    lines.end = kept;
    long n = syscall(SYS_read, lines.fd, lines.text + kept, sizeof(lines.text) - kept);
    lines.end += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* The next whole line without its end, as a string; NULL: there is none. Lines that are too long,
 * and the rest of a file that does not end with a line, are left out. */
static char *line_next(void)
{
    for (;;) {
        char *at = lines.text + lines.from;
        char *end = memchr(at, '\n', lines.end - lines.from);
        if (end == NULL) {
            if (!lines_fill()) {
                return NULL;
            }
            continue;
        }
        bool whole = !lines.cut;
        *end = '\0';
        lines.from += (size_t)(end - at) + 1;
        lines.cut = false;
        if (whole) {
            return at;
        }
    }
}

/* The beginning of a file, as a string; empty if it cannot be read. */
static const char *value_read(const char *root, const char *folder, const char *name)
{
    static char path[sizeof(found.folder) + 32], text[64];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = n < (int)sizeof(path) ? file_open(root, path) : -1;
    long got = fd >= 0 ? syscall(SYS_read, fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return text;
}

/* ---- limits ---- */

/* The number at *p, which moves behind it and one space or line end; 0: none, or none below
 * PERIODS_MAX. */
static uint64_t number_at(const char **p)
{
    uint64_t number = 0;
    const char *at = *p;
    for (; *at >= '0' && *at <= '9' && number < PERIODS_MAX; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    bool whole = at != *p && (*at == ' ' || *at == '\n' || *at == '\0') && number < PERIODS_MAX;
    *p = at + (*at != '\0');
    return whole ? number : 0;
}

static void limit_take(uint64_t quota, uint64_t period)
{
    if (quota != 0 && period != 0) {
        uint64_t cpus = quota / period + (quota % period != 0);
        found.cpus = cpus < found.cpus ? (uint32_t)cpus : found.cpus;
    }
}

static void folder_read(const char *root, const char *folder)
{
    const char *p = value_read(root, folder, found.old ? "cpu.cfs_quota_us" : "cpu.max");
    found.seen = found.seen || *p != '\0';
    uint64_t quota = number_at(&p);
    if (quota != 0 && found.old) {
        p = value_read(root, folder, "cpu.cfs_period_us");
    }
    limit_take(quota, quota != 0 ? number_at(&p) : 0);
}

/* The folder's first `shortest` bytes are the mount point. */
static void folders_read(const char *root, char *folder, size_t shortest)
{
    size_t n = strlen(folder);
    RT_ASSERT(n >= shortest);
    for (;;) {
        folder_read(root, folder);
        while (n > shortest && folder[n - 1] != '/') {
            n--;
        }
        if (n <= shortest) {
            return;
        }
        folder[--n] = '\0';
    }
}

/* ---- the group, and where it can be seen ---- */

/* Is the word among those, which commas separate? */
static bool list_has(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (;; words++) {
        size_t n = strcspn(words, ",");
        if (n == length && memcmp(words, word, n) == 0) {
            return true;
        }
        words += n;
        if (*words == '\0') {
            return false;
        }
    }
}

/* Lines are like "4:cpu,cpuacct:/a/b" and, of version 2, "0::/a/b". */
static bool group_find(const char *root)
{
    bool any = false;
    char *line;
    found.old = false;
    if (!lines_open(root, "/proc/self/cgroup")) {
        return false;
    }
    while (!found.old && (line = line_next()) != NULL) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL || path[1] != '/' || strlen(path) >= sizeof(found.group)) {
            continue;
        }
        *path++ = '\0';
        found.old = list_has(++controllers, "cpu");
        if (found.old || strncmp(line, "0:", 2) == 0) {
            strcpy(found.group, path);
            any = true;
        }
    }
    lines_close();
    return any;
}

/* Spaces and the like are in octal: \040. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        if (octal) {
            *to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* The next of the words in *rest, which spaces separate; empty at the end. */
static char *word_next(char **rest)
{
    char *word = *rest;
    size_t n = strcspn(word, " ");
    *rest = word + n + (word[n] != '\0');
    word[n] = '\0';
    return word;
}

static bool is_above_namespace(const char *path)
{
    while (strncmp(path, "/..", 3) == 0) {
        path += 3;
    }
    return *path == '\0';
}

/* The group's path below the mounted one; NULL: it cannot be seen there. */
static const char *path_below(const char *mounted, const char *group)
{
    size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    const char *below = strncmp(group, mounted, n) == 0 ? group + n : NULL;
    if (below != NULL && (*below == '/' || *below == '\0') && strncmp(below, "/..", 3) != 0) {
        return strcmp(below, "/") == 0 ? "" : below;
    }
    return is_above_namespace(mounted) && strncmp(group, "/..", 3) != 0 ? "" : NULL;
}

/* A line of mountinfo: "36 25 0:31 MOUNTED POINT OPTIONS TAG... - TYPE SOURCE SUPER". True: limits
 * were found there. Another mount may lie on top of this one, so the next one may be better. */
static bool mount_read(const char *root, char *line)
{
    char *word, *fields[5];
    for (unsigned i = 0; i < 5; i++) {
        fields[i] = word_next(&line);
    }
    do {
        word = word_next(&line);
    } while (*word != '\0' && strcmp(word, "-") != 0);
    const char *type = word_next(&line);
    word_next(&line);
    bool is_it = found.old ? strcmp(type, "cgroup") == 0 && list_has(word_next(&line), "cpu")
                           : strcmp(type, "cgroup2") == 0;
    if (!is_it) {
        return false;
    }
    unescape(fields[3]);
    unescape(fields[4]);
    const char *below = path_below(fields[3], found.group);
    size_t point = strlen(fields[4]);
    if (below == NULL || point + strlen(below) >= sizeof(found.folder)) {
        return false;
    }
    strcpy(found.folder, fields[4]);
    strcpy(found.folder + point, below);
    folders_read(root, found.folder, point);
    return found.seen;
}

/* Version 2 is mounted at the usual place, and its folder there has the group: no need to look for
 * it among all mounts, which costs more than all else. */
static bool usual_read(const char *root, long magic)
{
    static const char usual[] = "/sys/fs/cgroup";
    struct statfs fs;
    const char *below = path_below("/", found.group);
    size_t n = strlen(root);
    if (below == NULL || found.old || n + sizeof(usual) + strlen(below) > sizeof(found.folder)) {
        return false;
    }
    sprintf(found.folder, "%s%s", root, usual);
    if (syscall(SYS_statfs, found.folder, &fs) != 0 || fs.f_type != magic) {
        return false;
    }
    strcat(found.folder, below);
    if (syscall(SYS_faccessat, AT_FDCWD, found.folder, F_OK) != 0) {
        return false;
    }
    folders_read(root, found.folder + n, sizeof(usual) - 1);
    return true;
}

static void mounts_read(const char *root)
{
    char *line;
    if (lines_open(root, "/proc/self/mountinfo")) {
        while ((line = line_next()) != NULL && !mount_read(root, line)) {
        }
        lines_close();
    }
}

uint32_t quota_read(const char *root, long magic)
{
    int saved = errno;
    found.cpus = PORT_QUOTA_NONE;
    found.seen = false;
    if (group_find(root) && !usual_read(root, magic)) {
        mounts_read(root);
    }
    errno = saved;
    return found.cpus;
}

/* The options are read twice at the start (rt_start). */
uint32_t port_cpu_quota(void)
{
    static uint32_t cpus;
    static long process; /* a child of fork may be in another group */
    long now = syscall(SYS_getpid);
    if (process != now) {
        cpus = quota_read("", CGROUP2_SUPER_MAGIC);
        process = now;
    }
    return cpus;
}
