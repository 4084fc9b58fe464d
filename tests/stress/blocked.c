/* SPDX-License-Identifier: MIT */
/*
 * blocked.c - a million threads blocked at once (100 000 by default; --count 1000000): measures the
 * cost of one in memory and page tables; then all are woken and joined.
 *
 * --limit BYTES makes it fail if a thread costs more.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/options.h"
#include "stress.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

char stress_command[200];

static pirn_sem_t gate;
static uint64_t arrived, woken; /* atomic */

static void *blocked_main(void *arg)
{
    ADD(&arrived, 1u);
    pirn_sem_wait(&gate);
    ADD(&woken, 1u);
    return arg;
}

/* A value in KiB of /proc/self/status, in bytes. The stream is opened before there are threads:
 * where these have used all mappings up, there is no memory for another one. */
static uint64_t memory_of(const char *name)
{
    static FILE *status;
    char line[256];
    uint64_t kib = 0;
    status = status != NULL ? status : fopen("/proc/self/status", "re");
    CHECK(status != NULL && fflush(status) == 0 && fseek(status, 0, SEEK_SET) == 0);
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtoull(line + strlen(name), NULL, 10);
        }
    }
    CHECK(kib != 0);
    return kib * 1024;
}

/* Older kernels need a mapping for every guard page, and limit their number. */
static bool guards_are_mappings(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool missing = p != MAP_FAILED && madvise(p, page, MADV_GUARD_INSTALL) != 0;
    munmap(p, page);
    return missing;
}

static uint64_t create_all(pirn_thread_t *threads, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int error = pirn_create(&threads[i], NULL, blocked_main, &threads[i]);
        if (error != 0) {
            CHECK(error == -EAGAIN && guards_are_mappings() && i > 10000);
            printf("only %" PRIu64 " threads: guard pages are mappings, see vm.max_map_count\n", i);
            return i;
        }
    }
    return count;
}

static void join_all(pirn_thread_t *threads, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        void *ret;
        CHECK(pirn_join(threads[i], &ret) == 0 && ret == &threads[i]);
    }
}

int main(int argc, char **argv)
{
    uint64_t count = 100000, limit = 0;
    const struct option_spec options[] = {
        option_count("count", &count, 1, 100000000, "threads"),
        option_count("limit", &limit, 0, UINT64_MAX, "most bytes of a thread; 0: none"),
        {0}};
    const struct option_page page = {.summary = "Many blocked threads: their memory.",
                                     .options = options};
    options_parse(argc, argv, &page);
    snprintf(stress_command, sizeof(stress_command),
             "pirn-stress-blocked --count %" PRIu64 " --limit %" PRIu64, count, limit);
    pirn_thread_t *threads = calloc(count, sizeof(*threads));
    CHECK(threads != NULL && pirn_cpu_count() != 0);
    memset(threads, 1, count * sizeof(*threads));
    uint64_t resident = memory_of("VmRSS:"), tables = memory_of("VmPTE:");
    uint64_t begin = pirn_now();
    count = create_all(threads, count);
    while (GET(&arrived) != count) {
        pirn_sleep(1000000);
    }
    uint64_t all_blocked = pirn_now();
    resident = memory_of("VmRSS:") - resident;
    tables = memory_of("VmPTE:") - tables;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(pirn_sem_post(&gate) == 0);
    }
    join_all(threads, count);
    uint64_t end = pirn_now();
    CHECK(GET(&woken) == count && pirn_sem_value(&gate) == 0);
    uint64_t bytes = count != 0 ? (resident + tables) / count : 0;
    printf("threads=%" PRIu64 " bytes_per_thread=%" PRIu64 " resident=%" PRIu64
           " page_tables=%" PRIu64 " create_ns=%" PRIu64 " wake_join_ns=%" PRIu64 "\n",
           count, bytes, count != 0 ? resident / count : 0, count != 0 ? tables / count : 0,
           (all_blocked - begin) / (count | !count), (end - all_blocked) / (count | !count));
    CHECK(limit == 0 || bytes <= limit);
    free(threads);
    return 0;
}
