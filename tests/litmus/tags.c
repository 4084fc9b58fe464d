/* SPDX-License-Identifier: MIT */
/*
 * tags.c - the orders of the core and of the queues between CPUs. A test calls the code if it can
 * (spinlock.h, mailbox.h, the inbox); else it has the code's shape. Beside each there is a weakened
 * version, whose outcome must appear: so the test can detect the mistake.
 */
#include "../../src/core/cpu.h"
#include "../../src/core/runtime.h"
#include "../../src/core/wake.h"
#include "../../src/sched/mailbox.h"
#include "litmus.h"

#define ROUNDS 3u

/* The race that a lock must prevent: relaxed, so that only the lock orders it. */
static void increment(void)
{
    uint32_t x = at_load_rlx(&X);
    at_store_rlx(&X, x + 1);
}
static bool lost_one(void)
{
    return at_load_rlx(&X) != 3 * ROUNDS;
}
static bool lost_one_of_two(void)
{
    return at_load_rlx(&X) != 2 * ROUNDS;
}

/* ---- spinlock ---- */

static spinlock_t spinlock;

static void spin_init(void)
{
    at_init(&spinlock.word, 0u);
}
static void spin_thread(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        spin_lock(&spinlock, RANK_WAITQ);
        increment();
        spin_unlock(&spinlock, RANK_WAITQ);
    }
}
static void spin_relaxed_thread(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned round = 0; at_xchg_rlx(&F, 1u) != 0; round++) {
            port_relax(round);
        }
        increment();
        at_store_rlx(&F, 0u);
    }
}

/* ---- spinlock: the state lock ----
 * The state counts: one thread adds under the lock by plain stores, the other by compare-and-swap
 * without it, and may do so only from a value that is not locked. */

static statelock_t statelock;

static void state_init(void)
{
    at_init(&statelock.word, 0u);
}
static void state_holder(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        state_lock(&statelock, RANK_WAITQ);
        increment();
        state_unlock_to(&statelock, RANK_WAITQ, lock_state(&statelock) + 2);
    }
}
static void state_passer(bool careful)
{
    for (unsigned i = 0; i < ROUNDS;) {
        uint32_t seen = at_load_rlx(&statelock.word);
        if (careful && (seen & STATE_LOCKED)) {
            port_relax(0);
        } else if (at_cas_acq(&statelock.word, &seen, seen + 2)) {
            i++;
        }
    }
}
static void state_careful(void)
{
    state_passer(true);
}
static void state_careless(void)
{
    state_passer(false);
}
static bool state_lost(void)
{
    return at_load_rlx(&statelock.word) != 3 * ROUNDS * 2 || lost_one_of_two();
}

/* ---- bias-entry, bias-section: the asymmetric lock ---- */

static struct biaslock bias;

static void bias_start(void)
{
    bias_init(&bias);
}
static void bias_owner(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        bias_lock_owner(&bias);
        increment();
        bias_unlock_owner(&bias);
    }
}
static void bias_guest(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        bias_lock_guest(&bias);
        increment();
        bias_unlock_guest(&bias);
    }
}
static void bias_thief(void)
{
    for (unsigned i = 0; i < ROUNDS;) {
        if (bias_trylock_guest(&bias)) {
            increment();
            bias_unlock_guest(&bias);
            i++;
        } else {
            port_relax(0);
        }
    }
}

/* A guest that does not do all that bias_lock_guest does. */
static void bias_wrong_guest(bool fence, bool look)
{
    for (unsigned i = 0; i < ROUNDS;) {
        if (!at_load_acq(&bias.guest_in)) {
            at_store_rlx(&bias.guest_in, 1u);
            if (fence) {
                at_fence_heavy();
            } else {
                at_fence_light();
            }
            for (unsigned round = 0; at_load_acq(&bias.owner_in); round++) {
                port_relax(round);
            }
        }
        spin_lock(&bias.entry, RANK_RUNQ);
        if (!look || at_load_rlx(&bias.guest_in)) {
            increment();
            bias.alone = 0;
            i++;
        }
        spin_unlock(&bias.entry, RANK_RUNQ);
    }
}
static void bias_hasty_guest(void)
{
    bias_wrong_guest(false, true);
}
static void bias_blind_guest(void)
{
    bias_wrong_guest(true, false);
}

