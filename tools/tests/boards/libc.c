// SPDX-License-Identifier: MIT
//
// A port needs these of the C library that tools/setup-boards builds: thread-local storage in
// blocks, locks of the port's own, malloc, stdio with files and doubles, atexit. One CPU; the
// status is 42, or 1 with the line that failed. Run by test_board_libc.py.

#include <errno.h>
#include <math.h>
#include <picotls.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/lock.h>
#include <time.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("line %d: not true: %s\n", __LINE__, #what);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// ---- locks: counters, as there is one CPU -----------------------------------------------------

struct __lock {
    int depth;
};

struct __lock __lock___libc_recursive_mutex;
static struct {
    int made, closed, taken, deepest;
} locks;

void __retarget_lock_init_recursive(_LOCK_T *lock)
{
    *lock = calloc(1, sizeof **lock);
    locks.made++;
}

void __retarget_lock_close_recursive(_LOCK_T lock)
{
    free(lock);
    locks.closed++;
}

void __retarget_lock_acquire_recursive(_LOCK_T lock)
{
    lock->depth++;
    locks.taken++;
    if (lock->depth > locks.deepest)
        locks.deepest = lock->depth;
}

void __retarget_lock_release_recursive(_LOCK_T lock)
{
    lock->depth--;
    CHECK(lock->depth >= 0);
}

void __retarget_lock_init(_LOCK_T *lock)
{
    __retarget_lock_init_recursive(lock);
}

void __retarget_lock_close(_LOCK_T lock)
{
    __retarget_lock_close_recursive(lock);
}

void __retarget_lock_acquire(_LOCK_T lock)
{
    __retarget_lock_acquire_recursive(lock);
}

void __retarget_lock_release(_LOCK_T lock)
{
    __retarget_lock_release_recursive(lock);
}

// ---- thread-local storage
// ------------------------------------------------------------------------

static _Thread_local int number = 7;
static _Thread_local int zero;
static _Thread_local _Alignas(64) char text[70] = "initial";

// Functions of their own: compilers keep addresses of these variables across a change of blocks.
__attribute__((noipa)) static void change(void *block)
{
    _set_tls(block);
}

__attribute__((noipa)) static void set_variables(int value)
{
    errno = value;
    number = value + 1;
    zero = value + 2;
    snprintf(text, sizeof text, "text %d", value);
}

__attribute__((noipa)) static void check_variables(int value)
{
    char wanted[20];
    snprintf(wanted, sizeof wanted, "text %d", value);
    CHECK(errno == value);
    CHECK(number == value + 1);
    CHECK(zero == value + 2);
    CHECK(strcmp(text, wanted) == 0);
}

__attribute__((noipa)) static void check_initial(void)
{
    CHECK(errno == 0);
    CHECK(number == 7);
    CHECK(zero == 0);
    CHECK(strcmp(text, "initial") == 0);
    CHECK((uintptr_t)text % 64 == 0);
}

static void test_each_block_has_its_variables(void)
{
    enum { BLOCKS = 3 };
    size_t align = _tls_align();
    size_t size = (_tls_size() + align - 1) / align * align;
    void *block[BLOCKS];
    check_initial();
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = aligned_alloc(align, size);
        CHECK(block[i] && (uintptr_t)block[i] % align == 0);
        memset(block[i], 0xaa, size);
        _init_tls(block[i]);
        change(block[i]);
        check_initial();
        set_variables(100 * i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        change(block[i]);
        check_variables(100 * i);
    }
}

// ---- malloc
// ----------------------------------------------------------------------------------------

static bool filled(const unsigned char *at, size_t size, int with)
{
    for (size_t i = 0; i < size; i++)
        if (at[i] != with)
            return false;
    return true;
}

static void test_blocks_keep_their_contents(void)
{
    enum { BLOCKS = 300, ROUNDS = 20000 };
    static unsigned char *block[BLOCKS];
    static size_t size[BLOCKS];
    for (unsigned round = 0, seed = 1; round < ROUNDS; round++) {
        seed = seed * 1664525 + 1013904223;
        unsigned i = (seed >> 8) % BLOCKS;
        CHECK(filled(block[i], size[i], (int)(i % 251)));
        size_t kept = size[i];
        size[i] = (seed >> 16) % 3000 + 1;
        if (seed & 64) {
            block[i] = realloc(block[i], size[i]);
            CHECK(block[i] && filled(block[i], kept < size[i] ? kept : size[i], (int)(i % 251)));
        } else {
            free(block[i]);
            block[i] = malloc(size[i]);
        }
        CHECK(block[i] && (uintptr_t)block[i] % (2 * sizeof(void *)) == 0);
        memset(block[i], (int)(i % 251), size[i]);
    }
    errno = 0;
    void *volatile too_large = malloc(SIZE_MAX / 4);
    CHECK(!too_large && errno == ENOMEM);
}

// ---- stdio
// -------------------------------------------------------------------------------------------

static void test_doubles_are_written_and_read(void)
{
    static const double values[] = {M_PI, 0.1, 1e-300, -1.7976931348623157e308, 5e-324};
    char line[100];
    // Its digits are the fewest that make the same number again, then zeros.
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(line, sizeof line, "%.17g", values[i]);
        CHECK(strtod(line, NULL) == values[i]);
    }
    snprintf(line, sizeof line, "%.15g %6.2f %a", M_PI, -2.375, 0.1);
    CHECK(strcmp(line, "3.14159265358979  -2.38 0x1.999999999999ap-4") == 0);
    snprintf(line, sizeof line, "%lld %zu", -1234567890123LL, sizeof line);
    CHECK(strcmp(line, "-1234567890123 100") == 0);
    volatile double two = 2;
    CHECK(fabs(sqrt(two) * sqrt(two) - two) < 1e-15);
}

static void test_files_are_the_host_s(void)
{
    char line[40];
    int opened = locks.made, closed = locks.closed;
    errno = 0;
    CHECK(!fopen("no/such/file", "r") && errno == ENOENT);
    FILE *file = fopen("written", "w");
    CHECK(file && fprintf(file, "%d lines\n", 1) == 8);
    CHECK(fclose(file) == 0);
    file = fopen("written", "r+");
    CHECK(file && fgets(line, sizeof line, file) && strcmp(line, "1 lines\n") == 0);
    CHECK(fseek(file, 0, SEEK_SET) == 0 && fputs("2", file) >= 0 && fclose(file) == 0);
    CHECK(locks.made == opened + 2 && locks.closed == closed + 2);
}

// ---- the end
// -----------------------------------------------------------------------------------------

static int handlers;

static void second(void)
{
    CHECK(handlers == 1);
    CHECK(__lock___libc_recursive_mutex.depth == 0);
    printf("end"); // no end of line: exit writes what is buffered
}

static void first(void)
{
    CHECK(handlers == 0);
    handlers = 1;
}

int main(void)
{
    CHECK(atexit(second) == 0 && atexit(first) == 0);
    test_each_block_has_its_variables();
    test_blocks_keep_their_contents();
    test_doubles_are_written_and_read();
    test_files_are_the_host_s();
    CHECK(time(NULL) > 0);
    CHECK(locks.taken > 1000 && locks.deepest >= 1);
    return 42;
}
