/* SPDX-License-Identifier: MIT */
/*
 * posix_sanitizer.c - programs built with AddressSanitizer or ThreadSanitizer, with this library
 * unchanged. To the sanitizer a user thread is a thread.
 *
 * The sanitizer's runtime comes before this library in the search for names: it is in the program
 * (clang), or is the first library (gcc). Its interceptors have the POSIX names that the program
 * calls. They record the call and call the next definition of the name, ours. So the sanitizer
 * learns of creation, join and synchronisation from the calls themselves, whatever worker runs a
 * thread. Its data of a thread lies in TLS and moves with the thread, so it needs nothing from the
 * scheduler. It does need:
 *
 *   1. Keys, before the C library has begun, and in kernel threads that Pirn did not make (keys
 *      made before our constructor). Their values lie in our TLS, which exists from the beginning
 *      and is the thread's own in user threads. Their destructors run last in a thread's life
 *      (posix_sanitizer_end).
 *   2. A CPU for the new thread. Its pthread_create waits in the kernel until the new thread has
 *      made itself known, but the creator may have the only CPU. So the creator gives its CPU away
 *      before it returns (like a thread seen asleep in the kernel: rt_call_unannounced), waits on
 *      its kernel thread, and gets a CPU again at its next call of ours.
 *   3. Kernel threads. ThreadSanitizer creates its own without attributes (the interceptor adds
 *      attributes to the program's). Of ours, one allocates (kernel_thread_create_known), and
 *      ThreadSanitizer allocates for known threads only. The others never allocate.
 *   4. No accesses to watch in this library, which is not instrumented. The memory functions that
 *      it calls are its own (posix_memory.c), not interceptors.
 *   5. All places that may hold pointers, for the search for leaks. It learns of values of keys at
 *      once, and of the stacks of living threads at exit. It finds stacks of known threads itself,
 *      but by kernel thread.
 */
#include "posix_sanitizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/carrier.h"
#include "id.h"
#include "port_calls.h"
#include "port_posix.h"
#include "port_tls.h"

#define CREATED_ROUNDS 20000u /* about 10 ms */

typedef void (*destructor_fn)(void *);

void __lsan_register_root_region(const void *low, size_t size) __attribute__((weak));
void __lsan_unregister_root_region(const void *low, size_t size) __attribute__((weak));

bool posix_sanitized;
static bool hooked;

static struct {
    unsigned n; /* changes only before there are threads */
    destructor_fn destructor[POSIX_TOOL_KEYS];
} keys;

static __thread void *value_of[POSIX_TOOL_KEYS] __attribute__((tls_model("initial-exec")));

/* The C library's function of that name. */
#define NEXT(name)                                                                                 \
    ((__typeof__(&name))dlsym(RTLD_NEXT, #name)) /* NOLINT: a pointer to a function */

pthread_key_t posix_sanitizer_key(destructor_fn destructor)
{
    if (hooked || port_sanitizer() == SANITIZER_NONE || keys.n == POSIX_TOOL_KEYS) {
        return POSIX_TOOL_KEY_NONE;
    }
    keys.destructor[keys.n] = destructor;
    return POSIX_TOOL_KEY + keys.n++;
}

void *posix_sanitizer_getspecific(pthread_key_t key)
{
    return key - POSIX_TOOL_KEY < keys.n ? value_of[key - POSIX_TOOL_KEY] : NULL;
}

int posix_sanitizer_setspecific(pthread_key_t key, const void *value)
{
    if (key - POSIX_TOOL_KEY >= keys.n) {
        return EINVAL;
    }
    value_of[key - POSIX_TOOL_KEY] = (void *)value;
    return 0;
}

static bool keys_round(void)
{
    bool called = false;
    for (unsigned k = 0; k < keys.n; k++) {
        void *value = value_of[k];
        if (value != NULL && keys.destructor[k] != NULL) {
            value_of[k] = NULL;
            keys.destructor[k](value);
            called = true;
        }
    }
    return called;
}

/* ThreadSanitizer's destructor counts rounds in order to run after all others. */
void posix_sanitizer_end(struct thread *self)
{
    if (self->flags & THREAD_MAIN) {
        return; /* it lives as long as the process */
    }
    port_tls_end(); /* for objects that destructors of keys have made */
    for (int round = 0; round < 2 * PTHREAD_DESTRUCTOR_ITERATIONS && keys_round(); round++) {
    }
}

static void stack_root(struct thread *t, void *unused)
{
    (void)unused;
    uint32_t state = at_load_rlx(&t->state);
    if ((t->flags & (THREAD_IDLE | THREAD_FOREIGN | THREAD_MAIN)) || state == THREAD_EXITED) {
        return;
    }
    char *low = t->stack.low, *end = low + t->stack.size, *sp = t->ctx.sp;
    if (state != THREAD_RUNNING && sp > low && sp < end) {
        low = sp;
    }
    posix_sanitizer_root(low, (size_t)(end - low), true);
}

/* Runs before the search for leaks, which begins when the sanitizer's library is finished. */
void posix_sanitizer_exit(void)
{
    unsigned long irq;
    rt_enter(&irq);
    id_for_each_locked(stack_root, NULL);
    rt_leave(irq);
}

/* True if the interceptors come before this library. */
static bool stands_before_us(void)
{
    Dl_info theirs, own;
    const void *outer = posix_sanitizer_outer("pthread_create");
    return dladdr(outer, &theirs) != 0 && dladdr((const void *)&posix_sanitized, &own) != 0 &&
           theirs.dli_fbase != own.dli_fbase;
}

static void refuse(const char *text)
{
    port_write(text, strlen(text));
    port_exit_now(2);
}

void posix_sanitizer_begin(void)
{
    hooked = true;
    if (port_sanitizer() == SANITIZER_NONE) {
        return;
    }
    if (!stands_before_us()) {
        refuse("pirn: the library of the program's AddressSanitizer or ThreadSanitizer comes after "
               "libpirn-pthread; it must come before: link the program with -lpirn-pthread, or "
               "name both in LD_PRELOAD, that library first\n");
    }
    rt_tooled = true;
    posix_sanitized = true;
}

bool posix_sanitizer_helper(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                            void *arg, int *error)
{
    bool own = attr == NULL && port_sanitizer() == SANITIZER_THREAD;
    if (!own && !port_helper_next()) {
        return false;
    }
    *error = -port_helper_create(thread, start, arg);
    return true;
}

pthread_t posix_sanitizer_self(void)
{
    return NEXT(pthread_self)();
}

int posix_sanitizer_getattr(pthread_t thread, pthread_attr_t *attr)
{
    return NEXT(pthread_getattr_np)(thread, attr);
}

/* Waits until there is a spare carrier, which the call asks for. If there is none for long, its
 * kernel thread was refused; the monitor then sees sooner or later that the creator sleeps. A
 * foreign kernel thread has no CPU to give. */
void posix_sanitizer_created(void)
{
    for (unsigned round = 0; round < CREATED_ROUNDS && port_cpu_self() != NULL; round++) {
        if (rt_call_unannounced()) {
            return;
        }
        port_relax(round);
    }
}

void posix_sanitizer_root(const void *low, size_t size, bool is)
{
    if (!posix_sanitized || __lsan_register_root_region == NULL) {
        return;
    }
    if (is) {
        __lsan_register_root_region(low, size);
    } else {
        __lsan_unregister_root_region(low, size);
    }
}

void *posix_sanitizer_outer(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