/* Entering with the fences, leaving without the release. */
static void bias_leaky_owner(void)
{
    at_store_rlx(&Y, 1u);
    at_fence_light();
    if (!at_load_acq(&Z)) {
        at_store_rlx(&X, 1u);
        r[0] = 1;
    }
    at_store_rlx(&Y, 0u);
}
static void bias_leaky_guest(void)
{
    at_store_rlx(&Z, 1u);
    at_fence_heavy();
    while (at_load_acq(&Y) != 0) {
    }
    r[1] = at_load_rlx(&X);
}
static bool bias_leaked(void)
{
    return r[0] == 1 && r[1] == 0;
}

/* ---- idle-wake: X work exists, F a CPU sleeps ---- */

static void waker(void)
{
    at_store_rlx(&X, 1u);
    at_fence_light();
    r[0] = at_load_rlx(&F);
}
static void sleeper(void)
{
    at_add_acq_rel(&F, 1u);
    at_fence_heavy();
    r[1] = at_load_rlx(&X);
}
static void sleeper_without_fence(void)
{
    at_add_acq_rel(&F, 1u);
    r[1] = at_load_rlx(&X);
}
static bool sleeps_beside_work(void)
{
    return r[0] == 0 && r[1] == 0;
}

/* ---- idle-claim: two wakers, one sleeper ---- */

static void sleeper_announces(void)
{
    at_store_rlx(&X, 1u);
    at_or_acq_rel(&F, 1u);
}
static void claim(unsigned i)
{
    r[i] = at_and_acq_rel(&F, ~1u) & 1;
    r[i + 2] = at_load_rlx(&X);
}
static void claimer_0(void)
{
    claim(0);
}
static void claimer_1(void)
{
    claim(1);
}
static bool claimed_twice_or_blind(void)
{
    return (r[0] && r[1]) || (r[0] && !r[2]) || (r[1] && !r[3]);
}

/* ---- idle-claim: a waker claims a CPU that wakes up by itself, and has found work ---- */

static void borrow_start(void)
{
    at_init(&rt.idle_map[0], 1u);
    at_init(&rt.idle_word, 2 * RT_SLEEPING);
}
static void borrow_claimer(void)
{
    r[0] = rt_idle_claim(0);
}
/* r[1]: it is claimed, and so has counted as searching, until now. */
static uint32_t borrow_found(void)
{
    r[1] = !(at_and_acq_rel(&rt.idle_map[0], ~1u) & 1);
    return r[1] ? at_sub_acq_rel(&rt.idle_word, RT_SEARCHING) - RT_SEARCHING : RT_SLEEPING;
}
static void borrow_sleeper(void)
{
    r[2] = rt_idle_tells(borrow_found(), 0);
}
static void borrow_sleeper_unsigned(void)
{
    r[2] = borrow_found() % RT_SLEEPING == 0;
}
/* Nobody looks after other work, and the other CPU sleeps. */
static bool borrow_relies_on_nobody(void)
{
    return r[0] && r[1] && !r[2];
}

/* ---- pending ---- */

static void pending_post(void)
{
    at_store_rlx(&X, 1u);
    at_or_acq_rel(&F, 1u);
}
static void pending_post_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_add_rlx(&F, 1u);
}
static void pending_serve(void)
{
    r[0] = at_xchg_acq(&F, 0u);
    r[1] = at_load_rlx(&X);
}
static bool served_blind(void)
{
    return r[0] == 1 && r[1] == 0;
}

/* ---- inbox: two senders, the owner takes ---- */

static struct thread sent[2];
static _Atomic(struct thread *) inbox_relaxed;

