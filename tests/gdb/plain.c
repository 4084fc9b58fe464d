/* SPDX-License-Identifier: MIT */
/* plain.c - a program that does not use threads, for check_gdb.py. */
#include <stdio.h>

int main(void)
{
    puts("plain");
    return 0;
}
