/* SPDX-License-Identifier: MIT */
/*
 * posix_ops_own.c - state of a single thread: values of keys, __thread variables and errno,
 * scheduling parameters, CPU sets; initialisation that is done once; and work that is interrupted,
 * in the C library and in the program, whose results show whether registers survive.
 */
#include <math.h>

#include "posix_mix.h"

enum { KEYS = 4, ONCES = 4096, TEXT = 200, PRIORITIES = 20 };

static pthread_key_t keys[KEYS];
static unsigned values_set, values_destroyed; /* (A) */

struct value {
    pthread_t owner;
    unsigned key, rounds;
};

static struct {
    pthread_once_t control;
    unsigned runs; /* (A) */
} onces[ONCES];
static unsigned once_next; /* (A) */
static __thread unsigned once_index;

enum { WORDS = 16 };
static __thread uint64_t words[WORDS] = {1, 2, 3};
static __thread uint64_t zeros[WORDS];
static __thread bool words_own;

static cpu_set_t all_cpus;
static uint64_t expected_hash;
static double expected_sum;

/* ---- keys ---- */

/* Each value is set again once, so that it is destroyed in a second round. */
static void value_destroy(void *arg)
{
    struct value *v = arg;
    CHECK(pthread_equal(v->owner, pthread_self()));
    if (v->rounds++ == 0) {
        OK(pthread_setspecific(keys[v->key], v));
        return;
    }
    ADD(&values_destroyed, 1u);
    free(v);
}

void keys_touch(unsigned key)
{
    struct value *v = pthread_getspecific(keys[key]);
    if (v == NULL) {
        v = malloc(sizeof(*v));
        CHECK(v != NULL);
        *v = (struct value){.owner = pthread_self(), .key = key};
        ADD(&values_set, 1u);
        OK(pthread_setspecific(keys[key], v));
    }
    CHECK(v->key == key && pthread_equal(v->owner, pthread_self()));
}

static void key_of_a_moment(struct actor *a)
{
    pthread_key_t key;
    OK(pthread_key_create(&key, NULL));
    CHECK(pthread_getspecific(key) == NULL);
    OK(pthread_setspecific(key, a));
    mix_pause(a);
    CHECK(pthread_getspecific(key) == a);
    OK(pthread_key_delete(key));
}

void op_key(struct actor *a)
{
    keys_touch(mix_random(a, KEYS));
    if (mix_random(a, 4) == 0) {
        key_of_a_moment(a);
    }
}

/* ---- variables ---- */

void own_thread_start(void)
{
    for (unsigned i = 0; i < WORDS; i++) {
        CHECK(words[i] == (i < 3 ? i + 1 : 0) && zeros[i] == 0);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        words[i] = (uint64_t)(uintptr_t)mix_self + i;
        zeros[i] = ~words[i];
    }
    words_own = true;
}

void op_tls(struct actor *a)
{
    int value = (int)mix_random(a, 1000) + 1;
    CHECK(mix_self == a && words_own);
    errno = value;
    sched_yield();
    for (volatile unsigned i = mix_random(a, 20000); i != 0; i--) {
    }
    CHECK_EQ(errno, value);
    for (unsigned i = 0; i < WORDS; i++) {
        CHECK(words[i] == (uint64_t)(uintptr_t)a + i && zeros[i] == ~words[i]);
    }
}

/* ---- once ---- */

static void once_run(void)
{
    unsigned i = once_index; /* the caller's: it runs this itself */
    ADD(&onces[i].runs, 1u);
    usleep(i % 3 * 10);
    sched_yield();
    CHECK_EQ(once_index, i);
}

void op_once(struct actor *a)
{
    unsigned i = GET(&once_next);
    if (mix_random(a, 4) == 0 && i + 1 < ONCES) {
        __atomic_compare_exchange_n(&once_next, &i, i + 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        i = GET(&once_next);
    }
    once_index = i;
    OK(pthread_once(&onces[i].control, once_run));
    CHECK_EQ(GET(&onces[i].runs), 1);
}

/* ---- scheduling ---- */

/* EPERM: the kernel's real-time classes need a right that the user may not have. */
static void sched_set(pthread_t thread, int policy, int priority, bool own)
{
    struct sched_param set = {.sched_priority = priority}, got;
    int got_policy, error = pthread_setschedparam(thread, policy, &set);
    CHECK(error == 0 || (error == EPERM && policy != SCHED_OTHER && !mix_on_pirn));
    if (own && error == 0) {
        OK(pthread_getschedparam(thread, &got_policy, &got));
        CHECK(got_policy == policy && got.sched_priority == priority);
    }
}

/* Under its lock the thread exists, and no other thread changes it. */
void op_sched(struct actor *a)
{
    struct actor *of = mix_random(a, 2) ? a : mix_peer(a);
    int priority = 1 + (int)mix_random(a, PRIORITIES);
    if (pthread_mutex_trylock(&of->lock) != 0) {
        return;
    }
    if (of->alive) {
        sched_set(of->thread, mix_random(a, 2) ? SCHED_RR : SCHED_FIFO, priority, true);
        mix_pause(a);
        if (mix_random(a, 3) != 0) {
            sched_set(of->thread, SCHED_OTHER, 0, true);
        }
    }
    OK(pthread_mutex_unlock(&of->lock));
}

static void cpus_random(struct actor *a, cpu_set_t *set)
{
    *set = all_cpus;
    if (mix_random(a, 2)) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, set) && CPU_COUNT(set) > 1 && mix_random(a, 2)) {
                CPU_CLR(cpu, set);
            }
        }
    }
}

