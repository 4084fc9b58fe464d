/* SPDX-License-Identifier: MIT
 *
 * The cost of the process, as the system measures it (see crowd.h).
 */
#include "clock.h"
#include "crowd.h"

#include <sys/resource.h>
#include <time.h>

struct cost cost_now(void)
{
    struct timespec cpu;
    struct rusage used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_SELF, &used);
    return (struct cost){
        .wall = clock_seconds(),
        .cpu = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec,
        .system = (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec,
    };
}
