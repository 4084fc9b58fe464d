/* SPDX-License-Identifier: MIT */
/*
 * latency.c - how long a thread of high priority waits after an interrupt has made it ready, while
 * a thread of low priority calls the library over and over. The interrupt comes at every
 * instruction of the calls (where the alarm of tests/board counts that finely; else at every second
 * or third). With an instruction counter as clock (`pirn board run --icount`), and with
 * PIRN_SCHED=POLICY:discipline=posix PIRN_PREEMPT=1.
 *
 *     latency NS [LIMIT]     NS: nanoseconds that an instruction takes; LIMIT: instructions
 *
 * Prints for each operation, in instructions: what a round of it takes without interrupts; from the
 * device's interrupt to the handler, and to the thread, the shortest and the longest time. With
 * LIMIT it fails if the thread has to wait longer; operations whose sections grow with the number
 * of threads are left out then.
 *
 * The alarm is set, and the clock read before; the instructions in between are subtracted.
 */
#include "alarm.h"
#include "check_board.h"
#include "common/options.h"

#include <pirn/irq.h>
#include <pirn/pirn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    AHEAD_NS = 16000,  /* of an alarm: more than a round of most operations */
    ROUNDS_MOST = 3000 /* alarms for an operation */
};

static double ns_per_instruction;
static pirn_sem_t rang = PIRN_SEM_INIT(0);
static volatile uint64_t entered, woke;
static volatile unsigned alarms;
static uint64_t set_ns;   /* from reading the clock to the start of the alarm */
static bool alarm_rounds; /* to more than a few instructions */

static void on_alarm(void *unused)
{
    (void)unused;
    entered = pirn_now();
    alarm_clear();
    pirn_sem_post(&rang);
}

static void *urgent(void *unused)
{
    for (;;) {
        pirn_sem_wait(&rang);
        woke = pirn_now();
        alarms = alarms + 1;
    }
    return unused;
}

/* ---- operations ---- */

static pirn_mutex_t mutex = PIRN_MUTEX_INIT;
static pirn_cond_t cond = PIRN_COND_INIT;
static pirn_sem_t sem = PIRN_SEM_INIT(0);
static pirn_rwlock_t rwlock = PIRN_RWLOCK_INIT;
static pirn_fe_t word = PIRN_FE_EMPTY;
static pirn_once_t once = PIRN_ONCE_INIT;
static pthread_mutex_t pmutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, inherits;
static pthread_cond_t pcond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_once_t ponce = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t psem;
static volatile unsigned counted;

static void computes(void)
{
    for (unsigned i = 0; i < 20; i++) {
        counted = counted + 1;
    }
}

static void reads_clock(void)
{
    pirn_now();
}

static void reads_clock_posix(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
}

static void asks_self(void)
{
    CHECK(pirn_self() != NULL);
}

static void asks_cpu(void)
{
    CHECK(pirn_cpu_self() >= 0);
}

static void asks_name(void)
{
    CHECK(pirn_name(pirn_self()) != NULL);
}

static void asks_sched(void)
{
    pirn_sched_t sched;
    pirn_get_sched(pirn_self(), &sched);
}

static void reads_counters(void)
{
    CHECK(pirn_thread_id(pirn_self()) != 0);
}

static void locks(void)
{
    pirn_mutex_lock(&mutex);
    pirn_mutex_unlock(&mutex);
}

static void tries(void)
{
    CHECK(pirn_mutex_trylock(&mutex) == 0);
    CHECK(pirn_mutex_trylock(&mutex) != 0);
    pirn_mutex_unlock(&mutex);
}

static void signals(void)
{
    pirn_cond_signal(&cond);
    pirn_cond_broadcast(&cond);
}

static void posts(void)
{
    pirn_sem_post(&sem);
    pirn_sem_wait(&sem);
}

static void tries_sem(void)
{
    CHECK(pirn_sem_trywait(&sem) != 0);
}

static void times_out(void)
{
    CHECK(pirn_sem_wait_until(&sem, pirn_now() + 1000) != 0);
}

static void reads_and_writes(void)
{
    pirn_rwlock_rdlock(&rwlock);
    pirn_rwlock_unlock(&rwlock);
    pirn_rwlock_wrlock(&rwlock);
    pirn_rwlock_unlock(&rwlock);
}

static void fills(void)
{
    pirn_fe_write(&word, 1);
    CHECK(pirn_fe_take(&word) == 1);
}

static void does_nothing(void) {}

static void asks_once(void)
{
    pirn_once(&once, does_nothing);
    pthread_once(&ponce, does_nothing);
}

static void yields(void)
{
    pirn_yield();
}

static void sleeps(void)
{
    pirn_sleep(1000);
}

