/* SPDX-License-Identifier: MIT */
/*
 * walks.c - the walk by call frame information (port/env/linux/linux_cfi.c) against the unwinder of
 * the C compiler: single steps through code of this file, of the C library and of the dynamic
 * linker. After each instruction both must find the same callers. Then it walks along stacks with
 * random contents, as code without tables and frame pointers leaves them: the walk must do no harm.
 * On AArch64, where a program cannot step itself, a timer interrupts it at any instruction.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "../../port/env/linux/linux_cfi_table.h"
#include "../../port/env/linux/linux_modules.h"

#define SEPARATE __attribute__((noinline))
#define DEPTH 64

extern void *__libc_stack_end;

struct walk {
    uintptr_t of[DEPTH];
    unsigned n;
};

static unsigned long steps, deepest, wrong;
static volatile sig_atomic_t stepping;

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    if (walk->n < DEPTH) {
        walk->of[walk->n++] = _Unwind_GetIP(context);
    }
    return _URC_NO_REASON;
}

/* The callers of the interrupted code, behind the handler's own frames. */
static void walk_by_compiler(struct walk *walk, uintptr_t pc)
{
    unsigned first = 0;
    walk->n = 0;
    _Unwind_Backtrace(frame, walk);
    while (first < walk->n && walk->of[first] != pc) {
        first++;
    }
    first++;
    walk->n = walk->n > first ? walk->n - first : 0;
    memmove(walk->of, walk->of + first, walk->n * sizeof(walk->of[0]));
    while (walk->n > 0 && walk->of[walk->n - 1] == 0) {
        walk->n--;
    }
}

static void say(const char *whose, const struct walk *walk)
{
    printf("  %s:", whose);
    for (unsigned i = 0; i < walk->n; i++) {
        printf(" %#lx", (unsigned long)walk->of[i]);
    }
    printf("\n");
}

#ifdef __x86_64__

#define SIGNAL SIGTRAP
#define ENOUGH 3000
#define TRAP_FLAG 0x100

static void stop(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void step(bool on)
{
    stepping = on;
    if (on) {
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
    }
}

#else

#define SIGNAL SIGALRM
#define ENOUGH 200
#define INTERVAL_US 1000

static void stop(ucontext_t *context)
{
    (void)context;
}

static void step(bool on)
{
    struct itimerval t = {{0, on ? INTERVAL_US : 0}, {0, on ? INTERVAL_US : 0}};
    stepping = on;
    setitimer(ITIMER_REAL, &t, NULL);
}

#endif

static void on_trap(int signal, siginfo_t *info, void *arg)
{
    ucontext_t *context = arg;
    struct walk mine, compiler;
    struct cfi_registers regs;
    (void)signal;
    (void)info;
    if (!stepping) {
        stop(context);
        return;
    }
    PORT_ARCH_CFI_OF_SIGNAL(&regs, context);
    uintptr_t sp = regs.value[PORT_ARCH_CFI_SP], pc = regs.value[PORT_ARCH_CFI_PC];
    mine.n = cfi_frames(&regs, sp - 4096, (uintptr_t)__libc_stack_end, mine.of, DEPTH);
    walk_by_compiler(&compiler, pc);
    steps++;
    deepest = mine.n > deepest ? mine.n : deepest;
    struct cfi_entry entry;
    if (compiler.n == 0 && !cfi_find(&entry, pc)) {
        return; /* without tables (on AArch64 the linker's pieces of code), the compiler ends */
    }
    if ((mine.n != compiler.n || memcmp(mine.of, compiler.of, mine.n * sizeof(mine.of[0])) != 0) &&
        wrong++ < 5) {
        printf("at %#lx\n", (unsigned long)pc);
        say("by the tables", &mine);
        say("by the compiler", &compiler);
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

SEPARATE static unsigned recursion(unsigned n)
{
    return n == 0 ? 1 : recursion(n - 1) + n;
}

/* The frame has an unknown size and is aligned, so its tables need expressions. */
SEPARATE static unsigned aligned(unsigned n)
{
    char text[n] __attribute__((aligned(64)));
    memset(text, (int)n, n);
    return recursion(3) + (unsigned)text[n / 2];
}

SEPARATE static unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                              unsigned f, unsigned g, unsigned h)
{
    return aligned(a + b + c + d) + recursion(e + f) + g + h;
}

/* Repeatable. */
static uint64_t chance(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16 ^ state << 40;
}

/* Any number, an address on the stack, or one in code that has tables. */
static uintptr_t word_of(const uintptr_t *stack, size_t words)
{
    static const uintptr_t code[] = {(uintptr_t)many, (uintptr_t)qsort, (uintptr_t)snprintf,
                                     (uintptr_t)getppid};
    switch (chance() % 4) {
    case 0:
        return chance();
    case 1:
        return chance() % 100000;
    case 2:
        return (uintptr_t)(stack + chance() % words);
    default:
        return code[chance() % 4] + chance() % 300;
    }
}

static unsigned long walk_along_chance(void)
{
    enum { WORDS = 256, WALKS = 100000 };
    static uintptr_t stack[WORDS], frames[DEPTH];
    unsigned long found = 0;
    for (unsigned i = 0; i < WALKS; i++) {
        struct cfi_registers regs = {.known = (uint32_t)chance() | PORT_ARCH_CFI_SAVED};
        for (unsigned k = 0; k < 16; k++) {
            stack[chance() % WORDS] = word_of(stack, WORDS);
        }
        for (unsigned k = 0; k < PORT_ARCH_CFI_REGISTERS; k++) {
            regs.value[k] = word_of(stack, WORDS);
        }
        found += cfi_frames(&regs, (uintptr_t)stack, (uintptr_t)(stack + WORDS), frames, DEPTH);
    }
    return found;
}

int main(void)
{
    struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static char stack[1 << 16], text[200];
    int numbers[12] = {7, 3, 9, 1, 4, 11, 2, 8, 5, 12, 6, 10};
    stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    modules_find();
    if (sigaltstack(&own, NULL) != 0 || sigaction(SIGNAL, &act, NULL) != 0) {
        return 1;
    }
    unsigned sum;
    step(true);
    do {
        sum = many(10, 20, 30, 40, 1, 2, 3, 4);
        qsort(numbers, 12, sizeof(numbers[0]), compare);
        snprintf(text, sizeof(text), "%s %.3f %d", "text", 2.5, 17);
        free(malloc(100));
        getppid(); /* the dynamic linker binds it now */
    } while (*(volatile unsigned long *)&steps < ENOUGH);
    step(false);
    printf("%lu steps, at most %lu callers, %lu wrong; %u %d %s\n", steps, deepest, wrong, sum,
           numbers[0], text);
    unsigned long found = walk_along_chance();
    printf("%lu callers by chance\n", found);
    return wrong != 0 || steps < ENOUGH || deepest < 8 || found == 0;
}
