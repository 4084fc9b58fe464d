/* SPDX-License-Identifier: MIT */
/*
 * model.c - the memory model itself, by the classic tests: an outcome that C11 forbids never
 * appears, and one that C11 allows and the runtime must survive does appear.
 */
#include "litmus.h"
#include "port.h"

#define LOADS 500u

static void write_x(void)
{
    at_store_rlx(&X, 1u);
}
static void write_y(void)
{
    at_store_rlx(&Y, 1u);
}

/* Message passing: F says that X is written. */
static void mp_send_rlx(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&F, 1u);
}
static void mp_send_rel(void)
{
    at_store_rlx(&X, 1u);
    at_store_rel(&F, 1u);
}
static void mp_send_fence(void)
{
    at_store_rlx(&X, 1u);
    at_fence_seq();
    at_store_rlx(&F, 1u);
}
static void mp_receive_rlx(void)
{
    r[0] = at_load_rlx(&F);
    r[1] = at_load_rlx(&X);
}
static void mp_receive_acq(void)
{
    r[0] = at_load_acq(&F);
    r[1] = at_load_rlx(&X);
}
static void mp_receive_fence(void)
{
    r[0] = at_load_rlx(&F);
    at_fence_seq();
    r[1] = at_load_rlx(&X);
}
static bool mp_stale(void)
{
    return r[0] == 1 && r[1] == 0;
}

/* A relaxed read-modify-write passes on the writes that the release store before it published. */
static void mp_pass_on(void)
{
    r[2] = at_add_rlx(&F, 1u);
}
static void mp_receive_second(void)
{
    r[0] = at_load_acq(&F) == 2;
    r[1] = at_load_rlx(&X);
}
static bool mp_stale_second(void)
{
    return r[2] == 1 && mp_stale();
}

/* Store buffering. */
#define SB(name, fence0, fence1)                                                                   \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&X, 1u);                                                                      \
        fence0;                                                                                    \
        r[0] = at_load_rlx(&Y);                                                                    \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&Y, 1u);                                                                      \
        fence1;                                                                                    \
        r[1] = at_load_rlx(&X);                                                                    \
    }
SB(sb_none, (void)0, (void)0)
SB(sb_seq, at_fence_seq(), at_fence_seq())
SB(sb_one, at_fence_seq(), (void)0)
SB(sb_pair, at_fence_light(), at_fence_heavy())
SB(sb_heavy, at_fence_heavy(), at_fence_heavy())
SB(sb_light, at_fence_light(), at_fence_light())
SB(sb_mixed, at_fence_light(), at_fence_seq())

static bool sb_both_zero(void)
{
    return r[0] == 0 && r[1] == 0;
}

/* A read-modify-write is no fence for the accesses around it. */
static void sb_rmw_0(void)
{
    at_add_acq_rel(&X, 1u);
    r[0] = at_load_acq(&Y);
}
static void sb_rmw_1(void)
{
    at_add_acq_rel(&Y, 1u);
    r[1] = at_load_acq(&X);
}

/* Coherence: the values of one location never go back. */
static void co_write(void)
{
    at_store_rlx(&X, 1u);
    at_store_rlx(&X, 2u);
}
static void co_read(void)
{
    r[0] = at_load_rlx(&X);
    r[1] = at_load_rlx(&X);
}
static bool co_back(void)
{
    return r[1] < r[0];
}
static void co_write_read(void)
{
    at_store_rlx(&X, 1u);
    r[0] = at_load_rlx(&X);
    r[1] = at_load_rlx(&X);
}
static bool co_own_lost(void)
{
    return r[0] == 0 || r[1] == 0;
}
static void co_read_one(void)
{
    r[0] = at_load_rlx(&X);
    at_store_rlx(&X, 2u);
    r[1] = at_load_rlx(&X);
}
static bool co_before_own(void)
{
    return r[1] == 1 && r[0] == 1;
}
static void rmw_add(void)
{
    at_add_rlx(&X, 1u);
    at_add_rlx(&X, 1u);
}
static bool rmw_lost(void)
{
    return at_load_rlx(&X) != 6;
}

/* A store becomes visible eventually, also to a reader that does not synchronise. */
static void late_read(void)
{
    unsigned loads = 0;
    while (litmus_done == 0) {
        port_relax(0);
    }
    while (sim_fresh(sim_current)) { /* a spin shows the newest values for a while */
        sim_pause();
    }
    while (at_load_rlx(&X) == 0 && ++loads < LOADS) {
    }
    r[0] = loads;
}
static bool late_never(void)
{
    return r[0] >= LOADS;
}

/* Write-to-read causality: thread 1 sees it and tells thread 2. */
static void wrc_tell(void)
{
    r[0] = at_load_rlx(&X);
    at_store_rel(&Y, 1u);
}
static void wrc_tell_rlx(void)
{
    r[0] = at_load_rlx(&X);
    at_store_rlx(&Y, 1u);
}
static void wrc_hear(void)
{
    r[1] = at_load_acq(&Y);
    r[2] = at_load_rlx(&X);
}
static bool wrc_broken(void)
{
    return r[0] == 1 && r[1] == 1 && r[2] == 0;
}

/* Independent reads of independent writes. */
#define IRIW(name, load, fence)                                                                    \
    static void name##_2(void)                                                                     \
    {                                                                                              \
        r[0] = load(&X);                                                                           \
        fence;                                                                                     \
        r[1] = load(&Y);                                                                           \
    }                                                                                              \
    static void name##_3(void)                                                                     \
    {                                                                                              \
        r[2] = load(&Y);                                                                           \
        fence;                                                                                     \
        r[3] = load(&X);                                                                           \
    }
