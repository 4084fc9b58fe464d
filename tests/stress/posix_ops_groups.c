/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_groups.c - threads that wait for one another without time limits, each for one event
 * that happens once: a lost wake-up is a hang here, which the watch finds.
 *
 * The relay passes a token from thread to thread, by a semaphore, condition variable, pipe, signal
 * or new thread. The round determines the means, so that the receiver waits for the right one. The
 * meeting is at a barrier.
 */
#include <fcntl.h>
#include <semaphore.h>

#include "posix_mix.h"

enum { RELAY = 4, MEETING = 5 };
enum means { BY_SEM, BY_COND, BY_PIPE, BY_SIGNAL, BY_THREAD, MEANS };

static struct runner {
    struct actor self;
    pthread_t thread;
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool notified; /* (mutex) */
    int ends[2];
} runners[RELAY];

/* State of the thread that has the token. */
static struct {
    uint64_t seed, round;
    unsigned ending; /* threads that have yet to end; 0: none has to */
} relay;

static struct {
    struct actor selves[MEETING];
    pthread_t threads[MEETING];
    pthread_barrier_t barrier;
    unsigned arrived, serials; /* (A) */
    unsigned phases;           /* written by one between two barriers, as is last */
    bool last;
} meeting;

/* ---- relay ---- */

static enum means means_of(uint64_t round)
{
    uint64_t state = relay.seed + round;
    return (enum means)stress_random(&state, MEANS);
}

static void *tell_main(void *arg)
{
    struct runner *to = arg;
    OK(sem_post(&to->sem));
    return NULL;
}

static void tell_by_cond(struct runner *to)
{
    OK(pthread_mutex_lock(&to->mutex));
    to->notified = true;
    OK(pthread_cond_signal(&to->cond));
    OK(pthread_mutex_unlock(&to->mutex));
}

static void tell(struct runner *from, struct runner *to, enum means means)
{
    pthread_t child;
    switch (means) {
    case BY_SEM:
        OK(sem_post(&to->sem));
        break;
    case BY_COND:
        tell_by_cond(to);
        break;
    case BY_PIPE:
        CHECK_EQ(write(to->ends[1], "", 1), 1);
        break;
    case BY_SIGNAL:
        OK(pthread_kill(to->thread, signals_relay()));
        break;
    default:
        child = child_start(&from->self, false, tell_main, to);
        OK(pthread_join(child, NULL));
        break;
    }
}

static void await_cond(struct runner *r)
{
    OK(pthread_mutex_lock(&r->mutex));
    while (!r->notified) {
        OK(pthread_cond_wait(&r->cond, &r->mutex));
    }
    r->notified = false;
    OK(pthread_mutex_unlock(&r->mutex));
}

static void await_signal(void)
{
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, signals_relay());
    OK(sigwait(&set, &signal));
    CHECK_EQ(signal, signals_relay());
}

static void await(struct runner *r, enum means means)
{
    char byte;
    switch (means) {
    case BY_COND:
        mix_doing(&r->self, "waits for the token, condition variable");
        await_cond(r);
        break;
    case BY_PIPE:
        mix_doing(&r->self, "waits for the token, pipe");
        CHECK_EQ(read(r->ends[0], &byte, 1), 1);
        break;
    case BY_SIGNAL:
        mix_doing(&r->self, "waits for the token, signal");
        await_signal();
        break;
    default:
        mix_doing(&r->self, "waits for the token, semaphore");
        OK(sem_wait(&r->sem));
        break;
    }
}

/* Round r arrives at runner r mod RELAY. */
static void *runner_main(void *arg)
{
    struct runner *r = arg;
    for (uint64_t round = r->self.number;; round += RELAY) {
        await(r, means_of(round));
        CHECK_EQ(relay.round, round);
        mix_doing(&r->self, "has the token");
        mix_pause(&r->self);
        if (relay.ending == 0 && GET(&mix_stop)) {
            relay.ending = RELAY;
        }
        bool last = relay.ending == 1, ends = relay.ending != 0;
        relay.ending -= ends;
        relay.round = round + 1;
        if (!last) {
            tell(r, &runners[(round + 1) % RELAY], means_of(round + 1));
        }
        if (ends) {
            break;
        }
    }
    mix_doing(&r->self, NULL);
    return NULL;
}

/* ---- meeting ---- */

static void meeting_wait(struct actor *a)
{
    int ret = pthread_barrier_wait(&meeting.barrier);
    CHECK(ret == 0 || ret == PTHREAD_BARRIER_SERIAL_THREAD);
    if (ret == PTHREAD_BARRIER_SERIAL_THREAD) {
        ADD(&meeting.serials, 1u);
    }
    mix_doing(a, "meets");
}

static void *meeting_main(void *arg)
{
    struct actor *a = arg;
    for (unsigned phase = 1;; phase++) {
        ADD(&meeting.arrived, 1u);
        mix_pause(a);
        meeting_wait(a);
        CHECK_EQ(GET(&meeting.arrived), phase * MEETING);
        if (a->number == phase % MEETING) {
            meeting.phases = phase;
            meeting.last = GET(&mix_stop);
        }
        meeting_wait(a);
        if (meeting.last) {
            break;
        }
    }
    mix_doing(a, NULL);
    return NULL;
}

/* ---- start and end ---- */

static void member_init(struct actor *a, const char *who, unsigned number, uint64_t seed)
{
    a->progress = watch_add(who, number);
    a->number = number;
    a->random = seed + number;
    mix_doing(a, "start");
}

static void relay_start(uint64_t seed)
{
    relay.seed = seed * MEANS;
    for (unsigned i = 0; i < RELAY; i++) {
        struct runner *r = &runners[i];
        member_init(&r->self, "runner", i, seed);
        OK(sem_init(&r->sem, 0, 0));
        OK(pthread_mutex_init(&r->mutex, NULL));
        OK(pthread_cond_init(&r->cond, NULL));
        OK(pipe2(r->ends, O_CLOEXEC));
    }
    for (unsigned i = 0; i < RELAY; i++) {
        OK(pthread_create(&runners[i].thread, NULL, runner_main, &runners[i]));
    }
    struct actor self = {.random = seed};
    struct runner from = {.self = self};
    tell(&from, &runners[0], means_of(0));
}

static void meeting_start(uint64_t seed)
{
    OK(pthread_barrier_init(&meeting.barrier, NULL, MEETING));
    for (unsigned i = 0; i < MEETING; i++) {
        member_init(&meeting.selves[i], "meeting", i, seed);
        OK(pthread_create(&meeting.threads[i], NULL, meeting_main, &meeting.selves[i]));
    }
}

void groups_start(uint64_t seed)
{
    if (feature_on(F_RELAY)) {
        relay_start(seed);
    }
    if (feature_on(F_BARRIER)) {
        meeting_start(seed);
    }
}

void groups_join(void)
{
    for (unsigned i = 0; feature_on(F_RELAY) && i < RELAY; i++) {
        OK(pthread_join(runners[i].thread, NULL));
    }
    for (unsigned i = 0; feature_on(F_BARRIER) && i < MEETING; i++) {
        OK(pthread_join(meeting.threads[i], NULL));
    }
    CHECK_EQ(meeting.serials, 2 * meeting.phases);
}
