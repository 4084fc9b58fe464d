/* SPDX-License-Identifier: MIT */
/*
 * functions.c - calls of the C library in which a thread may spend all of its time. Each call does
 * some microseconds of work there, so that a thread in a loop of them is nearly always in the
 * library, or in the kernel. Of these functions the runtime has read, write, fopen and fclose of
 * its own. For comparison, one that calls no library. throw.cpp has an exception of C++.
 */
#include "functions.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { BUFFER = 1 << 16, NUMBERS = 256, LINES = 50, OWN_ROUNDS = 2000 };

static FILE *null_file;
static int null_fd = -1, zero_fd = -1;
static char file_name[] = "/tmp/pirn-starve-XXXXXX";
static regex_t pattern;
static volatile double number = 1.5;
static __thread char text[BUFFER], copy[BUFFER];
static __thread volatile size_t sink;

static void f_own(void)
{
    uint32_t x = (uint32_t)sink;
    for (unsigned i = 0; i < OWN_ROUNDS; i++) {
        x = x * 1664525u + 1013904223u;
        sink = x;
    }
}

static void f_snprintf(void)
{
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof(text), "%d %s %f %#lx\n", i, "text", number, (unsigned long)i);
    }
}

static void f_sscanf(void)
{
    int a, b;
    char word[16];
    sink = (size_t)sscanf("12 words 34", "%d %15s %d", &a, word, &b);
}

static void f_getline(void)
{
    char *line = NULL;
    size_t size = 0;
    FILE *f = fopen(file_name, "r");
    while (f != NULL && getline(&line, &size, f) >= 0) {
    }
    free(line);
    if (f != NULL) {
        fclose(f);
    }
}

static void f_fread(void)
{
    FILE *f = fopen(file_name, "r");
    while (f != NULL && fread(text, 16, 4, f) == 4) {
    }
    if (f != NULL) {
        fclose(f);
    }
}

static void f_fprintf(void)
{
    for (int i = 0; i < 10; i++) {
        fprintf(null_file, "%d %s %f\n", i, "text", number);
    }
}

static void f_fwrite(void)
{
    fwrite(text, 1, sizeof(text) / 16, null_file);
}

static void f_strtod(void)
{
    sink = (size_t)strtod("3.14159265358979323846264338327950288e-5", NULL);
}

static void f_strtol(void)
{
    sink = (size_t)strtol("-123456789", NULL, 10);
}

static void f_malloc(void)
{
    void *p[16];
    for (size_t i = 0; i < 16; i++) {
        p[i] = malloc(16u << (i % 12));
    }
    for (size_t i = 0; i < 16; i++) {
        free(p[i]);
    }
}

static int compare(const void *a, const void *b)
{
    const unsigned *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void f_qsort(void)
{
    unsigned numbers[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = i * 2654435761u;
    }
    qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
    sink = numbers[0];
}

static void f_regexec(void)
{
    regmatch_t match[2];
    sink =
        (size_t)regexec(&pattern, "a line with 12345 numbers in it, and (more) words", 2, match, 0);
}

static void f_getaddrinfo(void)
{
    struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST, .ai_family = AF_INET};
    if (getaddrinfo("127.0.0.1", NULL, &hints, &found) == 0) {
        freeaddrinfo(found);
    }
}

static void f_iconv(void)
{
    iconv_t to = iconv_open("UTF-16LE", "UTF-8");
    if (to != (iconv_t)-1) {
        char in[] = "some words in UTF-8", out[128], *from = in, *into = out;
        size_t nin = sizeof(in), nout = sizeof(out);
        sink = iconv(to, &from, &nin, &into, &nout);
        iconv_close(to);
    }
}

static void f_strftime(void)
{
    struct tm tm = {.tm_year = 99, .tm_mon = 5, .tm_mday = 7};
    sink = strftime(text, sizeof(text), "%A, %d %B %Y %H:%M:%S", &tm);
}

static void f_localtime(void)
{
    time_t t = 1000000000;
    struct tm tm;
    sink = (size_t)localtime_r(&t, &tm)->tm_hour;
}

static void f_mktime(void)
{
    struct tm tm = {.tm_year = 99, .tm_mon = 5, .tm_mday = 7};
    sink = (size_t)mktime(&tm);
}

static void f_memcpy(void)
{
    memcpy(copy, text, sizeof(copy));
    sink = (size_t)copy[17];
}

static void f_memset(void)
{
    memset(copy, (int)sink, sizeof(copy));
    sink = (size_t)copy[17];
}

