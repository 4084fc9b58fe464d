/* SPDX-License-Identifier: MIT */
/*
 * tags_tls.c - the orders of port/libc/glibc/glibc_block.c (the image from which TLS blocks are
 * renewed, and dlopen during a renewal) and of glibc_everywhere.c. The code itself is below the
 * simulator; these are its shapes.
 */
#include "litmus.h"

/* ---- tls-image: a sequence lock, F; X and Y are the bytes ---- */

static void image_writer(void)
{
    for (uint32_t i = 1; i <= 3; i++) {
        at_store_rlx(&F, 2 * i - 1);
        at_fence_seq(); /* a release fence would do */
        at_store_rlx(&X, i);
        at_store_rlx(&Y, i);
        at_store_rel(&F, 2 * i);
    }
}
static void image_reader(void)
{
    uint32_t seq = at_load_acq(&F);
    r[0] = at_load_rlx(&X);
    r[1] = at_load_rlx(&Y);
    at_fence_seq(); /* an acquire fence would do */
    r[2] = (seq & 1u) == 0 && at_load_rlx(&F) == seq;
}
static void image_hasty_reader(void)
{
    uint32_t seq = at_load_acq(&F);
    r[0] = at_load_rlx(&X);
    r[1] = at_load_rlx(&Y);
    r[2] = (seq & 1u) == 0 && at_load_rlx(&F) == seq;
}
static bool image_torn(void)
{
    return r[2] && r[0] != r[1];
}

/* ---- tls-generation: X is the block (1: the old image, 2: the new module's), Y the generation.
 * The loader's fence is its lock of the list of blocks, a locked instruction. ---- */

static void loader(void)
{
    at_store_rel(&Y, 1u);
    at_fence_seq();
    at_store_rlx(&X, 2u);
}
static void renewer(void)
{
    at_store_rlx(&X, 1u);
    at_fence_seq();
    r[0] = at_load_acq(&Y);
}
static void renewer_without_fence(void)
{
    at_store_rlx(&X, 1u);
    r[0] = at_load_acq(&Y);
}
static bool stale_and_unnoticed(void)
{
    return at_load_rlx(&X) == 1 && r[0] == 0;
}

/* ---- everywhere: X the call, F the number of entries, Y the result of the call, Z the answer
 * ---- */

static void caller(void)
{
    at_store_rlx(&X, 7u);
    at_store_rel(&F, 1u);
    r[0] = at_load_acq(&Z);
    r[1] = at_load_rlx(&Y);
}
static void answerer(void)
{
    if (at_load_acq(&F) == 1) {
        at_store_rlx(&Y, at_load_rlx(&X));
        at_store_rel(&Z, 1u);
    }
}
static bool answered_wrong(void)
{
    return r[0] == 1 && r[1] != 7;
}

const struct litmus litmus_tls[] = {
    {"everywhere", "everywhere", NEVER, answered_wrong, {caller, answerer}, NULL},
    {"tls-image", "tls-image", NEVER, image_torn, {image_writer, image_reader}, NULL},
    {"tls-image-no-fence", "tls-image", WEAK, image_torn, {image_writer, image_hasty_reader}, NULL},
    {"tls-generation", "tls-generation", NEVER, stale_and_unnoticed, {loader, renewer}, NULL},
    {"tls-generation-no-fence",
     "tls-generation",
     WEAK,
     stale_and_unnoticed,
     {loader, renewer_without_fence},
     NULL},
    {0}};
