/* SPDX-License-Identifier: MIT */
/*
 * mix_objects.c - the operations of mix_ops.c on event flags, message queues and software timers:
 * exclusion by a flag that is taken without waiting, what was waited for is there, messages are
 * whole and conserved, and a timer that is stopped does not ring.
 */
#include <errno.h>
#include <pirn/flags.h>
#include <pirn/queue.h>
#include <pirn/timer.h>

#include "mix.h"

enum { QUEUES = 2, TIMERS = 3, ROOM = 4, PERMIT = 1 << 31 };

static struct {
    pirn_flags_t flags;
    unsigned inside;
    uint64_t gone_in, got;
} events;

struct message {
    uint32_t value, twice;
    uint8_t thrice[4];
};

static struct {
    pirn_queue_t queue;
    struct message room[ROOM];
    uint64_t sent, received, sum_sent, sum_received;
} queues[QUEUES];

static struct {
    pirn_timer_t timer;
    unsigned owned; /* atomic: by the actor that starts and stops it */
    uint64_t calls;
} timers[TIMERS];

static void permit_visit(struct actor *a)
{
    if (pirn_flags_trywait(&events.flags, PERMIT, PIRN_FLAGS_CLEAR, NULL) != 0) {
        return;
    }
    CHECK(ADD(&events.inside, 1u) == 1);
    actor_pause(a);
    CHECK(ADD(&events.inside, -1u) == 0);
    ADD(&events.gone_in, 1u);
    CHECK((pirn_flags_set(&events.flags, PERMIT) & PERMIT) == 0);
}

void op_flags(struct actor *a)
{
    uint32_t bits = 1 + actor_random(a, 15), got = 0;
    unsigned how = actor_random(a, 4);
    switch (actor_random(a, 4)) {
    case 0:
        permit_visit(a);
        break;
    case 1:
        pirn_flags_set(&events.flags, bits);
        break;
    case 2:
        pirn_flags_clear(&events.flags, bits);
        break;
    default:
        if (pirn_flags_wait_until(&events.flags, bits, how, &got, actor_deadline(a)) == 0) {
            CHECK(how & PIRN_FLAGS_ALL ? (got & bits) == bits : (got & bits) != 0);
            ADD(&events.got, 1u);
        }
        break;
    }
}

static void queue_send(unsigned i, uint32_t value, uint64_t deadline)
{
    struct message m = {value, 2 * value, {0}};
    memset(m.thrice, (uint8_t)value, sizeof(m.thrice));
    int error = pirn_queue_send_until(&queues[i].queue, &m, deadline);
    CHECK(error == 0 || (error == -ETIMEDOUT && deadline != PIRN_FOREVER));
    if (error == 0) {
        ADD(&queues[i].sent, 1u);
        ADD(&queues[i].sum_sent, value);
    }
}

static void queue_receive(unsigned i, uint64_t deadline)
{
    struct message m;
    int error = pirn_queue_receive_until(&queues[i].queue, &m, deadline);
    CHECK(error == 0 || (error == -ETIMEDOUT && deadline != PIRN_FOREVER));
    if (error == 0) {
        CHECK(m.twice == 2 * m.value);
        for (unsigned k = 0; k < sizeof(m.thrice); k++) {
            CHECK(m.thrice[k] == (uint8_t)m.value);
        }
        ADD(&queues[i].received, 1u);
        ADD(&queues[i].sum_received, m.value);
    }
}

void op_queue(struct actor *a)
{
    unsigned i = actor_random(a, QUEUES);
    if (actor_random(a, 2) != 0) {
        queue_send(i, actor_random(a, 1000), actor_deadline(a));
    } else {
        queue_receive(i, actor_deadline(a));
    }
}

static void rings(void *calls)
{
    ADD((uint64_t *)calls, 1u);
    if (GET((uint64_t *)calls) % 4 == 0) {
        pirn_yield();
    }
}

void op_timer(struct actor *a)
{
    unsigned i = actor_random(a, TIMERS), free = 0;
    if (!__atomic_compare_exchange_n(&timers[i].owned, &free, 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        return;
    }
    if (actor_random(a, 2) != 0) {
        uint64_t period = actor_random(a, 2) != 0 ? 1 + actor_random(a, 100000) : 0;
        CHECK(pirn_timer_start(&timers[i].timer, actor_deadline(a), period) == 0);
    } else {
        pirn_timer_stop_sync(&timers[i].timer);
        uint64_t calls = GET(&timers[i].calls);
        actor_pause(a);
        CHECK(GET(&timers[i].calls) == calls);
        CHECK(pirn_timer_deadline(&timers[i].timer) == PIRN_FOREVER);
    }
    SET(&timers[i].owned, 0u);
}

void objects_init(void)
{
    pirn_flags_set(&events.flags, PERMIT);
    for (unsigned i = 0; i < QUEUES; i++) {
        CHECK(pirn_queue_init(&queues[i].queue, queues[i].room, sizeof(struct message),
                              i == 0 ? 1 : ROOM) == 0);
    }
    for (unsigned i = 0; i < TIMERS; i++) {
        CHECK(pirn_timer_init(&timers[i].timer, rings, &timers[i].calls) == 0);
    }
}

void objects_release(void)
{
    pirn_flags_set(&events.flags, 15);
    for (unsigned i = 0; i < QUEUES; i++) {
        queue_send(i, 1, pirn_now() + 1000000);
        queue_receive(i, pirn_now() + 1000000);
    }
}

void objects_verify(void)
{
    uint64_t messages = 0, calls = 0;
    CHECK(events.inside == 0 && (pirn_flags_get(&events.flags) & PERMIT) != 0);
    for (unsigned i = 0; i < QUEUES; i++) {
        while (pirn_queue_count(&queues[i].queue) != 0) {
            queue_receive(i, 0);
        }
        CHECK(queues[i].sent == queues[i].received);
        CHECK(queues[i].sum_sent == queues[i].sum_received);
        messages += queues[i].sent;
    }
    for (unsigned i = 0; i < TIMERS; i++) {
        pirn_timer_stop_sync(&timers[i].timer);
        calls += timers[i].calls;
    }
    printf(", %" PRIu64 " flags, %" PRIu64 " messages, %" PRIu64 " calls of timers",
           events.gone_in + events.got, messages, calls);
}
