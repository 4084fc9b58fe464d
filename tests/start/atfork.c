/* SPDX-License-Identifier: MIT */
/*
 * atfork.c - a kernel thread, which was there before constructors ran (jemalloc has such a one),
 * starts the runtime while the main thread is in the library's constructor, which registers fork
 * handlers. They are registered once, and fork returns.
 *
 * The program has a function of the C library's, by which handlers are registered. There the main
 * thread gives the other one time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond);                               \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

typedef void (*handler_fn)(void);
int __register_atfork(handler_fn prepare, handler_fn parent, handler_fn child, void *object);

enum { HANDLERS = 100 };

static void *libc;
static pthread_t other;
static atomic_bool registering;
static handler_fn seen[HANDLERS];
static atomic_uint nseen;

static void *returns(void *arg)
{
    return arg;
}

static void *starts(void *arg)
{
    pthread_t thread;
    while (!atomic_load(&registering)) {
        usleep(100);
    }
    CHECK(pthread_create(&thread, NULL, returns, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return arg;
}

/* Before all constructors. */
static void begins(void)
{
    libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    CHECK(libc != NULL);
    __typeof__(pthread_create) *create = dlsym(libc, "pthread_create");
    CHECK(create != NULL && create(&other, NULL, starts, NULL) == 0);
}

static __attribute__((section(".preinit_array"), used)) void (*first)(void) = begins;

int __register_atfork(handler_fn prepare, handler_fn parent, handler_fn child, void *object)
{
    __typeof__(__register_atfork) *theirs = dlsym(libc, "__register_atfork");
    CHECK(theirs != NULL);
    unsigned n = atomic_fetch_add(&nseen, 1);
    CHECK(n < HANDLERS);
    seen[n] = prepare;
    for (unsigned i = 0; i < n; i++) {
        CHECK(prepare == NULL || seen[i] != prepare);
    }
    if (!atomic_exchange(&registering, true)) {
        usleep(50000);
    }
    return theirs(prepare, parent, child, object);
}

int main(void)
{
    CHECK(nseen != 0 && atomic_load(&registering));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    __typeof__(pthread_join) *join = dlsym(libc, "pthread_join");
    CHECK(join != NULL && join(other, NULL) == 0);
    printf("done\n");
    return 0;
}
