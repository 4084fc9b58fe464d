/* SPDX-License-Identifier: MIT */
/*
 * tags_calls.c - the orders of threads that leave their CPU (core/carrier.h), and of the clocks of
 * threads (env/linux/times.c). These are shapes of the code, because the code itself belongs to a
 * CPU, or is below the simulator.
 */
#include "litmus.h"
#include "port.h"

/* ---- call: X the owner's writes, F the ticket. The thread publishes it, and may take it back; a
 * taker takes it. ---- */

#define TICKET 5u

static void call_after(void)
{
    uint32_t ticket = TICKET;
    r[0] = at_cas_acq(&F, &ticket, 0u);
    if (r[0]) {
        r[2] = at_load_rlx(&X);
    }
}
static void call_thread(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, TICKET);
    call_after();
}
static void call_thread_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&F, TICKET);
    call_after();
}
/* Looks, and takes: two steps. */
static void call_thread_hasty(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, TICKET);
    r[0] = at_load_acq(&F) == TICKET;
    at_store_rlx(&F, 0u);
}
static void call_taker(void)
{
    uint32_t ticket = at_load_rlx(&F);
    if (ticket != 0 && at_cas_acq(&F, &ticket, 0u)) {
        r[1] = 1;
        r[3] = at_load_rlx(&X);
    }
}
static bool call_wrong(void)
{
    return (r[0] && r[1]) || (r[1] && r[3] == 0);
}
static bool call_both(void)
{
    return r[0] && r[1];
}

/* ---- carrier: X the CPU as its giver left it, F the carrier's `cpu` ---- */

static void giver(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, 1u);
}
static void giver_relaxed(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&F, 1u);
}
static void spare(void)
{
    for (unsigned round = 0; at_load_acq(&F) == 0; round++) {
        port_relax(round);
    }
    r[0] = at_load_rlx(&X);
}
static bool carries_what_was(void)
{
    return r[0] == 0;
}

/* ---- call-watch: X the ticket, F the port watches (initially it does) ---- */

static void watching(void)
{
    at_init(&F, 1u);
}
static void caller(void)
{
    at_store_rel(&X, TICKET);
    at_fence_light();
    r[0] = at_load_rlx(&F);
}
static void watcher(void)
{
    at_xchg_acq_rel(&F, 0u);
    at_fence_heavy();
    r[1] = at_load_rlx(&X);
}
static void watcher_without_fence(void)
{
    at_xchg_acq_rel(&F, 0u);
    r[1] = at_load_rlx(&X);
}
static bool unwatched(void)
{
    return r[0] == 1 && r[1] == 0;
}

/* ---- call-watch: X the ticket, F the flag that nobody watches (initially set). A waker clears it
 * and makes the port watch (Z), which looks. ---- */

static void teller(void)
{
    at_and_acq_rel(&F, 0u);
    at_fence_seq();
    at_store_rlx(&Z, 1u);
}
static void teller_without_fence(void)
{
    at_and_acq_rel(&F, 0u);
    at_store_rlx(&Z, 1u);
}
static void told(void)
{
    r[1] = 1;
    if (at_load_rlx(&Z) == 1) {
        at_fence_heavy();
        r[1] = at_load_rlx(&X);
    }
}

/* ---- idle-wake, at the begin of a call: X work, Y the ticket, F the flag, which the port sets. A
 * waker that finds it clear relies on the port or the thread to see the work. ---- */

static void calls_beside_work(void)
{
    at_store_rel(&Y, TICKET);
    at_fence_light();
    r[0] = at_load_rlx(&F) == 1 && at_load_rlx(&X) == 0;
}
static void makes_work(void)
{
    at_store_rel(&X, 1u);
    at_fence_light();
    r[1] = at_load_rlx(&F) == 0;
}
static void stops_watching(void)
{
    at_or_acq_rel(&F, 1u);
    at_fence_heavy();
    r[2] = at_load_rlx(&Y) == 0 || at_load_rlx(&X) == 0;
}
static void stops_watching_without_fence(void)
{
    at_or_acq_rel(&F, 1u);
    r[2] = at_load_rlx(&Y) == 0 || at_load_rlx(&X) == 0;
}
static bool work_unseen(void)
{
    return r[0] && r[1] && r[2];
}

/* ---- cancel: the wait. X the thread's word, F its park: 1 PARKING, 2 ended by the canceller ----
 */

static void cancelled(void)
{
    at_store_rel(&F, 1u);
    at_fence_light();
    r[0] = at_load_rlx(&X);
}
static void canceller(void)
{
    uint32_t parking = 1;
    at_or_acq_rel(&X, 1u);
    at_fence_heavy();
    r[1] = at_cas_acq_rel(&F, &parking, 2u);
}
/* A compare-and-swap reads the newest value; this shows the value that its first look, a load, may
 * miss. */
