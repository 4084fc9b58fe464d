/* SPDX-License-Identifier: MIT */
/*
 * priorities.c - a handler of an interrupt is interrupted by one of a higher priority, not by one
 * of the same; what handlers on top of each other post arrives once, and the threads that they wake
 * run when the outermost one has returned. Interrupts come to the CPU that is chosen for them.
 *
 *     priorities CASE
 */
#include "check_board.h"
#include "common/options.h"
#include "raise/raise.h"

#include <errno.h>
#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <stdint.h>
#include <stdlib.h>

#define HANGS_NS 20000000000u /* only detects a hang */
#define LOOKS 100000u
#define ROUNDS 200u
#define BUSY 4u

static pirn_sem_t posted = PIRN_SEM_INIT(0);
static unsigned begun[RAISE_COUNT], ended[RAISE_COUNT], most, under_way, early, done;
static int cpu_of[RAISE_COUNT];
static bool nests, allocates;
static void *volatile block;

static unsigned get(const unsigned *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void add(unsigned *word, int n)
{
    __atomic_fetch_add(word, (unsigned)n, __ATOMIC_ACQ_REL);
}

/* The next higher one comes here if it can; else it does not. */
static void raise_next(unsigned i)
{
    unsigned before = get(&ended[i + 1]);
    uint64_t until = pirn_now() + HANGS_NS;
    raise_interrupt(i + 1);
    if (nests) {
        while (get(&ended[i + 1]) == before) {
            CHECK(pirn_now() < until);
        }
        return;
    }
    for (unsigned look = 0; look < LOOKS; look++) {
        CHECK(get(&begun[i + 1]) == before);
    }
}

static void on_interrupt(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    add(&under_way, 1);
    most = under_way > most ? under_way : most;
    cpu_of[i] = pirn_cpu_self();
    raise_clear(i);
    add(&begun[i], 1);
    CHECK(pirn_sem_post(&posted) == 0);
    if (allocates) {
        block = malloc(100);
    }
    if (i + 1 < RAISE_COUNT) {
        raise_next(i);
    }
    CHECK(pirn_sem_post(&posted) == 0);
    add(&ended[i], 1);
    add(&under_way, -1);
}

static void attach(bool with_priorities)
{
    nests = with_priorities;
    raise_begin();
    for (unsigned i = 0; i < RAISE_COUNT; i++) {
        CHECK(pirn_irq_set_priority(raise_source(i), with_priorities ? i : 1) == 0);
        CHECK(pirn_irq_attach(raise_source(i), on_interrupt, (void *)(uintptr_t)i) == 0);
        CHECK(pirn_irq_set_priority(raise_source(i), 0) == -EBUSY);
    }
}

/* With one CPU: it runs as soon as it can. */
static void *receives(void *rounds)
{
    for (unsigned i = 0; i < (unsigned)(uintptr_t)rounds * 2 * RAISE_COUNT; i++) {
        pirn_sem_wait(&posted);
        early += pirn_cpu_count() == 1 && get(&under_way) != 0;
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void raised(unsigned rounds)
{
    pirn_thread_t thread;
    const pirn_sched_t urgent = {.sched_class = PIRN_CLASS_FIFO, .priority = 40};
    const pirn_attr_t attr = {.sched = &urgent};
    CHECK(pirn_create(&thread, &attr, receives, (void *)(uintptr_t)rounds) == 0);
    for (unsigned i = 1; i <= rounds; i++) {
        uint64_t until = pirn_now() + HANGS_NS;
        raise_interrupt(0);
        while (get(&ended[0]) != i || get(&ended[RAISE_COUNT - 1]) != i) {
            CHECK(pirn_now() < until);
            pirn_yield();
        }
    }
    CHECK(pirn_join(thread, NULL) == 0);
    CHECK(early == 0 && under_way == 0);
    for (unsigned i = 0; i < RAISE_COUNT; i++) {
        CHECK(begun[i] == rounds && ended[i] == rounds);
    }
}

static void nest(void)
{
    unsigned source = raise_source(0);
    CHECK(pirn_irq_set_priority(source, PIRN_IRQ_PRIORITIES) == -EINVAL);
    CHECK(pirn_irq_set_priority(256, 0) == -EINVAL);
    CHECK(pirn_irq_set_priority(source, PIRN_IRQ_PRIORITIES - 1) == 0);
    attach(true);
    raised(1);
    CHECK(most == RAISE_COUNT);
    for (unsigned i = 0; i < RAISE_COUNT; i++) {
        CHECK(pirn_irq_attach(raise_source(i), NULL, NULL) == 0);
        begun[i] = ended[i] = 0;
    }
    most = 0;
    attach(false);
    raised(1);
    CHECK(most == 1);
}

static void *keeps_busy(void *arg)
{
    while (!get(&done)) {
        if ((uintptr_t)arg % 2 == 0) {
            pirn_yield();
        } else {
            free(malloc(100));
            pirn_sleep(50000);
        }
    }
    return NULL;
}

static void busy(void)
{
    pirn_thread_t threads[BUSY];
    for (uintptr_t i = 0; i < BUSY; i++) {
        CHECK(pirn_create(&threads[i], NULL, keeps_busy, (void *)i) == 0);
    }
    attach(true);
    raised(ROUNDS);
    for (unsigned i = 0; i < BUSY; i++) {
        CHECK(pirn_join(threads[i], NULL) == 0);
    }
}

/* Before the handler is attached, and while it is. */
static void affinity(void)
{
    unsigned cpus = pirn_cpu_count(), rounds = 0;
    CHECK(pirn_irq_set_affinity(raise_source(0), cpus) == -EINVAL);
    CHECK(pirn_irq_set_affinity(256, 0) == -EINVAL);
#ifdef RAISE_PRIVATE
    unsigned other = ((unsigned)pirn_cpu_self() + 1) % cpus;
    CHECK(cpus == 1 || pirn_irq_set_affinity(RAISE_PRIVATE, other) == -ENOTSUP);
#endif
    CHECK(pirn_irq_set_affinity(raise_source(RAISE_COUNT - 1), cpus - 1) == 0);
    CHECK(pirn_irq_set_affinity(raise_source(0), cpus - 1) == 0);
    attach(true);
    for (unsigned i = 0; i < 2 * cpus; i++) {
        unsigned cpu = (cpus - 1 + i) % cpus;
        for (unsigned source = 0; source < RAISE_COUNT; source++) {
            CHECK(pirn_irq_set_affinity(raise_source(source), cpu) == 0);
        }
        raise_interrupt(0);
        rounds++;
        for (unsigned post = 0; post < 2 * RAISE_COUNT; post++) {
            pirn_sem_wait(&posted);
        }
        uint64_t until = pirn_now() + HANGS_NS;
        while (get(&ended[0]) != rounds) {
            CHECK(pirn_now() < until);
        }
        for (unsigned source = 0; source < RAISE_COUNT; source++) {
            CHECK(cpu_of[source] == (int)cpu);
        }
    }
}

static void refused(void)
{
    allocates = true;
    attach(true);
    raised(1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"nest", nest}, {"busy", busy}, {"affinity", affinity}, {"malloc", refused}};
    cases[OPTIONS_CASE(argc, argv, "Handlers of several priorities.", cases)].run();
    puts("done");
    return 0;
}
