/* SPDX-License-Identifier: MIT */
/*
 * layout.c - see layout.h. The entries are those for which tools/debuggers/pirn-gdb.py and
 * tools/pirn_tools/live ask by name.
 */
#include "layout.h"

#include "carrier.h"
#include "id.h"
#include "io.h"
#include "label.h"
#include "omutex.h"
#include "report.h"
#include "runtime.h"

#define FIELD(type, field)                                                                         \
    {                                                                                              \
#type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field)          \
    }
#define CONSTANT(name)                                                                             \
    {                                                                                              \
#name, (uint32_t)(name), 0                                                                 \
    }
#define SIZE(type)                                                                                 \
    {                                                                                              \
        "sizeof." #type, sizeof(struct type), 0                                                    \
    }

/* Kernel threads, and times of threads. */
#if PORT_FOREIGN
#define KERNEL_ENTRIES                                                                             \
    FIELD(cpu, port.cpus), SIZE(carrier), FIELD(carrier, port.tid), FIELD(port_carrier, tid),      \
        FIELD(port_carrier, times), SIZE(port_carrier), FIELD(times, seq), FIELD(times, timed),    \
        FIELD(times, span_at), FIELD(times, kernel_at), FIELD(times, short_ns),                    \
        FIELD(thread, port.tls), FIELD(thread, port.used), FIELD(thread, port.timed_on),           \
        FIELD(thread, port.tid), CONSTANT(TIMES_BIT),
#else
#define KERNEL_ENTRIES FIELD(thread, port.low),
#endif

#ifndef PIRN_WITHOUT_STATS
#define STATS_ENTRIES                                                                              \
    FIELD(cpu, idle_since), FIELD(cpu, stats.threads), FIELD(cpu, stats.switches),                 \
        FIELD(cpu, stats.steals), FIELD(cpu, stats.migrations), FIELD(cpu, stats.preemptions),     \
        FIELD(cpu, stats.idle_ns), FIELD(cpu, stats.sleeps),
#else
#define STATS_ENTRIES
#endif

#ifndef PIRN_WITHOUT_TIMED
#define TIMED_ENTRIES                                                                              \
    FIELD(cpu, timers.armed), FIELD(thread, timer.deadline), FIELD(thread, timer.armed),
#else
#define TIMED_ENTRIES
#endif

static const struct layout_entry entries[] LAYOUT_PART(".entries") = {
    KERNEL_ENTRIES STATS_ENTRIES TIMED_ENTRIES FIELD(rt, started),
    FIELD(rt, ncpu),
    FIELD(rt, cpus),
    FIELD(rt, policy.name),
    FIELD(rt, start_ns),
    SIZE(cpu),
    FIELD(cpu, current),
    FIELD(cpu, idle),
    FIELD(cpu, carrier),
    FIELD(cpu, id),
    SIZE(thread),
    FIELD(thread, ctx.sp),
    FIELD(thread, ctx.pc),
    FIELD(thread, cpu),
    FIELD(thread, state),
    FIELD(thread, flags),
    FIELD(thread, port),
    FIELD(thread, priority),
    FIELD(thread, base_priority),
    FIELD(thread, sched.attr),
    FIELD(thread, wait_reason),
    FIELD(thread, claimable),
    FIELD(thread, start),
    FIELD(thread, stack.low),
    FIELD(thread, stack.size),
    FIELD(thread, stack_top),
    FIELD(thread, index),
    FIELD(thread, generation),
    FIELD(thread, wait_object),
    FIELD(thread, carrier),
    FIELD(thread, name),
    SIZE(id_slot),
    FIELD(id_slot, thread),
    FIELD(rt_io, fd),
    FIELD(rt_io, events),
    SIZE(rt_io),
    FIELD(io_waiter, io),
    FIELD(io_waiter, n),
    FIELD(pirn_label, name),
    FIELD(pirn_label, fields),
    FIELD(pirn_label, values),
    FIELD(rt_mutex, owner),
    FIELD(rt_mutex, kind),
    FIELD(rt_omutex, word),
    FIELD(rt_rwlock, word),
    FIELD(rt_rwlock, owner_hint),
    CONSTANT(ID_CHUNK_BITS),
    CONSTANT(ID_CHUNKS),
    CONSTANT(THREAD_NEW),
    CONSTANT(THREAD_READY),
    CONSTANT(THREAD_RUNNING),
    CONSTANT(THREAD_BLOCKED),
    CONSTANT(THREAD_EXITED),
    CONSTANT(THREAD_IDLE),
    CONSTANT(THREAD_MAIN),
    CONSTANT(THREAD_FOREIGN),
    CONSTANT(WAIT_NONE),
    CONSTANT(WAIT_MUTEX),
    CONSTANT(WAIT_RDLOCK),
    CONSTANT(WAIT_WRLOCK),
    CONSTANT(WAIT_JOIN),
    CONSTANT(WAIT_SLEEP),
    CONSTANT(WAIT_CALL),
    CONSTANT(WAIT_IO),
    CONSTANT(WAIT_LABEL),
    CONSTANT(SCHED_CLASS_FIFO),
    CONSTANT(SCHED_CLASS_RR),
    CONSTANT(SCHED_CLASS_MASK),
    CONSTANT(SCHED_WEIGHT_SHIFT),
    CONSTANT(SCHED_WEIGHT_DEFAULT),
    CONSTANT(OM_ROBUST),
    CONSTANT(OM_INHERIT),
    CONSTANT(OM_PROTECT),
    CONSTANT(OM_OWNER),
};

static const char reasons[WAIT_REASONS][REPORT_TEXT_MAX] LAYOUT_PART(".reasons") = REPORT_TEXTS;

struct layout pirn_debug_layout LAYOUT_PART("") = {
    .magic = "pirn-dbg",
    .version = LAYOUT_VERSION,
    .entries = ARRAY_SIZE(entries),
    .entry = entries,
    .rt = &rt,
    .id_chunks = id_chunk,
    .reasons = WAIT_REASONS,
    .text_max = REPORT_TEXT_MAX,
    .reason = reasons,
};