static void f_strlen(void)
{
    memset(copy, 'x', sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    sink = strlen(copy) + (strstr(copy, "yz") != NULL);
}

static void f_dlsym(void)
{
    sink = (size_t)(uintptr_t)dlsym(RTLD_DEFAULT, "strtoull");
}

static void f_getenv(void)
{
    for (int i = 0; i < 20; i++) {
        sink += getenv("NOTHING_BY_THIS_NAME") != NULL;
    }
}

static void f_setlocale(void)
{
    sink = (size_t)(uintptr_t)setlocale(LC_ALL, NULL);
    setlocale(LC_NUMERIC, "C");
}

static void f_newlocale(void)
{
    locale_t l = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (l != (locale_t)0) {
        freelocale(l);
    }
}

static void f_glob(void)
{
    glob_t found = {0};
    glob("/dev/nul*", 0, NULL, &found);
    globfree(&found);
}

static void f_rand(void)
{
    for (int i = 0; i < 100; i++) {
        sink += (size_t)rand() + (size_t)random();
    }
}

static void f_strcoll(void)
{
    sink = (size_t)strcoll("some words to compare", "some words to collate") +
           strxfrm(text, "some words", 64);
}

static void f_wcstod(void)
{
    wchar_t wide[32];
    sink = mbstowcs(wide, "2.718281828459045", 32) + (size_t)wcstod(wide, NULL);
}

static void f_libm(void)
{
    for (int i = 0; i < 20; i++) {
        number = fabs(sin(number) * pow(1.1, cos(number)) + exp(-number)) + lgamma(2.5) / 10;
    }
}

static void f_tsearch(void)
{
    static const unsigned keys[8] = {5, 3, 8, 1, 4, 7, 9, 2};
    void *root = NULL;
    for (unsigned i = 0; i < 8; i++) {
        tsearch(&keys[i], &root, compare);
    }
    for (unsigned i = 0; i < 8; i++) {
        tdelete(&keys[i], &root, compare);
    }
}

static void f_strerror(void)
{
    for (int i = 1; i < 40; i++) {
        sink += strlen(strerror_r(i, text, sizeof(text)));
    }
}

static void f_strtok(void)
{
    char words[] = "one,two,three,four,five", *save;
    for (char *w = strtok_r(words, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save)) {
        sink += strlen(w) + (size_t)strcasecmp(w, "Three");
    }
}

static void f_random(void)
{
    for (int i = 0; i < 200; i++) {
        sink += (size_t)random();
    }
}

static void f_fopen(void)
{
    FILE *f = fopen(file_name, "r");
    if (f != NULL) {
        fclose(f);
    }
}

static void f_write(void)
{
    for (int i = 0; i < 10; i++) {
        sink += (size_t)write(null_fd, text, 64);
    }
}

static void f_read(void)
{
    for (int i = 0; i < 10; i++) {
        sink += (size_t)read(zero_fd, copy, 64);
    }
}

static void f_getpid(void)
{
    for (int i = 0; i < 10; i++) {
        sink += (size_t)getpid();
    }
}

static void f_clock(void)
{
    struct timespec now;
    for (int i = 0; i < 50; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += (size_t)now.tv_nsec;
    }
}

static void f_mmap(void)
{
    char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        *p = 1;
        munmap(p, 1 << 16);
    }
}

/* It is loaded already: the linker finds it, and counts. */
static void f_dlopen(void)
{
    void *libm = dlopen("libm.so.6", RTLD_NOW);
    if (libm != NULL) {
        sink += (size_t)dlsym(libm, "cos");
        dlclose(libm);
    }
}

const struct function functions[] = {
    {"own-code", f_own},
    {"snprintf", f_snprintf},
    {"sscanf", f_sscanf},
    {"getline", f_getline},
    {"fread", f_fread},
    {"fprintf", f_fprintf},
    {"fwrite", f_fwrite},
    {"strtod", f_strtod},
    {"strtol", f_strtol},
    {"malloc", f_malloc},
    {"qsort", f_qsort},
    {"regexec", f_regexec},
    {"getaddrinfo", f_getaddrinfo},
    {"iconv", f_iconv},
    {"strftime", f_strftime},
    {"localtime_r", f_localtime},
    {"mktime", f_mktime},
    {"memcpy", f_memcpy},
    {"memset", f_memset},
    {"strlen", f_strlen},
    {"dlsym", f_dlsym},
    {"getenv", f_getenv},
    {"setlocale", f_setlocale},
    {"newlocale", f_newlocale},
    {"glob", f_glob},
    {"rand", f_rand},
    {"strcoll", f_strcoll},
    {"wcstod", f_wcstod},
    {"libm", f_libm},
    {"tsearch", f_tsearch},
    {"strerror_r", f_strerror},
    {"strtok_r", f_strtok},
    {"random", f_random},
    {"fopen", f_fopen},
    {"write", f_write},
    {"read", f_read},
    {"getpid", f_getpid},
    {"clock_gettime", f_clock},
    {"mmap", f_mmap},
    {"dlopen", f_dlopen},
    {"throw", function_throws},
};
const unsigned nfunctions = sizeof(functions) / sizeof(functions[0]);

void functions_begin(void)
{
    int fd = mkstemp(file_name);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    for (int i = 0; f != NULL && i < LINES; i++) {
        fprintf(f, "line %d of a file that is read\n", i);
    }
    if (f != NULL) {
        fclose(f);
    }
    null_file = fopen("/dev/null", "w");
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (f == NULL || null_file == NULL || null_fd < 0 || zero_fd < 0 ||
        regcomp(&pattern, "([a-z]+ )*[0-9]+ (n.*s)", REG_EXTENDED)) {
        fprintf(stderr, "starve: no file in /tmp, or no /dev/null or /dev/zero\n");
        exit(2);
    }
}

void functions_end(void)
{
    fclose(null_file);
    close(null_fd);
    close(zero_fd);
    unlink(file_name);
    regfree(&pattern);
}
