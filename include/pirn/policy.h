/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the contract of a scheduling policy: for those that come with the
 * library, and for those that a program brings.
 *
 * The runtime owns the loop, the thread states, stopping and waking. A policy says where a ready
 * thread goes and which one comes next. It is one constant table of functions, which the program
 * registers before the runtime starts; PIRN_SCHED=name:option=value then chooses it, like any
 * other. docs/guide/policies.md develops an example and lists the usual mistakes.
 *
 *     static const struct pirn_policy mine = {
 *         .version = PIRN_POLICY_VERSION, .name = "mine", .help = "one line",
 *         .enqueue = mine_enqueue, .pick = mine_pick, .has_work = mine_has_work};
 *
 *     int main(void)
 *     {
 *         int error = pirn_sched_register(&mine);      // the first call of the API
 *         ...
 *
 * Context. Operations run inside the runtime, where no signal or interrupt enters it, on the stack
 * of whatever thread called in: some hundred bytes are safe to use. All CPUs may be in one at once,
 * and kernel threads that are no CPUs. An operation does not block, allocate, print, or take locks
 * but its own; of pirn.h it may call pirn_now, pirn_thread_id and pirn_name; C++ exceptions stay
 * inside. What else it may call is declared in the second half of this header, and is for
 * operations only. Outside of the runtime, where memory and files may be used: the setters of
 * options, init, fini, stat and at_exit.
 *
 * Ownership. A thread handed to enqueue is ready and saved and belongs to the policy, until pick,
 * search or rotate return it, or remove says true. Once it is where others can take it, it may run
 * and end at any moment: enqueue reads what it needs of it before, and nothing after.
 */
#ifndef PIRN_POLICY_H
#define PIRN_POLICY_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the table below. It changes with every change of the table or of what an operation
 * means; a library takes tables of its own version only. */
#define PIRN_POLICY_VERSION 4u

/* A CPU (worker). Valid as long as the runtime. */
typedef struct cpu *pirn_cpu_t;

/* Why a thread becomes ready. */
enum pirn_why {
    PIRN_WHY_SPAWN,   /* it is new */
    PIRN_WHY_WAKE,    /* it was blocked */
    PIRN_WHY_HANDOFF, /* it was blocked, was handed something, and should run next */
    PIRN_WHY_YIELD,   /* it yields, or is preempted: not the next pick if there are others */
    PIRN_WHY_PREEMPT, /* it had to make room, or its slice has ended: see `preempt` */
    PIRN_WHY_MIGRATE  /* not in this version */
};

/* Whom to wake after an enqueue: a CPU number, or one of these. */
enum {
    PIRN_KICK_NONE = -1, /* nobody: only the calling CPU may run the thread, and it will look */
    PIRN_KICK_ANY = -2   /* any CPU may run it: wake one, unless one is looking for work already */
};

struct pirn_kick {
    int cpu;
    bool preempt; /* that CPU (a number) runs something less urgent: have it call `preempt` soon */
};

/* A lock of the policy's: see "memory shared by CPUs" below. */
typedef struct pirn_policy_spin {
    uint32_t opaque;
} pirn_policy_lock_t;

/* What `rotate` answers: the next thread, and the lock that the runtime is to unlock; or NULLs. */
struct pirn_rotation {
    pirn_thread_t next;
    pirn_policy_lock_t *held;
};

/*
 * An option of a policy: PIRN_SCHED=mine:order=lifo. `values` is "a|b|c", or a description of free
 * text in angle brackets ("<file>"), which `set` checks itself. `set` is called before init, first
 * with the default, then with what the user chose; value is one of `values`. 0, or -EINVAL: then
 * the program ends with a message, which is made from `values` unless *why is set to a better one.
 */
struct pirn_policy_option {
    const char *name;   /* lower-case letters, digits, - and _ */
    const char *values; /* see above */
    const char *deflt;  /* one of values; "" for free text */
    const char *help;   /* one line */
    int (*set)(const char *value, const char **why);
};

/* `self` is the caller's CPU, NULL on a kernel thread that is none. What is not needed is NULL. */
struct pirn_policy {
    uint32_t version; /* PIRN_POLICY_VERSION; the first member in every version */
    const char *name; /* like an option's, at most 31 bytes */
    const char *help; /* one line; NULL = none */
    const struct pirn_policy_option *options; /* ends with name == NULL; NULL = none */

    /* Threads are bound to CPUs: a ready one may wait for its CPU while others are without work. */
    bool pinned;

    /* The runtime starts, with so many CPUs; may allocate and read files. 0 or -errno, which ends
     * the program. Then every other operation may be called. fini is called between the runs of
     * the simulator only: a process never stops its CPUs. */
    int (*init)(unsigned ncpu);
    void (*fini)(void);

    /* Required: t is ready. Cannot fail. Whoever calls may hold locks of wait queues and timers. */
    struct pirn_kick (*enqueue)(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why);

    /* Required: the next thread from what is the CPU's own; NULL if none. Called at every switch,
     * maybe with a wait queue locked. */
    pirn_thread_t (*pick)(pirn_cpu_t self);

    /* A short cut for yields: put the running thread t to the tail and answer the next one; NULL:
     * nothing done, the runtime goes the long way (pick, switch, enqueue). t's context is not saved
     * yet, so no other CPU may get at it: where one could, the queue stays locked, and the lock is
     * the answer's other half: the runtime unlocks it after the switch. */
    struct pirn_rotation (*rotate)(pirn_cpu_t self, pirn_thread_t t);

    /* Look elsewhere (steal, ask). Called again and again by a CPU without work, and only then,
     * after pick. */
    pirn_thread_t (*search)(pirn_cpu_t self);

    /* Take a thread out of its queue, wherever that is: true if it was there, and now belongs to
     * the caller. t may be in any state, and another CPU may be putting it in or out. May decline
     * (false) what it cannot reach cheaply. NULL: always declines. */
    bool (*remove)(pirn_cpu_t self, pirn_thread_t t);

    /* The priority, class or weight of t has changed. t may be in a queue of the policy's or not,
     * run or wait, on another CPU, and even be past thread_exit. Read the priority here and in
     * enqueue under one lock: then one of the two has the new one. */
    void (*requeue)(pirn_thread_t t);

    /* Required: is there anything that pick or search of `self` would return, now or when asked
     * again? The last look before sleeping. A false negative is a lost wake-up; a positive that
     * lasts keeps the CPU from sleeping. */
    bool (*has_work)(pirn_cpu_t self);

    /* May `t`, blocked until now, run on `self` at once, past the queue? (The joiner of a thread
     * that ends. The runtime sees to it that nobody starves.) NULL: no. */
    bool (*direct)(pirn_cpu_t self, pirn_thread_t t);

    /* The CPU was posted (pirn_policy_post, pirn_policy_send); called before its next pick, so in
     * the same places. Also when a thread has run for a whole tick and is to make room, posted or
     * not. Bounded. */
    void (*poll)(pirn_cpu_t self);

    /* Hints: the CPU begins and ends being without work. */
    void (*idle_enter)(pirn_cpu_t self);
    void (*idle_exit)(pirn_cpu_t self);

    /* t is made, before its first enqueue: set up its room. creator runs; NULL if t is the main
     * thread, or was made by a kernel thread that is no CPU. 0 or -errno, with which creating the
     * thread fails. thread_exit: t, which runs, is about to end. */
    int (*thread_init)(pirn_thread_t t, pirn_thread_t creator);
    void (*thread_exit)(pirn_thread_t t);

    /* The program ends in the ordinary way; other CPUs may still run. May allocate, and write
     * files. */
    void (*at_exit)(void);

    /* At the end, if PIRN_STATS asks for counters: emit(to, name, value) each counter of that CPU;
     * the values of a name are summed. Names like an option's, at most 16 of them. */
    void (*stat)(pirn_cpu_t self, void (*emit)(void *to, const char *name, uint64_t value),
                 void *to);

    /* Say in a few words how the queues stand: print(to, text). Part of the simulator's report of a
     * run that hangs. */
    void (*dump)(void (*print)(void *to, const char *text), void *to);

    /* Verify the invariants (PIRN_POLICY_VERIFY). The simulator calls it whenever nobody is inside
     * the runtime; Linux does not. */
    void (*check)(void);

    /* For disciplines with priorities and slices. Which thread runs instead of `running`, the
     * current thread of `self`? why is PIRN_WHY_YIELD: it yields, and waits for who is as urgent;
     * PIRN_WHY_PREEMPT: it goes on unless somebody is more urgent, or its slice has ended and
     * somebody as urgent is there. That one is taken out, as by pick; `running` is enqueued after
     * the switch. NULL: running goes on. Without the operation nothing is preempted, and yields
     * go by rotate, or pick. */
    pirn_thread_t (*preempt)(pirn_cpu_t self, pirn_thread_t running, enum pirn_why why);

    /* `running` has run for so many ticks: account for it. True: its slice has ended, and `preempt`
     * is called at the next opportunity. NULL: there are no slices. */
    bool (*charge)(pirn_cpu_t self, pirn_thread_t running, unsigned ticks);
};

/*
 * Add a policy, before the first other call of the API. The table, and what it points at, stay in
 * place for ever. May be called by several kernel threads. 0 or
 *   -EFAULT           policy is NULL
 *   -EPROTO           version is not PIRN_POLICY_VERSION of this library
 *   -EINVAL           bad name
 *   -ENOSYS           enqueue, pick or has_work is missing, or charge without preempt
 *   -EDOM             bad option: incomplete, badly named, named twice, or a default that is none
 *                     of its values
 *   -EBUSY            the runtime has started
 *   -EEXIST           there is one with this name
 *   -ENOSPC           eight are registered, or help texts are too long for pirn_describe
 */
int pirn_sched_register(const struct pirn_policy *policy);

/* Why the last pirn_sched_register failed, in words that name the value and what would be right;
 * NULL if none has. Static storage. */
const char *pirn_sched_refusal(void);

/* ---- what an operation may call: threads and CPUs ---- */

/* Each thread has so many bytes for the policy, aligned to 8. They are not cleared: thread_init
 * sets what is used. The run queues below and pirn_policy_send use the first PIRN_POLICY_LINK of
 * them while they hold the thread; a policy with queues of its own has them all. */
#define PIRN_POLICY_ROOM 32
#define PIRN_POLICY_LINK (2 * sizeof(void *))
void *pirn_policy_room(pirn_thread_t t);
pirn_thread_t pirn_policy_thread(void *room); /* and back */

/* Where it runs or ran last; for a new thread, the CPU that makes it. -1: a kernel thread that is
 * no CPU made it, and it has not run yet. */
int pirn_policy_thread_cpu(pirn_thread_t t);

/* Its own, or that of a thread that waits for what it holds, if that is higher: 1 to 99, or 0 for
 * class OTHER. May change at any time: see requeue. */
unsigned pirn_policy_thread_priority(pirn_thread_t t);

/* For `check`: it is in a queue, or on its way there. */
bool pirn_policy_thread_ready(pirn_thread_t t);

/* CPUs have the numbers from 0 to count - 1. */
#define PIRN_POLICY_CPUS 256 /* count is never above it */
unsigned pirn_policy_cpu_count(void);
unsigned pirn_policy_cpu_id(pirn_cpu_t cpu);
pirn_cpu_t pirn_policy_cpu(unsigned id);

/* ---- waking: from poll, search, idle_enter and idle_exit; enqueue answers whom to wake ---- */

/* Does it sleep? A hint. */
bool pirn_policy_cpu_sleeps(unsigned id);

/* Wake that CPU if it sleeps; one that is awake is not disturbed. */
void pirn_policy_kick(pirn_cpu_t self, unsigned id);

/* Have that CPU call `preempt`, as by pirn_kick.preempt. */
void pirn_policy_preempt(pirn_cpu_t self, unsigned id);

/* What PIRN_KICK_ANY does, for threads that others may run from now on for another reason than an
 * enqueue. */
void pirn_policy_kick_any(pirn_cpu_t self);

/* Have the CPU call `poll` before its next pick, and wake it if it sleeps. */
void pirn_policy_post(pirn_cpu_t cpu);

/* ---- memory shared by CPUs ---- */

/*
 * Spin lock: acquire at lock, release at unlock. Zero is unlocked; init makes it so again when the
 * simulator starts anew. An operation holds one at a time, for a bounded number of steps, and
 * returns without (but rotate may leave one to the runtime).
 */
void pirn_policy_lock_init(pirn_policy_lock_t *lock);
void pirn_policy_lock(pirn_policy_lock_t *lock);
bool pirn_policy_trylock(pirn_policy_lock_t *lock);
void pirn_policy_unlock(pirn_policy_lock_t *lock);

/*
 * Words that are read and written without a lock. The order is C11's: store is a release, load an
 * acquire, so that what was written before the store is seen after the load that sees it; peek is
 * relaxed, a hint that orders nothing; add and swap are both acquire and release. None is a fence:
 * of two CPUs that each store to their own word and load the other's, both may miss the other's.
 * The one place where that matters is sleeping, and there the runtime fences: between what enqueue
 * wrote and its look for sleepers, and between announcing a sleeper and its has_work. So has_work
 * may use peek, pirn_runq_length and pirn_policy_inbox_empty.
 *
 * C11 atomics are as right, but the simulator does not see them: no interleaving is explored there.
 */
typedef struct pirn_policy_word {
    uintptr_t opaque;
} pirn_policy_word_t;
void pirn_policy_word_init(pirn_policy_word_t *word, uintptr_t value); /* nobody else uses it yet */
uintptr_t pirn_policy_peek(const pirn_policy_word_t *word);
uintptr_t pirn_policy_load(const pirn_policy_word_t *word);
void pirn_policy_store(pirn_policy_word_t *word, uintptr_t value);
uintptr_t pirn_policy_add(pirn_policy_word_t *word, uintptr_t n); /* the value before */

/* Store value if *want is in it; else put what is there into *want. True if stored. */
bool pirn_policy_swap(pirn_policy_word_t *word, uintptr_t *want, uintptr_t value);

/* ---- run queue ---- */

/*
 * A list of threads through their rooms. All but length need the policy's lock, or one CPU that
 * alone uses the queue. A LIFO queue takes new and woken threads at the head, and gives away its
 * oldest one now and then, so that nobody starves in it.
 */
typedef struct pirn_runq {
    uintptr_t opaque[6];
} pirn_runq_t;
void pirn_runq_init(pirn_runq_t *queue, bool lifo);

/* At the head or at the tail, as why and the queue's kind have it. */
void pirn_runq_push(pirn_runq_t *queue, pirn_thread_t t, enum pirn_why why);
void pirn_runq_push_head(pirn_runq_t *queue, pirn_thread_t t);
void pirn_runq_push_tail(pirn_runq_t *queue, pirn_thread_t t);

/* The next one; NULL if it is empty. */
pirn_thread_t pirn_runq_pop(pirn_runq_t *queue);
pirn_thread_t pirn_runq_pop_tail(pirn_runq_t *queue);

/* Pop the head and push t at the tail; NULL and nothing done if it is empty. For `rotate`. */
pirn_thread_t pirn_runq_rotate(pirn_runq_t *queue, pirn_thread_t t);

/* t is in this queue. */
void pirn_runq_remove(pirn_runq_t *queue, pirn_thread_t t);

/* Head, and the one behind t; NULL at the end. */
pirn_thread_t pirn_runq_first(const pirn_runq_t *queue);
pirn_thread_t pirn_runq_next(const pirn_runq_t *queue, pirn_thread_t t);

/* Without the lock an estimate: right at some moment not long ago. In has_work it is right about
 * what was enqueued before. */
unsigned pirn_runq_length(const pirn_runq_t *queue);

/* ---- inbox, for queues that only their CPU touches ---- */

/* Send a ready thread to a CPU, which is posted but not woken: enqueue answers with its number. */
void pirn_policy_send(pirn_cpu_t to, pirn_thread_t t);

/* In `poll`: call take for each thread that was sent, the oldest first. How many there were. */
unsigned pirn_policy_receive(pirn_cpu_t self, void (*take)(pirn_cpu_t self, pirn_thread_t t));

/* For has_work. */
bool pirn_policy_inbox_empty(pirn_cpu_t self);

/* ---- checks ---- */

/* End the program (in the simulator: the run) with place and text. */
void pirn_policy_panic(const char *file, int line, const char *text) __attribute__((noreturn));

#define PIRN_POLICY_VERIFY(cond) ((cond) ? (void)0 : pirn_policy_panic(__FILE__, __LINE__, #cond))

#ifdef __cplusplus
}
#endif

#endif
