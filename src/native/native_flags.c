/* SPDX-License-Identifier: MIT */
/* native_flags.c - event flags of the native API: <pirn/flags.h>. Checks arguments. */
#include <errno.h>
#include <pirn/flags.h>

#include "../sync/flags.h"

_Static_assert(sizeof(struct rt_flags) == sizeof(pirn_flags_t), "pirn_flags_t");
_Static_assert(PIRN_FLAGS_ALL == (unsigned)FLAGS_ALL, "PIRN_FLAGS_ALL");
_Static_assert(PIRN_FLAGS_CLEAR == (unsigned)FLAGS_CLEAR, "PIRN_FLAGS_CLEAR");

#define FLAGS(f) ((struct rt_flags *)(f))

EXPORT void pirn_flags_init(pirn_flags_t *flags)
{
    rt_flags_init(FLAGS(flags));
}

EXPORT uint32_t pirn_flags_set(pirn_flags_t *flags, uint32_t bits)
{
    return rt_flags_set(FLAGS(flags), bits);
}

EXPORT uint32_t pirn_flags_clear(pirn_flags_t *flags, uint32_t bits)
{
    return rt_flags_clear(FLAGS(flags), bits);
}

EXPORT uint32_t pirn_flags_get(pirn_flags_t *flags)
{
    return rt_flags_get(FLAGS(flags));
}

ALWAYS_INLINE bool is_valid(uint32_t bits, unsigned how)
{
    return bits != 0 && (how & ~(PIRN_FLAGS_ALL | PIRN_FLAGS_CLEAR)) == 0;
}

EXPORT int pirn_flags_trywait(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got)
{
    uint32_t unused;
    if (!is_valid(bits, how)) {
        return -EINVAL;
    }
    return rt_flags_trywait(FLAGS(flags), bits, (uint8_t)how, got != NULL ? got : &unused);
}

EXPORT int pirn_flags_wait_until(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got,
                                 uint64_t deadline)
{
    uint32_t unused;
    if (!is_valid(bits, how)) {
        return -EINVAL;
    }
    return rt_flags_wait_until(FLAGS(flags), bits, (uint8_t)how, got != NULL ? got : &unused,
                               deadline);
}

EXPORT int pirn_flags_wait(pirn_flags_t *flags, uint32_t bits, unsigned how, uint32_t *got)
{
    return pirn_flags_wait_until(flags, bits, how, got, UINT64_MAX);
}
