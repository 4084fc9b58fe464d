/* SPDX-License-Identifier: MIT */
/*
 * classes_none.c - the parts of classes.c that builds without classes need: the choice between fifo
 * and lifo, and the check of a queue.
 */
#include "options.h"
#include "runq.h"

struct sched_choice_of_user sched_chosen;

int sched_set_discipline(const char *value, const char **why)
{
    (void)why;
    sched_chosen.discipline =
        sched_choice("auto|fifo|lifo", value) == 2 ? DISCIPLINE_LIFO : DISCIPLINE_FIFO;
    return 0;
}

void ready_check_locked(struct runq *q)
{
    uint32_t checked = 0;
    for (struct list *node = q->threads.next; node != &q->threads; node = node->next) {
        RT_VERIFY(at_load_rlx(&CONTAINER_OF(node, struct thread, rq)->state) == THREAD_READY);
        checked++;
    }
    RT_VERIFY(checked == runq_estimate(q));
}
