/* SPDX-License-Identifier: MIT */
/*
 * quota.c - the limits of control groups (linux_quota.c): what is read from the files of many
 * systems, below a folder of the test's own; and the same files damaged at random (--seed), where
 * any answer will do that is no crash. At last the system's own files.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/options.h"
#include "linux.h"
#include "port_quota.h"

#define SEEDED "pirn-quota"
#include "seeded.h"

enum { FILES = 6, DAMAGES = 400 };

#define NONE PORT_QUOTA_NONE
#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_LINES                                                                                   \
    "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                            \
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"                            \
    "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define OTHERS                                                                                     \
    "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"                                     \
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16
#define X4096 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256

/* A system: what is in two files of /proc, and in the control groups. */
static const struct tree {
    const char *name;
    uint32_t cpus;
    const char *cgroup, *mounts;
    struct {
        const char *path, *text;
    } files[FILES];
} trees[] = {
    {"no files at all", NONE, NULL, NULL, {{0}}},
    {"no mountinfo", NONE, "0::/\n", NULL, {{"/sys/fs/cgroup/cpu.max", "100000 100000\n"}}},
    {"empty files", NONE, "", "", {{0}}},
    {"two CPUs", 2, "0::/\n", OTHERS V2, {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"one and a half", 2, "0::/\n", OTHERS V2, {{"/sys/fs/cgroup/cpu.max", "150000 100000\n"}}},
    {"a little more", 3, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "200001 100000\n"}}},
    {"half a CPU", 1, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "50000 100000\n"}}},
    {"the least", 1, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "1000 1000000\n"}}},
    {"no limit", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "max 100000\n"}}},
    {"the host's own group, without a file", NONE, "0::/\n", OTHERS V2, {{0}}},
    {"no end of the line", 4, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "400000 100000"}}},
    {"a group above has the limit",
     3,
     "0::/user.slice/a.scope\n",
     V2,
     {{"/sys/fs/cgroup/user.slice/a.scope/cpu.max", "max 100000\n"},
      {"/sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n"}}},
    {"the group above is not shared out",
     1,
     "0::/a/b/c\n",
     V2,
     {{"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"},
      {"/sys/fs/cgroup/a/b/cpu.max", "80000 100000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "400000 100000\n"}}},
    {"the own group is the smallest",
     2,
     "0::/a/b\n",
     V2,
     {{"/sys/fs/cgroup/a/b/cpu.max", "20000 10000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "900000 100000\n"}}},
    {"groups beside it do not count",
     5,
     "0::/a/b\n",
     V2,
     {{"/sys/fs/cgroup/a/b/cpu.max", "500000 100000\n"},
      {"/sys/fs/cgroup/a/bb/cpu.max", "100000 100000\n"},
      {"/sys/fs/cgroup/b/cpu.max", "100000 100000\n"}}},
    {"the group is deleted",
     6,
     "0::/a/gone (deleted)\n",
     V2,
     {{"/sys/fs/cgroup/a/cpu.max", "600000 100000\n"}}},
    {"a container without a namespace of its own: its group is mounted",
     2,
     "0::/docker/0f\n",
     "40 30 0:26 /docker/0f /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"/sys/fs/cgroup/docker/0f/cpu.max", "100000 100000\n"}}},
    {"the same, in a group below",
     1,
     "0::/docker/0f/init\n",
     "40 30 0:26 /docker/0f /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"/sys/fs/cgroup/init/cpu.max", "100000 100000\n"}}},
    {"another group is mounted, whose name begins alike",
     NONE,
     "0::/docker/0f0\n",
     "40 30 0:26 /docker/0f /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"/sys/fs/cgroup/0/cpu.max", "200000 100000\n"}}},
    {"a group outside of the namespace",
     NONE,
     "0::/../other\n",
     V2,
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}, {"/sys/fs/other/cpu.max", "200000 100000\n"}}},
    {"the same, and the mount shows it",
     2,
     "0::/../other\n",
     "40 30 0:26 /.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/cgroup/other/cpu.max", "200000 100000\n"}}},
    {"the mounted group is above the namespace",
     3,
     "0::/inner\n",
     "40 30 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/cgroup/cpu.max", "300000 100000\n"},
      {"/sys/fs/cgroup/inner/cpu.max", "100000 100000\n"}}},
    {"spaces and a backslash in names",
     2,
     "0::/a b\\c\n",
     "40 30 0:26 / /sys/fs/c\\040group\\134x ro - cgroup2 cgroup rw\n",
     {{"/sys/fs/c group\\x/a b\\c/cpu.max", "200000 100000\n"}}},
    {"mounted at the root",
     2,
     "0::/a\n",
     "40 30 0:26 / / ro - cgroup2 c rw\n",
     {{"/a/cpu.max", "2 1\n"}}},
    {"mounted twice: the first one is empty",
     2,
     "0::/\n",
     "30 23 0:26 / /mnt rw - cgroup2 cgroup2 rw\n" V2,
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"tags of mounts",
     2,
     "0::/\n",
     "30 23 0:26 / /sys/fs/cgroup rw shared:4 master:7 propagate_from:2 - cgroup2 cgroup2 rw\n",
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"a mount that only looks like one",
     NONE,
     "0::/\n",
     "30 23 0:26 / /sys/fs/cgroup rw - cgroup2fs cgroup2 rw\n"
     "30 23 0:26 / /sys/fs/cgroup rw - tmpfs cgroup2 rw,cpu\n",
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"version 1",
     2,
     "9:cpu,cpuacct:/docker/0f\n3:cpuset:/\n1:name=systemd:/x\n",
     OTHERS V1_LINES,
     {{"/sys/fs/cgroup/cpu,cpuacct/docker/0f/cpu.cfs_quota_us", "150000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/docker/0f/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, a group above",
     3,
     "9:cpuacct,cpu:/kubepods/pod/c\n",
     V1_LINES,
     {{"/sys/fs/cgroup/cpu,cpuacct/kubepods/pod/c/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/kubepods/pod/cpu.cfs_quota_us", "300000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/kubepods/pod/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, whose group is mounted",
     1,
     "4:cpu:/docker/0f\n",
     "34 31 0:31 /docker/0f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
     {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "99999\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, no period",
     NONE,
     "4:cpu:/\n",
     V1_LINES,
     {{"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "99999\n"}}},
    {"only cpuset and cpuacct", NONE, "4:cpuset:/\n5:cpuacct:/\n", V1_LINES, {{0}}},
    {"both versions, the controller in the first",
     2,
     "9:name=systemd:/\n1:cpu:/a\n0::/b\n",
     V2 V1_LINES,
     {{"/sys/fs/cgroup/b/cpu.max", "100000 100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}}},
    {"both versions, the controller in the second",
     4,
     "9:memory:/\n1:name=systemd:/b\n0::/b\n",
     "31 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1_LINES,
     {{"/sys/fs/cgroup/unified/b/cpu.max", "400000 100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/b/cpu.cfs_quota_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/b/cpu.cfs_period_us", "100000\n"}}},
    {"words", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "many 100000\n"}}},
    {"nothing", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", ""}}},
    {"a limit of zero", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "0 100000\n"}}},
    {"a period of zero", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "100000 0\n"}}},
    {"a negative limit", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "-5 100000\n"}}},
    {"no period", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "100000\n"}}},
    {"a number with a tail", NONE, "0::/\n", V2, {{"/sys/fs/cgroup/cpu.max", "100000us 100000\n"}}},
    {"a number that is too large",
     NONE,
     "0::/\n",
     V2,
     {{"/sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n"}}},
    {"lines of /proc without what belongs there",
     2,
     "\n:\n::\nx\n0\n0:\n0::\n0::relative\n:cpu:\n0::/\n",
     "\n-\n - \n1 2\n1 2 3 / \n1 2 3 / /x rw cgroup2 c rw\n1 2 3 4 5 - cgroup2\n" V2,
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"lines that are too long",
     2,
     X4096 "\n0::/" X4096 "\n0::/\n",
     "1 2 3 / /" X4096 " rw - cgroup2 c rw\n1 2 3 / /x rw - overlay o lowerdir=" X4096 X4096
     "\n" V2,
     {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}},
    {"a name that is too long for a path",
     2,
     "0::/a/" X256 X256 X256 X256 X256 X256 "\n",
     V2,
     {{"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"}}},
};

static long magic; /* of the folder's file system */
static char folder[] = "/tmp/pirn-quota-XXXXXX";

/* Makes the folders on the way, too. */
static void file_write(const char *path, const char *text, size_t size)
{
    char name[4096];
    int n = snprintf(name, sizeof(name), "%s%s", folder, path);
    CHECK(n < (int)sizeof(name));
    for (char *p = name + strlen(folder) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = '\0';
        CHECK(mkdir(name, 0700) == 0 || errno == EEXIST);
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size && close(fd) == 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    return at->level == 0 ? 0 : remove(path);
}

static void files_remove(void)
{
    CHECK(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

/* Some bytes of the text are others, or missing, or there twice. */
static void file_write_damaged(const char *path, const char *text)
{
    static const char bytes[] = {'\n', ' ',  ':', '/', '.',  ',',
                                 '-',  '\\', '0', '9', '\0', (char)0xff};
    size_t size = strlen(text);
    char *copy = malloc(2 * size + 16);
    CHECK(copy != NULL);
    memcpy(copy, text, size);
    for (unsigned i = below(6); i != 0; i--) {
        size_t at = below((unsigned)size + 1), n = below((unsigned)(size - at) + 1);
        switch (below(4)) {
        case 0:
            copy[at] = bytes[below(sizeof(bytes))];
            size += at == size;
            break;
        case 1:
            n = n < 9 ? n : 9;
            memmove(copy + at, copy + at + n, size - at - n);
            size -= n;
            break;
        case 2:
            n = size + n <= 2 * strlen(text) ? n : 0;
            memmove(copy + at + n, copy + at, size - at);
            size += n;
            break;
        default:
            size = below(20) == 0 ? at : size;
        }
    }
    file_write(path, copy, size);
    free(copy);
}

static void tree_make(const struct tree *tree, void (*one)(const char *path, const char *text))
{
    now = tree->name;
    if (tree->cgroup != NULL) {
        one("/proc/self/cgroup", tree->cgroup);
    }
    if (tree->mounts != NULL) {
        one("/proc/self/mountinfo", tree->mounts);
    }
    for (unsigned i = 0; i < FILES && tree->files[i].path != NULL; i++) {
        one(tree->files[i].path, tree->files[i].text);
    }
}

static void write_whole(const char *path, const char *text)
{
    file_write(path, text, strlen(text));
}

static void tree_check(const struct tree *tree, long as_magic)
{
    errno = 123;
    uint32_t cpus = quota_read(folder, as_magic);
    if (cpus != tree->cpus) {
        printf("FAILED: %s: %" PRIu32 " CPUs, should be %" PRIu32 "; magic %ld\n", now, cpus,
               tree->cpus, as_magic);
        exit(1);
    }
    CHECK(errno == 123);
}

/* The second way is for version 2 at the usual place: the folder's file system counts as one with
 * control groups. */
static void check_trees(void)
{
    for (unsigned i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
        tree_make(&trees[i], write_whole);
        tree_check(&trees[i], 0);
        if (trees[i].mounts != NULL && strstr(trees[i].mounts, V2) != NULL) {
            tree_check(&trees[i], magic);
        }
        files_remove();
    }
}

static void check_damaged(void)
{
    for (unsigned i = 0; i < DAMAGES; i++) {
        tree_make(&trees[below(sizeof(trees) / sizeof(trees[0]))], file_write_damaged);
        CHECK(quota_read(folder, below(2) != 0 ? magic : 0) != 0);
        files_remove();
    }
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_count("seed", &seed, 0, UINT64_MAX, "of the random damages"), {0}};
    options_parse(
        argc, argv,
        &(struct option_page){.summary = "The files of control groups, whole and damaged.",
                              .options = options});
    struct statfs fs;
    state = seed;
    CHECK(mkdtemp(folder) != NULL && statfs(folder, &fs) == 0);
    magic = fs.f_type;
    check_trees();
    check_damaged();
    CHECK(rmdir(folder) == 0);
    CHECK(port_cpu_quota() == quota_read("", 0) && port_cpu_quota() != 0);
    printf("quota: done\n");
    return 0;
}
