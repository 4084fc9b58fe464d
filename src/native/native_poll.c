/* SPDX-License-Identifier: MIT */
/* native_poll.c - pollers of the native API: <pirn/poll.h>. Creates their threads. */
#include <errno.h>
#include <pirn/label.h>
#include <pirn/poll.h>

#include "../sync/pollers.h"
#include "cpu.h"
#include "runtime.h"

_Static_assert(sizeof(struct rt_poller) <= sizeof(pirn_poller_t), "pirn_poller_t");
_Static_assert((int)PIRN_POLL_PENDING == (int)POLL_PENDING, "enum pirn_poll");
_Static_assert((int)PIRN_POLL_FOUND == (int)POLL_FOUND, "enum pirn_poll");
_Static_assert((int)PIRN_POLL_DONE == (int)POLL_DONE, "enum pirn_poll");

#define POLLER(p) ((struct rt_poller *)(p))

EXPORT int pirn_poller_add(pirn_poller_t *poller, const pirn_attr_t *attr,
                           enum pirn_poll (*look)(void *arg), void *arg)
{
    pirn_attr_t own = attr != NULL ? *attr : (pirn_attr_t){0};
    if (look == NULL) {
        return -EINVAL;
    }
    if (own.name == NULL) {
        own.name = "poller";
    }
    own.detached = false;
    *POLLER(poller) = (struct rt_poller){.look = (enum rt_poll(*)(void *))look, .arg = arg};
    return pirn_create(&POLLER(poller)->thread, &own, rt_poller_run, poller);
}

EXPORT void pirn_poller_tell(pirn_poller_t *poller)
{
    rt_poller_tell(POLLER(poller));
}

EXPORT void pirn_poller_wait(pirn_poller_t *poller, pirn_sem_t *found, const pirn_label_t *label)
{
    rt_poller_wait(POLLER(poller), (struct rt_sem *)found, label);
}

EXPORT enum pirn_poll pirn_poller_done(pirn_poller_t *poller, pirn_sem_t *found)
{
    POLLER(poller)->found = (struct rt_sem *)found;
    return PIRN_POLL_DONE;
}

EXPORT void pirn_poller_remove(pirn_poller_t *poller)
{
    rt_poller_remove(POLLER(poller));
}

EXPORT void pirn_poll_pause(bool always)
{
    if (!rt_yield() || always) {
        port_relax(UINT32_MAX);
    }
    rt_self(); /* it may have lost the CPU in the offer */
}
