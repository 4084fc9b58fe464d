/* SPDX-License-Identifier: MIT */
/*
 * policy.h - the contract of a scheduling policy, for the library's own and for those of a program.
 *
 * The runtime owns the loop, the thread states, stopping and waking. A policy decides where a ready
 * thread goes and which one runs next. It is one constant table of functions, which the program
 * registers before the runtime starts; PIRN_SCHED=name:option=value then chooses it, like any
 * other. docs/guide/policies.md develops an example and lists common mistakes.
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
 * Context. Operations run inside the runtime, where no signal or interrupt enters, on the stack of
 * whichever thread called in: a few hundred bytes are safe to use. All CPUs may be in an operation
 * at once, and so may kernel threads that are no CPUs. An operation does not block, allocate or
 * print, and takes no locks except its own. Of pirn.h it may call pirn_now, pirn_thread_id and
 * pirn_name. C++ exceptions must not leave it. The second half of this header declares the other
 * functions that it may call; they are for operations only. The setters of options, init, fini,
 * stat and at_exit run outside the runtime and may use memory and files.
 *
 * Ownership. A thread that is passed to enqueue is ready and saved. It belongs to the policy until
 * pick, search or rotate returns it, or remove returns true. As soon as others can take it, it may
 * run and end at any moment: enqueue must read what it needs before that, and nothing after.
 */
#ifndef PIRN_POLICY_H
#define PIRN_POLICY_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the table below. It changes whenever the table or the meaning of an operation
 * changes. A library accepts only tables of its own version. */
#define PIRN_POLICY_VERSION 6u

/* A CPU (worker). Valid as long as the runtime. */
typedef struct cpu *pirn_cpu_t;

/* The reason why a thread becomes ready. */
enum pirn_why {
    PIRN_WHY_SPAWN,   /* a new thread */
    PIRN_WHY_WAKE,    /* it was blocked, or has let others run before it waits for a descriptor */
    PIRN_WHY_HANDOFF, /* it was blocked, was handed something, and should run next: the suites test
                       * it with one CPU */
    PIRN_WHY_YIELD,   /* it yields, or is preempted: not the next pick if there are others */
    PIRN_WHY_PREEMPT, /* it had to make room, or its slice has ended: see `preempt` */
    PIRN_WHY_MIGRATE  /* not in this version */
};

/* The CPU to wake after an enqueue: its number, or one of these. */
enum {
    PIRN_KICK_NONE = -1, /* none: only the calling CPU may run the thread, and it will look */
    PIRN_KICK_ANY = -2   /* any CPU may run it: wake one, unless one already looks for work */
};

struct pirn_kick {
    int cpu;
    bool preempt; /* that CPU (a number) runs a less urgent thread: make it call `preempt` soon */
    bool later;   /* with PIRN_KICK_NONE: no CPU may run the thread for now. The policy wakes one as
                   * soon as one may: see `held` */
};

/* A lock of the policy: see "memory shared by CPUs" below. */
typedef struct pirn_policy_spin {
    uint32_t opaque;
} pirn_policy_lock_t;

/* The result of `rotate`: the next thread, and the lock that the runtime unlocks; or NULLs. */
struct pirn_rotation {
    pirn_thread_t next;
    pirn_policy_lock_t *held;
};

/*
 * An option of a policy: PIRN_SCHED=mine:order=lifo. `values` is "a|b|c", or a description of free
 * text in angle brackets ("<file>"), which `set` checks itself. `set` is called before init, first
 * with the default, then with the user's value, which is one of `values`. It returns 0, or -EINVAL:
 * then the program ends with a message. The message is made from `values` unless *why is set to a
 * better one.
 */
struct pirn_policy_option {
    const char *name;   /* lower-case letters, digits, - and _ */
    const char *values; /* see above */
    const char *deflt;  /* one of `values`; "" for free text */
    const char *help;   /* one line */
    int (*set)(const char *value, const char **why);
};

/* `self` is the caller's CPU, NULL on a kernel thread that is none. An operation that is not needed
 * is NULL. */
struct pirn_policy {
    uint32_t version; /* PIRN_POLICY_VERSION; the first member in every version */
    const char *name; /* like an option's, at most 31 bytes */
    const char *help; /* one line; NULL = none */
    const struct pirn_policy_option *options; /* ends with name == NULL; NULL = none */

    /* Threads are bound to CPUs: a ready thread may wait for its CPU while other CPUs have no
     * work. */
    bool pinned;

