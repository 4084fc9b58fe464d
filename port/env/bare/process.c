/* SPDX-License-Identifier: MIT */
/*
 * process.c (bare) - what a process is elsewhere: arguments, options, output, files, the end.
 *
 * The machine that runs the program (QEMU, a debugger) may have a command line for it
 * (semihosting): words NAME=VALUE in front are the environment, the others the arguments. A program
 * without such a machine can define bare_command_line.
 */
#include "bare.h"
#include "semihost.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define WORDS_MAX 64

extern char **environ;
const char bare_command_line[] __attribute__((weak)) = "";

static struct {
    char line[LINE_MAX_BYTES];
    char *words[WORDS_MAX + 1];
    char *environment[WORDS_MAX + 1];
    char *arguments[WORDS_MAX + 2];
} process;

static void line_get(void)
{
    struct semihost_line line = {process.line, sizeof(process.line) - 1};
    if (arch_semihost(SEMIHOST_LINE, &line) != 0) {
        strncpy(process.line, bare_command_line, sizeof(process.line) - 1);
    }
}

/* A backslash stands in front of what belongs to a word in any case. */
static unsigned words_split(void)
{
    unsigned n = 0;
    const char *from = process.line;
    char *to = process.line; /* never ahead of `from` */
    while (n < WORDS_MAX) {
        from += strspn(from, " ");
        if (*from == '\0') {
            break;
        }
        process.words[n++] = to;
        while (*from != ' ' && *from != '\0') {
            from += *from == '\\' && from[1] != '\0';
            *to++ = *from++;
        }
        from += *from == ' ';
        *to++ = '\0';
    }
    return n;
}

static bool is_setting(const char *word)
{
    size_t n = strcspn(word, "=");
    return word[n] == '=' && n > 0 && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == n;
}

int process_arguments(char ***argv)
{
    line_get();
    unsigned n = words_split(), nset = 0, nargs = 0;
    while (nset < n && is_setting(process.words[nset])) {
        process.environment[nset] = process.words[nset];
        nset++;
    }
    environ = process.environment;
    for (unsigned i = nset; i < n; i++) {
        process.arguments[nargs++] = process.words[i];
    }
    if (nargs == 0) {
        process.arguments[nargs++] = process.line + sizeof(process.line) - 1; /* it has no name */
    }
    *argv = process.arguments;
    return (int)nargs;
}

const char *process_name(void)
{
    return process.arguments[0] != NULL ? process.arguments[0] : "";
}

static const char prefix[] = "PIRN_";
#define PREFIX_LENGTH (sizeof(prefix) - 1)

const char *port_option(const char *name)
{
    char variable[64] = "PIRN_";
    size_t n = strlen(name);
    if (n >= sizeof(variable) - PREFIX_LENGTH) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        variable[PREFIX_LENGTH + i] = (char)toupper((unsigned char)name[i]);
    }
    return getenv(variable);
}

const char *port_option_name(unsigned i)
{
    static char name[64];
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, prefix, PREFIX_LENGTH) != 0 || i-- != 0) {
            continue;
        }
        size_t n = 0;
        for (const char *c = *e + PREFIX_LENGTH; *c != '=' && n < sizeof(name) - 1; c++) {
            name[n++] = (char)tolower((unsigned char)*c);
        }
        name[n] = '\0';
        return name;
    }
    return NULL;
}

void port_write(const char *text, size_t length)
{
    static uint32_t lock;
    unsigned long irq = bare_lock(&lock);
    for (size_t i = 0; i < length; i++) {
        board_console_put(text[i]);
    }
    bare_unlock(&lock, irq);
}

static int host_open(const char *path, enum semihost_mode mode)
{
    struct semihost_open open = {path, mode, strlen(path)};
    return (int)arch_semihost(SEMIHOST_OPEN, &open);
}

int port_file_write(const char *path, const char *text, size_t length)
{
    int file = host_open(path, SEMIHOST_WRITE_NEW);
    if (file < 0) {
        return -EACCES;
    }
    struct semihost_transfer write = {(unsigned long)file, (void *)(uintptr_t)text, length};
    unsigned long close = (unsigned long)file;
    bool whole = arch_semihost(SEMIHOST_WRITE, &write) == 0;
    whole = arch_semihost(SEMIHOST_CLOSE, &close) == 0 && whole;
    return whole ? 0 : -EIO;
}

char *port_file_read(const char *path, size_t max)
{
    int file = host_open(path, SEMIHOST_READ_ONLY);
    char *text = file >= 0 ? malloc(max + 2) : NULL;
    struct semihost_transfer read = {(unsigned long)file, text, max + 1};
    unsigned long close = (unsigned long)file;
    long left = text != NULL ? arch_semihost(SEMIHOST_READ, &read) : -1;
    if (file >= 0) {
        arch_semihost(SEMIHOST_CLOSE, &close);
    }
    if (left <= 0 || (size_t)left > max + 1) { /* 0: there is more than max */
        free(text);
        return NULL;
    }
    text[max + 1 - (size_t)left] = '\0';
    return text;
}

/* There is one process. */
int port_file_claim(const char *path)
{
    (void)path;
    return 0;
}

int port_name_expand(const char *from, char *to, size_t size)
{
    if (strlen(from) >= size) {
        return -ENAMETOOLONG;
    }
    strcpy(to, from);
    return 0;
}

void port_exit_now(int status)
{
    board_exit(status);
}

void port_exit(int status)
{
    exit(status);
}

#define STATUS_CRASHED 134

static NORETURN void crash(void)
{
    trace_save();
    board_exit(STATUS_CRASHED);
}

void port_panic(void)
{
    crash();
}

void bare_stop(const char *what, int status)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "pirn: %s\n", what);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    board_exit(status);
}

void _exit(int status)
{
    board_exit(status & 0xff);
}

/* Tools put the function and the line behind such lines. which: "at", or "from": a return address.
 */
static void say_place(const char *which, uintptr_t pc)
{
    char text[48];
    int n = snprintf(text, sizeof(text), "pirn: %s %#lx\n", which, (unsigned long)pc);
    port_write(text, (size_t)n);
}

void bare_fault(const struct bare_fault *fault)
{
    char text[256], who[64] = "";
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        rt_describe_thread(rt_cpu_thread(cpu), who, sizeof(who));
    }
    int n = snprintf(text, sizeof(text), "pirn: fault: %s (cause %lu), address %#lx%s%s\n",
                     fault->what, fault->cause, (unsigned long)fault->address,
                     who[0] != '\0' ? ", in thread " : "", who);
    port_write(text, (size_t)n);
    say_place("at", fault->pc);
    if (fault->caller != 0) {
        say_place("from", fault->caller);
    }
    crash();
}

static NORETURN void overflow(uintptr_t pc)
{
    char text[256] = "pirn: stack overflow\n";
    struct cpu *cpu = port_cpu_self();
    if (cpu != NULL) {
        rt_describe_full_stack(rt_cpu_thread(cpu), text, sizeof(text));
    }
    port_write(text, strlen(text));
    if (pc != 0) {
        say_place("at", pc);
    }
    crash();
}

void bare_no_room(uintptr_t pc)
{
    overflow(pc);
}

/* The core is about to switch: its running thread is the one that was to go on. */
void bare_overflow(const struct port_thread *t)
{
    char text[256];
    rt_describe_full_stack(rt_thread_of_port(t), text, sizeof(text));
    port_write(text, strlen(text));
    crash();
}
