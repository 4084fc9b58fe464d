/* SPDX-License-Identifier: MIT */
/*
 * repeat.c - shows that a seed determines the run: the hash is the same after other runs in the
 * same process, and in a fresh process (with other addresses).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static struct {
    uint64_t *hashes;
    size_t used, room;
    unsigned differences;
} log_;

static void hash_note(uint64_t hash)
{
    if (log_.used == log_.room) {
        log_.room = log_.room != 0 ? log_.room * 2 : 1024;
        log_.hashes = realloc(log_.hashes, log_.room * sizeof(uint64_t));
        if (log_.hashes == NULL) {
            abort();
        }
    }
    log_.hashes[log_.used++] = hash;
}

/* Runs from the last to the first find their hashes at the end of the log. */
static void hash_compare(uint64_t hash)
{
    if (log_.hashes[--log_.used] != hash) {
        char text[WHERE_TEXT];
        where_print(text, sizeof(text), where);
        printf("the hash differs after other runs: %s\n", text);
        log_.differences++;
    }
}

static size_t tests_count(const struct suite *suite)
{
    size_t n = 0;
    while (suite->tests[n].name != NULL) {
        n++;
    }
    return n;
}

static void run_nth(const struct place *place, size_t n, uint64_t seed, void (*use)(uint64_t))
{
    struct sim_result result;
    if (test_selected(&place->suite->tests[n])) {
        run_one(place, &place->suite->tests[n], seed, &result);
        use(result.hash ^ result.steps ^ result.failed);
    }
}

static void run_all(bool reverse, void (*use)(uint64_t))
{
    unsigned places = places_count();
    for (uint64_t s = 0; s < options.seeds; s++) {
        uint64_t seed = options.first + (reverse ? options.seeds - 1 - s : s);
        for (unsigned i = 0; i < places; i++) {
            struct place place = place_get(reverse ? places - 1 - i : i);
            size_t n = tests_count(place.suite);
            for (size_t k = 0; k < n; k++) {
                run_nth(&place, reverse ? n - 1 - k : k, seed, use);
            }
        }
    }
}

static uint64_t digest_log(void)
{
    uint64_t digest = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < log_.used; i++) {
        digest = (digest ^ log_.hashes[i]) * 0x100000001b3ull;
    }
    return digest;
}

int digest_main(void)
{
    run_all(false, hash_note);
    printf("digest %" PRIx64 "\n", digest_log());
    return 0;
}

/* The same command line with --digest, which comes before --repeat. */
static __attribute__((noreturn)) void digest_exec(int output)
{
    size_t n = 0;
    while (driver_argv[n] != NULL) {
        n++;
    }
    char *arguments[n + 2];
    memcpy(arguments, driver_argv, n * sizeof(arguments[0]));
    arguments[n] = "--digest";
    arguments[n + 1] = NULL;
    dup2(output, STDOUT_FILENO);
    execv("/proc/self/exe", arguments);
    _exit(127);
}

static bool digest_fresh(uint64_t *digest)
{
    int ends[2], status = -1;
    fflush(stdout);
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        digest_exec(ends[1]);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    bool read = output != NULL && fscanf(output, "digest %" SCNx64, digest) == 1;
    if (output != NULL) {
        fclose(output);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && read;
}

int repeat_main(void)
{
    uint64_t fresh = 0;
    run_all(false, hash_note);
    uint64_t here = digest_log();
    size_t runs = log_.used;
    run_all(true, hash_compare);
    bool same = digest_fresh(&fresh) && fresh == here;
    printf("%zu runs repeated: %u differ after other runs; a fresh process %s\n", runs,
           log_.differences, same ? "agrees" : "DIFFERS");
    return log_.differences == 0 && same ? 0 : 1;
}
