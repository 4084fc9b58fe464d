/* SPDX-License-Identifier: MIT
 *
 * wavemix: four waves and three mixers pass buffers on, and the time of each sample is measured
 * (the benchmark of the thesis "Exploring Performance Scalability of Task-Affinity", its section
 * 3.2).
 *
 * From the thesis: the graph (waves.h); 16-bit values; buffers of 4 to 64 KB; A2S = mean + 2 sigma
 * of the time of a sample; the pins (its table 3.2); real-time threads (--class=fifo); waves are
 * woken for the next sample while mixer0 and mixer1 work on this one; mixer2 may run beside waves
 * of the next sample (the portions of a sample in its equation 4.1).
 *
 * It is silent on the rest. Decided here:
 *  - One buffer for each thread, not two. When a mixer has mixed its two inputs, it gives them
 *    back, then passes its own buffer on. With waves of one length, the portions above follow.
 *  - Synchronisation: for each buffer a semaphore, or a mutex and a condition variable, to its
 *    reader, and one back. A mixer waits for its inputs one after the other.
 *  - The time of a sample. The thesis divides the serial time by it and calls that the speed-up,
 *    which fits the time from one sample to the next better than that from start to end. Both are
 *    printed (report.h).
 *  - What waves and mixers compute: a sine, a square, a triangle and a sawtooth; a mean and a soft
 *    limit. The ratio between the times of waves and mixers is that of this code.
 *  - All threads have the same class and priority.
 *  - CPUs 1 to 4 are the first four that the process may use.
 *  - --serial is one thread. The thesis has all threads on one CPU; for that, use taskset, or
 *    PIRN_CPUS=1.
 *
 * Exit status 0: the output is right; 1: it is wrong, or a call failed; 2: wrong command line.
 */
#include "affinity.h"
#include "check.h"
#include "options.h"
#include "report.h"
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_MIN = 2, BUFFER_MAX = 16 << 20, SAMPLES_MAX = 1000000, WORK_MAX = 1000000 };
enum { PRIORITY_MAX = 99 };

struct arguments {
    struct run_settings run;
    long work, class, pin, sync, priority;
    size_t buffer; /* bytes */
    bool has_class, has_priority, has_sync;
    const char *csv;
};

static const char *const class_names[] = {"other", "fifo", "rr", NULL};
static const int class_policies[] = {SCHED_OTHER, SCHED_FIFO, SCHED_RR};
static const char *const sync_names[] = {"sem", "cond", NULL};

/* ---- command line ---- */

static size_t buffer_size(const char *text)
{
    char *end;
    long bytes;

    errno = 0;
    bytes = strtol(text, &end, 10);
    if (end != text && errno == 0 && bytes <= BUFFER_MAX && (*end == 'K' || *end == 'M'))
        bytes *= *end++ == 'K' ? 1 << 10 : 1 << 20;
    if (end == text || *end != '\0' || errno != 0 || bytes < BUFFER_MIN || bytes > BUFFER_MAX ||
        bytes % 2 != 0)
        options_refuse(
            "--buffer=%s: not an even number of bytes from %d to %d (K and M may follow)", text,
            BUFFER_MIN, BUFFER_MAX);
    return (size_t)bytes;
}

/* A priority that was not given is the least of the class. */
static void check_class(struct arguments *a)
{
    bool is_other = class_policies[a->class] == SCHED_OTHER;

    if (is_other && a->priority != 0)
        options_refuse("--priority=%ld: class other has priority 0 only; add --class=fifo or "
                       "--class=rr",
                       a->priority);
    if (!is_other && a->has_priority && a->priority == 0)
        options_refuse("--priority=0: class %s has the priorities 1 to %d", class_names[a->class],
                       PRIORITY_MAX);
    if (!is_other && !a->has_priority)
        a->priority = 1;
    a->run.policy = class_policies[a->class];
    a->run.priority = (int)a->priority;
}

