/* SPDX-License-Identifier: MIT */
/*
 * affinity_names.c - option affinity: threads depend on others by their names, whichever is named
 * first, and whether they are named when they are created or later.
 */
#include <errno.h>
#include <pirn/pirn.h>
#include <stdio.h>

enum { THREADS = 6 };
enum { WAVE0, WAVE1, OTHER, MIXER0, MIXER10, LAST };

static pirn_sem_t sem;
static pirn_thread_t t[THREADS];
static int failures;

static void *waits(void *unused)
{
    pirn_sem_wait(&sem);
    return unused;
}

static void make(unsigned i, const char *name)
{
    pirn_attr_t attr = {.name = name};
    if (pirn_create(&t[i], &attr, waits, NULL) != 0) {
        fprintf(stderr, "FAILED: no thread\n");
        failures++;
    }
}

/* A dependency exists if it can be deleted. */
static void expect(unsigned consumer, unsigned producer, bool there)
{
    int error = pirn_affinity_del_from(t[consumer], t[producer]);
    if (error != (there ? 0 : -ENOENT)) {
        fprintf(stderr, "FAILED: thread %s %s on %s\n", pirn_name(t[consumer]),
                there ? "does not depend" : "depends", pirn_name(t[producer]));
        failures++;
    }
}

int main(void)
{
    pirn_sem_init(&sem, 0);
    make(WAVE0, "wave0");
    make(OTHER, "other");
    make(MIXER0, "mixer0");
    make(MIXER10, NULL);
    make(WAVE1, NULL);
    make(LAST, "last");
    pirn_set_name(t[WAVE1], "wave1");
    pirn_set_name(t[MIXER10], "mixer10");
    expect(MIXER0, WAVE0, true);
    expect(MIXER0, WAVE1, true);
    expect(MIXER0, OTHER, false);
    expect(MIXER10, WAVE0, false);
    expect(WAVE0, MIXER0, false);
    expect(LAST, MIXER0, true);
    expect(LAST, MIXER10, true);
    expect(LAST, WAVE0, false);
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_sem_post(&sem);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pirn_join(t[i], NULL);
    }
    printf("affinity names: %s\n", failures == 0 ? "done" : "failed");
    return failures != 0;
}
