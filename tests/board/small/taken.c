/* SPDX-License-Identifier: MIT */
/*
 * taken.c - tasks.c, and the bytes that the library has taken of the memory that the image leaves:
 * what the C library's heap cannot get. It prints them.
 */
#include <stdint.h>
#include <unistd.h>

int tasks_main(void); /* tasks.c */

extern char bare_heap_begin[], bare_heap_end[]; /* the linker script's */

static size_t heap_all(void)
{
    size_t all = 0;
    for (size_t step = (size_t)1 << 30; step != 0; step /= 2) {
        while (step <= PTRDIFF_MAX && sbrk((ptrdiff_t)step) != (void *)-1) {
            all += step;
        }
    }
    return all;
}

static void print(size_t bytes)
{
    char text[24];
    char *at = text + sizeof(text);
    *--at = '\n';
    do {
        *--at = (char)('0' + bytes % 10);
        bytes /= 10;
    } while (bytes != 0);
    (void)!write(1, at, (size_t)(text + sizeof(text) - at));
}

int main(void)
{
    int status = tasks_main();
    if (status == 0) {
        print((size_t)(bare_heap_end - bare_heap_begin) - heap_all());
    }
    return status;
}