static void *ends(void *arg)
{
    return arg;
}

static void creates(void)
{
    pirn_thread_t t;
    CHECK(pirn_create(&t, NULL, ends, NULL) == 0);
    CHECK(pirn_join(t, NULL) == 0);
}

static void changes_priority(void)
{
    CHECK(pirn_set_priority(pirn_self(), 2) == 0);
    CHECK(pirn_set_priority(pirn_self(), 1) == 0);
}

static void allocates(void)
{
    static void *volatile kept; /* else the compiler leaves both out */
    kept = malloc(100);
    free(kept);
}

static void asks_self_posix(void)
{
    CHECK(pthread_equal(pthread_self(), pthread_self()) != 0);
}

static void locks_posix(void)
{
    pthread_mutex_lock(&pmutex);
    pthread_mutex_unlock(&pmutex);
}

static void locks_recursive(void)
{
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
}

static void locks_inheriting(void)
{
    pthread_mutex_lock(&inherits);
    pthread_mutex_unlock(&inherits);
}

static void signals_posix(void)
{
    pthread_cond_signal(&pcond);
    pthread_cond_broadcast(&pcond);
}

static void spins(void)
{
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
}

static void has_values(void)
{
    pthread_setspecific(key, &key);
    CHECK(pthread_getspecific(key) == &key);
}

static void posts_posix(void)
{
    sem_post(&psem);
    sem_wait(&psem);
}

static void can_be_canceled(void)
{
    int old;
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setcancelstate(old, NULL);
}

static void *waits_for_cond(void *arg)
{
    pirn_mutex_lock(&mutex);
    pirn_sem_post(&sem);
    pirn_cond_wait(&cond, &mutex);
    pirn_mutex_unlock(&mutex);
    return arg;
}

/* Twenty threads wait, and are woken together. */
static void wakes_many(void)
{
    enum { MANY = 20 };
    pirn_thread_t t[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(pirn_create(&t[i], NULL, waits_for_cond, NULL) == 0);
    }
    for (unsigned i = 0; i < MANY; i++) {
        pirn_sem_wait(&sem);
    }
    pirn_mutex_lock(&mutex);
    pirn_cond_broadcast(&cond);
    pirn_mutex_unlock(&mutex);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(pirn_join(t[i], NULL) == 0);
    }
}

static const struct operation {
    const char *name;
    void (*fn)(void);
    bool grows; /* its sections grow with the number of threads */
} operations[] = {
    {"no call, a loop that computes", computes, false},
    {"pirn_now", reads_clock, false},
    {"clock_gettime", reads_clock_posix, false},
    {"pirn_self", asks_self, false},
    {"pthread_self, pthread_equal", asks_self_posix, false},
    {"pirn_cpu_self", asks_cpu, false},
    {"pirn_name", asks_name, false},
    {"pirn_get_sched", asks_sched, false},
    {"pirn_thread_id", reads_counters, false},
    {"mutex: lock, unlock", locks, false},
    {"mutex: trylock, free and taken", tries, false},
    {"pthread_mutex: lock, unlock", locks_posix, false},
    {"the same, recursive, twice", locks_recursive, false},
    {"the same, priorities are inherited", locks_inheriting, false},
    {"pthread_spin: lock, unlock", spins, false},
    {"cond: signal, broadcast, nobody waits", signals, false},
    {"pthread_cond: the same", signals_posix, false},
    {"sem: post, wait", posts, false},
    {"sem_post, sem_wait", posts_posix, false},
    {"sem: trywait, no unit", tries_sem, false},
    {"sem: wait until a time is over", times_out, false},
    {"rwlock: to read, to write", reads_and_writes, false},
    {"Full/Empty: write, take", fills, false},
    {"once, done before", asks_once, false},
    {"pthread_setspecific, getspecific", has_values, false},
    {"pthread_testcancel, setcancelstate", can_be_canceled, false},
    {"set_priority, up and down", changes_priority, false},
    {"yield, nobody else is ready", yields, false},
    {"sleep", sleeps, false},
    {"create, join a thread", creates, false},
    {"malloc, free", allocates, false},
    {"cond: 20 threads wait, broadcast", wakes_many, true},
};

/* ---- measuring ---- */

struct span {
    uint64_t least, most;
};

static void span_add(struct span *s, uint64_t ns)
{
    s->least = s->least == 0 || ns < s->least ? ns : s->least;
    s->most = ns > s->most ? ns : s->most;
}

static double instructions(uint64_t ns)
{
    return (double)ns / ns_per_instruction;
}

/* An alarm that counts less finely rounds, so that waiting for a while changes what is
 * interrupted. */
static void wait_for(unsigned rounds)
{
    while (rounds-- != 0) {
        __asm__ volatile("");
    }
}

