/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - the hooks of trace.h while the trace is on: they collect an event's data from threads
 * and CPUs. All are called inside the runtime, except those for any context.
 */
#include <pirn/policy.h>
#include <pirn/record.h>
#include <string.h>

#include "cpu.h"
#include "file.h"
#include "label.h"
#include "port_calls.h"
#include "trace.h"

/* The reason of a switch: the table "switch" of trace_file.c. */
static unsigned switch_why(const struct thread *prev, unsigned post)
{
    switch ((enum post_action)post) {
    case POST_NONE:
        return prev->flags & THREAD_IDLE ? TRACE_SWITCH_IDLE : TRACE_SWITCH_YIELD;
    case POST_YIELD:
    case POST_OFFER:
        return TRACE_SWITCH_YIELD;
    case POST_PREEMPT:
    case POST_GIVE:
        return TRACE_SWITCH_PREEMPT;
    case POST_UNLOCK: /* reads the state without a scheduling point of the simulator */
        return *(const uint32_t *)&prev->state == THREAD_BLOCKED ? TRACE_SWITCH_BLOCK
                                                                 : TRACE_SWITCH_YIELD;
    case POST_PARK:
    case POST_LINE:
        return TRACE_SWITCH_BLOCK;
    case POST_EXIT:
        return TRACE_SWITCH_EXIT;
    case POST_RETURN:
        break;
    }
    return TRACE_SWITCH_CALL;
}

static struct trace_writer *writer_of(const struct cpu *cpu)
{
    return cpu != NULL && cpu->id != RT_NO_CPU ? &trace_writers[cpu->id] : NULL;
}

static void emit_outside(struct trace_what what, const char *text)
{
    const struct thread *self = port_left_self();
    ring_write_any(trace_places_of(RT_NO_CPU), self != NULL ? self->index : TRACE_NO_THREAD, what,
                   text);
}

ALWAYS_INLINE void emit(const struct cpu *cpu, enum ring_time when, struct trace_what what)
{
    struct trace_writer *w = writer_of(cpu);
    if (w != NULL) {
        ring_write(w, cpu->current->index, when, what);
    } else {
        emit_outside(what, NULL);
    }
}

/* Emits a thread, its life, and its name if it has one. */
static void emit_thread(const struct cpu *cpu, enum ring_time when, enum trace_id id,
                        const struct thread *t, unsigned small)
{
    struct trace_what what = {(uint8_t)id, (uint16_t)small, TRACE_AB(t->index, t->generation)};
    if (t->name[0] == '\0') {
        emit(cpu, when, what);
        return;
    }
    char text[TRACE_TEXT_MAX] = "";
    _Static_assert(RT_NAME_MAX <= TRACE_TEXT_MAX, "a name fits");
    memcpy(text, t->name, RT_NAME_MAX);
    struct trace_writer *w = writer_of(cpu);
    if (w != NULL) {
        ring_write_slow(w, cpu->current->index, when, what, text);
    } else {
        emit_outside(what, text);
    }
}

/* This and `migrate` come from the middle of a switch: prev is who ran. */
void trace_switch_on(const struct cpu *cpu, struct thread *prev, unsigned post)
{
    if (cpu->id == RT_NO_CPU) {
        return; /* a kernel thread without a CPU switches to its idle thread: `called` has recorded
                 * it */
    }
    ring_write(&trace_writers[cpu->id], prev->index, RING_NOW,
               (struct trace_what){TRACE_EV_SWITCH, (uint16_t)switch_why(prev, post),
                                   TRACE_AB(cpu->current->index, prev->index)});
}

void trace_spawn_on(const struct cpu *cpu, const struct thread *t)
{
    emit_thread(cpu, RING_LATER, TRACE_EV_SPAWN, t, 0);
}

void trace_begin_on(const struct cpu *cpu)
{
    const struct thread *t = cpu->current;
    emit(cpu, RING_SAME, (struct trace_what){TRACE_EV_START, 0, TRACE_AB(t->index, t->generation)});
}

void trace_exit_on(const struct cpu *cpu)
{
    const struct thread *t = cpu->current;
    emit(cpu, RING_LATER, (struct trace_what){TRACE_EV_EXIT, 0, TRACE_AB(t->index, t->generation)});
}

/* The text in parts of TRACE_TEXT_MAX bytes. */
static void emit_label(const struct cpu *cpu, const struct pirn_label *label)
{
    char text[PIRN_LABEL_TEXT_MAX + TRACE_TEXT_MAX] = "";
    struct trace_writer *w = writer_of(cpu);
    size_t length = rt_label_text(label, text, PIRN_LABEL_TEXT_MAX);
    for (unsigned at = 0; at < length && at < PIRN_LABEL_TEXT_MAX; at += TRACE_TEXT_MAX) {
        struct trace_what what = {TRACE_EV_LABEL, (uint16_t)(at / TRACE_TEXT_MAX), 0};
        if (w != NULL) {
            ring_write_slow(w, cpu->current->index, RING_LATER, what, text + at);
        } else {
            emit_outside(what, text + at);
        }
    }
}

void trace_block_on(const struct cpu *cpu, const struct thread *t)
{
    if (RT_LABELS && t->wait_reason == WAIT_LABEL) {
        emit_label(cpu, t->wait_object);
    }
    emit(cpu, RING_LATER,
         (struct trace_what){TRACE_EV_BLOCK, t->wait_reason, (uintptr_t)t->wait_object});
}

void trace_wake_on(const struct cpu *cpu, struct thread *t, unsigned why)
{
    bool own = writer_of(cpu) != NULL;
    bool switched = why == PIRN_WHY_YIELD || why == PIRN_WHY_PREEMPT; /* from finish_switch */
    emit(cpu, own && switched ? RING_SAME : RING_NOW,
         (struct trace_what){TRACE_EV_WAKE, (uint16_t)why,
                             TRACE_AB(t->index, own ? cpu->current->index : TRACE_NO_THREAD)});
}

