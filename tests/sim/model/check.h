/* SPDX-License-Identifier: MIT */
/* check.h - checks of the tests of the model: the first that fails ends the program. */
#ifndef PIRN_TESTS_MODEL_CHECK_H
#define PIRN_TESTS_MODEL_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EQUAL(got, want)                                                                           \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), want_ = (uint64_t)(want);                                 \
        if (got_ != want_) {                                                                       \
            fprintf(stderr, "FAILED %s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", __FILE__,        \
                    __LINE__, #got, got_, want_);                                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* got lies in low ... high */
#define WITHIN(got, low, high)                                                                     \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), low_ = (uint64_t)(low), high_ = (uint64_t)(high);         \
        if (got_ < low_ || got_ > high_) {                                                         \
            fprintf(stderr, "FAILED %s:%d: %s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64 "\n",   \
                    __FILE__, __LINE__, #got, got_, low_, high_);                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
