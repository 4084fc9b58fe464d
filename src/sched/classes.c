/* SPDX-License-Identifier: MIT */
/*
 * classes.c - see classes.h.
 */
#include "classes.h"

#include <errno.h>

#include "mutant.h"
#include "options.h"
#include "runq.h"
#include "runtime.h"
#include "wake.h"

struct sched_choice_of_user sched_chosen;
struct sched_runs sched_running[RT_MAX_CPUS];

static struct classq *queues; /* (C) */
static unsigned nqueues;      /* (C) */

int sched_set_discipline(const char *value, const char **why)
{
    (void)why;
    int i = sched_choice(SCHED_DISCIPLINES, value);
    enum discipline automatic = rt_personality.classes ? DISCIPLINE_POSIX : DISCIPLINE_FIFO;
    sched_chosen.discipline = i == 0 ? automatic : (enum discipline)(i - 1);
    return 0;
}

void sched_use_discipline(bool priorities)
{
    bool classes = priorities || rt_personality.classes;
    sched_chosen.discipline = classes ? DISCIPLINE_POSIX : DISCIPLINE_FIFO;
    sched_chosen.copy = true;
}

#ifdef PIRN_WITHOUT_WEIGHTS
static const struct classq_backend *backend_chosen(void)
{
    return NULL;
}
#else
static const struct classq_backend *backend_chosen(void)
{
    bool heap = sched_chosen.heap || sched_chosen.discipline == DISCIPLINE_SHMAC;
    return heap ? &classq_heap : &classq_levels;
}

int sched_set_queue(const char *value, const char **why)
{
    (void)why;
    sched_chosen.heap = sched_choice("levels|heap", value) == 1;
    return 0;
}

int sched_set_start(const char *value, const char **why)
{
    (void)why;
    sched_chosen.copy = sched_choice("creator|zero", value) == 0;
    return 0;
}
#endif

int classes_init(unsigned n)
{
    queues = NULL;
    if (!sched_has_classes()) {
        return 0;
    }
    queues = port_table_alloc(n * sizeof(struct classq));
    if (queues == NULL) {
        return -ENOMEM;
    }
    nqueues = n;
    sched_chosen.inherit_no_vtime =
        sched_chosen.discipline == DISCIPLINE_POSIX && sched_chosen.copy;
    for (unsigned i = 0; i < n; i++) {
        classq_init(&queues[i], sched_chosen.discipline, backend_chosen());
    }
    for (unsigned i = 0; i < RT_NCPU; i++) {
        at_init(&sched_running[i].urgency, (uint32_t)URGENCY_IDLE);
        at_init(&sched_running[i].thread, (const struct thread *)NULL);
    }
    return 0;
}

void classes_fini(void)
{
    if (queues != NULL) {
        port_table_free(queues, nqueues * sizeof(struct classq));
        queues = NULL;
    }
}

struct classq *classes_queue(unsigned i)
{
    return queues != NULL ? &queues[i] : NULL;
}

static unsigned lowest(uint32_t *urgency)
{
    unsigned cpu = 0;
    *urgency = UINT32_MAX;
    for (unsigned i = 0; i < RT_NCPU; i++) {
        uint32_t there = classes_urgency_at(i);
        if (there < *urgency) {
            *urgency = there;
            cpu = i;
        }
    }
    return cpu;
}

/* A CPU may have gone to sleep while we looked at the running threads. Only the ordinary kick
 * closes that gap, so a preemption does not replace it. */
struct pirn_kick classes_kick_lowest(struct cpu *self, uint32_t urgency)
{
    if (urgency > URGENCY_OTHER) {
        uint32_t there;
        at_fence_seq(); /* ORDER(runs) */
        unsigned cpu = lowest(&there);
        if (there != URGENCY_IDLE && there < urgency) {
            rt_kick_any(self);
            return (struct pirn_kick){.cpu = (int)cpu, .preempt = true};
        }
    }
    return (struct pirn_kick){.cpu = PIRN_KICK_ANY};
}

void classes_preempt_lowest(uint32_t urgency)
{
    struct pirn_kick kick = classes_kick_lowest(port_cpu_self(), urgency);
    if (kick.preempt) {
        rt_preempt_cpu(port_cpu_self(), (unsigned)kick.cpu);
    }
}

struct pirn_kick classes_kick_home(struct cpu *self, unsigned home, uint32_t urgency)
{
    uint32_t there = classes_urgency_at(home);
    if (urgency > URGENCY_OTHER && there != URGENCY_IDLE && there < urgency) {
        return (struct pirn_kick){.cpu = (int)home, .preempt = true};
    }
    return classes_wake_home(self, home);
}

/* A write to the word to which senders post: one of them sees what the CPU runs, or is seen. */
void classes_inbox_slow(struct cpu *self)
{
    if ((at_or_acq_rel(&self->pending, 0u) & RT_PENDING_POLL) && /* ORDER(runs) */
        !MUTANT(INBOX_UNSEEN)) {
        rt_preempt_cpu(self, self->id);
    }
}

int classes_thread_init(struct thread *t, struct thread *creator)
{
    classq_new_thread(&queues[0], t, creator, sched_chosen.copy);
    if (t->flags & THREAD_MAIN) {
        classes_take(rt.cpus[0], &queues[0], t); /* it runs already */
    }
    return 0;
}

bool classes_charge(struct cpu *self, struct thread *running, unsigned ticks)
{
    (void)self;
    return classq_charge(&queues[0], running, ticks);
}

void classes_look_again(const struct thread *t)
{
    for (unsigned i = 0; i < RT_NCPU; i++) {
        if (at_load_rlx(&sched_running[i].thread) == t) {
            rt_preempt_cpu(port_cpu_self(), i);
        }
    }
}

static uint32_t checked;

static void check_ready(struct thread *t)
{
    RT_VERIFY(at_load_rlx(&t->state) == THREAD_READY && classq_queued(t));
    checked++;
}

void ready_check_locked(struct runq *q)
{
    checked = 0;
    if (RUNQ_CLASSES(q) != NULL) {
        classq_for_each(RUNQ_CLASSES(q), check_ready);
        RT_VERIFY(checked == classq_length(RUNQ_CLASSES(q)));
    } else {
        for (struct list *node = q->threads.next; node != &q->threads; node = node->next) {
            RT_VERIFY(at_load_rlx(&CONTAINER_OF(node, struct thread, rq)->state) == THREAD_READY);
            checked++;
        }
    }
    RT_VERIFY(checked == runq_estimate(q));
}
