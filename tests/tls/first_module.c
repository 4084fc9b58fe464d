/* SPDX-License-Identifier: MIT */
/*
 * first_module.c - a program without thread-local variables loads the first library that has some,
 * in static TLS. Threads find the variables initialised, in the first life on a block that was made
 * afterwards and in the lives that follow.
 */
#include "../posix/check.h"

#include <dlfcn.h>

#define INITIAL 11
#define LIVES 3

static int *(*value)(void);

static void *finds_it_new(void *unused)
{
    CHECK_EQ(*value(), INITIAL);
    *value() = 5;
    return unused;
}

/* The runtime has started, and this thread keeps its block. */
static void *loads(void *unused)
{
    void *module = dlopen(MODULE_IE, RTLD_NOW);
    if (module == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    *(void **)&value = dlsym(module, "module_value");
    CHECK(value != NULL);
    for (int life = 0; life < LIVES; life++) {
        CHECK_EQ(pthread_join(start(finds_it_new, NULL), NULL), 0);
    }
    return unused;
}

int main(void)
{
    CHECK_EQ(pthread_join(start(loads, NULL), NULL), 0);
    puts("first_module: done");
    return 0;
}
