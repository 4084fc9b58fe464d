/* SPDX-License-Identifier: MIT */
/* throw.cpp - an exception that is thrown and caught: the unwinder and the C++ library. */
#include <stdexcept>

extern "C" void function_throws(void);

static __attribute__((noinline)) void throws(int depth)
{
    if (depth == 0) {
        throw std::runtime_error("thrown");
    }
    throws(depth - 1);
    __asm__ volatile(""); /* no tail call */
}

void function_throws(void)
{
    try {
        throws(4);
    } catch (const std::exception &) {
        return;
    }
}