    /* Only its own CPU can take a ready thread out of a queue, and gives it to another one in
     * `poll`: the thread waits as long as its CPU runs a thread that makes no call and is not
     * preempted, while other CPUs may have no work. */
    bool private_queues;

    /* The runtime starts with `ncpu` CPUs. May allocate and read files. 0 or -errno, which ends the
     * program. From then on every other operation may be called. fini is called only between the
     * runs of the simulator: a process never stops its CPUs. */
    int (*init)(unsigned ncpu);
    void (*fini)(void);

    /* Required: t is ready. Cannot fail. The caller may hold locks of wait queues and timers. */
    struct pirn_kick (*enqueue)(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why);

    /* Required: the next of the CPU's own threads; NULL if there is none. Called at every switch,
     * possibly with a wait queue locked. */
    pirn_thread_t (*pick)(pirn_cpu_t self);

    /* A fast path for yields: put the running thread t at the tail and return the next one. NULL:
     * nothing was done, and the runtime calls pick, switches, and calls enqueue. t's context is not
     * saved yet, so no other CPU may reach it. If one could, the queue stays locked and the result
     * contains the lock: the runtime unlocks it after the switch. */
    struct pirn_rotation (*rotate)(pirn_cpu_t self, pirn_thread_t t);

    /* Look elsewhere (steal, ask). Called after pick, and only by a CPU without work,
     * repeatedly. */
    pirn_thread_t (*search)(pirn_cpu_t self);

    /* Take a thread out of its queue, wherever that is: true if it was there and now belongs to the
     * caller. t may be in any state, and another CPU may be putting it in or taking it out. May
     * decline
     * (false) a thread that it cannot reach cheaply. NULL: always declines. */
    bool (*remove)(pirn_cpu_t self, pirn_thread_t t);

    /* The priority, class or weight of t has changed. t may be in a queue of the policy or not, run
     * or wait, be on another CPU, and even be past thread_exit. Read the priority here and in
     * enqueue under one lock: then at least one of the two reads the new value. NULL: the policy
     * has no classes and priorities, and setting them fails (-ENOTSUP). */
    void (*requeue)(pirn_thread_t t);

    /* Required: true if pick or search of `self` would return a thread, now or on a later call. It
     * is the last check before sleeping. A false negative is a lost wake-up; a positive that lasts
     * keeps the CPU from sleeping. Also called by others, for a CPU whose thread is in a system
     * call: it reads only, by atomic loads. */
    bool (*has_work)(pirn_cpu_t self);

    /* True if `t`, blocked until now, may run on `self` at once, past the queue. (It is the joiner
     * of a thread that ends, or is back from a call, and `self` runs nothing: pick and search have
     * returned NULL. The runtime ensures that no thread starves.) NULL: false. */
    bool (*direct)(pirn_cpu_t self, pirn_thread_t t);

    /* The CPU was posted (pirn_policy_post, pirn_policy_send). Called before its next pick, so in
     * the same contexts. Also called when a thread has run for a whole tick and must make room,
     * whether the CPU was posted or not. Must be bounded. */
    void (*poll)(pirn_cpu_t self);

    /* Hints: the CPU runs out of work; it has work again. */
    void (*idle_enter)(pirn_cpu_t self);
    void (*idle_exit)(pirn_cpu_t self);

    /* t is created, before its first enqueue: initialise its room. creator runs; it is NULL if t is
     * the main thread, or was created by a kernel thread that is no CPU. 0 or -errno, with which
     * creating the thread fails. thread_exit: t, which runs, is about to end. */
    int (*thread_init)(pirn_thread_t t, pirn_thread_t creator);
    void (*thread_exit)(pirn_thread_t t);

    /* The program ends normally; other CPUs may still run. May allocate and write files. */
    void (*at_exit)(void);

    /* At the end, if PIRN_STATS asks for counters: call emit(to, name, value) for each counter of
     * that CPU. The values of a name are summed. Names follow the rules of option names; at most 16
     * names. */
    void (*stat)(pirn_cpu_t self, void (*emit)(void *to, const char *name, uint64_t value),
                 void *to);

    /* Describe the state of the queues in a few words: print(to, text). Part of the simulator's
     * report of a run that hangs. */
    void (*dump)(void (*print)(void *to, const char *text), void *to);

    /* Verify the invariants (PIRN_POLICY_VERIFY). The simulator calls it whenever no thread is
     * inside the runtime; Linux does not call it. */
    void (*check)(void);

