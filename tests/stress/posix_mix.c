/* SPDX-License-Identifier: MIT */
/*
 * posix_mix.c - many POSIX threads do everything that POSIX threads can do, at random, to the same
 * objects and to one another. The native API's stress is mix.c.
 *
 * Actors end after some hundred operations; their managers join them and create the next. It fails
 * if an invariant is broken (at once, or as a balance at the end) or if it hangs (the watch prints
 * the activity of each thread). A seed does not determine a run, only the attempted operations.
 */
#include "posix_mix.h"
#include "common/options.h"

enum { ACTORS_MAX = 200, MANAGERS = 2, LIFE_MIN = 50, LIFE_SPREAD = 500 };

/* The minimum number of operations, however slow the machine is. */
static const uint64_t operations_min = 3000;

bool mix_stop;
const bool mix_on_pirn = MIX_ON_PIRN;
__thread struct actor *mix_self;

static struct actor actors[ACTORS_MAX], managers[MANAGERS], main_actor;
static unsigned nactors;

static struct {
    const char *program, *features;
    uint64_t seconds, actors, seed;
} options = {.features = "all", .seconds = 5, .actors = 24};

/* Signal handlers call it, too. */
void mix_fail(const char *file, int line, const char *what, long got, long want)
{
    char text[1000];
    const char *sched = getenv("PIRN_SCHED"), *cpus = getenv("PIRN_CPUS");
    const char *doing = mix_self != NULL ? GET(&mix_self->progress->doing) : "";
    int n = snprintf(text, sizeof(text),
                     "FAILED: %s:%d: %s: got %ld, want %ld (%s)\n"
                     "  PIRN_SCHED=%s PIRN_CPUS=%s %s --seconds %" PRIu64 " --actors %" PRIu64
                     " --seed %" PRIu64 " --features %s\n",
                     file, line, what, got, want, doing != NULL ? doing : "",
                     sched != NULL ? sched : "", cpus != NULL ? cpus : "", options.program,
                     options.seconds, options.actors, options.seed, options.features);
    ssize_t written = write(2, text, (size_t)n);
    (void)written;
    abort();
}

struct actor *mix_peer(struct actor *a)
{
    return &actors[mix_random(a, nactors)];
}

