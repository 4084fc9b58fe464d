/* SPDX-License-Identifier: MIT */
/*
 * classes.h - code that the policies share for disciplines with classes: options, the queues'
 * memory, the running thread of each CPU, and the choice of the CPU that a new ready thread
 * preempts.
 *
 * sched_running has the urgency and the running thread of each CPU. The CPU writes it when it takes
 * a thread, under the lock of the queue from which it takes it; a thread that has pushed another
 * one into that queue reads it afterwards. For a CPU that looks at several queues see
 * classes_announce_other. In all other cases a stale value costs a needless look at a queue.
 */
#ifndef PIRN_SCHED_CLASSES_H
#define PIRN_SCHED_CLASSES_H

#include "classq.h"
#include "cpu.h"

struct sched_choice_of_user {
    enum discipline discipline; /* (C) */
    bool heap;                  /* (C) */
    bool copy;                  /* (C) a new thread starts at its creator's virtual time */
    bool inherit_no_vtime;      /* (C) posix with `copy`: no_vtime is inherited */
};
HIDDEN extern struct sched_choice_of_user sched_chosen;

struct sched_runs {
    _Atomic(uint32_t) urgency;
    _Atomic(const struct thread *) thread;
} ALIGNED(RT_CACHELINE);
HIDDEN extern struct sched_runs sched_running[RT_MAX_CPUS];

/* A thread is ready for CPU `home`, and is not more urgent than what runs there. */
ALWAYS_INLINE struct pirn_kick classes_wake_home(const struct cpu *self, unsigned home)
{
    return (struct pirn_kick){.cpu = self != NULL && self->id == home ? PIRN_KICK_NONE : (int)home};
}

/* In a table of a policy: NULL where there are no classes. */
#ifndef PIRN_WITHOUT_CLASSES
#define WITH_CLASSES(function) function

int sched_set_discipline(const char *value, const char **why);
int sched_set_queue(const char *value, const char **why);
int sched_set_start(const char *value, const char **why);

#define DISCIPLINE_OPTION                                                                          \
    {                                                                                              \
        .name = "discipline", .values = SCHED_DISCIPLINES, .deflt = "auto",                        \
        .help = "order of a ready queue; posix, shmac: with scheduling classes; auto: posix "      \
                "under the pthread API, else fifo",                                                \
        .set = sched_set_discipline                                                                \
    }
#ifdef PIRN_WITHOUT_WEIGHTS
#define DISCIPLINE_OPTIONS DISCIPLINE_OPTION
#else
#define DISCIPLINE_OPTIONS                                                                         \
    DISCIPLINE_OPTION,                                                                             \
        {.name = "queue",                                                                          \
         .values = "levels|heap",                                                                  \
         .deflt = "levels",                                                                        \
         .help = "how a ready queue of posix is kept (shmac: always a heap)",                      \
         .set = sched_set_queue},                                                                  \
    {                                                                                              \
        .name = "start", .values = "creator|zero", .deflt = "creator",                             \
        .help = "virtual time of a new thread: its creator's; zero: to see what that is for",      \
        .set = sched_set_start                                                                     \
    }
#endif

ALWAYS_INLINE bool sched_has_classes(void)
{
    return sched_chosen.discipline >= DISCIPLINE_POSIX;
}

/* Make n queues, if the discipline has classes. 0 or -ENOMEM. */
int classes_init(unsigned n);
void classes_fini(void);
struct classq *classes_queue(unsigned i); /* NULL: no classes */

/* What the CPU says that it runs. */
ALWAYS_INLINE struct sched_runs *classes_runs(const struct cpu *self)
{
    return &sched_running[self->id];
}

/* The CPU takes t (NULL: nothing) from q. */
ALWAYS_INLINE struct thread *classes_take(const struct cpu *self, const struct classq *q,
                                          struct thread *t)
{
    struct sched_runs *r = classes_runs(self);
    uint32_t urgency = t != NULL ? classq_urgency(q, t) : (uint32_t)URGENCY_IDLE;
    at_store_rlx(&r->thread, (const struct thread *)t);
    if (at_load_rlx(&r->urgency) != urgency) {
        at_store_rlx(&r->urgency, urgency);
    }
    return t;
}

/* The CPU is going to take a thread of class OTHER, and may have run another class. It announces
 * that before it looks for more urgent threads. A waker of such a thread looks at the announcement
 * after it has queued the thread, so one of the two sees the other. */
ALWAYS_INLINE struct sched_runs *classes_announce_other(const struct cpu *self)
{
    struct sched_runs *r = classes_runs(self);
    if (unlikely(at_load_rlx(&r->urgency) != URGENCY_OTHER)) {
        at_store_rlx(&r->urgency, (uint32_t)URGENCY_OTHER);
        at_fence_seq(); /* ORDER(runs) */
    }
    return r;
}