    /* The number of ready threads that no CPU may run for now, though some may be without work: a
     * policy that is not work conserving holds them back. The simulator calls it whenever no thread
     * is inside the runtime, and takes every other ready thread for one that an idle CPU must run.
     * NULL: none. */
    unsigned (*held)(void);

    /* For disciplines with priorities or slices: choose the thread that runs instead of `running`,
     * the current thread of `self`. PIRN_WHY_YIELD: it yields to a thread as urgent.
     * PIRN_WHY_PREEMPT: it continues unless a thread is more urgent, or its slice has ended and a
     * thread as urgent is ready. The chosen thread is taken out, as by pick; `running` is enqueued
     * after the switch. NULL: running continues. Without this operation nothing is preempted, and
     * yields use rotate, or pick. */
    pirn_thread_t (*preempt)(pirn_cpu_t self, pirn_thread_t running, enum pirn_why why);

    /* `running` has run for `ticks` ticks: account for it. True: its slice has ended, and `preempt`
     * is called at the next opportunity. NULL: there are no slices. */
    bool (*charge)(pirn_cpu_t self, pirn_thread_t running, unsigned ticks);
};

/*
 * Add a policy, before the first other call of the API. The table, and everything it points to,
 * must stay valid for ever. Several kernel threads may call it. 0 or
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

/* The reason why the last pirn_sched_register failed: text that names the value and what would be
 * valid. NULL if none has failed. Static storage. */
const char *pirn_sched_refusal(void);

/* The member `pinned` of the policy that schedules this program; false before the runtime has
 * started. Any context. */
bool pirn_sched_pinned(void);

/* The same of the member `private_queues`. */
bool pirn_sched_private_queues(void);

/* ---- functions for operations: threads and CPUs ---- */

/* Each thread has this many bytes for the policy, aligned to 8. They are not cleared:
 * thread_init sets those that are used. The run queues below and pirn_policy_send use the first
 * PIRN_POLICY_LINK bytes while they hold the thread; a policy with queues of its own may use
 * all. */
#define PIRN_POLICY_ROOM 32
#define PIRN_POLICY_LINK (2 * sizeof(void *))
void *pirn_policy_room(pirn_thread_t t);
pirn_thread_t pirn_policy_thread(void *room); /* and back */

/* The number of the CPU where the thread runs or ran last; for a new thread, the CPU that creates
 * it. -1: a kernel thread that is no CPU created it, and it has not run yet. */
int pirn_policy_thread_cpu(pirn_thread_t t);

/* The thread's own priority, or that of a thread that waits for an object it holds, if that is
 * higher: 1 to 99, or 0 for class OTHER. May change at any time: see requeue. */
unsigned pirn_policy_thread_priority(pirn_thread_t t);

/* For `check`: the thread is in a queue, or on its way there. */
bool pirn_policy_thread_ready(pirn_thread_t t);

/* CPUs are numbered from 0 to count - 1. */
#define PIRN_POLICY_CPUS 256 /* count is never above it */
unsigned pirn_policy_cpu_count(void);
unsigned pirn_policy_cpu_id(pirn_cpu_t cpu);
pirn_cpu_t pirn_policy_cpu(unsigned id);

/* The capacity of a CPU, from 1 to 1024, as in Linux' cpu_capacity: the fastest CPU has 1024, one
 * that does half of the work in the same time 512. It does not change. */
unsigned pirn_policy_cpu_capacity(unsigned id);

/* ---- waking: from poll, search, idle_enter and idle_exit; enqueue returns the CPU to wake ---- */

/* True if the CPU sleeps. A hint. */
bool pirn_policy_cpu_sleeps(unsigned id);

/* Wake that CPU if it sleeps. No effect on one that is awake. */
void pirn_policy_kick(pirn_cpu_t self, unsigned id);

/* Make that CPU call `preempt`, as by pirn_kick.preempt. */
void pirn_policy_preempt(pirn_cpu_t self, unsigned id);

/* Do what PIRN_KICK_ANY does, for threads that others may run from now on for a reason other than
 * an enqueue. */
void pirn_policy_kick_any(pirn_cpu_t self);

/* Make the CPU call `poll` before its next pick, and wake it if it sleeps. */
void pirn_policy_post(pirn_cpu_t cpu);

/* ---- memory shared by CPUs ---- */

/*
 * A spin lock: acquire at lock, release at unlock. Zero is unlocked. The init function resets it
 * when the simulator starts a new run. An operation holds one lock at a time, for a bounded number
 * of steps, and returns without it (but rotate may leave one to the runtime).
 */
