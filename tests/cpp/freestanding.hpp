/* SPDX-License-Identifier: MIT */
/* freestanding.hpp - checks for the programs without a C++ library. */
#ifndef TESTS_CPP_FREESTANDING_HPP
#define TESTS_CPP_FREESTANDING_HPP

#include <stdio.h>
#include <stdlib.h>

#include <pirn/pirn.hpp>

#define CHECK(cond_)                                                                               \
    do {                                                                                           \
        if (!(cond_)) {                                                                            \
            printf("failed: %s (%s:%d)\n", #cond_, __FILE__, __LINE__);                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

constexpr uint64_t millisecond = 1000000;

/* body(0) to body(n - 1), each in a thread of its own. */
template <unsigned n, class Body>
void in_threads(Body body)
{
    pirn::jthread threads[n];
    for (unsigned i = 0; i < n; i++) {
        threads[i] = pirn::jthread([&body, i] { body(i); });
    }
}

#endif
