/* SPDX-License-Identifier: MIT */
#include "sum.h"

#include <stdio.h>
#include <unistd.h>

int main(void)
{
    printf("%ld cores, sum %ld\n", sysconf(_SC_NPROCESSORS_ONLN), sum_of_threads(100));
}
