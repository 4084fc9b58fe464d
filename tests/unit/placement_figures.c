/* SPDX-License-Identifier: MIT */
/*
 * placement_figures.c - the situations of Figures 3.14, 3.23, 4.5 and 4.12 of the thesis in
 * docs/STATUS.md, section A, as its text states them: the old rule makes the mixers bounce between
 * CPUs; a consumer goes to the head of the queue; a mixer chooses the CPU whose last thread is one
 * of its waves; one sample of the wave and mixer benchmark.
 *
 * The text does not name all threads that run. Where it leaves something open, a test goes through
 * all that is possible.
 */
#include "placement_steps.h"

enum { WAVES = 4, MIXERS = 3, ORDERS = 24 };
enum { CPU1, CPU2, CPU3, CPU4, FOREIGN = -1 }; /* as the thesis counts */

struct sample {
    struct thread *wave[WAVES], *mixer[MIXERS];
};

static struct sample waves_and_mixers(void)
{
    struct sample s;
    for (unsigned i = 0; i < WAVES; i++) {
        s.wave[i] = fresh(0);
    }
    for (unsigned i = 0; i < MIXERS; i++) {
        s.mixer[i] = fresh(0);
    }
    depends(s.mixer[0], s.wave[0]);
    depends(s.mixer[0], s.wave[1]);
    depends(s.mixer[1], s.wave[2]);
    depends(s.mixer[1], s.wave[3]);
    depends(s.mixer[2], s.mixer[0]);
    depends(s.mixer[2], s.mixer[1]);
    return s;
}

/* t has run there, and blocks. */
static void has_run(unsigned cpu, struct thread *t)
{
    runs(cpu, t);
    expect(next(cpu) == NULL, "nobody else waits for that CPU");
}

/* ---- Figure 3.14: the old rule ---- */

static void test_figure_3_14_step_a(void)
{
    begin("Figure 3.14, step A: mixer0 chooses the least loaded CPU that ran wave0 or wave1");
    struct sample s = waves_and_mixers();
    runs(CPU2, s.wave[0]);
    has_run(CPU4, s.wave[1]);
    runs(CPU3, s.wave[2]);
    has_run(CPU1, s.wave[3]);
    wakes(CPU2, s.mixer[0]);
    expect(waiting(CPU4) == 1 && waiting(CPU2) == 0, "mixer0 has CPU2 and CPU4, and takes CPU4");
    wakes(CPU3, s.mixer[1]);
    expect(waiting(CPU1) == 1 && waiting(CPU3) == 0, "mixer1 has CPU3 and CPU1, and takes CPU1");
    expect(next(CPU4) == s.mixer[0] && next(CPU1) == s.mixer[1], "there they run");
}

static void test_figure_3_14_step_b(void)
{
    begin("Figure 3.14, step B: of two CPUs with as many threads mixer2 chooses the first");
    struct sample s = waves_and_mixers();
    has_run(CPU2, s.wave[0]);
    has_run(CPU3, s.wave[2]);
    has_run(CPU4, s.mixer[0]);
    has_run(CPU1, s.mixer[1]);
    wakes(FOREIGN, s.mixer[2]);
    expect(waiting(CPU4) == 1 && waiting(CPU1) == 0, "CPU4, where mixer0 ran");
    expect(next(CPU4) == s.mixer[2], "there it runs");
}

static void test_figure_3_14_step_c(void)
{
    begin("Figure 3.14, step C: mixer0 bounces from the CPU that mixer2 has taken");
    struct sample s = waves_and_mixers();
    has_run(CPU4, s.wave[1]);
    runs(CPU4, s.mixer[2]);
    has_run(CPU2, s.wave[0]);
    wakes(FOREIGN, s.mixer[0]);
    expect(waiting(CPU4) == 0 && waiting(CPU2) == 1, "it has CPU2 and CPU4, and takes CPU2");
    expect(next(CPU2) == s.mixer[0], "there it runs");
}

/* ---- Figure 3.23: enqueue on head ---- */

/* CPU1 runs the producer of p, which is waking p and has chosen CPU1. Meanwhile CPU2 wakes q, whose
 * priority is the same, and which reaches the queue of CPU1 first. Where each CPU has a queue for
 * what it wakes (steal, without classes) CPU1 itself wakes q. Which one is next on CPU1? p_depends,
 * q_depends: on the producer. */