IRIW(iriw_acq, at_load_acq, (void)0)
IRIW(iriw_seq, at_load_rlx, at_fence_seq())

static bool iriw_disagree(void)
{
    return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
}

/* R: a write race on Y, and a read behind the later write. */
#define R_TEST(name, fence)                                                                        \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&X, 1u);                                                                      \
        fence;                                                                                     \
        at_store_rlx(&Y, 1u);                                                                      \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&Y, 2u);                                                                      \
        fence;                                                                                     \
        r[0] = at_load_rlx(&X);                                                                    \
    }
R_TEST(r_none, (void)0)
R_TEST(r_seq, at_fence_seq())

static bool r_weak(void)
{
    return at_load_rlx(&Y) == 2 && r[0] == 0;
}

/* 2+2W: both first writes are last. */
#define TWO_WRITES(name, fence)                                                                    \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&X, 1u);                                                                      \
        fence;                                                                                     \
        at_store_rlx(&Y, 2u);                                                                      \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        at_store_rlx(&Y, 1u);                                                                      \
        fence;                                                                                     \
        at_store_rlx(&X, 2u);                                                                      \
    }
TWO_WRITES(ww_none, (void)0)
TWO_WRITES(ww_seq, at_fence_seq())

static bool ww_crossed(void)
{
    return at_load_rlx(&X) == 1 && at_load_rlx(&Y) == 1;
}

/* Load buffering. */
static void lb_0(void)
{
    r[0] = at_load_rlx(&X);
    at_store_rlx(&Y, 1u);
}
static void lb_1(void)
{
    r[1] = at_load_rlx(&Y);
    at_store_rlx(&X, 1u);
}
static bool lb_both(void)
{
    return r[0] == 1 && r[1] == 1;
}

const struct litmus litmus_model[] = {
    {"mp-relaxed", "model", WEAK, mp_stale, {mp_send_rlx, mp_receive_rlx}, NULL},
    {"mp-release-only", "model", WEAK, mp_stale, {mp_send_rel, mp_receive_rlx}, NULL},
    {"mp-acquire-only", "model", WEAK, mp_stale, {mp_send_rlx, mp_receive_acq}, NULL},
    {"mp-rel-acq", "model", NEVER, mp_stale, {mp_send_rel, mp_receive_acq}, NULL},
    {"mp-fences", "model", NEVER, mp_stale, {mp_send_fence, mp_receive_fence}, NULL},
    {"mp-fence-acq", "model", NEVER, mp_stale, {mp_send_fence, mp_receive_acq}, NULL},
    {"mp-rel-fence", "model", NEVER, mp_stale, {mp_send_rel, mp_receive_fence}, NULL},
    {"mp-release-sequence",
     "model",
     NEVER,
     mp_stale_second,
     {mp_send_rel, mp_pass_on, mp_receive_second},
     NULL},
    {"mp-no-release-sequence",
     "model",
     WEAK,
     mp_stale_second,
     {mp_send_rlx, mp_pass_on, mp_receive_second},
     NULL},
    {"sb-relaxed", "model", WEAK, sb_both_zero, {sb_none_0, sb_none_1}, NULL},
    {"sb-one-fence", "model", WEAK, sb_both_zero, {sb_one_0, sb_one_1}, NULL},
    {"sb-seq-fences", "model", NEVER, sb_both_zero, {sb_seq_0, sb_seq_1}, NULL},
    {"sb-light-heavy", "model", NEVER, sb_both_zero, {sb_pair_0, sb_pair_1}, NULL},
    {"sb-heavy-heavy", "model", NEVER, sb_both_zero, {sb_heavy_0, sb_heavy_1}, NULL},
    {"sb-light-light", "model", WEAK, sb_both_zero, {sb_light_0, sb_light_1}, NULL},
    {"sb-light-seq", "model", WEAK, sb_both_zero, {sb_mixed_0, sb_mixed_1}, NULL},
    {"sb-acq-rel-rmw", "model", WEAK, sb_both_zero, {sb_rmw_0, sb_rmw_1}, NULL},
    {"coherence-read-read", "model", NEVER, co_back, {co_write, co_read}, NULL},
    {"coherence-write-read", "model", NEVER, co_own_lost, {co_write_read, co_write_read}, NULL},
    {"coherence-read-write", "model", NEVER, co_before_own, {write_x, co_read_one}, NULL},
    {"rmw-atomic", "model", NEVER, rmw_lost, {rmw_add, rmw_add, rmw_add}, NULL},
    {"visible-at-last", "model", NEVER, late_never, {write_x, late_read}, NULL},
    {"wrc-rel-acq", "model", NEVER, wrc_broken, {write_x, wrc_tell, wrc_hear}, NULL},
    {"wrc-relaxed", "model", WEAK, wrc_broken, {write_x, wrc_tell_rlx, wrc_hear}, NULL},
    {"iriw-acq", "model", WEAK, iriw_disagree, {write_x, write_y, iriw_acq_2, iriw_acq_3}, NULL},
    {"iriw-seq-fences",
     "model",
     NEVER,
     iriw_disagree,
     {write_x, write_y, iriw_seq_2, iriw_seq_3},
     NULL},
    {"r-relaxed", "model", WEAK, r_weak, {r_none_0, r_none_1}, NULL},
    {"r-seq-fences", "model", NEVER, r_weak, {r_seq_0, r_seq_1}, NULL},
    {"2+2w-relaxed", "model", UNMODELLED, ww_crossed, {ww_none_0, ww_none_1}, NULL},
    {"2+2w-seq-fences", "model", NEVER, ww_crossed, {ww_seq_0, ww_seq_1}, NULL},
    {"lb-relaxed", "model", UNMODELLED, lb_both, {lb_0, lb_1}, NULL},
    {0}};
