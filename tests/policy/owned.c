/* SPDX-License-Identifier: MIT */
/*
 * owned.c - policy "owned", of the tests: every thread has a CPU for life, and only that CPU
 * touches its queue. Threads that other CPUs make ready come through the inbox.
 *
 * Invariants:
 *   1. ready, and queued of the threads that belong here, are touched by their CPU only.
 *   2. living is the number of threads of a CPU; a new thread goes to the CPU with the fewest.
 */
#include "list.h"

#include <stdio.h>

struct owned {
    unsigned char link[PIRN_POLICY_LINK];
    uint32_t cpu;   /* constant after thread_init */
    uint8_t why;    /* on its way through the inbox */
    uint8_t queued; /* invariant 1 */
};

static struct {
    pirn_runq_t ready __attribute__((aligned(64)));
    pirn_policy_word_t living, received; /* any CPU; the owner */
} cpus[PIRN_POLICY_CPUS];

static bool lifo;

static struct owned *owned_of(pirn_thread_t t)
{
    return pirn_policy_room(t);
}

static int owned_set_order(const char *value, const char **why)
{
    (void)why;
    lifo = value[0] == 'l';
    return 0;
}

/* Free text that is refused with a message of its own, and with the usual ones. */
static int owned_set_number(const char *value, const char **why)
{
    if (value[0] == '-') {
        *why = "numbers are not negative";
        return -1;
    }
    return value[0] != '\0' && (value[0] < '0' || value[0] > '9') ? -1 : 0;
}

static int owned_init(unsigned n)
{
    if (n > 64) {
        return -7;
    }
    for (unsigned i = 0; i < n; i++) {
        pirn_runq_init(&cpus[i].ready, lifo);
        pirn_policy_word_init(&cpus[i].living, 0);
        pirn_policy_word_init(&cpus[i].received, 0);
    }
    return 0;
}

/* Reserve a place on a CPU that has `least` threads; false if another caller was faster. */
static bool reserve(struct owned *o, unsigned cpu, uintptr_t least)
{
    o->cpu = cpu;
    return pirn_policy_swap(&cpus[cpu].living, &least, least + 1);
}

static int owned_thread_init(pirn_thread_t t, pirn_thread_t creator)
{
    struct owned *o = owned_of(t);
    unsigned best;
    (void)creator;
    PIRN_POLICY_VERIFY(pirn_policy_thread(o) == t);
    o->queued = 0;
    do {
        best = 0;
        for (unsigned i = 1; i < pirn_policy_cpu_count(); i++) {
            if (pirn_policy_peek(&cpus[i].living) < pirn_policy_peek(&cpus[best].living)) {
                best = i;
            }
        }
    } while (!reserve(o, best, pirn_policy_load(&cpus[best].living)));
    return 0;
}

static void owned_thread_exit(pirn_thread_t t)
{
    struct owned *o = owned_of(t);
    PIRN_POLICY_VERIFY(!o->queued);
    PIRN_POLICY_VERIFY(pirn_policy_add(&cpus[o->cpu].living, (uintptr_t)-1) != 0);
}

static void push(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    owned_of(t)->queued = 1;
    pirn_runq_push(&cpus[pirn_policy_cpu_id(self)].ready, t, why);
}

static struct pirn_kick owned_enqueue(pirn_cpu_t self, pirn_thread_t t, enum pirn_why why)
{
    struct owned *o = owned_of(t);
    unsigned home = o->cpu; /* once sent, t may run and end */
    if (self == pirn_policy_cpu(home)) {
        push(self, t, why);
        return (struct pirn_kick){.cpu = PIRN_KICK_NONE};
    }
    o->why = (uint8_t)why;
    pirn_policy_send(pirn_policy_cpu(home), t);
    return (struct pirn_kick){.cpu = (int)home};
}

static void receive(pirn_cpu_t self, pirn_thread_t t)
{
    push(self, t, (enum pirn_why)owned_of(t)->why);
}

