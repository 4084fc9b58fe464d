/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Producers that nobody declared: who wakes a thread often is taken for its producer. Each wake-up
 * of a thread takes an eighth from the weight of every waker that it knows, and adds GAIN to that
 * of this one. A waker of all wake-ups weighs GAIN * 8, one of a quarter of them a quarter of that;
 * from ENOUGH it counts as a producer, and at 0 it is forgotten.
 *
 * A wake-up from an interrupt counts for the thread that it interrupts: BPF does not see the
 * difference. Such pairs change, so they do not reach ENOUGH. Included by pirn.bpf.c alone.
 */
#ifndef KERNEL_LEARN_H
#define KERNEL_LEARN_H

enum { GAIN = 32, DECAY = 8, ENOUGH = 48 };

/* The entry of this waker, else the lightest one. */
static __u32 find_learned(const struct thread *t, __u32 tid)
{
    __u32 lightest = 0;
    __u32 least = ~0U;
    __s32 i;

    bpf_for(i, 0, LEARNED)
    {
        const struct learned *l = &t->learned[i & (LEARNED - 1)];

        if (l->weight > 0 && l->tid == tid)
            return (__u32)i;
        if (l->weight < least) {
            least = l->weight;
            lightest = (__u32)i;
        }
    }
    return lightest;
}

static void decay(struct thread *t)
{
    __s32 i;

    bpf_for(i, 0, LEARNED)
    {
        struct learned *l = &t->learned[i & (LEARNED - 1)];

        l->weight -= (l->weight + DECAY - 1) / DECAY;
    }
}

/* `inferred` becomes the list of wakers that weigh enough; 0 stands for the others, so that no
 * place depends on how many came before: the verifier would follow each number of them. */
static void renew_inferred(struct thread *t)
{
    bool any = false;
    __s32 i;

    bpf_for(i, 0, LEARNED)
    {
        const struct learned *l = &t->learned[i & (LEARNED - 1)];
        bool enough = l->weight >= ENOUGH;

        t->inferred.tid[i & (LEARNED - 1)] = enough ? l->tid : 0;
        any |= enough;
    }
    t->inferred.count = any ? LEARNED : 0;
}

static void learn_from_waker(struct task_struct *p, struct thread *t)
{
    struct task_struct *waker = bpf_get_current_task_btf();
    __u32 tid = (__u32)waker->pid;
    struct learned *l;

    if (!settings.infer || tid == 0 || (waker->flags & KTHREAD) || (p->flags & KTHREAD))
        return;
    decay(t);
    l = &t->learned[find_learned(t, tid) & (LEARNED - 1)];
    if (l->weight == 0 || l->tid != tid)
        *l = (struct learned){.tid = tid};
    l->weight += GAIN;
    renew_inferred(t);
}

#endif
