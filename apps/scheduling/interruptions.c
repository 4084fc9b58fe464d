/* SPDX-License-Identifier: MIT
 *
 * interruptions: a thread only reads the clock, while main waits to join it. If two readings are
 * further apart than usual, the thread was away. The cost of ticks is the sum of these times with
 * ticks, less the sum without.
 *
 * Absences above --longest have causes outside the program (another process had the processor):
 * they are counted, and left out of the sum. The loop touches no memory, so the effect of
 * interruptions on the caches is not measured.
 */
#include "check.h"
#include "clock.h"
#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long duration = 300, shortest = 500, longest = 200; /* constant while the thread runs */

static struct {
    uint64_t gaps, away; /* away: in units of fine_clock */
    uint64_t others;
    double unit; /* seconds */
} seen;

/* A clock that is read without leaving the loop; its rate is measured on the way. The C library's
 * clock would do, but in a library of user threads that call may delay ticks. */
static inline uint64_t fine_clock(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return (uint64_t)(1e9 * clock_seconds());
#endif
}

/* Units of fine_clock a second, from the time between two looks at both clocks. */
static double fine_rate(void)
{
    double start = clock_seconds(), now;
    uint64_t from = fine_clock();

    do {
        now = clock_seconds();
    } while (now < start + 0.02);
    return (double)(fine_clock() - from) / (now - start);
}

static void *watcher_main(void *arg)
{
    double rate = fine_rate();
    uint64_t least = (uint64_t)(1e-9 * (double)shortest * rate);
    uint64_t most = (uint64_t)(1e-6 * (double)longest * rate);
    uint64_t length = (uint64_t)(1e-3 * (double)duration * rate);
    uint64_t gaps = 0, away = 0, others = 0, start = fine_clock();

    for (uint64_t before = start, now; before - start < length; before = now) {
        uint64_t gap;

        now = fine_clock();
        gap = now - before;
        if (__builtin_expect(gap >= least, 0)) {
            if (gap > most) {
                others++;
                start += gap; /* the thread did not run in that time */
            } else {
                gaps++;
                away += gap;
            }
        }
    }
    seen.gaps = gaps;
    seen.away = away;
    seen.others = others;
    seen.unit = 1 / rate;
    return arg;
}

static void parse_arguments(int argc, char **argv)
{
    const struct option_spec options[] = {
        option_number("duration", &duration, 1, 1000000, "milliseconds to watch"),
        option_number("shortest", &shortest, 50, 1000000, "nanoseconds away that count"),
        option_number("longest", &longest, 1, 1000000, "microseconds away that still count"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Adds up for how long a thread that computes is away.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    if (shortest >= 1000 * longest)
        app_die("--shortest=%ld: not below --longest=%ld microseconds", shortest, longest);
}

int main(int argc, char **argv)
{
    pthread_t watcher;
    double seconds;

    app_name_set("interruptions");
    parse_arguments(argc, argv);
    seconds = clock_seconds();
    thread_start(&watcher, watcher_main, NULL);
    thread_join(watcher);
    seconds = clock_seconds() - seconds;
    printf("interruptions: duration=%ld seconds=%.6f gaps=%llu away_us=%.3f others=%llu\n",
           duration, seconds, (unsigned long long)seen.gaps, 1e6 * (double)seen.away * seen.unit,
           (unsigned long long)seen.others);
    return EXIT_SUCCESS;
}