static void canceller_without_fence(void)
{
    at_or_acq_rel(&X, 1u);
    r[1] = at_load_rlx(&F) == 1;
}
static bool waits_for_ever(void)
{
    return r[0] == 0 && r[1] == 0;
}

/* ---- cancel: the call. F the word: 1 CALL, 3 CALL and TOLD, 0 and 2 without CALL; X the
 * interruption has come. The thread that has set TOLD interrupts, then takes it back. The
 * interrupted thread does not continue before that. ---- */

static void in_call(void)
{
    at_init(&F, 1u);
}
static void leaves_call(void)
{
    uint32_t before = at_and_acq_rel(&F, ~1u);
    if (before & 2u) {
        for (unsigned round = 0; at_load_acq(&F) & 2u; round++) {
            port_relax(round);
        }
    }
    r[0] = 1;
    r[1] = before & 2u;
    r[2] = at_load_rlx(&X);
}
static void leaves_call_at_once(void)
{
    r[1] = at_and_acq_rel(&F, ~1u) & 2u;
    r[0] = 1;
    r[2] = at_load_rlx(&X);
}
static void interrupts(void)
{
    uint32_t in = 1;
    if (at_cas_acq_rel(&F, &in, 3u)) {
        at_store_rlx(&X, 1u);
        at_and_acq_rel(&F, ~2u);
    }
}
static bool left_too_soon(void)
{
    return r[1] != 0 && r[2] == 0;
}

/* ---- times: Z the clock, which never goes back, F the account's seq. The reader returns the value
 * of the clock; the owner charges the value at the end of the span. ---- */

static void span_ends(void)
{
    at_store_rlx(&F, 1u);
    at_fence_seq();
    r[0] = at_add_rlx(&Z, 1u);
}
static void span_ends_without_fence(void)
{
    at_store_rlx(&F, 1u);
    r[0] = at_add_rlx(&Z, 1u);
}
static void span_read(void)
{
    uint32_t seq = at_load_acq(&F);
    r[1] = at_add_rlx(&Z, 1u);
    at_fence_seq();
    r[2] = seq == 0 && at_load_rlx(&F) == 0;
}
static void span_read_without_fence(void)
{
    uint32_t seq = at_load_acq(&F);
    r[1] = at_add_rlx(&Z, 1u);
    r[2] = seq == 0 && at_load_rlx(&F) == 0;
}
static bool clock_goes_back(void)
{
    return r[2] && r[1] > r[0];
}

const struct litmus litmus_calls[] = {
    {"call", "call", NEVER, call_wrong, {call_thread, call_taker}, NULL},
    {"call-relaxed", "call", WEAK, call_wrong, {call_thread_relaxed, call_taker}, NULL},
    {"call-in-two-steps", "call", RACE, call_both, {call_thread_hasty, call_taker}, NULL},
    {"carrier", "carrier", NEVER, carries_what_was, {giver, spare}, NULL},
    {"carrier-relaxed", "carrier", WEAK, carries_what_was, {giver_relaxed, spare}, NULL},
    {"call-watch", "call-watch", NEVER, unwatched, {caller, watcher}, watching},
    {"call-watch-no-fence",
     "call-watch",
     WEAK,
     unwatched,
     {caller, watcher_without_fence},
     watching},
    {"call-told", "call-watch", NEVER, unwatched, {caller, teller, told}, watching},
    {"call-told-no-fence",
     "call-watch",
     WEAK,
     unwatched,
     {caller, teller_without_fence, told},
     watching},
    {"call-unwatched",
     "idle-wake",
     NEVER,
     work_unseen,
     {calls_beside_work, makes_work, stops_watching},
     NULL},
    {"call-unwatched-no-fence",
     "idle-wake",
     WEAK,
     work_unseen,
     {calls_beside_work, makes_work, stops_watching_without_fence},
     NULL},
    {"cancel-wait", "cancel", NEVER, waits_for_ever, {cancelled, canceller}, NULL},
    {"cancel-wait-no-fence",
     "cancel",
     WEAK,
     waits_for_ever,
     {cancelled, canceller_without_fence},
     NULL},
    {"cancel-call", "cancel", NEVER, left_too_soon, {leaves_call, interrupts}, in_call},
    {"cancel-call-at-once",
     "cancel",
     RACE,
     left_too_soon,
     {leaves_call_at_once, interrupts},
     in_call},
    {"times", "times", NEVER, clock_goes_back, {span_ends, span_read}, NULL},
    {"times-no-fence",
     "times",
     WEAK,
     clock_goes_back,
     {span_ends_without_fence, span_read_without_fence},
     NULL},
    {0}};