void trace_join_on(const struct cpu *cpu, const struct thread *t)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_JOIN, 0, TRACE_AB(t->index, t->generation)});
}

void trace_contend_on(const struct cpu *cpu, unsigned reason, const void *object)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_CONTEND, (uint16_t)reason, (uintptr_t)object});
}

void trace_preempt_on(const struct cpu *cpu)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_PREEMPT, 0, TRACE_AB(cpu->current->index, 0)});
}

void trace_migrate_on(const struct cpu *cpu, const struct thread *prev, const struct thread *t)
{
    const struct cpu *from = t->cpu;
    if (from == NULL || from->id == RT_NO_CPU || cpu->id == RT_NO_CPU) {
        return; /* it was on no CPU before */
    }
    ring_write(&trace_writers[cpu->id], prev->index, RING_LATER,
               (struct trace_what){TRACE_EV_MIGRATE, (uint16_t)from->id, TRACE_AB(t->index, 0)});
}

void trace_call_on(const struct cpu *cpu, struct thread *t, bool taken)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_CALL, taken, TRACE_AB(t->index, 0)});
}

void trace_called_on(const struct cpu *cpu, struct thread *t)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_CALLED, 0, TRACE_AB(t->index, 0)});
}

void trace_name_on(const struct cpu *cpu, const struct thread *t)
{
    emit_thread(cpu, RING_NOW, TRACE_EV_NAME, t, 0);
}

void trace_thread_on(const struct cpu *cpu, const struct thread *t, unsigned state)
{
    emit_thread(cpu, RING_NOW, TRACE_EV_THREAD, t, state);
}

void trace_steal_on(const struct cpu *cpu, unsigned victim, unsigned amount,
                    const struct thread *first)
{
    emit(cpu, RING_NOW,
         (struct trace_what){TRACE_EV_STEAL, (uint16_t)victim, TRACE_AB(amount, first->index)});
}

void trace_place_on(const struct cpu *cpu, unsigned on, const struct thread *t)
{
    uint32_t waker = writer_of(cpu) != NULL ? cpu->current->index : TRACE_NO_THREAD;
    emit(cpu, RING_NOW,
         (struct trace_what){TRACE_EV_PLACE, (uint16_t)on, TRACE_AB(t->index, waker)});
}

void trace_request_on(const struct cpu *cpu, unsigned asked)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_REQUEST, (uint16_t)asked, 0});
}

void trace_answer_on(const struct cpu *cpu, unsigned asking, unsigned amount)
{
    emit(cpu, RING_NOW,
         (struct trace_what){TRACE_EV_ANSWER, (uint16_t)asking, TRACE_AB(amount, 0)});
}

void trace_idle_on(const struct cpu *cpu, bool in)
{
    emit(cpu, in ? RING_NOW : RING_LATER,
         (struct trace_what){in ? TRACE_EV_IDLE_IN : TRACE_EV_IDLE_OUT, 0, 0});
}

void trace_sleep_on(const struct cpu *cpu, bool in)
{
    emit(cpu, RING_NOW, (struct trace_what){in ? TRACE_EV_SLEEP_IN : TRACE_EV_SLEEP_OUT, 0, 0});
}

void trace_kick_on(const struct cpu *cpu, unsigned id)
{
    emit(cpu, RING_NOW, (struct trace_what){TRACE_EV_KICK, (uint16_t)id, 0});
}

void trace_carry_on(const struct cpu *cpu)
{
    emit_thread(cpu, RING_NOW, TRACE_EV_CARRY, cpu->idle, 0);
}

static void emit_any(const struct cpu *cpu, struct trace_what r, const char *text)
{
    const struct thread *self = cpu != NULL ? cpu->current : port_left_self();
    ring_write_any(trace_places_of(cpu != NULL ? cpu->id : RT_NO_CPU),
                   self != NULL ? self->index : TRACE_NO_THREAD, r, text);
}

void trace_tick_on(const struct cpu *cpu, bool in, bool preempts)
{
    emit_any(cpu, (struct trace_what){in ? TRACE_EV_TICK_IN : TRACE_EV_TICK_OUT, preempts, 0},
             NULL);
}

void trace_paused_on(const struct cpu *cpu, bool paused)
{
    emit_any(cpu, (struct trace_what){paused ? TRACE_EV_PAUSE : TRACE_EV_RESUME, 0, 0}, NULL);
}

void trace_mark_on(const struct cpu *cpu, const char *name, int64_t value)
{
    char text[TRACE_TEXT_MAX] = "";
    memcpy(text, name, strnlen(name, sizeof(text)));
    emit_any(cpu, (struct trace_what){TRACE_EV_MARK, 0, (uint64_t)value}, text);
}

void trace_record_on(const struct cpu *cpu, unsigned what, unsigned small, int64_t value,
                     const char *text)
{
    static const uint8_t ids[] = {[PIRN_RECORD_JOB] = TRACE_EV_JOB,
                                  [PIRN_RECORD_ALIGN] = TRACE_EV_ALIGN,
                                  [PIRN_RECORD_SEND] = TRACE_EV_SEND,
                                  [PIRN_RECORD_RECEIVE] = TRACE_EV_RECEIVE,
                                  [PIRN_RECORD_UNTOLD] = TRACE_EV_UNTOLD};
    char said[TRACE_TEXT_MAX] = "";
    if (what < ARRAY_SIZE(ids)) {
        memcpy(said, text, strnlen(text, sizeof(said)));
        emit_any(cpu, (struct trace_what){ids[what], (uint16_t)small, (uint64_t)value}, said);
    }
}
