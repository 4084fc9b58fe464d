/* SPDX-License-Identifier: MIT
 *
 * Declaring the graph's dependencies (see affinity.h).
 */
#include "affinity.h"

#include "name.h"
#include "waves.h"

#include <errno.h>
#include <string.h>

void affinity_require(void)
{
    if (!pthread_add_taskaffinity_np || !pthread_del_taskaffinity_np)
        app_die("--affinity: no library here provides task affinity: neither the threads library "
                "nor a preloaded one has pthread_add_taskaffinity_np");
}

/* With libpirn-kernel preloaded the declarations are those of the system's scheduler. */
static const char *reason(int rc)
{
    return rc == ENOSYS ? "the scheduler of pirn-kernel is not loaded (pirn-kernel load)"
           : rc == EPERM || rc == EACCES
               ? "no privileges: only root may tell the scheduler of pirn-kernel"
               : strerror(rc);
}

static void declare(const pthread_t *threads, size_t consumer, size_t producer)
{
    int rc = pthread_add_taskaffinity_np(threads[consumer], threads[producer]);

    if (rc != 0)
        app_die("--affinity: pthread_add_taskaffinity_np refuses that %s depends on %s: %s",
                wave_nodes[consumer].name, wave_nodes[producer].name, reason(rc));
}

void affinity_declare(const pthread_t *threads)
{
    for (size_t i = 0; i < NODE_COUNT; i++)
        for (size_t k = 0; k < wave_nodes[i].input_count; k++)
            declare(threads, i, wave_nodes[i].inputs[k]);
}