static void owned_poll(pirn_cpu_t self)
{
    pirn_policy_word_t *received = &cpus[pirn_policy_cpu_id(self)].received;
    unsigned n = pirn_policy_receive(self, receive);
    pirn_policy_store(received, pirn_policy_peek(received) + n);
}

static pirn_thread_t owned_pick(pirn_cpu_t self)
{
    pirn_thread_t t = pirn_runq_pop(&cpus[pirn_policy_cpu_id(self)].ready);
    if (t != NULL) {
        owned_of(t)->queued = 0;
    }
    return t;
}

static struct pirn_rotation owned_rotate(pirn_cpu_t self, pirn_thread_t t)
{
    pirn_thread_t next = pirn_runq_rotate(&cpus[pirn_policy_cpu_id(self)].ready, t);
    if (next != NULL) {
        owned_of(next)->queued = 0;
        owned_of(t)->queued = 1;
    }
    return (struct pirn_rotation){next, NULL};
}

static bool owned_remove(pirn_cpu_t self, pirn_thread_t t)
{
    struct owned *o = owned_of(t);
    if (self != pirn_policy_cpu(o->cpu) || !o->queued) {
        return false; /* it belongs to another CPU, or runs, waits, or is in our inbox */
    }
    pirn_runq_remove(&cpus[o->cpu].ready, t);
    o->queued = 0;
    return true;
}

static bool owned_has_work(pirn_cpu_t self)
{
    return pirn_runq_length(&cpus[pirn_policy_cpu_id(self)].ready) != 0 ||
           !pirn_policy_inbox_empty(self);
}

static bool owned_direct(pirn_cpu_t self, pirn_thread_t t)
{
    return self == pirn_policy_cpu(owned_of(t)->cpu);
}

static void owned_stat(pirn_cpu_t self, void (*emit)(void *to, const char *name, uint64_t value),
                       void *to)
{
    emit(to, "received", pirn_policy_peek(&cpus[pirn_policy_cpu_id(self)].received));
    emit(to, "living", pirn_policy_peek(&cpus[pirn_policy_cpu_id(self)].living));
}

static void owned_dump(void (*print)(void *to, const char *text), void *to)
{
    char text[64];
    for (unsigned i = 0; i < pirn_policy_cpu_count(); i++) {
        snprintf(text, sizeof(text), "{CPU %u: %u ready, inbox %s}", i,
                 pirn_runq_length(&cpus[i].ready),
                 pirn_policy_inbox_empty(pirn_policy_cpu(i)) ? "empty" : "full");
        print(to, text);
    }
}

static void owned_check(void)
{
    for (unsigned i = 0; i < pirn_policy_cpu_count(); i++) {
        unsigned n = 0;
        for (pirn_thread_t t = pirn_runq_first(&cpus[i].ready); t != NULL;
             t = pirn_runq_next(&cpus[i].ready, t)) {
            PIRN_POLICY_VERIFY(pirn_policy_thread_ready(t));
            PIRN_POLICY_VERIFY(owned_of(t)->queued && owned_of(t)->cpu == i);
            n++;
        }
        PIRN_POLICY_VERIFY(n == pirn_runq_length(&cpus[i].ready));
    }
}

static const struct pirn_policy_option options[] = {
    {"order", "fifo|lifo", "fifo", "order of each CPU's ready queue", owned_set_order},
    {"number", "<number>", "", "what is refused in two ways", owned_set_number},
    {0}};

const struct pirn_policy policy_owned = {
    .version = PIRN_POLICY_VERSION,
    .name = "owned",
    .help = "every thread has a CPU for life",
    .options = options,
    .pinned = true,
    .init = owned_init,
    .enqueue = owned_enqueue,
    .pick = owned_pick,
    .rotate = owned_rotate,
    .remove = owned_remove,
    .has_work = owned_has_work,
    .direct = owned_direct,
    .poll = owned_poll,
    .thread_init = owned_thread_init,
    .thread_exit = owned_thread_exit,
    .stat = owned_stat,
    .dump = owned_dump,
    .check = owned_check,
};
