/* SPDX-License-Identifier: MIT */
/*
 * heldlocks.c - a thread that waits for a CPU holds a lock of the program's allocator or of the
 * dynamic linker. Others wait for the lock in the kernel. They lose their CPUs, so the holder gets
 * one and continues.
 *
 *   allocator   pthread_create allocates, and waits for the allocator's lock
 *   linker      a library's constructor waits in the kernel: another kernel thread must be made
 *               while the linker's lock is held
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "../raw.h"
#include "check.h"
#include "common/options.h"

/* ---- the allocator: calloc, which the linker calls, has a lock of its own ---- */

void *__libc_calloc(size_t count, size_t size);

static uint32_t word; /* 0 free, 1 taken, 2 taken and a thread sleeps */

static void lock(void)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&word, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0) {
        raw_call(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 2, 0);
    }
}

static void unlock(void)
{
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2) {
        raw_call(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1, 0);
    }
}

void *calloc(size_t count, size_t size)
{
    lock();
    void *p = __libc_calloc(count, size);
    unlock();
    return p;
}

static volatile bool held;

static void *holds(void *arg)
{
    lock();
    held = true;
    sched_yield();
    unlock();
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void allocator(void)
{
    pthread_t holder, other;
    CHECK(pthread_create(&holder, NULL, holds, NULL) == 0);
    while (!held) {
        sched_yield();
    }
    CHECK(pthread_create(&other, NULL, nothing, NULL) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(pthread_join(holder, NULL) == 0);
}

/* ---- the linker ---- */

static sem_t begun;
static int gate[2];

/* The constructor of the library calls it. */
void heldlocks_constructor(void)
{
    char c;
    sem_post(&begun);
    CHECK(raw_call(SYS_read, gate[0], (long)&c, 1, 0) == 1);
}

static void *loads(void *path)
{
    CHECK(dlopen(path, RTLD_NOW) != NULL);
    return path;
}

static void linker(char *path)
{
    pthread_t loader;
    CHECK(sem_init(&begun, 0, 0) == 0 && pipe(gate) == 0);
    CHECK(pthread_create(&loader, NULL, loads, path) == 0);
    CHECK(sem_wait(&begun) == 0);
    CHECK(write(gate[1], "x", 1) == 1);
    CHECK(pthread_join(loader, NULL) == 0);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"allocator", "linker"};
    const struct option_page page = {.summary = "Locks that a thread holds when it loses its CPU.",
                                     .operand = "KIND [LIBRARY]"};
    char **operands = options_parse(argc, argv, &page);
    bool links = OPERAND_CHOICE("KIND", operands[0], kinds) == 1;
    if (links != (operands[1] != NULL)) {
        options_refuse("LIBRARY goes with linker, and only with that");
    }
    if (links) {
        linker(operands[1]);
    } else {
        allocator();
    }
    puts("ok");
    return 0;
}
