/* SPDX-License-Identifier: MIT */
/* native_label.c - waits with a label: <pirn/label.h>. */
#include "label.h"

#include "../sync/sync.h"
#include "life.h"

EXPORT void pirn_sem_wait_as(pirn_sem_t *sem, const pirn_label_t *label)
{
    rt_sem_wait_as((struct rt_sem *)sem, label);
}

EXPORT unsigned pirn_threads_running(void)
{
    return rt_threads_running();
}

EXPORT unsigned pirn_threads_alive(void)
{
    return life_count();
}

EXPORT size_t pirn_label_text(const pirn_label_t *label, char *text, size_t size)
{
    return rt_label_text(label, text, size);
}
