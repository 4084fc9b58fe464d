/* SPDX-License-Identifier: MIT */
#include "sum.h"

#include <stdio.h>

int main(void)
{
    long sum = sum_of_threads(100);
    if (sum != 4950) {
        printf("the sum is %ld, not 4950\n", sum);
        return 1;
    }
    return 0;
}