struct timespec mix_time_after(clockid_t clock, long ns)
{
    struct timespec t;
    OK(clock_gettime(clock, &t));
    t.tv_nsec += ns;
    while (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    while (t.tv_nsec < 0) {
        t.tv_nsec += 1000000000;
        t.tv_sec--;
    }
    return t;
}

struct timespec mix_deadline(struct actor *a, clockid_t clock)
{
    return mix_time_after(clock, (long)mix_random(a, 400000) - 50000);
}

void mix_pause(struct actor *a)
{
    struct timespec moment = {0, 0};
    switch (mix_random(a, 10)) {
    case 0:
        usleep(mix_random(a, 50));
        break;
    case 1:
        moment.tv_nsec = mix_random(a, 50000);
        nanosleep(&moment, NULL);
        break;
    case 2:
    case 3:
        sched_yield();
        break;
    case 4:
        for (volatile unsigned i = mix_random(a, 5000); i != 0; i--) {
        }
        break;
    default:
        break;
    }
}

/* ---- actors ---- */

static void *actor_main(void *arg)
{
    struct actor *a = arg;
    mix_self = a;
    mix_doing(a, "start");
    own_thread_start();
    signals_thread_start(a);
    pthread_mutex_lock(&a->lock);
    a->alive = true;
    pthread_mutex_unlock(&a->lock);
    for (unsigned n = LIFE_MIN + mix_random(a, LIFE_SPREAD); n != 0 && !GET(&mix_stop); n--) {
        ops_one(a);
    }
    mix_doing(a, "end");
    pthread_mutex_lock(&a->lock);
    a->alive = false;
    pthread_mutex_unlock(&a->lock);
    signals_thread_end(a);
    mix_doing(a, NULL);
    return (void *)(uintptr_t)a->lives;
}

/* Under the lock: the next thread, once alive, may get signals by a->thread. */
static void actor_start(struct actor *manager, struct actor *a)
{
    a->random = (uint64_t)mix_random(manager, UINT32_MAX) << 32 | a->number;
    a->lives++;
    a->queued_sent = a->queued_got = a->killed_sent = a->killed_got = 0;
    pthread_mutex_lock(&a->lock);
    OK(pthread_create(&a->thread, NULL, actor_main, a));
    pthread_mutex_unlock(&a->lock);
}

static bool actor_ended(struct actor *manager, struct actor *a)
{
    void *ret = NULL;
    int error;
    struct timespec limit;
    switch (mix_random(manager, 3)) {
    case 0:
        error = pthread_tryjoin_np(a->thread, &ret);
        break;
    case 1:
        limit = mix_deadline(manager, CLOCK_REALTIME);
        error = pthread_timedjoin_np(a->thread, &ret, &limit);
        break;
    default:
        limit = mix_deadline(manager, CLOCK_MONOTONIC);
        error = pthread_clockjoin_np(a->thread, &ret, CLOCK_MONOTONIC, &limit);
        break;
    }
    CHECK(error == 0 || error == EBUSY || error == ETIMEDOUT);
    CHECK(error != 0 || (uintptr_t)ret == a->lives);
    return error == 0;
}

static void *manager_main(void *arg)
{
    struct actor *self = arg;
    mix_self = self;
    for (unsigned i = self->number; i < nactors; i += MANAGERS) {
        actor_start(self, &actors[i]);
    }
    while (!GET(&mix_stop)) {
        for (unsigned i = self->number; i < nactors; i += MANAGERS) {
            mix_doing(self, "timed joins");
            if (actor_ended(self, &actors[i])) {
                actor_start(self, &actors[i]);
            }
        }
        usleep(500);
    }
    for (unsigned i = self->number; i < nactors; i += MANAGERS) {
        while (!actor_ended(self, &actors[i])) {
            usleep(500);
        }
        mix_doing(self, "last joins");
    }
    mix_doing(self, NULL);
    return self;
}

/* ---- main ---- */

static void actor_init(struct actor *a, const char *who, unsigned number)
{
    a->progress = watch_add(who, number);
    a->number = number;
    a->random = options.seed * 1000003u + (uint64_t)who[0] * 1000 + number;
    OK(pthread_mutex_init(&a->lock, NULL));
}

static void actors_init(void)
{
    nactors = (unsigned)options.actors;
    for (unsigned i = 0; i < nactors; i++) {
        actor_init(&actors[i], "actor", i);
    }
    for (unsigned i = 0; i < MANAGERS; i++) {
        actor_init(&managers[i], "manager", i);
        mix_doing(&managers[i], "start");
    }
}

static void run(void)
{
    pthread_t threads[MANAGERS];
    groups_start(options.seed);
    for (unsigned i = 0; i < MANAGERS; i++) {
        OK(pthread_create(&threads[i], NULL, manager_main, &managers[i]));
    }
    struct timespec end = mix_time_after(CLOCK_MONOTONIC, 0), now;
    end.tv_sec += (time_t)options.seconds;
    do {
        mix_doing(&main_actor, "sleep");
        usleep(20000);
        OK(clock_gettime(CLOCK_MONOTONIC, &now));
    } while (now.tv_sec < end.tv_sec || ops_done() < operations_min);
    SET(&mix_stop, true);
    for (unsigned i = 0; i < MANAGERS; i++) {
        mix_doing(&main_actor, "joins managers");
        while (pthread_tryjoin_np(threads[i], NULL) != 0) {
            ops_release();
            usleep(1000);
        }
    }
    groups_join();
}

static void parse(int argc, char **argv)
{
    struct timespec now;
    bool hold = false;
    clock_gettime(CLOCK_REALTIME, &now);
    options.program = argv[0];
    options.seed = (uint64_t)now.tv_nsec / 1000;
    const struct option_spec table[] = {
        option_count("seconds", &options.seconds, 1, 1000000, "how long"),
        option_count("actors", &options.actors, 2, ACTORS_MAX, "threads that operate"),
        option_count("seed", &options.seed, 0, UINT64_MAX,
                     "of what is tried; else another each time"),
        option_text("features", "LIST", &options.features,
                    "NAME,...: these groups of operations; -NAME,...: all others"),
        option_flag("hold", &hold, "leave a program that hangs to gdb"),
        {0}};
    const struct option_page page = {.summary = "POSIX threads, everything at random.",
                                     .options = table};
    options_parse(argc, argv, &page);
    features_parse(options.features);
    watch_start(hold);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    main_actor.progress = watch_add("main", 0);
    mix_self = &main_actor;
    mix_doing(&main_actor, "start");
    actors_init();
    ops_init(options.seed, nactors);
    run();
    mix_doing(&main_actor, "balances");
    ops_verify();
    mix_doing(&main_actor, NULL);
    watch_end();
    return 0;
}