static struct thread *next_after_both(bool p_depends, bool q_depends, struct thread **p,
                                      struct thread **q)
{
    unsigned priority = sched_has_classes() ? 5 : 0;
    struct thread *producer = fresh(priority);
    *q = fresh_for(CPU1, priority);
    *p = fresh_for(CPU1, priority);
    if (p_depends) {
        depends(*p, producer);
    }
    if (q_depends) {
        depends(*q, producer);
    }
    runs(CPU1, producer);
    bool own = !sched_has_classes() && table.search != NULL && !table.pinned;
    wakes(own ? CPU1 : CPU2, *q);
    if (policy->poll != NULL) {
        policy->poll(&cpus[CPU1]); /* the inbox of dist */
    }
    wakes(CPU1, *p);
    return next(CPU1);
}

static void test_figure_3_23(void)
{
    struct thread *p, *q;
    if (sched_chosen.discipline != DISCIPLINE_LIFO) {
        begin("Figure 3.23: a thread that was queued first is next");
        expect(next_after_both(false, false, &p, &q) == q, "without dependencies");
        expect(next(CPU1) == p, "the other one follows");
    }
    begin("Figure 3.23: a consumer goes to the head, before a thread of its priority");
    expect(next_after_both(true, false, &p, &q) == p, "though that one was queued first");
    expect(next(CPU1) == q, "which follows");
    expect(affinity.cpus[CPU1].counts.pushes == 0, "it does not precede the consumer: no push");
    begin("Figure 3.23: so it does if that one is a consumer, too");
    expect(next_after_both(true, true, &p, &q) == p, "it goes to the head of the consumers");
    expect(next(CPU1) == q, "the other one follows");
    expect(affinity.cpus[CPU1].counts.pushes == 0, "it does not precede the consumer: no push");
}

/* ---- Figure 4.5: the new rule, Xeon ---- */

/* A CPU with one of mixer0's waves as its last thread, and one where `since` has run after the
 * other wave. `first`: the wave that was declared first is the one that has been followed. Who
 * wakes mixer0: the last wave (its own CPU), or whoever gives it room, on CPU3 or elsewhere. */
static void mixer0_chooses(unsigned good, unsigned bad, bool first, int waker, unsigned since)
{
    struct sample s = waves_and_mixers();
    struct thread *others[] = {s.wave[2], s.wave[3], s.mixer[1], s.mixer[2]};
    has_run(bad, s.wave[first ? 0 : 1]);
    has_run(bad, others[since]);
    runs(good, s.wave[first ? 1 : 0]);
    if (waker != (int)good) {
        expect(next(good) == NULL, "nobody else waits for that CPU");
    }
    if (waker == CPU3) {
        runs(CPU3, others[(since + 1) % 4]);
    }
    wakes(waker, s.mixer[0]);
    expect(waiting(good) == 1 && waiting(bad) == 0, "the CPU whose last thread is its wave");
    expect(next(good) == s.mixer[0], "there it runs next");
    expect(next(bad) == NULL, "and nowhere else");
}

static void mixer0_chooses_always(unsigned good, unsigned bad, unsigned since)
{
    const int wakers[] = {(int)good, CPU3, FOREIGN};
    for (unsigned i = 0; i < ARRAY_SIZE(wakers); i++) {
        begin("Figure 4.5: mixer0 chooses by the last threads");
        mixer0_chooses(good, bad, true, wakers[i], since);
        begin("Figure 4.5: mixer0 chooses by the last threads, declared the other way round");
        mixer0_chooses(good, bad, false, wakers[i], since);
    }
}

/* "mixer0 chooses CPU4 and not CPU2, because on CPU2 was executed wave2", on CPU4 wave1. */
static void test_figure_4_5_step_a(void)
{
    mixer0_chooses_always(CPU4, CPU2, 0);
}

/* It takes "care about the last task executed on CPU4 choosing CPU2": the text does not name that
 * task. */
static void test_figure_4_5_step_b(void)
{
    for (unsigned since = 0; since < 4; since++) {
        mixer0_chooses_always(CPU2, CPU4, since);
    }
}

/* ---- Figure 4.12: the new rule, i7 ---- */

