/* SPDX-License-Identifier: MIT */
/*
 * bare_words.c (bare) - arguments and options.
 *
 * The machine that runs the program (QEMU, a debugger) may have a command line for it
 * (semihosting): words NAME=VALUE in front are the environment, the others the arguments. A program
 * without such a machine can define bare_command_line.
 */
#include "bare.h"
#include "port_files.h"
#include "port_options.h"
#include "semihost.h"

#include <ctype.h>
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

/* A backslash before a character makes it part of the word. */
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
        RT_ASSERT(to < process.line + sizeof(process.line));
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
    RT_ASSERT(n <= WORDS_MAX && process.environment[nset] == NULL); /* called once */
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

bool port_preloaded(void)
{
    return false;
}

void port_program_facts(struct port_program_facts *facts)
{
    long seconds = arch_semihost(SEMIHOST_TIME, NULL);
    *facts =
        (struct port_program_facts){.program = process_name(),
                                    .machine = PORT_ARCH_NAME,
                                    .pid = 1,
                                    .unix_ns = (uint64_t)(seconds > 0 ? seconds : 0) * 1000000000u};
}
