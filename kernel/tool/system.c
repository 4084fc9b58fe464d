/* SPDX-License-Identifier: MIT
 *
 * What the kernel says of sched_ext, and the pins (see tool.h).
 */
#include "tool.h"

#include "../table/maps.h"
#include "common/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SCHED_EXT "/sys/kernel/sched_ext"

enum { FIRST_PID_NAMESPACE = 0xeffffffc, BPFFS_MAGIC = 0xcafe4a11 };

/* The first line of a file; false: it cannot be read. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    bool good;

    line[0] = '\0';
    if (file == NULL)
        return false;
    good = fgets(line, (int)size, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return good;
}

void require_sched_ext(void)
{
    struct stat namespace;

    if (access(SCHED_EXT "/state", F_OK) != 0)
        app_die("this kernel has no sched_ext: it needs Linux 6.13 or newer with "
                "CONFIG_SCHED_CLASS_EXT=y (there is no " SCHED_EXT ")");
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        app_die("this kernel does not describe its types: it needs CONFIG_DEBUG_INFO_BTF=y (there "
                "is no /sys/kernel/btf/vmlinux)");
    if (stat("/proc/self/ns/pid", &namespace) == 0 &&
        (unsigned)namespace.st_ino != (unsigned)FIRST_PID_NAMESPACE)
        app_die("this is a container: numbers of threads differ from the kernel's; run it in the "
                "first PID namespace");
}

/* In the lines of /proc/self/status; CAP_SYS_ADMIN, which has all others of BPF. */
static bool is_admin(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long long effective = 0;
    char line[128];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "CapEff: %llx", &effective) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return (effective & (1ULL << 21)) != 0;
}

void require_privileges(void)
{
    if (!is_admin())
        app_die("no privileges: schedulers are loaded and changed by root (CAP_SYS_ADMIN)");
}

void require_bpffs(void)
{
    struct statfs fs;

    if (statfs(KERNEL_BPFFS, &fs) != 0 || (unsigned)fs.f_type != (unsigned)BPFFS_MAGIC)
        app_die("the BPF file system is not mounted; run: mount -t bpf bpf " KERNEL_BPFFS);
}

void loaded_scheduler(char *name, size_t size)
{
    char state[32];

    name[0] = '\0';
    if (!read_line(SCHED_EXT "/state", state, sizeof state) || strcmp(state, "disabled") == 0)
        return;
    if (!read_line("/sys/kernel/sched_ext/root/ops", name, size))
        snprintf(name, size, "(%s)", state);
}

/* The kernel may add to the name. */
bool is_ours(const char *name)
{
    return strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME)) == 0;
}

int require_map(const char *pin)
{
    int map = map_open(pin);

    if (map == -ENOENT)
        require_sched_ext();
    if (map == -ENOENT)
        app_die("the scheduler is not loaded (there is no %s); run: pirn-kernel load", pin);
    if (map < 0)
        app_die("%s: %s", pin, strerror(-map));
    return map;
}

bool scheduler_ended(struct kernel_end *end)
{
    uint32_t zero = 0;
    int map = map_open(KERNEL_END);
    bool ended;

    if (map < 0)
        return false;
    ended = map_get(map, &zero, end) == 0 && end->kind != 0;
    close(map);
    return ended;
}

void print_end(FILE *to, const struct kernel_end *end)
{
    fprintf(to, "the kernel has ended the scheduler: %.*s", (int)sizeof end->reason, end->reason);
    if (end->message[0] != '\0')
        fprintf(to, " (%.*s)", (int)sizeof end->message, end->message);
    fputc('\n', to);
}

void remove_pins(void)
{
    DIR *folder = opendir(KERNEL_PINS);
    const struct dirent *entry;

    if (folder != NULL) { /* else it is not there, or no file can be opened: then it is empty */
        while ((entry = readdir(folder)) != NULL)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        closedir(folder);
    }
    (void)rmdir(KERNEL_PINS);
}
