/* SPDX-License-Identifier: MIT */
/*
 * linux_process.c (Linux) - the process around the runtime: options, output, ending, stack
 * overflow.
 *
 * S1. In a process with AT_SECURE (set-user-ID, set-group-ID, capabilities of its file) the
 *     environment belongs to a user who has fewer rights than the process. There are no options
 *     then: port_option and port_option_name, which alone read PIRN_ variables, find none.
 * S2. The PIRN_ variables of such a process are removed before main: programs that it executes
 *     with its own rights have no AT_SECURE and would obey them.
 */
#include "linux.h"
#include "port_files.h"
#include "port_options.h"
#include "port_posix.h"
#include "port_report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char prefix[] = "PIRN_";
#define PREFIX_LENGTH (sizeof(prefix) - 1)

/* S1: does the environment come from a user with fewer rights than the process? */
static bool environment_is_foreign(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* S2. In place, like unsetenv, in the present `environ`. */
static void options_remove(void)
{
    char **to = environ;
    for (char **from = environ; from != NULL && *from != NULL; from++) {
        if (strncmp(*from, prefix, PREFIX_LENGTH) != 0) {
            *to++ = *from;
        }
    }
    if (to != NULL) {
        *to = NULL;
    }
}

static __attribute__((constructor)) void environment_check(void)
{
    if (environment_is_foreign()) {
        options_remove();
    }
}

const char *port_option(const char *name)
{
    if (environment_is_foreign()) {
        return NULL;
    }
    char variable[64] = "PIRN_";
    size_t n = strlen(name);
    if (n >= sizeof(variable) - PREFIX_LENGTH) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        RT_ASSERT(name[i] >= 'a' && name[i] <= 'z');
        variable[PREFIX_LENGTH + i] = (char)(name[i] - 'a' + 'A');
    }
    return getenv(variable);
}

/* Small letters become capitals, so that PIRN_cpus is not taken for an option: it sets none. */
static char case_swapped(char c)
{
    return c >= 'A' && c <= 'Z'   ? (char)(c - 'A' + 'a')
           : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A')
                                  : c;
}

const char *port_option_name(unsigned i)
{
    static char name[64];
    if (environment_is_foreign()) {
        return NULL;
    }
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, prefix, PREFIX_LENGTH) != 0 || i-- != 0) {
            continue;
        }
        const char *from = *e + PREFIX_LENGTH;
        size_t n = 0;
        while (from[n] != '=' && from[n] != '\0' && n < sizeof(name) - 1) {
            name[n] = case_swapped(from[n]);
            n++;
        }
        name[n] = '\0';
        return name;
    }
    return NULL;
}

void port_write(const char *text, size_t length)
{
    while (length != 0) {
        ssize_t n = syscall(SYS_write, STDERR_FILENO, text, length);
        if (n <= 0) {
            return;
        }
        text += n;
        length -= (size_t)n;
    }
}

void port_program_facts(struct port_program_facts *facts)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *facts = (struct port_program_facts){.program = program_invocation_name,
                                         .machine = PORT_ARCH_NAME,
                                         .pid = (uint64_t)syscall(SYS_getpid),
                                         .unix_ns = (uint64_t)now.tv_sec * 1000000000u +
                                                    (uint64_t)now.tv_nsec};
}

/* Not _exit, whose name a sanitizer may have taken. */
void port_exit_now(int status)
{
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

void port_panic(void)
{
    abort();
}

void port_exit(int status)
{
    exit(status);
}

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
enum port_sanitizer port_sanitizer(void)
{
    return SANITIZER_NONE;
}

uintptr_t port_sanitizer_at(void)
{
    return 0;
}
#else
void __asan_init(void) __attribute__((weak));
void __tsan_init(void) __attribute__((weak));
void __lsan_init(void) __attribute__((weak)); /* -fsanitize=leak */

enum port_sanitizer port_sanitizer(void)
{
    return __tsan_init != NULL   ? SANITIZER_THREAD
           : __asan_init != NULL ? SANITIZER_ADDRESS
           : __lsan_init != NULL ? SANITIZER_LEAK
                                 : SANITIZER_NONE;
}

uintptr_t port_sanitizer_at(void)
{
    return __tsan_init != NULL   ? (uintptr_t)__tsan_init
           : __asan_init != NULL ? (uintptr_t)__asan_init
                                 : (uintptr_t)__lsan_init;
}
#endif

/* The sanitizer's runtime begins before the C library does. It needs keys then, which need no
 * runtime of ours. If another version needs more: a runtime cannot start then, as there are no
 * options yet. */
void port_check(void)
{
    static const char text[] =
        "pirn: the program's AddressSanitizer or ThreadSanitizer has called libpirn-pthread before "
        "the C library has begun: this version of it is not known here (gcc 12, clang 14 are)\n";
    if (port_sanitizer() != SANITIZER_NONE && environ == NULL) {
        port_write(text, sizeof(text) - 1);
        syscall(SYS_exit_group, 2); /* nothing of theirs: they have not begun, either */
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    char text[256];
    struct cpu *cpu = port_cpu_self();
    (void)context;
    if (cpu != NULL && rt_describe_overflow(cpu, (uintptr_t)info->si_addr, text, sizeof(text))) {
        port_write(text, strlen(text));
    }
    /* The instruction is executed again and ends the process in the ordinary way. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    __sigaction(signal, &plain, NULL);
}

/* Does the program handle the signal itself? */
static bool fault_is_free(int signal)
{
    struct sigaction old;
    return __sigaction(signal, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
           old.sa_handler == SIG_DFL;
}

#if defined(PIRN_TSAN) || defined(PIRN_ASAN)
int fault_stack_make(struct port_carrier *port)
{
    (void)port;
    return 0;
}

int fault_catch_here(struct port_carrier *port)
{
    (void)port;
    (void)on_fault;
    (void)fault_is_free;
    return 0; /* the sanitizer reports overflows itself */
}
#else
int fault_stack_make(struct port_carrier *port)
{
    if (port->signal_stack == NULL) {
        port->signal_stack = port_table_alloc(SIGNAL_STACK);
    }
    return port->signal_stack != NULL ? 0 : -ENOMEM;
}

/* A kernel thread that was there before may have an alternate stack of the program's. */
static int fault_stack_use(struct port_carrier *port)
{
    stack_t none, mine = {.ss_size = SIGNAL_STACK};
    if (syscall(SYS_sigaltstack, NULL, &none) != 0 || !(none.ss_flags & SS_DISABLE)) {
        return 0;
    }
    int error = fault_stack_make(port);
    mine.ss_sp = port->signal_stack;
    return error == 0 && syscall(SYS_sigaltstack, &mine, NULL) != 0 ? -ENOMEM : error;
}

int fault_catch_here(struct port_carrier *port)
{
    RT_ASSERT(carrier_is_own(port)); /* the signal stack is the calling kernel thread's */
    int error = fault_stack_use(port);
    if (error != 0) {
        return error;
    }
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    report_own_handler((const void *)(uintptr_t)on_fault);
    if (fault_is_free(SIGSEGV)) {
        __sigaction(SIGSEGV, &action, NULL);
    }
    if (fault_is_free(SIGBUS)) {
        __sigaction(SIGBUS, &action, NULL);
    }
    return 0;
}
#endif

#if defined(PIRN_ASAN)
void san_own_stack(struct san_thread *s)
{
    pthread_attr_t attr;
    void *low;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &s->size);
        s->low = low;
        pthread_attr_destroy(&attr);
    }
}
#endif
