/* SPDX-License-Identifier: MIT */
/*
 * trace_file.c - the trace's file: options, header, explaining text, beginning and end.
 *
 * trace_start makes the file before any CPU except the caller's runs. The rings stay mapped until
 * the process ends, because kernel threads may write until then. pirn_trace turns trace_on off and
 * on. trace_end runs once when the program ends; later writes still reach the file as long as the
 * process lives. A child of fork drops the mapping, and begins a file of its own if the name for it
 * differs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "file.h"
#include "port_files.h"
#include "port_options.h"
#include "port_trace.h"
#include "runtime.h"
#include "text.h"
#include "trace.h"

/* The fraction of a CPU's share that goes to its ANY ring. */
#define ANY_PART 8u

uint32_t trace_on;
struct trace_writer trace_writers[RT_MAX_CPUS];

struct trace_options trace_options;

static struct {
    bool child;
    uint32_t paused;                             /* set by the program; a whole word, because not
                                                  * every architecture exchanges bytes */
    struct trace_header *header;                 /* the mapped file; NULL: there is none */
    uint64_t used_ns;                            /* CPU time of the process when it began */
    struct trace_places places[RT_MAX_CPUS + 1]; /* the last one: see trace_places_of */
} trace;

struct trace_places *trace_places_of(uint32_t cpu)
{
    return &trace.places[cpu == RT_NO_CPU ? rt.ncpu : cpu];
}

/* The text: lines of columns separated by tabs. */

static void say_enum(struct text *out, const char *kind, const char *const names[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        text_add(out, "enum\t%s\t%u\t%s\n", kind, i, names[i]);
    }
}

static void say_events(struct text *out)
{
    static const struct {
        unsigned id;
        const char *name, *ring, *fields, *text;
    } events[] = {
#define TRACE_EVENT(id, NAME, name, ring, fields, text) {id, name, #ring, fields, text},
#include "events.def"
#undef TRACE_EVENT
    };
    for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
        text_add(out, "event\t%u\t%s\t%s\t%s\t%s\n", events[i].id, events[i].name, events[i].ring,
                 events[i].fields, events[i].text);
    }
}

/* Of idle threads: in a child of fork their indexes do not tell. */
enum { STATE_IDLE = THREAD_EXITED + 1 };

static void say_enums(struct text *out)
{
    static const char *const switches[] = {
        [TRACE_SWITCH_IDLE] = "idle",       [TRACE_SWITCH_YIELD] = "yield",
        [TRACE_SWITCH_PREEMPT] = "preempt", [TRACE_SWITCH_BLOCK] = "block",
        [TRACE_SWITCH_EXIT] = "exit",       [TRACE_SWITCH_CALL] = "call",
    };
    static const char *const wakes[] = {
        [PIRN_WHY_SPAWN] = "spawn", [PIRN_WHY_WAKE] = "wake",       [PIRN_WHY_HANDOFF] = "handoff",
        [PIRN_WHY_YIELD] = "yield", [PIRN_WHY_PREEMPT] = "preempt", [PIRN_WHY_MIGRATE] = "migrate",
    };
    const char *waits[WAIT_REASONS], *states[STATE_IDLE + 1];
    for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
        waits[i] = thread_wait_name(i);
    }
    for (unsigned i = 0; i < STATE_IDLE; i++) {
        states[i] = thread_state_name(i);
    }
    states[STATE_IDLE] = "idle";
    say_enum(out, "switch", switches, ARRAY_SIZE(switches));
    say_enum(out, "wake", wakes, ARRAY_SIZE(wakes));
    say_enum(out, "wait", waits, ARRAY_SIZE(waits));
    say_enum(out, "state", states, ARRAY_SIZE(states));
}

static void say_meta(struct text *out, const char *key, const char *value)
{
    text_add(out, "meta\t%s\t", key);
    text_add_name(out, value);
    text_add(out, "\n");
}

static void say_text(struct text *out, const struct port_program_facts *facts)
{
    const char *sched = port_option("sched");
    say_meta(out, "version", RT_VERSION);
    say_meta(out, "program", facts->program);
    say_meta(out, "sched", sched != NULL ? sched : rt_policy_name());
    text_add(out, "meta\tcpus\t%u\n", rt.ncpu);
    text_add(out, "meta\tprocessors\t%u\n", port_cpu_count());
    say_meta(out, "build", __VERSION__);
    say_events(out);
    say_enums(out);
}

