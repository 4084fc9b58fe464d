/* SPDX-License-Identifier: MIT */
/*
 * futexes.c - threads that wait for a word by syscall(SYS_futex) let the others of their CPU run,
 * on all architectures.
 */
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "check.h"

enum { THREADS = 50, ROUNDS = 4 };

static uint32_t turn, gate;

/* Each thread in its turn. */
static void *waits(void *arg)
{
    uint32_t number = (uint32_t)(uintptr_t)arg, now;
    while (__atomic_load_n(&gate, __ATOMIC_SEQ_CST) == 0) {
        syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        while ((now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST)) != round * THREADS + number) {
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        }
        __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    }
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        OK(pthread_create(&t[i], NULL, waits, (void *)i));
    }
    sched_yield();
    __atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
    CHECK(syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0) >= 0);
    for (int i = 0; i < THREADS; i++) {
        OK(pthread_join(t[i], NULL));
    }
    CHECK_EQ(turn, ROUNDS * THREADS);
    CHECK_EQ(syscall(SYS_getpid), getpid());
    printf("ok\n");
    return 0;
}