void op_affinity(struct actor *a)
{
    struct actor *of = mix_random(a, 2) ? a : mix_peer(a);
    cpu_set_t set, got;
    cpus_random(a, &set);
    if (pthread_mutex_trylock(&of->lock) != 0) {
        return;
    }
    if (of->alive) {
        OK(pthread_setaffinity_np(of->thread, sizeof(set), &set));
        mix_pause(a);
        OK(pthread_getaffinity_np(of->thread, sizeof(got), &got));
        CHECK(CPU_EQUAL(&set, &got));
    }
    OK(pthread_mutex_unlock(&of->lock));
}

/* ---- work ---- */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A time between a moment and several ticks. */
static uint64_t work_end(struct actor *a)
{
    return cpu_ns() + mix_random(a, mix_random(a, 4) ? 1000000 : 20000000);
}

static uint64_t hash_words(void)
{
    uint64_t x = 1, y = 2, z = 3, w = 4;
    for (unsigned i = 0; i < 20000; i++) {
        x = (x ^ y << 7) * 0x9e3779b97f4a7c15u + i;
        y = (y ^ x >> 9) + z;
        z = (z << 13 | z >> 51) ^ w;
        w += x ^ z;
    }
    return x ^ y ^ z ^ w;
}

static double sum_doubles(void)
{
    double x = 0.5, y = 0.25, sum = 0;
    for (unsigned i = 1; i < 10000; i++) {
        x = x * 1.0000001 + 1.0 / i;
        y = sqrt(y + x);
        sum += x - y;
    }
    return sum;
}

/* The same operations on the same values give the same bits, unless a register was lost. */
void op_compute(struct actor *a)
{
    uint64_t end = work_end(a);
    do {
        CHECK(hash_words() == expected_hash);
        CHECK(sum_doubles() == expected_sum);
    } while (cpu_ns() < end);
}

static void text_check(struct actor *a)
{
    char text[TEXT], name[32];
    unsigned long number = 0;
    double real = 0;
    unsigned n = mix_random(a, 1u << 30);
    int length = snprintf(text, sizeof(text), "%u %.3f %s", n, n / 1000.0, "end");
    CHECK(length > 0 && length < TEXT);
    CHECK_EQ(sscanf(text, "%lu %lf %31s", &number, &real, name), 3);
    CHECK(number == n && fabs(real - n / 1000.0) < 0.01 && strcmp(name, "end") == 0);
}

static void memory_check(struct actor *a)
{
    size_t size = 1 + mix_random(a, mix_random(a, 16) ? 500 : 200000);
    int byte = (int)mix_random(a, 256);
    unsigned char *memory = malloc(size);
    CHECK(memory != NULL);
    memset(memory, byte, size);
    memory = realloc(memory, size * 2);
    CHECK(memory != NULL);
    CHECK(memory[0] == byte && memory[size - 1] == byte && memory[size / 2] == byte);
    free(memory);
}

void op_libc(struct actor *a)
{
    uint64_t end = work_end(a);
    do {
        text_check(a);
        memory_check(a);
    } while (cpu_ns() < end);
}

/* ---- start and end ---- */

void own_init(void)
{
    static const pthread_once_t control = PTHREAD_ONCE_INIT;
    for (unsigned i = 0; i < KEYS; i++) {
        OK(pthread_key_create(&keys[i], value_destroy));
    }
    for (unsigned i = 0; i < ONCES; i++) {
        onces[i].control = control;
    }
    OK(sched_getaffinity(0, sizeof(all_cpus), &all_cpus));
    expected_hash = hash_words();
    expected_sum = sum_doubles();
}

/* Detached threads have left their clean-up handlers, but may still be destroying their values. */
void own_verify(void)
{
    while (GET(&values_destroyed) != GET(&values_set)) {
        usleep(1000);
    }
}