/* The largest power of two up to n. */
static uint64_t power_below(uint64_t n)
{
    uint64_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

static size_t aligned(size_t n)
{
    return (n + TRACE_ALIGN - 1) & ~(size_t)(TRACE_ALIGN - 1);
}

/* Ring i of 2 * ncpu + 1: the THREAD ring of each CPU, then the ANY ring of each, then that of
 * kernel threads without a CPU. */
static void ring_plan(struct trace_ring *ring, unsigned i, size_t *offset)
{
    bool any = i >= rt.ncpu;
    uint64_t bytes = any ? trace_options.size / ANY_PART : trace_options.size;
    size_t unit = any ? sizeof(struct trace_slot) : sizeof(struct trace_record);
    *ring = (struct trace_ring){.offset = *offset,
                                .capacity = power_below(bytes / unit),
                                .kind = any ? TRACE_RING_ANY : TRACE_RING_THREAD,
                                .cpu = !any              ? i
                                       : i < 2 * rt.ncpu ? i - rt.ncpu
                                                         : UINT32_MAX,
                                .keeps_oldest = trace_options.keeps_oldest};
    *offset += aligned(ring->capacity * unit);
}

/* Both clocks at one moment. Another program may have the processor in between: of some readings
 * the quickest counts. */
static void read_clocks(uint64_t *clock, uint64_t *ns)
{
    uint64_t quickest = UINT64_MAX;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t before = port_trace_clock(), now = port_trace_ns();
        uint64_t took = port_trace_clock() - before;
        if (took < quickest) {
            quickest = took;
            *clock = before;
            *ns = now;
        }
    }
}

static void header_fill(struct trace_header *h, const struct port_program_facts *facts,
                        size_t text_at, size_t text_size, size_t size)
{
    *h = (struct trace_header){.magic = TRACE_MAGIC,
                               .version = TRACE_VERSION,
                               .header_size = sizeof(*h),
                               .flags = trace_options.keeps_oldest ? TRACE_KEEPS_OLDEST : 0,
                               .cpus = rt.ncpu,
                               .rings = 2 * rt.ncpu + 1,
                               .record_size = sizeof(struct trace_record),
                               .slot_size = sizeof(struct trace_slot),
                               .block = TRACE_BLOCK,
                               .text_offset = text_at,
                               .text_size = text_size,
                               .clock_hz = port_trace_clock_hz(),
                               .start_unix_ns = facts->unix_ns,
                               .pid = facts->pid,
                               .file_size = size};
    read_clocks(&h->start_clock, &h->start_ns);
}

static void writers_point(struct trace_header *h)
{
    struct trace_ring *ring = (struct trace_ring *)(h + 1);
    for (unsigned i = 0; i < h->rings; i++, ring++) {
        void *data = (char *)h + ring->offset;
        if (ring->kind == TRACE_RING_THREAD) {
            trace_writers[i] =
                (struct trace_writer){.ring = ring, .records = data, .mask = ring->capacity - 1};
        } else {
            trace.places[i - rt.ncpu] = (struct trace_places){.ring = ring, .slots = data};
        }
    }
}

/* 0 or -errno. */
static int trace_make(void)
{
    struct trace_ring rings[2 * RT_MAX_CPUS + 1];
    struct port_program_facts facts;
    struct text text = {NULL, 0, 0};
    port_program_facts(&facts);
    say_text(&text, &facts);
    size_t nrings = 2 * rt.ncpu + 1;
    size_t text_at = sizeof(struct trace_header) + nrings * sizeof(struct trace_ring);
    size_t text_size = text.used;
    size_t size = aligned(text_at + text_size + 1);
    for (unsigned i = 0; i < nrings; i++) {
        ring_plan(&rings[i], i, &size);
    }
    void *file;
    int error = port_trace_open(trace_options.path, size, &file);
    if (error != 0) {
        return error;
    }
    struct trace_header *h = trace.header = file;
    memcpy(h + 1, rings, nrings * sizeof(struct trace_ring));
    text = (struct text){(char *)h + text_at, text_size + 1, 0};
    say_text(&text, &facts);
    header_fill(h, &facts, text_at, text_size, size);
    trace.used_ns = port_trace_used();
    writers_point(h);
    return 0;
}

/* Records the idle threads, and the caller if it has become CPU 0. No other thread exists yet. */
static void say_present(void)
{
    const struct cpu *cpu = rt.cpus[0];
    for (unsigned i = 0; i < rt.ncpu; i++) {
        trace_thread_on(cpu, rt.cpus[i]->idle, STATE_IDLE);
    }
    if (cpu->current != cpu->idle) {
        trace_thread_on(cpu, cpu->current, THREAD_RUNNING);
    }
}