void pirn_policy_lock_init(pirn_policy_lock_t *lock);
void pirn_policy_lock(pirn_policy_lock_t *lock);
bool pirn_policy_trylock(pirn_policy_lock_t *lock);
void pirn_policy_unlock(pirn_policy_lock_t *lock);

/*
 * Words that are read and written without a lock. The memory order is C11's. store is a release and
 * load an acquire: writes before a store are visible after the load that sees it. peek is relaxed:
 * a hint that orders nothing. add and swap are both acquire and release. None is a fence: if two
 * CPUs each store to their own word and load the other's, both may miss the other's store. That
 * matters only for sleeping, and there the runtime has the fences: between the writes of enqueue
 * and its look for sleepers, and between announcing a sleeper and its has_work. So has_work may use
 * peek, pirn_runq_length and pirn_policy_inbox_empty.
 *
 * C11 atomics are equally correct, but the simulator does not see them and explores no interleaving
 * there.
 */
typedef struct pirn_policy_word {
    uintptr_t opaque;
} pirn_policy_word_t;
void pirn_policy_word_init(pirn_policy_word_t *word, uintptr_t value); /* no other thread uses it
                                                                        * yet */
uintptr_t pirn_policy_peek(const pirn_policy_word_t *word);
uintptr_t pirn_policy_load(const pirn_policy_word_t *word);
void pirn_policy_store(pirn_policy_word_t *word, uintptr_t value);
uintptr_t pirn_policy_add(pirn_policy_word_t *word, uintptr_t n); /* the value before */

/* If the word equals *want, store value; else load the word into *want. True if stored. */
bool pirn_policy_swap(pirn_policy_word_t *word, uintptr_t *want, uintptr_t value);

/* ---- run queue ---- */

/*
 * A list of threads, linked through their rooms. All functions except length need the policy's
 * lock, or a queue that only one CPU uses. A LIFO queue takes new and woken threads at the head,
 * and now and then gives away its oldest thread, so that none starves in it.
 */
typedef struct pirn_runq {
    uintptr_t opaque[6];
} pirn_runq_t;
void pirn_runq_init(pirn_runq_t *queue, bool lifo);

/* Insert at the head or at the tail, depending on why and on the kind of the queue. */
void pirn_runq_push(pirn_runq_t *queue, pirn_thread_t t, enum pirn_why why);
void pirn_runq_push_head(pirn_runq_t *queue, pirn_thread_t t);
void pirn_runq_push_tail(pirn_runq_t *queue, pirn_thread_t t);

/* Take the next thread; NULL if the queue is empty. */
pirn_thread_t pirn_runq_pop(pirn_runq_t *queue);
pirn_thread_t pirn_runq_pop_tail(pirn_runq_t *queue);

/* Pop the head and push t at the tail. NULL, and nothing done, if the queue is empty. For
 * `rotate`. */
pirn_thread_t pirn_runq_rotate(pirn_runq_t *queue, pirn_thread_t t);

/* Remove t, which is in this queue. */
void pirn_runq_remove(pirn_runq_t *queue, pirn_thread_t t);

/* The head, and the thread behind t; NULL at the end. */
pirn_thread_t pirn_runq_first(const pirn_runq_t *queue);
pirn_thread_t pirn_runq_next(const pirn_runq_t *queue, pirn_thread_t t);

/* The length; without the lock an estimate, which was right at a recent moment. In has_work it
 * includes every thread enqueued before. */
unsigned pirn_runq_length(const pirn_runq_t *queue);

/* ---- inbox, for queues that only their own CPU uses ---- */

/* Send a ready thread to a CPU, which is posted but not woken: enqueue returns its number for
 * that. */
void pirn_policy_send(pirn_cpu_t to, pirn_thread_t t);

/* In `poll`: call take for each thread that was sent, oldest first. Returns their number. */
unsigned pirn_policy_receive(pirn_cpu_t self, void (*take)(pirn_cpu_t self, pirn_thread_t t));

/* True if no sent thread waits. For has_work. */
bool pirn_policy_inbox_empty(pirn_cpu_t self);

/* ---- checks ---- */

/* End the program (in the simulator: the run) with file, line and text. */
void pirn_policy_panic(const char *file, int line, const char *text) __attribute__((noreturn));

#define PIRN_POLICY_VERIFY(cond) ((cond) ? (void)0 : pirn_policy_panic(__FILE__, __LINE__, #cond))

#ifdef __cplusplus
}
#endif

#endif