static void check_serial(const struct arguments *a)
{
    if (a->run.serial && a->run.affinity)
        options_refuse("--serial and --affinity: one thread has nobody to depend on");
    if (a->run.serial && a->pin != PIN_NONE)
        options_refuse("--serial and --pin=%s: there are no waves to pin", pin_names[a->pin]);
    if (a->run.serial && a->has_sync)
        options_refuse("--serial and --sync=%s: one thread waits for nobody", sync_names[a->sync]);
}

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
    const char *buffer = "4K";
    const struct option_spec options[] = {
        option_text("buffer", "BYTES", &buffer, "size of each buffer, even: 2 to 16M (default 4K)"),
        option_number("samples", &a->run.samples, 1, SAMPLES_MAX, "samples that are measured"),
        option_number("warmup", &a->run.warmup, 0, SAMPLES_MAX, "samples before these"),
        option_number("work", &a->work, 1, WORK_MAX, "times that a thread computes its buffer"),
        option_flag("serial", &a->run.serial, "one thread computes everything"),
        {.name = "sync",
         .kind = OPTION_CHOICE,
         .value_name = "HOW",
         .help = "semaphores, or mutexes and condition variables: sem or cond",
         .number = &a->sync,
         .choices = sync_names,
         .flag = &a->has_sync},
        option_choice("class", &a->class, class_names, "of all threads: other, fifo or rr"),
        {.name = "priority",
         .kind = OPTION_NUMBER,
         .value_name = "N",
         .help = "of all threads; fifo and rr: 1 if not given",
         .number = &a->priority,
         .max = PRIORITY_MAX,
         .flag = &a->has_priority},
        option_flag("affinity", &a->run.affinity, "declare which thread depends on which"),
        {.name = "pin",
         .kind = OPTION_CHOICE,
         .value_name = "THREADS",
         .help = "pin to CPUs, of which it takes four: none, waves or all",
         .number = &a->pin,
         .choices = pin_names},
        option_text("csv", "FILE", &a->csv, "write the times of each sample"),
        {.name = NULL},
    };
    const struct option_page page = {
        .summary = "Four waves and three mixers pass buffers on; measures the time of each sample.",
        .options = options,
    };

    options_parse(argc, argv, &page);
    a->buffer = buffer_size(buffer);
    a->run.pin = (enum pin)a->pin;
    a->run.sync = (enum gate_kind)a->sync;
    check_class(a);
    check_serial(a);
}

/* ---- output ---- */

static FILE *open_csv(const char *path)
{
    FILE *file;

    if (path == NULL)
        return NULL;
    file = fopen(path, "w");
    if (file == NULL)
        app_die("cannot write '%s': %s", path, strerror(errno));
    return file;
}

static void write_csv(const struct arguments *a, const struct run_result *result, FILE *file)
{
    bool failed;

    if (file == NULL)
        return;
    report_write_csv(&a->run, result, file);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        app_die("cannot write '%s': %s", a->csv, strerror(errno));
}

static void print_statistics(const char *name, const struct statistics *s)
{
    printf(" %s_mean_us=%.3f %s_sigma_us=%.3f %s_a2s_us=%.3f %s_median_us=%.3f", name, s->mean,
           name, s->sigma, name, report_a2s(s), name, s->median);
}

static void print_run(const struct arguments *a, const struct run_result *result,
                      const struct report *report)
{
    long migrations = 0;

    for (size_t i = 0; i < NODE_COUNT; i++)
        migrations += report->migrations[i];
    report_print_nodes(report);
    printf("wavemix: buffer=%zu samples=%ld warmup=%ld work=%ld serial=%d sync=%s class=%s "
           "priority=%d affinity=%d pin=%s seconds=%.6f",
           a->buffer, a->run.samples, a->run.warmup, a->work, a->run.serial,
           a->run.serial ? "none" : sync_names[a->sync], class_names[a->class], a->run.priority,
           a->run.affinity, pin_names[a->pin], result->seconds);
    print_statistics("sample", &report->sample);
    print_statistics("period", &report->period);
    printf(" place=%s migrations=%ld checksum=%016" PRIx64 "\n", place_kind(), migrations,
           result->checksum);
}

static void check_output(const struct arguments *a, const struct waves *waves, uint64_t checksum)
{
    uint64_t right = waves_reference(waves, (uint64_t)(a->run.warmup + a->run.samples));

    if (checksum != right)
        app_die("the output is wrong: its checksum is %016" PRIx64
                ", that of a serial computation %016" PRIx64,
                checksum, right);
}

int main(int argc, char **argv)
{
    struct arguments a = {.run = {.samples = 1000, .warmup = 100}, .work = 1};
    struct run_result result;
    struct report report;
    struct waves waves;
    void *memory;
    FILE *csv;

    app_name_set("wavemix");
    parse_arguments(argc, argv, &a);
    if (a.run.affinity)
        affinity_require();
    place_require(a.run.pin);
    csv = open_csv(a.csv);
    memory =
        check_alloc(aligned_alloc(WAVES_ALIGNMENT, waves_size(a.buffer)), waves_size(a.buffer));
    waves_init(&waves, memory, a.buffer, a.work);
    run(&waves, &a.run, &result);
    report_make(&a.run, &result, &report);
    write_csv(&a, &result, csv);
    print_run(&a, &result, &report);
    check_output(&a, &waves, result.checksum);
    run_free(&result);
    free(memory);
    return EXIT_SUCCESS;
}