static void trace_refused(int error)
{
    char text[RT_PATH_MAX + 256];
    bool busy = error == -EBUSY, large = error == -ENOSPC || error == -EFBIG;
    int n = snprintf(text, sizeof(text), "pirn: option trace=\"%s\": %s%s%s\n", trace_options.path,
                     busy ? "another process writes its trace there: this one writes none (%p in "
                            "the name stands for the process id)"
                          : "cannot make the file: ",
                     busy ? "" : text_file_error(error),
                     large ? "; option tracesize makes it smaller" : "");
    port_write(text, (size_t)n);
    if (!busy) {
        port_exit_now(2);
    }
}

void trace_listen(enum trace_listener who, bool on)
{
    if (on) {
        __atomic_fetch_or(&trace_on, (uint32_t)who, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_and(&trace_on, ~(uint32_t)who, __ATOMIC_RELAXED);
    }
}

void trace_start(void)
{
    if (trace_options.path[0] == '\0' ||
        (trace.child && strstr(trace_options.path, "%p") == NULL)) {
        return;
    }
    int error = trace_make();
    if (error == 0) {
        say_present();
        trace_listen(TRACE_TO_FILE, true);
        return;
    }
    trace_refused(error);
}

/* `pause` precedes the first missing event, and `resume` follows the last one, however long this
 * kernel thread is stopped in between. So the recorded pause is never shorter than the real one. */
int trace_set_on(const struct cpu *cpu, bool on)
{
    if (trace.header == NULL) {
        return -ENOENT;
    }
    uint32_t paused = !on;
    if (__atomic_exchange_n(&trace.paused, paused, __ATOMIC_RELAXED) == paused) {
        return 0;
    }
    if (!on) {
        trace_paused_on(cpu, true);
    }
    trace_listen(TRACE_TO_FILE, on);
    if (on) {
        trace_paused_on(cpu, false);
    }
    return 0;
}

void trace_end(void)
{
    struct trace_header *h = trace.header;
    if (h != NULL && !(h->flags & TRACE_ENDED)) {
        read_clocks(&h->end_clock, &h->end_ns);
        h->used_ns = port_trace_used() - trace.used_ns;
        h->flags |= TRACE_ENDED;
    }
}

void trace_forget(void)
{
    if (trace.header != NULL) {
        trace_listen(TRACE_TO_FILE, false);
        trace.paused = 0;
        port_trace_drop(trace.header, trace.header->file_size);
        trace.header = NULL;
    }
}

void trace_forked(void)
{
    trace_forget();
    trace.child = true;
}

#if PORT_TRACE_SAVED
/* The header and the rings' descriptions as they are in the file, where a ring has only the room
 * that it needs. In memory nothing changes its place, so an event that is under way on another CPU
 * does no harm. */
static struct {
    struct trace_header header;
    struct trace_ring rings[2 * RT_MAX_CPUS + 1];
} saved;

static size_t unit_of(const struct trace_ring *ring)
{
    return ring->kind == TRACE_RING_ANY ? sizeof(struct trace_slot) : sizeof(struct trace_record);
}

/* As long as a ring is not full, number n is at place n, whatever the capacity. The next record
 * needs room as well: a reader counts the block that it would overwrite as lost. */
static uint64_t capacity_needed(const struct trace_ring *ring)
{
    uint64_t capacity = TRACE_ALIGN / unit_of(ring);
    uint64_t needed = ring->head + (MUTANT(TRACE_FITS) ? 0 : 1);
    while (capacity < ring->capacity && capacity < needed) {
        capacity *= 2;
    }
    return capacity;
}

static void save_begin(const struct trace_ring *rings)
{
    trace_listen(TRACE_TO_FILE, false);
    memcpy(&saved, trace.header, trace.header->text_offset);
    uint64_t offset = rings[0].offset;
    for (unsigned i = 0; i < saved.header.rings; i++) {
        struct trace_ring *ring = &saved.rings[i];
        ring->capacity = capacity_needed(ring);
        ring->offset = offset;
        offset += ring->capacity * unit_of(ring);
    }
    saved.header.file_size = offset;
}

const void *trace_part(unsigned i, size_t *size)
{
    const char *file = (const char *)trace.header;
    const struct trace_ring *rings = (const struct trace_ring *)(trace.header + 1);
    if (i == 0) {
        save_begin(rings);
        *size = saved.header.text_offset;
        return &saved;
    }
    if (i == 1) {
        *size = rings[0].offset - saved.header.text_offset;
        return file + saved.header.text_offset;
    }
    if (i - 2 < saved.header.rings) {
        const struct trace_ring *ring = &saved.rings[i - 2];
        *size = ring->capacity * unit_of(ring);
        return file + rings[i - 2].offset;
    }
    return NULL;
}
#endif