static void inbox_init(void)
{
    at_init(&inbox_relaxed, (struct thread *)NULL);
    at_xchg_acq(&rt.cpus[0]->inbox, (struct thread *)NULL);
}
static void inbox_sender_0(void)
{
    at_store_rlx(&word[0], 1u);
    inbox_push(rt.cpus[0], &sent[0]);
}
static void inbox_sender_1(void)
{
    at_store_rlx(&word[1], 1u);
    inbox_push(rt.cpus[0], &sent[1]);
}
static void inbox_look(struct thread *t)
{
    while (t != NULL) {
        struct thread *next = (struct thread *)t->rq.next;
        r[0]++;
        r[1] += at_load_rlx(&word[t - sent]) == 0;
        t = next;
    }
}
static void inbox_owner(void)
{
    while (r[0] < 2) {
        inbox_look(inbox_take_owner(rt.cpus[0]));
        sim_pause();
        if (litmus_done == 2) {
            port_relax(0);
        }
    }
}
static bool inbox_blind(void)
{
    return r[0] != 2 || r[1] != 0;
}
static void inbox_relaxed_sender(void)
{
    struct thread *first = NULL;
    at_store_rlx(&word[0], 1u);
    at_cas_rlx(&inbox_relaxed, &first, &sent[0]);
}
static void inbox_relaxed_owner(void)
{
    r[0] = at_xchg_acq(&inbox_relaxed, (struct thread *)NULL) != NULL;
    r[1] = at_load_rlx(&word[0]);
}

/* ---- mailbox, request ---- */

static struct mailbox mail;
static struct mailbox mail_back;

static void mail_init(void)
{
    mailbox_init(&mail);
    mailbox_init(&mail_back);
}
static void mail_sender(void)
{
    for (unsigned i = 0; i < 2 * MAILBOX_SLOTS;) {
        if (i < 4) {
            at_store_rlx(&word[i], 1u);
        }
        if (mailbox_send_spsc(&mail, (void *)(uintptr_t)(i + 1))) {
            i++;
        } else {
            port_relax(0);
        }
    }
}
static void mail_receiver(void)
{
    void *message;
    for (uint32_t i = 0; i < 2 * MAILBOX_SLOTS;) {
        if (mailbox_receive_spsc(&mail, &message)) {
            r[0] += (uintptr_t)message != i + 1;
            r[1] += i < 4 && at_load_rlx(&word[i]) == 0;
            i++;
        } else {
            sim_pause();
        }
    }
}
static bool mail_wrong(void)
{
    return r[0] != 0 || r[1] != 0;
}
static void mail_relaxed_sender(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&mail.tail, 1u);
}
static void mail_relaxed_receiver(void)
{
    void *message;
    r[0] = mailbox_receive_spsc(&mail, &message);
    r[1] = at_load_rlx(&X);
}

/* promised (X): raised before the request is sent, lowered by its answer: never below zero. */
static void request_asker(void)
{
    at_add_acq_rel(&X, 1u);
    mailbox_send_spsc(&mail, (void *)1);
}
static void request_asker_back(void)
{
    at_add_acq_rel(&X, 1u);
    mailbox_send_spsc(&mail_back, (void *)1);
}
static void request_victim(void)
{
    for (unsigned answered = 0; answered < 2;) {
        void *message;
        if (mailbox_receive_spsc(&mail, &message) || mailbox_receive_spsc(&mail_back, &message)) {
            r[0] += at_sub_acq_rel(&X, 1u) == 0;
            answered++;
        } else {
            sim_pause();
        }
    }
}
static bool request_below_zero(void)
{
    return r[0] != 0 || at_load_rlx(&X) != 0;
}

/* ---- permit: 0 none, 1 posted, 2 its owner sleeps ---- */

static void permit_poster(void)
{
    at_store_rlx(&X, 1u);
    r[0] = at_xchg_acq_rel(&F, 1u);
}
static void permit_owner(void)
{
    uint32_t none = 0;
    r[1] = (uint32_t)at_cas_acq_rel(&F, &none, 2u);
    r[2] = r[1] ? 0 : at_xchg_acq_rel(&F, 0u);
    r[3] = at_load_rlx(&X);
}
static bool permit_lost(void)
{
    bool asleep = r[1] && r[0] != 2 && at_load_rlx(&F) == 2;
    return asleep || (r[2] == 1 && r[3] == 0);
}

