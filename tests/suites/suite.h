/* SPDX-License-Identifier: MIT */
/*
 * suite.h - tests that run on every platform: in the simulator (tests/sim) under many seeds, on
 * Linux (tests/unit) for real.
 *
 * A test is a function that runs as the main thread of a fresh runtime (simulator) or of the
 * running one (Linux). It uses the native API and CHECK, keeps its state on its own stack or in
 * objects that it initialises, and joins the threads that it creates.
 */
#ifndef PIRN_TESTS_SUITE_H
#define PIRN_TESTS_SUITE_H

#include <pirn/policy.h>

struct test {
    const char *name;
    void (*run)(void *);
    unsigned mutant; /* enum mutant that this test is to catch; 0 = none */
};

struct suite {
    const char *name;
    const struct test *tests;  /* ends with name == NULL */
    const char *const *scheds; /* the policies that it runs under, ends with NULL; NULL = any */
    bool classes;              /* it needs a discipline with scheduling classes */
};

extern const struct suite suite_core, suite_sync, suite_policy, suite_classes, suite_call,
    suite_cancel, suite_signal, suite_affinity, suite_affinity_classes, suite_demand, suite_objects,
    suite_poll;

/* The platform provides these. */
void test_fail(const char *file, int line, const char *what) __attribute__((noreturn));
uint32_t test_random(uint32_t n); /* below n */
void test_pause(void);            /* a moment of work of the test's own */
void test_spin(void);             /* the same without a call of the library or the kernel */
int test_fd(unsigned i);          /* the i-th of some descriptors, not readable at first */
void test_fd_set(unsigned i, bool readable);
void test_fd_renew(unsigned i); /* gives its number to another descriptor, which is not readable */
bool test_fd_get(unsigned i);
void test_block(uint32_t ns); /* blocks in the kernel for at least that long */
bool test_lose_cpu(void);     /* lose the CPU in the middle of user code; false: impossible here */
bool test_preempts(void);     /* threads are preempted in this run */
void test_foreign(void (*fn)(void *),
                  void *arg); /* run fn on a kernel thread that is not a worker */
bool test_simulated(void);
uint64_t *test_tls(void); /* a thread-local word; NULL if threads share them */
void test_tick(void);     /* simulator: a tick passes on the caller's CPU */
void test_part(void);     /* simulator: a tick comes, but the caller has not run for a whole one */
void test_slice(void);    /* simulator: the caller has run for a tick; Linux: it yields */
const char *test_sched(void); /* policy and options */

/* Simulator: the caller has missed the shared cache so often, in so much work. False: that is not
 * counted, because it has no CPU; or here is Linux. */
bool test_misses(uint32_t misses, uint32_t work);
uint64_t test_measured(void); /* simulator: the measured working set of the caller's jobs */

/* Simulator: from now on consumers have to go where the rules of task affinity say. What they
 * depend on does not change any more, and all that wake one know it; all threads are of class
 * OTHER. */
void test_places(void);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            test_fail(__FILE__, __LINE__, #cond);                                                  \
        }                                                                                          \
    } while (0)

/* Values shared between test threads without a lock. The simulator must see them: they order memory
 * between CPUs. */
#ifdef PIRN_SIM
#include "atomic.h"
#define TEST_ADD(p, n)                                                                             \
    __extension__({                                                                                \
        __typeof__(*(p)) test_n_ = (n);                                                            \
        (__typeof__(*(p)))(at_add_acq_rel((p), test_n_) + test_n_);                                \
    })
#define TEST_GET(p)                                                                                \
    __extension__({                                                                                \
        at_fence_seq();                                                                            \
        at_load_acq(p);                                                                            \
    })
#define TEST_SET(p, v)                                                                             \
    __extension__({                                                                                \
        at_store_rel((p), (v));                                                                    \
        at_fence_seq();                                                                            \
    })
#else
#define TEST_ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define TEST_GET(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define TEST_SET(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#endif

/* Do CPUs have different capacities? Then threads that are placed in turn may all belong to the
 * fastest. */
static inline bool test_unequal(void)
{
    bool unequal = false;
    for (unsigned i = 1; i < pirn_policy_cpu_count(); i++) {
        unequal = unequal || pirn_policy_cpu_capacity(i) != pirn_policy_cpu_capacity(0);
    }
    return unequal;
}

static inline pirn_thread_t test_spawn(void *(*fn)(void *), void *arg)
{
    pirn_thread_t t = NULL;
    CHECK(pirn_create(&t, NULL, fn, arg) == 0);
    return t;
}

static inline void *test_end(pirn_thread_t t)
{
    void *ret = NULL;
    CHECK(pirn_join(t, &ret) == 0);
    return ret;
}

#endif