/* The n-th order of 0 to 3. */
static void order_of(unsigned n, unsigned order[4])
{
    unsigned left[4] = {0, 1, 2, 3};
    for (unsigned i = 0, of = ORDERS; i < 4; i++) {
        of /= 4 - i;
        unsigned k = n / of;
        n %= of;
        order[i] = left[k];
        for (; k < 3 - i; k++) {
            left[k] = left[k + 1];
        }
    }
}

/* A wave's part ends: it is the second of its mixer's, and wakes that, which runs next there; or
 * its CPU has no more work. */
static void wave_ends(const struct sample *s, unsigned wave, unsigned cpu, bool second)
{
    struct thread *mixer = s->mixer[wave / 2];
    if (second) {
        wakes((int)cpu, mixer);
        expect(waiting(cpu) == 1, "a mixer goes to the CPU of the wave that ends last");
    }
    expect(next(cpu) == (second ? mixer : NULL), "it runs next there");
}

static void waves_end(const struct sample *s, const unsigned on[WAVES], unsigned order,
                      unsigned mixer_on[2])
{
    unsigned wave[WAVES], ended[2] = {0};
    order_of(order, wave);
    for (unsigned i = 0; i < WAVES; i++) {
        unsigned mixer = wave[i] / 2, cpu = on[wave[i]];
        wave_ends(s, wave[i], cpu, ++ended[mixer] == 2);
        mixer_on[mixer] = cpu;
    }
}

/* The mixers of two waves each end, in either order. */
static void mixers_end(const struct sample *s, const unsigned on[2], unsigned last)
{
    expect(next(on[1 - last]) == NULL, "one mixer has ended its part");
    wakes((int)on[last], s->mixer[2]);
    expect(waiting(on[last]) == 1, "mixer2 goes to the CPU of the mixer that ends last");
    expect(next(on[last]) == s->mixer[2], "it runs next there");
}

static void one_sample(unsigned places, unsigned order, unsigned last)
{
    begin("Figure 4.12: a sample follows its data");
    struct sample s = waves_and_mixers();
    unsigned on[WAVES], mixer_on[2];
    order_of(places, on);
    for (unsigned i = 0; i < WAVES; i++) {
        runs(on[i], s.wave[i]);
    }
    waves_end(&s, on, order, mixer_on);
    mixers_end(&s, mixer_on, last);
    unsigned here = 0;
    for (unsigned i = 0; i < CPUS; i++) {
        here += (unsigned)affinity.cpus[i].counts.here;
    }
    expect(here == 3, "three consumers on the CPU that woke them");
}

/* Steps A and B, on whatever CPUs the waves run, in whatever order they end. */
static void test_figure_4_12(void)
{
    for (unsigned i = 0; i < ORDERS * ORDERS * 2; i++) {
        one_sample(i / 2 / ORDERS, i / 2 % ORDERS, i % 2);
    }
}

/* As in the ideal schedule (Figure 4.1): three waves run beside mixer2, whose CPU runs the fourth
 * one after it. */
static void test_figure_4_12_beside_mixer2(void)
{
    begin("Figure 4.12: the last wave runs where mixer2 has run");
    struct sample s = waves_and_mixers();
    runs(CPU1, s.mixer[2]);
    runs(CPU2, s.wave[0]);
    runs(CPU3, s.wave[1]);
    runs(CPU4, s.wave[2]);
    wave_ends(&s, 0, CPU2, false);
    wave_ends(&s, 2, CPU4, false);
    wave_ends(&s, 1, CPU3, true);
    has_run(CPU1, s.mixer[2]);
    runs(CPU1, s.wave[3]);
    wave_ends(&s, 3, CPU1, true);
    mixers_end(&s, (const unsigned[]){CPU3, CPU1}, 1);
}

static void tests(void)
{
    if (affinity.rule == AFFINITY_OLD) {
        test_figure_3_14_step_a();
        test_figure_3_14_step_b();
        test_figure_3_14_step_c();
    } else {
        test_figure_3_23();
        test_figure_4_5_step_a();
        test_figure_4_5_step_b();
        test_figure_4_12();
        test_figure_4_12_beside_mixer2();
    }
}

int main(int argc, char **argv)
{
    return steps_main(argc, argv, "placement figures", tests);
}
