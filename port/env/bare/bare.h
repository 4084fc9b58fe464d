/* SPDX-License-Identifier: MIT */
/*
 * bare.h (bare) - functions that the files of this environment share, and those that the
 * architecture calls.
 */
#ifndef PIRN_ENV_BARE_H
#define PIRN_ENV_BARE_H

#include "../frames.h"
#include "board.h"
#include "check.h"
#include "config.h"
#include "port.h"
#include "sizes.h"

extern struct bare_core bare_cores[BARE_CORES];

/* Stacks that are no thread's memory: main's, of core 0, and those on which the other cores
 * schedule; and the bytes below that nobody uses. bare_stack.c */
struct bare_own {
    uintptr_t low, high;
    size_t zone;
};
extern struct bare_own bare_own[BARE_CORES];
const struct bare_own *bare_own_begin(unsigned number);

/* Make the stack on which core `number` will schedule. 0, or -ENOMEM. */
int bare_own_make(unsigned number);

/* On the core: go on with `run` on that stack. */
NORETURN void bare_own_enter(unsigned number, void (*run)(unsigned number, unsigned long hart),
                             unsigned long hart);

/* Upper end of the stack that the core's faults are reported from. */
uintptr_t bare_trap_stack(unsigned number);

/* The core's stack is in use from now on. */
#ifdef ARCH_GUARD_MOVES
ALWAYS_INLINE uintptr_t bare_guard_of(const struct bare_own *own)
{
    return own->zone != 0 ? bare_guard_below(own->low, own->zone) : 0;
}

ALWAYS_INLINE void bare_guard_begin(const struct bare_own *own)
{
    arch_guard_begin(bare_guard_of(own));
}
#else
ALWAYS_INLINE void bare_guard_begin(const struct bare_own *own)
{
    (void)own;
}
#endif

#define BARE_ZONE_MOST 4096u /* a zone is not larger */

/* The running stack is used up: write that, and end. */
NORETURN void bare_overflow(const struct thread *t, uintptr_t from);

/* The guard of a stack whose thread does not run yet: `zone` bytes below it. */
#ifdef ARCH_GUARD_MOVES
ALWAYS_INLINE void bare_guard_set(struct port_stack *stack, size_t zone)
{
    stack->arena = (void *)bare_guard_below((uintptr_t)stack->low, zone);
}
#else
ALWAYS_INLINE void bare_guard_set(struct port_stack *stack, size_t zone)
{
    (void)stack;
    (void)zone;
}
#endif

/* The page is the zone of a stack, or memory again, where zones are pages. fresh: nobody has used
 * it before. */
#ifdef ARCH_PAGE
extern struct bare_pages {
    uintptr_t from, count;     /* (C) mapped by pages: where, how many */
    arch_translation_t *entry; /* (C) of each */
} bare_pages;

/* No core has read a fresh page, so none need forget it. One that has prefetched its translation
 * may keep that. In the blocks of the image there are no pages. */
ALWAYS_INLINE void bare_page_hide(void *page, bool fresh)
{
    uintptr_t number = ((uintptr_t)page - bare_pages.from) / ARCH_PAGE;
    RT_ASSERT((uintptr_t)page % ARCH_PAGE == 0);
    if (likely(number < bare_pages.count)) {
        RT_ASSERT(bare_pages.entry[number] != 0);
        bare_pages.entry[number] = 0;
        arch_translation_clean(&bare_pages.entry[number]);
        if (!fresh) {
            arch_translation_forget((uintptr_t)page);
        }
    }
}

void bare_page_show(void *page);
uintptr_t bare_pages_begin(uintptr_t end);
#else
ALWAYS_INLINE uintptr_t bare_pages_begin(uintptr_t end)
{
    return end;
}

ALWAYS_INLINE void bare_page_hide(void *page, bool fresh)
{
    (void)page;
    (void)fresh;
}

ALWAYS_INLINE void bare_page_show(void *page)
{
    (void)page;
}
#endif

/* For assertions: somebody has the lock; is the caller in an interrupt handler? */
UNUSED ALWAYS_INLINE bool bare_is_locked(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) == 1;
}

UNUSED ALWAYS_INLINE bool bare_in_handler(void)
{
    return arch_irq_is_off() && arch_core()->depth != 0;
}

/* Not in a handler, and no handler interrupts the caller. */
UNUSED ALWAYS_INLINE bool bare_is_inside(void)
{
    return arch_irq_is_off() && arch_core()->depth == 0;
}

/* For assertions: interrupts, though disabled, can end a wait of the calling core. */
bool bare_may_wait(void);

/* Until somebody has given it back. */
COLD void bare_lock_wait(const uint32_t *word);

/* A lock of the environment's own: with interrupts disabled; zeroed, it is free. */
ALWAYS_INLINE unsigned long bare_lock(uint32_t *word)
{
    unsigned long irq = port_irq_save();
    RT_ASSERT(bare_may_wait());
    while (!RT_ALONE && __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) != 0) { /* ORDER(spinlock) */
        bare_lock_wait(word);
    }
    section_lock();
    return irq;
}

ALWAYS_INLINE void bare_unlock(uint32_t *word, unsigned long irq)
{
    RT_ASSERT(bare_is_locked(word));
    section_unlock();
    if (!RT_ALONE) {
        STORE_REL(word, 0); /* ORDER(spinlock) */
    }
    RT_ASSERT(arch_irq_is_off()); /* behind it: the message takes a lock, too */
    port_irq_restore(irq);
}

