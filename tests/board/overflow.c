/* SPDX-License-Identifier: MIT */
/*
 * overflow.c - a stack overflow, for each kind of stack. The program ends with a message that names
 * the stack.
 *
 *     overflow STACK [HOW]
 *
 * STACK: main; heap: the runtime's; given: by attributes; static: of <pirn/static.h>; handler: of a
 * thread that is interrupted, by the handler; scheduler: of a core that sleeps, likewise.
 * HOW: call (default): by 256 bytes a level, somewhat too deep, then a call of the API; frame: by
 * one frame of 4 KiB, which leaves the stack's last word alone, and a call in it; endless: by 256
 * bytes a level, without end and without calls.
 *
 * What the runtime allocates is larger than was asked for, by how much depends on what the other
 * cores allocate meanwhile. So there the call is tried again and again on the way down. If nothing
 * is found the program ends, and says so.
 */
#include "check_board.h"
#include "common/options.h"

#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <pirn/static.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef ALARM_SOURCE
#include "alarm.h"
#endif

enum { CALL, FRAME, ENDLESS };

#define STACK_BYTES 32768u
#define MAIN_BYTES (256u << 10)
#define SCHEDULER_BYTES 8192u
#define LEVEL_BYTES 256u
#define FRAME_BYTES 4096u
#define MORE_BYTES 16384u /* what the runtime allocates more than was asked for, at most */
#define AGAIN_BYTES 3072u /* from one frame to the next: less than a frame */
#define SOON_NS 1000000u

static size_t how;
static void (*calls)(void); /* the API */
static uintptr_t last;      /* no try below it */

static __attribute__((noinline)) unsigned one_frame(void)
{
    volatile char room[FRAME_BYTES];
    room[FRAME_BYTES - 1] = 1;
    calls();
    return (unsigned)room[FRAME_BYTES - 1];
}

static void tries(void)
{
    if (how == FRAME) {
        one_frame();
    } else {
        calls();
    }
}

/* The first try when the stack pointer is below `next`. Each level writes all of its bytes: odd
 * numbers, as no call returns to such an address. */
static __attribute__((noinline)) unsigned recurses(uintptr_t next)
{
    volatile unsigned room[LEVEL_BYTES / sizeof(unsigned)];
    for (unsigned i = 0; i < LEVEL_BYTES / sizeof(unsigned); i++) {
        room[i] = 1;
    }
    if ((uintptr_t)room < next) {
        tries();
        next = (uintptr_t)room - (how == FRAME ? AGAIN_BYTES : 0);
    }
    return ((uintptr_t)room >= last ? recurses(next) : 0) + room[0];
}

/* The stack ends at `low`, or up to `more` bytes below that. */
static void overflows(uintptr_t low, size_t more)
{
    const uintptr_t firsts[] = {[CALL] = low - LEVEL_BYTES, [FRAME] = low + 1024, [ENDLESS] = 0};
    last = how == ENDLESS ? 0 : firsts[how] - more;
    recurses(firsts[how]);
}

static void yields(void)
{
    pirn_yield();
}

static uintptr_t here(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}

static void in_main(void)
{
    overflows(here() - MAIN_BYTES, 0);
}

static void *in_thread(void *unused)
{
    overflows(here() - STACK_BYTES, MORE_BYTES);
    return unused;
}

static void in_heap(void)
{
    pirn_attr_t attr = {.name = "deep", .stack_size = STACK_BYTES};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, in_thread, NULL) == 0);
    pirn_join(t, NULL);
}

static void *in_memory(void *low)
{
    overflows((uintptr_t)low, 0);
    return NULL;
}

static PIRN_STACK(given, STACK_BYTES);

static void in_given(void)
{
    pirn_attr_t attr = {.name = "deep", .stack = given, .stack_size = STACK_BYTES};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, in_memory, given) == 0);
    pirn_join(t, NULL);
}

PIRN_THREAD_ROOM(deep, STACK_BYTES, in_memory, deep_room.stack);

static void in_static(void)
{
    CHECK(pirn_static_create(&deep) == 0);
    pirn_static_join(&deep, NULL);
}

#ifdef ALARM_SOURCE
static pirn_sem_t passed = PIRN_SEM_INIT(0);
static volatile bool has_passed; /* nothing was found */
static uintptr_t mains; /* an address in main's stack; 0: the handler interrupts a thread */

static void *nothing(void *arg)
{
    return arg;
}

/* A handler must not yield. */
static void creates(void)
{
    const pirn_attr_t attr = {.detached = true, .stack_size = pirn_stack_min()};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, nothing, NULL) == 0);
}

static void on_alarm(void *unused)
{
    (void)unused;
    alarm_clear();
    if (mains != 0 && here() < mains && mains - here() < MAIN_BYTES) {
        alarm_in(SOON_NS); /* main does not wait yet */
        return;
    }
    calls = creates;
    overflows(here() - (mains != 0 ? SCHEDULER_BYTES : STACK_BYTES), MORE_BYTES);
    has_passed = true;
    pirn_sem_post(&passed);
}

static void alarm_starts(void)
{
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    alarm_in(SOON_NS);
}

static void *is_interrupted(void *unused)
{
    alarm_starts();
    while (!has_passed) {
    }
    return unused;
}

static void in_handler(void)
{
    pirn_attr_t attr = {.name = "deep", .stack_size = STACK_BYTES};
    pirn_thread_t t;
    CHECK(pirn_create(&t, &attr, is_interrupted, NULL) == 0);
    pirn_join(t, NULL);
}

/* All cores sleep. */
static void in_scheduler(void)
{
    mains = here();
    alarm_starts();
    pirn_sem_wait(&passed);
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } stacks[] = {
        {"main", in_main},       {"heap", in_heap},
        {"given", in_given},     {"static", in_static},
#ifdef ALARM_SOURCE
        {"handler", in_handler}, {"scheduler", in_scheduler},
#endif
    };
    static const char *const hows[] = {[CALL] = "call", [FRAME] = "frame", [ENDLESS] = "endless"};
    const struct option_page page = {.summary = "A stack overflow.", .operand = "STACK [HOW]"};
    char **operand = options_parse(argc, argv, &page);
    size_t stack = OPERAND_CHOICE("STACK", operand[0], stacks);
    how = operand[1] != NULL ? OPERAND_CHOICE("HOW", operand[1], hows) : CALL;
    calls = yields;
    pirn_self(); /* the runtime starts */
    stacks[stack].run();
    puts("nothing was found");
    return 0;
}