/* ---- monitor: X the tick, F when the monitor wakes ---- */

static void tick_setter(void)
{
    at_store_rlx(&X, 1u);
    at_fence_seq();
    r[0] = at_load_rlx(&F);
}
static void tick_monitor(void)
{
    at_store_rlx(&F, 1u);
    at_fence_seq();
    r[1] = at_load_rlx(&X);
}

const struct litmus litmus_tags[] = {
    {"spinlock", "spinlock", NEVER, lost_one, {spin_thread, spin_thread, spin_thread}, spin_init},
    {"spinlock-relaxed",
     "spinlock",
     WEAK,
     lost_one,
     {spin_relaxed_thread, spin_relaxed_thread, spin_relaxed_thread},
     NULL},
    {"statelock",
     "spinlock",
     NEVER,
     state_lost,
     {state_holder, state_holder, state_careful},
     state_init},
    {"statelock-careless",
     "spinlock",
     RACE,
     state_lost,
     {state_holder, state_holder, state_careless},
     state_init},
    {"bias-lock", "bias-entry", NEVER, lost_one, {bias_owner, bias_guest, bias_thief}, bias_start},
    {"bias-without-heavy",
     "bias-entry",
     WEAK,
     lost_one_of_two,
     {bias_owner, bias_hasty_guest},
     bias_start},
    {"bias-without-look",
     "bias-entry",
     RACE,
     lost_one_of_two,
     {bias_owner, bias_blind_guest},
     bias_start},
    {"bias-leaves-relaxed",
     "bias-section",
     WEAK,
     bias_leaked,
     {bias_leaky_owner, bias_leaky_guest},
     NULL},
    {"idle-wake", "idle-wake", NEVER, sleeps_beside_work, {waker, sleeper}, NULL},
    {"idle-wake-no-fence",
     "idle-wake",
     WEAK,
     sleeps_beside_work,
     {waker, sleeper_without_fence},
     NULL},
    {"idle-claim",
     "idle-claim",
     NEVER,
     claimed_twice_or_blind,
     {sleeper_announces, claimer_0, claimer_1},
     NULL},
    {"idle-borrow",
     "idle-claim",
     NEVER,
     borrow_relies_on_nobody,
     {borrow_claimer, borrow_sleeper},
     borrow_start},
    {"idle-borrow-unsigned",
     "idle-claim",
     RACE,
     borrow_relies_on_nobody,
     {borrow_claimer, borrow_sleeper_unsigned},
     borrow_start},
    {"pending", "pending", NEVER, served_blind, {pending_post, pending_serve}, NULL},
    {"pending-relaxed", "pending", WEAK, served_blind, {pending_post_relaxed, pending_serve}, NULL},
    {"inbox",
     "inbox",
     NEVER,
     inbox_blind,
     {inbox_sender_0, inbox_sender_1, inbox_owner},
     inbox_init},
    {"inbox-relaxed",
     "inbox",
     WEAK,
     served_blind,
     {inbox_relaxed_sender, inbox_relaxed_owner},
     inbox_init},
    {"mailbox", "mailbox", NEVER, mail_wrong, {mail_sender, mail_receiver}, mail_init},
    {"mailbox-relaxed",
     "mailbox",
     WEAK,
     served_blind,
     {mail_relaxed_sender, mail_relaxed_receiver},
     mail_init},
    {"request",
     "request",
     NEVER,
     request_below_zero,
     {request_asker, request_asker_back, request_victim},
     mail_init},
    {"permit", "permit", NEVER, permit_lost, {permit_poster, permit_owner}, NULL},
    {"monitor", "monitor", NEVER, sleeps_beside_work, {tick_setter, tick_monitor}, NULL},
    {0}};
