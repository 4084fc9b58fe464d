/* SPDX-License-Identifier: MIT */
/*
 * clear_tid.c - threads that wait for the end of a thread that they have made by clone: the kernel
 * clears the word that CLONE_CHILD_CLEARTID names and wakes who waits there, not this library.
 */
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 3, STACK = 65536 };

#define FLAGS                                                                                      \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |            \
     CLONE_CHILD_CLEARTID)

static const struct timespec nap = {0, 50000000};

/* A thread without thread-local storage of its own: it sleeps, and ends. */
static void make(void *top, uint32_t *word)
{
    long made;
#if defined(__x86_64__)
    register void *r10 __asm__("r10") = word;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "movl %[nanosleep], %%eax\n\t"
        "movq %[nap], %%rdi\n\t"
        "xorl %%esi, %%esi\n\t"
        "syscall\n\t"
        "movl %[exit], %%eax\n\t"
        "xorl %%edi, %%edi\n\t"
        "syscall\n\t"
        "1:"
        : "=a"(made)
        : "a"((long)SYS_clone), "D"((long)FLAGS), "S"(top), "d"(0L), "r"(r10),
          "r"(r8), [nap] "b"(&nap), [nanosleep] "i"(SYS_nanosleep), [exit] "i"(SYS_exit)
        : "rcx", "r11", "memory", "cc");
#elif defined(__aarch64__)
    register long x0 __asm__("x0") = FLAGS;
    register void *x1 __asm__("x1") = top;
    register long x2 __asm__("x2") = 0, x3 __asm__("x3") = 0;
    register void *x4 __asm__("x4") = word;
    register long x8 __asm__("x8") = SYS_clone;
    register const struct timespec *x19 __asm__("x19") = &nap;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x0, x19\n\t"
                     "mov x1, #0\n\t"
                     "mov x8, %[nanosleep]\n\t"
                     "svc #0\n\t"
                     "mov x0, #0\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc #0\n"
                     "1:"
                     : "+r"(x0), "+r"(x1), "+r"(x8)
                     : "r"(x2), "r"(x3), "r"(x4),
                       "r"(x19), [nanosleep] "i"(SYS_nanosleep), [exit] "i"(SYS_exit)
                     : "memory");
    made = x0;
#endif
    CHECK(made > 0);
}

static void *makes_and_waits(void *arg)
{
    char *stack = malloc(STACK);
    CHECK(stack != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t word = 1;
        sigset_t all, before;
        sigfillset(&all);
        OK(pthread_sigmask(SIG_SETMASK, &all, &before)); /* handlers need more than it has */
        make(stack + STACK, &word);
        OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
        while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != 0) {
            syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
        }
    }
    free(stack);
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        t[i] = start(makes_and_waits, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    puts("ok");
    return 0;
}