static uint64_t round_ns(void (*fn)(void))
{
    enum { ROUNDS = 20 };
    fn();
    uint64_t from = pirn_now();
    for (unsigned i = 0; i < ROUNDS; i++) {
        fn();
    }
    return (pirn_now() - from) / ROUNDS;
}

/* One alarm, `late` instructions later than the earliest. */
static void alarm_during(void (*fn)(void), unsigned late, struct span *handler, struct span *thread)
{
    unsigned before = alarms;
    uint64_t set = pirn_now();
    uint32_t ns = alarm_in(AHEAD_NS + (uint32_t)(late * ns_per_instruction));
    if (alarm_rounds) {
        wait_for(late);
    }
    while (alarms == before) {
        fn();
    }
    uint64_t due = set + set_ns + ns;
    CHECK(entered >= due && woke >= entered);
    span_add(handler, entered - due);
    span_add(thread, woke - due);
}

static bool measure(const struct operation *operation, unsigned limit)
{
    struct span handler = {0, 0}, thread = {0, 0};
    uint64_t round = round_ns(operation->fn);
    unsigned length = (unsigned)instructions(round);
    unsigned n = length < ROUNDS_MOST ? length + 1 : ROUNDS_MOST;
    unsigned step = (length + n) / n;
    for (unsigned i = 0; i < n; i++) {
        alarm_during(operation->fn, i * step, &handler, &thread);
    }
    printf("\"%s\",%u,%u,%.0f,%.0f,%.0f,%.0f\n", operation->name, n, length,
           instructions(handler.least), instructions(handler.most), instructions(thread.least),
           instructions(thread.most));
    bool late = limit != 0 && instructions(thread.most) > limit;
    if (late) {
        printf("FAILED: the longest time to the thread is above %u instructions\n", limit);
    }
    return !late;
}

/* Reading the clock twice, and setting an alarm in between: a part of the first lies before its
 * reading, a part of the second behind. */
static void calibrate(void)
{
    uint64_t from = pirn_now();
    uint64_t read = pirn_now() - from;
    unsigned before = alarms;
    from = pirn_now();
    alarm_in(AHEAD_NS); /* as later: dividing takes longer for larger numbers */
    set_ns = pirn_now() - from - read;
    while (alarms == before) {
        pirn_now();
    }
    alarm_rounds = alarm_in(1000000000) == alarm_in(1000000100);
}

static void prepare(void)
{
    static const pirn_sched_t high = {.sched_class = PIRN_CLASS_FIFO, .priority = 40};
    static const pirn_sched_t low = {.sched_class = PIRN_CLASS_FIFO, .priority = 1};
    pirn_attr_t attr = {.sched = &high, .name = "urgent"};
    pirn_thread_t t;
    pthread_mutexattr_t mutexattr;
    CHECK(pirn_set_sched(pirn_self(), &low) == 0);
    CHECK(pirn_create(&t, &attr, urgent, NULL) == 0);
    CHECK(pthread_mutexattr_init(&mutexattr) == 0);
    CHECK(pthread_mutexattr_settype(&mutexattr, PTHREAD_MUTEX_RECURSIVE) == 0);
    CHECK(pthread_mutex_init(&recursive, &mutexattr) == 0);
    CHECK(pthread_mutexattr_settype(&mutexattr, PTHREAD_MUTEX_NORMAL) == 0);
    CHECK(pthread_mutexattr_setprotocol(&mutexattr, PTHREAD_PRIO_INHERIT) == 0);
    CHECK(pthread_mutex_init(&inherits, &mutexattr) == 0);
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CHECK(pthread_key_create(&key, NULL) == 0);
    CHECK(sem_init(&psem, 0, 0) == 0);
    CHECK(pirn_irq_attach(ALARM_SOURCE, on_alarm, NULL) == 0);
    pirn_yield(); /* the other one waits now */
}

int main(int argc, char **argv)
{
    const struct option_page page = {
        .summary = "How long threads wait after an interrupt; NS: nanoseconds that an instruction "
                   "takes; LIMIT: instructions that a thread may wait.",
        .operand = "NS [LIMIT]"};
    char **operand = options_parse(argc, argv, &page);
    ns_per_instruction = operand_positive("NS", operand[0]);
    unsigned limit = 0;
    if (operand[1] != NULL) {
        limit = (unsigned)operand_number("LIMIT", operand[1], 1, 1000000);
    }
    bool good = true;
    prepare();
    calibrate();
    printf("operation,alarms,round,handler_least,handler_most,thread_least,thread_most\n");
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (limit == 0 || !operations[i].grows) {
            good &= measure(&operations[i], limit);
        }
    }
    puts(good ? "done" : "not done");
    return good ? 0 : 1;
}