/* The CPU says already that it runs class OTHER, and takes t, which is of that class. */
ALWAYS_INLINE void classes_take_other(struct sched_runs *r, const struct thread *t)
{
    RT_ASSERT(at_load_rlx(&r->urgency) == URGENCY_OTHER);
    at_store_rlx(&r->thread, t);
}

/* The CPU takes t from an unranked list: it is of class OTHER. */
ALWAYS_INLINE struct thread *classes_take_plain(const struct cpu *self, struct thread *t)
{
    struct sched_runs *r = classes_runs(self);
    at_store_rlx(&r->thread, (const struct thread *)t);
    if (unlikely(at_load_rlx(&r->urgency) != URGENCY_OTHER)) {
        at_store_rlx(&r->urgency, (uint32_t)URGENCY_OTHER);
    }
    return t;
}

ALWAYS_INLINE uint32_t classes_urgency_at(unsigned cpu)
{
    return at_load_rlx(&sched_running[cpu].urgency);
}

void classes_inbox_slow(struct cpu *self);

/* For policies that send threads to a CPU's inbox. The CPU has chosen a thread to run; `before` is
 * what it had said that it runs (classes_urgency_at). It looks whether a thread was sent meanwhile
 * whose sender did not yet know: dist.c, 3. */
ALWAYS_INLINE void classes_look_at_inbox(struct cpu *self, uint32_t before)
{
    uint32_t runs = classes_urgency_at(self->id);
    if (unlikely(runs != before) && runs != URGENCY_IDLE &&
        (before == URGENCY_IDLE || runs < before)) {
        classes_inbox_slow(self);
    }
}

/* For threads that any CPU may run: a thread of this urgency was queued. */
struct pirn_kick classes_kick_lowest(struct cpu *self, uint32_t urgency);

/* The same for one that was queued already and has become more urgent. */
void classes_preempt_lowest(uint32_t urgency);

/* For a thread that only CPU `home` may run. */
struct pirn_kick classes_kick_home(struct cpu *self, unsigned home, uint32_t urgency);

/* Policy operation thread_init. */
int classes_thread_init(struct thread *t, struct thread *creator);

/* Policy operation charge. */
bool classes_charge(struct cpu *self, struct thread *running, unsigned ticks);

/* t's priority has changed, and it is in no queue. If it runs, its CPU looks whether another thread
 * should run. */
void classes_look_again(const struct thread *t);

#else

#define WITH_CLASSES(function) (false ? (function) : NULL)

int sched_set_discipline(const char *value, const char **why);

#define DISCIPLINE_OPTIONS                                                                         \
    {                                                                                              \
        .name = "discipline", .values = "auto|fifo|lifo", .deflt = "auto",                         \
        .help = "order of a ready queue; auto: fifo", .set = sched_set_discipline                  \
    }

ALWAYS_INLINE bool sched_has_classes(void)
{
    return false;
}

ALWAYS_INLINE int classes_init(unsigned n)
{
    (void)n;
    return 0;
}
ALWAYS_INLINE void classes_fini(void) {}
ALWAYS_INLINE struct classq *classes_queue(unsigned i)
{
    (void)i;
    return NULL;
}
ALWAYS_INLINE struct thread *classes_take(const struct cpu *self, const struct classq *q,
                                          struct thread *t)
{
    (void)self;
    (void)q;
    return t;
}
ALWAYS_INLINE struct thread *classes_take_plain(const struct cpu *self, struct thread *t)
{
    (void)self;
    return t;
}
ALWAYS_INLINE struct sched_runs *classes_runs(const struct cpu *self)
{
    (void)self;
    return NULL;
}
ALWAYS_INLINE struct sched_runs *classes_announce_other(const struct cpu *self)
{
    (void)self;
    return NULL;
}
ALWAYS_INLINE void classes_take_other(struct sched_runs *runs, const struct thread *t)
{
    (void)runs;
    (void)t;
}
ALWAYS_INLINE uint32_t classes_urgency_at(unsigned cpu)
{
    (void)cpu;
    return URGENCY_OTHER;
}
ALWAYS_INLINE void classes_look_at_inbox(struct cpu *self, uint32_t before)
{
    (void)self;
    (void)before;
}
ALWAYS_INLINE struct pirn_kick classes_kick_lowest(struct cpu *self, uint32_t urgency)
{
    (void)self;
    (void)urgency;
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}
ALWAYS_INLINE struct pirn_kick classes_kick_home(struct cpu *self, unsigned home, uint32_t urgency)
{
    (void)urgency;
    return classes_wake_home(self, home);
}
int classes_thread_init(struct thread *t, struct thread *creator);
bool classes_charge(struct cpu *self, struct thread *running, unsigned ticks);
void classes_preempt_lowest(uint32_t urgency);
void classes_look_again(const struct thread *t);

#endif

#endif
