/* SPDX-License-Identifier: MIT */
/*
 * mix.c - many threads mix all objects, timed and untimed waits, creation, joins and detaching; a
 * group of threads meets at a barrier; two kernel threads take part.
 *
 * It fails if an invariant is broken or if it hangs (an actor does not end within a minute after
 * the time is over: the activity of each is printed).
 */
#include <errno.h>
#include <pthread.h>

#include "common/options.h"
#include "mix.h"

enum { ACTORS_MAX = 1000, FOREIGN = 2, MEETING = 5 };

static const uint64_t hang_ns = 60000000000u;

bool mix_stop;
char stress_command[200];

static struct actor actors[ACTORS_MAX];
static unsigned nactors;
static unsigned alive, children_alive; /* atomic */
static uint64_t created, joined, detached;

static struct {
    pirn_barrier_t barrier;
    unsigned arrived; /* atomic */
    bool last;        /* written by one between two barriers */
    uint64_t phases;
} meeting;

/* ---- children ---- */

static void *child_main(void *arg)
{
    struct actor self = {.random = (uint64_t)(uintptr_t)arg, .doing = "child"};
    for (uint32_t n = actor_random(&self, 4); n != 0; n--) {
        ops_one(&self);
    }
    ADD(&children_alive, -1u);
    return arg;
}

static void child_join(struct actor *a, pirn_thread_t child, void *expected)
{
    void *ret = NULL;
    int error;
    switch (actor_random(a, 3)) {
    case 0:
        error = pirn_join(child, &ret);
        break;
    case 1:
        while ((error = pirn_tryjoin(child, &ret)) == -EBUSY) {
            pirn_yield();
        }
        break;
    default:
        while ((error = pirn_join_until(child, &ret, actor_deadline(a))) == -ETIMEDOUT) {
            actor_pause(a);
        }
        break;
    }
    CHECK(error == 0 && ret == expected);
    ADD(&joined, 1u);
}

static void child_start(struct actor *a)
{
    pirn_thread_storage_t storage = {.opaque = {0}};
    pirn_attr_t attr = {.name = "child"};
    bool given = actor_random(a, 8) == 0, detach = !given && actor_random(a, 3) == 0;
    attr.storage = given ? &storage : NULL;
    attr.stack_size = actor_random(a, 4) == 0 ? (size_t)(32 + 32 * actor_random(a, 4)) << 10 : 0;
    attr.detached = detach && actor_random(a, 2) != 0;
    void *arg = (void *)(uintptr_t)(1 + actor_random(a, 1u << 30));
    pirn_thread_t child;
    SET(&a->doing, "create");
    ADD(&children_alive, 1u);
    CHECK(pirn_create(&child, &attr, child_main, arg) == 0);
    ADD(&created, 1u);
    if (!detach) {
        SET(&a->doing, "join");
        child_join(a, child, arg);
    } else {
        CHECK(attr.detached || pirn_detach(child) == 0);
        ADD(&detached, 1u);
    }
}

/* ---- actors ---- */

static void *actor_main(void *arg)
{
    struct actor *a = arg;
    while (!GET(&mix_stop)) {
        if (actor_random(a, 8) == 0) {
            child_start(a);
        } else {
            ops_one(a);
        }
    }
    SET(&a->doing, NULL);
    ADD(&alive, -1u);
    return a;
}

static void *meeting_main(void *arg)
{
    struct actor *a = arg;
    for (uint64_t phase = 1;; phase++) {
        SET(&a->doing, "barrier");
        ADD(&meeting.arrived, 1u);
        actor_pause(a);
        bool serial = pirn_barrier_wait(&meeting.barrier);
        CHECK(GET(&meeting.arrived) == MEETING);
        CHECK(meeting.phases == phase - 1);
        pirn_barrier_wait(&meeting.barrier);
        if (serial) {
            meeting.phases = phase;
            meeting.arrived = 0;
            meeting.last = GET(&mix_stop);
        }
        pirn_barrier_wait(&meeting.barrier);
        if (meeting.last) {
            break;
        }
    }
    SET(&a->doing, NULL);
    ADD(&alive, -1u);
    return a;
}

static struct actor *actor_new(uint64_t seed)
{
    struct actor *a = &actors[nactors++];
    a->random = seed + nactors * 1000003u;
    a->doing = "start";
    ADD(&alive, 1u);
    return a;
}

static void report_hang(void)
{
    for (unsigned i = 0; i < nactors; i++) {
        const char *doing = GET(&actors[i].doing);
        if (doing != NULL) {
            fprintf(stderr, "actor %u hangs: %s\n", i, doing);
        }
    }
    fprintf(stderr, "%u children live\n", GET(&children_alive));
    CHECK(!"no end within a minute after time is over");
}

static void await_end(void)
{
    uint64_t limit = pirn_now() + hang_ns;
    while (GET(&alive) != 0 || GET(&children_alive) != 0) {
        ops_release();
        pirn_sleep(1000000);
        if (pirn_now() > limit) {
            report_hang();
        }
    }
}

static void run(uint64_t seconds, unsigned threads, uint64_t seed)
{
    static pirn_thread_t users[ACTORS_MAX];
    pthread_t foreign[FOREIGN];
    for (unsigned i = 0; i < threads + MEETING; i++) {
        CHECK(pirn_create(&users[i], NULL, i < threads ? actor_main : meeting_main,
                          actor_new(seed)) == 0);
    }
    for (unsigned i = 0; i < FOREIGN; i++) {
        CHECK(pthread_create(&foreign[i], NULL, actor_main, actor_new(seed)) == 0);
    }
    pirn_sleep(seconds * 1000000000u);
    SET(&mix_stop, true);
    await_end();
    for (unsigned i = 0; i < threads + MEETING; i++) {
        void *ret;
        CHECK(pirn_join(users[i], &ret) == 0 && ret == &actors[i]);
    }
    for (unsigned i = 0; i < FOREIGN; i++) {
        CHECK(pthread_join(foreign[i], NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    uint64_t seconds = 2, threads = 40, seed = pirn_now();
    const struct option_spec options[] = {
        option_count("seconds", &seconds, 1, 1000000, "how long"),
        option_count("threads", &threads, 1, ACTORS_MAX - FOREIGN - MEETING, "how many"),
        option_count("seed", &seed, 0, UINT64_MAX, "of what is tried; else another each time"),
        {0}};
    const struct option_page page = {.summary = "Threads mix all objects of the native API.",
                                     .options = options};
    options_parse(argc, argv, &page);
    snprintf(stress_command, sizeof(stress_command),
             "pirn-stress-mix --seconds %" PRIu64 " --threads %" PRIu64 " --seed %" PRIu64, seconds,
             threads, seed);
    ops_init();
    CHECK(pirn_barrier_init(&meeting.barrier, MEETING) == 0);
    run(seconds, (unsigned)threads, seed);
    ops_verify();
    printf(", %" PRIu64 " barrier phases, %" PRIu64 " threads created, %" PRIu64 " joined, %" PRIu64
           " detached\n",
           meeting.phases, created, joined, detached);
    CHECK(created == joined + detached && created != 0 && meeting.phases != 0);
    return 0;
}