/* From reset, on the first core and on the others, with interrupts disabled: start.S. */
NORETURN void bare_main(unsigned long hart);
NORETURN void bare_core_main(unsigned number, unsigned long hart);

/* The first core is as C needs it. */
void bare_first_begin(unsigned long hart);

/* Interrupts, called by the architecture with interrupts disabled, in this order: begin; one of the
 * three; end. pc: where it was; frame: what the trap saved. A thread that goes on later, maybe on
 * another core, returns from bare_irq_end then. */
void bare_irq_begin(void);
void bare_on_timer(void);
void bare_on_ipi(void);
struct arch_frame;
void bare_irq_end(uintptr_t pc, const struct arch_frame *frame);

/* The same in two halves, where no thread can be left before the hardware has left the handler: is
 * the thread to be switched away from? Then bare_irq_switch, as if the thread had called it, with
 * interrupts disabled. */
bool bare_irq_leaves(uintptr_t pc, const struct arch_frame *frame);
void bare_irq_switch(void);

/* The registers from which the callers of the interrupted code are found. Supplied by architectures
 * that have a chain of frames. */
void arch_registers(const struct arch_frame *frame, struct frame_registers *at);

/* A handler may have made a thread ready: the calling core, if it sleeps, looks. Policies that
 * put the thread into the core's own queue wake nobody for it. */
void bare_look_again(void);

/* The clock: bare_clock.c. When the board's has been found; its first tick not before a time. */
void bare_clock_begin(void);
uint64_t bare_clock_at(uint64_t ns);

/* Devices: bare_irq.c. bare_irq_attach is pirn_irq_attach, but also for the console. */
void bare_on_device(unsigned source);
int bare_irq_attach(unsigned source, void (*fn)(void *arg), void *arg);
bool bare_irq_outsiders(void); /* may a handler of the program's come? */

/* The core cannot go on: write a message, and end. */
struct bare_fault {
    const char *what;
    unsigned long cause;
    uintptr_t pc, address;
    uintptr_t caller; /* 0: not known */
    uintptr_t sp;     /* 0: not known */
};
NORETURN void bare_fault(const struct bare_fault *fault);

/* The trap's frame does not fit on the running thread's stack. */
NORETURN void bare_no_room(uintptr_t pc);

/* Lines "pirn: from ADDRESS" of the calls that may be active on the stack between `from` and `to`,
 * or its end, of thread t, or of a core's own if it is NULL: bare_report.c. */
void bare_say_calls(const struct thread *t, uintptr_t from, uintptr_t to, unsigned lines);

/* Is this where a call returns to: does the instruction in front of it call? Where to; 0: to an
 * address in a register. The architecture's: bare_calls.c. */
bool arch_call_before(uintptr_t address, uintptr_t *target);
/* Where the instruction is that a call returns to. */
#ifndef ARCH_CODE
#define ARCH_CODE(address) (address)
#endif

/* Tools put the function and the line behind such lines. which: "at", or "from": a return address.
 */
void bare_say_place(const char *which, uintptr_t pc);

/* In place of a source and 1, while the watchdog's function runs. */
#define BARE_WATCHDOG UINT32_MAX

/* A stack has overflowed, perhaps over the lock of port_write: nobody has it. */
void bare_write_regain(void);

/* The watchdog is not served, as this CPU makes no progress: say so, and report the threads. */
void bare_say_stuck(unsigned cpu);

/* More CPUs are asked for than there are cores: write that, and end. */
NORETURN void bare_few_cores(unsigned there);
/* Write "pirn: what", and end. */
#ifdef PIRN_WITHOUT_MESSAGES
NORETURN void bare_stop_quietly(int status);
#define bare_stop(what, status) bare_stop_quietly(status)
#define BARE_WHAT(text) (false ? (text) : NULL)
#else
NORETURN void bare_stop(const char *what, int status);
#define BARE_WHAT(text) (text)
#endif

/* Memory beside the image: bare_pool.c. From above; sbrk takes from below. */
void pool_begin(void);
void *pool_alloc(size_t size);
void pool_free(void *p, size_t size);

/* A block of thread-local storage in that memory, as new, of thread t or of none: the thread
 * pointer. */
#define TLS_ALIGNMENT 64u
size_t tls_size(void);
uintptr_t tls_make(void *at, struct thread *t);

/* The words of the command line, which the machine's user gives: the environment, and the program's
 * arguments. */
int process_arguments(char ***argv);

/* argv[0], where the program was given one. */
const char *process_name(void);

/* Write a file of the machine that runs the program: part(0), part(1) ... until NULL. 0, or
 * -errno. */
int bare_file_write(const char *path, const void *(*part)(unsigned i, size_t *size));

/* Write the trace's file, if there is one and it has not been written. Any context. */
#ifdef PIRN_WITHOUT_TRACE
ALWAYS_INLINE void trace_save(void) {}
#else
void trace_save(void);
#endif

/* The linker scripts put the code at the first page of the file that is not a header. */
#define BARE_TEXT_OFFSET 0x1000u

/* Bytes from the console, at least one; waits for it. */
ptrdiff_t console_read(void *to, size_t most);

#endif
