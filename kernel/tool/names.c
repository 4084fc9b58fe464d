/* SPDX-License-Identifier: MIT
 *
 * Threads by number or name (see tool.h).
 */
#include "tool.h"

#include "../table/maps.h"
#include "common/name.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND = 4 };

/* Threads that have a name: how many, and the first ones. */
struct matches {
    const char *name;
    unsigned number;
    uint32_t tids[FOUND];
};

static void read_comm(const char *path, char *name, size_t size)
{
    FILE *file = fopen(path, "re");

    name[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(name, (int)size, file) == NULL)
        name[0] = '\0';
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
}

void thread_name(uint32_t tid, char *name, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%u/comm", tid);
    read_comm(path, name, size);
    if (name[0] == '\0')
        snprintf(name, size, "?");
}

static void match(struct matches *matches, uint32_t tid)
{
    char name[KERNEL_COMM + 2];

    thread_name(tid, name, sizeof name);
    if (strcmp(name, matches->name) != 0)
        return;
    if (matches->number < FOUND)
        matches->tids[matches->number] = tid;
    matches->number++;
}

/* Calls `with` for each entry of a folder that is a number. */
static void for_each_number(const char *path, void (*with)(struct matches *, uint32_t),
                            struct matches *matches)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL) {
        uint32_t number = (uint32_t)strtoul(entry->d_name, NULL, 10);

        if (number != 0)
            with(matches, number);
    }
    closedir(folder);
}

static void match_process(struct matches *matches, uint32_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%u/task", pid);
    for_each_number(path, match, matches);
}

static void __attribute__((noreturn)) refuse_matches(const struct matches *matches)
{
    char list[96] = "";

    for (unsigned i = 0; i < matches->number && i < FOUND; i++) {
        size_t length = strlen(list);

        snprintf(list + length, sizeof list - length, " %u", matches->tids[i]);
    }
    app_die("%u threads have the name '%s' (%s%s); name one by its number", matches->number,
            matches->name, list + 1, matches->number > FOUND ? " ..." : "");
    abort();
}

uint32_t operand_thread(const char *operand)
{
    struct matches matches = {.name = operand};
    char *end;
    unsigned long number = strtoul(operand, &end, 10);

    if (end != operand && *end == '\0') {
        if (number > UINT32_MAX || !thread_lives((uint32_t)number))
            app_die("there is no thread with the number %s", operand);
        return (uint32_t)number;
    }
    for_each_number("/proc", match_process, &matches);
    if (matches.number == 0)
        app_die("there is no thread with the name '%s'", operand);
    if (matches.number > 1)
        refuse_matches(&matches);
    return matches.tids[0];
}
