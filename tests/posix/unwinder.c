/* SPDX-License-Identifier: MIT */
/*
 * The unwinder of gcc's library is loaded when a thread first ends by pthread_exit or is cancelled,
 * also on the smallest stack. "refused": it cannot be loaded; cleanup handlers and the destructors
 * of keys run all the same.
 */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static bool refused;
static int cleaned, destroyed;
static pthread_key_t key;

/* Pirn's own call of dlopen comes here, too. */
void *dlopen(const char *file, int mode)
{
    static void *(*next)(const char *, int);
    if (refused && file != NULL && strstr(file, "libgcc_s") != NULL) {
        return NULL;
    }
    if (next == NULL) {
        next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"); /* NOLINT */
    }
    return next(file, mode);
}

static bool is_loaded(void)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        found |= strstr(line, "libgcc_s") != NULL;
    }
    OK(fclose(maps));
    return found;
}

static void cleans(void *arg)
{
    cleaned += *(int *)arg;
}

static void destroys(void *value)
{
    destroyed += *(int *)value;
}

static int one = 1, ten = 10;

static void *leaves(void *arg)
{
    OK(pthread_setspecific(key, &one));
    pthread_cleanup_push(cleans, &one);
    pthread_cleanup_push(cleans, &ten);
    pthread_exit(arg);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *waits(void *arg)
{
    OK(pthread_setspecific(key, &one));
    pthread_cleanup_push(cleans, &one);
    for (;;) {
        pause();
    }
    pthread_cleanup_pop(0);
    return arg;
}

static void *returns(void *arg)
{
    return arg;
}

static void *result_of(void *(*fn)(void *), bool cancel)
{
    pthread_t thread;
    pthread_attr_t attr;
    void *result;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    OK(pthread_create(&thread, &attr, fn, &ten));
    if (cancel) {
        OK(pthread_cancel(thread));
    }
    OK(pthread_join(thread, &result));
    return result;
}

static void loads_late(void)
{
    CHECK_EQ(is_loaded(), 0);
    CHECK(result_of(returns, false) == &ten);
    CHECK_EQ(is_loaded(), 0);
}

static void ends_whole(void)
{
    cleaned = destroyed = 0;
    CHECK(result_of(leaves, false) == &ten);
    CHECK_EQ(cleaned, 11);
    CHECK_EQ(destroyed, 1);
    CHECK(result_of(waits, true) == PTHREAD_CANCELED);
    CHECK_EQ(cleaned, 12);
    CHECK_EQ(destroyed, 2);
    CHECK_EQ(is_loaded(), !refused);
}

int main(int argc, char **argv)
{
    refused = argc > 1 && strcmp(argv[1], "refused") == 0;
    OK(pthread_key_create(&key, destroys));
    RUN(loads_late);
    RUN(ends_whole);
    return 0;
}
