/* SPDX-License-Identifier: MIT */
/*
 * label.c - the text of labels, and threads that go on (<pirn/label.h>).
 *
 * Callers: the trace, in the thread that begins to wait; reports, where no thread moves; the native
 * API. A thread that waits with a label has the reason WAIT_LABEL, and the label as wait_object.
 * tools/pirn_tools/live/labels.py and tools/debuggers read it from outside and write the same text.
 * Locks: that of the table of threads.
 */
#include "label.h"

#include <inttypes.h>
#include <stdio.h>

#include "cpu.h"
#include "id.h"
#include "runtime.h"

struct out {
    char *text;
    size_t size, length; /* length: as snprintf returns it */
};

/* At most n bytes. */
static void put(struct out *out, const char *from, size_t n)
{
    for (size_t i = 0; i < n && from[i] != '\0'; i++) {
        if (out->length + 1 < out->size) {
            out->text[out->length] = from[i];
        }
        out->length++;
    }
}

/* The field whose name and ending are the n bytes at `field`. */
static void put_field(struct out *out, const char *field, size_t n, int64_t value)
{
    char number[24];
    bool ends = n > 2 && field[n - 2] == ':';
    char how = ends ? field[n - 1] : 'd';
    const char *words = number;
    if (value == PIRN_LABEL_NONE || (how == 's' && value == 0)) {
        return;
    }
    if (value == PIRN_LABEL_ANY) {
        words = "any";
    } else if (how == 's') {
        words = (const char *)(uintptr_t)value; /* NOLINT(performance-no-int-to-ptr) */
    } else if (how == 'x') {
        snprintf(number, sizeof(number), "%#" PRIx64, (uint64_t)value);
    } else {
        snprintf(number, sizeof(number), "%" PRId64, value);
    }
    put(out, " ", 1);
    put(out, field, ends ? n - 2 : n);
    put(out, "=", 1);
    put(out, words, PIRN_LABEL_WORD_MAX);
}

size_t rt_label_text(const struct pirn_label *label, char *text, size_t size)
{
    struct out out = {text, size, 0};
    const char *at = label->fields != NULL ? label->fields : "";
    put(&out, label->name, PIRN_LABEL_WORD_MAX);
    for (unsigned i = 0; i < PIRN_LABEL_FIELDS && *at != '\0'; i++) {
        size_t n = 0;
        while (at[n] != '\0' && at[n] != ' ') {
            n++;
        }
        put_field(&out, at, n, label->values[i]);
        at += at[n] == ' ' ? n + 1 : n;
    }
    if (size != 0) {
        text[out.length < size ? out.length : size - 1] = '\0';
    }
    return out.length;
}

struct running {
    const struct thread *self;
    unsigned n;
};

static NO_TSAN void count_running(struct thread *t, void *arg)
{
    struct running *running = arg;
    uint32_t state = at_load_rlx(&t->state);
    bool runs = state == THREAD_RUNNING && t->cpu != NULL && rt_cpu_runs(t->cpu, t);
    if (!(t->flags & (THREAD_IDLE | THREAD_FOREIGN)) && t != running->self) {
        running->n += state == THREAD_NEW || state == THREAD_READY || runs;
    }
}

unsigned rt_threads_running(void)
{
    unsigned long irq;
    struct running running = {rt_self(), 0};
    rt_enter(&irq);
    id_for_each_locked(count_running, &running);
    rt_leave(irq);
    return running.n;
}
