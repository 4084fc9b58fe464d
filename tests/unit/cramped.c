/* SPDX-License-Identifier: MIT */
/* cramped.c - a defined thread whose stack is too small: the program prints that, and ends. */
#include <pirn/static.h>

static void *nothing(void *arg)
{
    return arg;
}

PIRN_THREAD_DEFINE(cramped, 1024, nothing, NULL);

int main(void)
{
    return 0;
}
