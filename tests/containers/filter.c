/* SPDX-License-Identifier: MIT */
/*
 * filter.c - see filter.h. The program for the kernel tests the number against each rule in turn;
 * a rule is two instructions, one with a condition six.
 */
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define OTHER_ABI 0x40000000u /* x32 */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define OTHER_ABI 0xffffffffu
#else
#error "which architecture do filters see here?"
#endif

#define STATEMENTS_MAX BPF_MAXINSNS
#define SPACES " \t\n"

static const struct call {
    const char *name;
    unsigned number;
} calls[] = {
#include "calls.def"
};

static struct {
    const char *path;
    unsigned line;
    struct sock_filter code[STATEMENTS_MAX];
    unsigned n;
    unsigned highest;
    uint32_t deflt, newer;
} filter;

static _Noreturn void wrong(const char *what, const char *word)
{
    fprintf(stderr, "confine: %s, line %u: %s \"%s\"\n", filter.path, filter.line, what, word);
    exit(2);
}

static void add(uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (filter.n == STATEMENTS_MAX) {
        wrong("there is no room for more rules than before", "this one");
    }
    filter.code[filter.n++] = (struct sock_filter){code, yes, no, k};
}

static void add_load(size_t offset)
{
    add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void add_return(uint32_t action)
{
    add(BPF_RET | BPF_K, action, 0, 0);
}

static uint32_t number_of(const char *word)
{
    char *end;
    unsigned long n = word != NULL ? strtoul(word, &end, 0) : 0;
    if (word == NULL || end == word || *end != '\0' || n > UINT32_MAX) {
        wrong("no number:", word != NULL ? word : "");
    }
    return (uint32_t)n;
}

static uint32_t action_of(const char *word, char **rest)
{
    if (word != NULL && strcmp(word, "allow") == 0) {
        return SECCOMP_RET_ALLOW;
    }
    if (word != NULL && strcmp(word, "kill") == 0) {
        return SECCOMP_RET_KILL_PROCESS;
    }
    if (word != NULL && strcmp(word, "errno") == 0) {
        return SECCOMP_RET_ERRNO | (number_of(strtok_r(NULL, SPACES, rest)) & SECCOMP_RET_DATA);
    }
    wrong("no action (valid: allow, kill, errno NUMBER):", word != NULL ? word : "");
}

static const struct call *call_of(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            filter.highest = calls[i].number > filter.highest ? calls[i].number : filter.highest;
            return &calls[i];
        }
    }
    return NULL;
}

static void add_condition(const struct call *call, uint32_t action, char **rest)
{
    uint32_t argument = number_of(strtok_r(NULL, SPACES, rest));
    uint32_t mask = number_of(strtok_r(NULL, SPACES, rest));
    uint32_t value = number_of(strtok_r(NULL, SPACES, rest));
    if (argument > 5) {
        wrong("an argument is 0 to 5:", "this one");
    }
    if (call == NULL) {
        return;
    }
    add(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 5);
    add_load(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t)); /* its low half */
    add(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    add_return(action);
    add_load(offsetof(struct seccomp_data, nr));
}

static void add_rules(uint32_t action, char **rest)
{
    const struct call *before = NULL;
    bool any = false;
    for (char *word; (word = strtok_r(NULL, SPACES, rest)) != NULL; any = true) {
        if (any && strcmp(word, "if") == 0) {
            add_condition(before, action, rest);
            return;
        }
        if (before != NULL) {
            add(BPF_JMP | BPF_JEQ | BPF_K, before->number, 0, 1);
            add_return(action);
        }
        before = call_of(word);
    }
    if (!any) {
        wrong("no calls after", "the action");
    }
    if (before != NULL) {
        add(BPF_JMP | BPF_JEQ | BPF_K, before->number, 0, 1);
        add_return(action);
    }
}

static void add_line(char *line)
{
    char *rest;
    char *word = strtok_r(line, SPACES, &rest);
    if (word == NULL || word[0] == '#') {
        return;
    }
    if (strcmp(word, "default") == 0) {
        filter.deflt = action_of(strtok_r(NULL, SPACES, &rest), &rest);
    } else if (strcmp(word, "newer") == 0) {
        filter.newer = action_of(strtok_r(NULL, SPACES, &rest), &rest);
    } else {
        add_rules(action_of(word, &rest), &rest);
    }
}

static void filter_read(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    filter.path = path;
    if (file == NULL) {
        wrong("cannot be read:", strerror(errno));
    }
    add_load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    add_return(SECCOMP_RET_KILL_PROCESS);
    add_load(offsetof(struct seccomp_data, nr));
    add(BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI, 0, 1);
    add_return(SECCOMP_RET_ERRNO | ENOSYS);
    filter.deflt = filter.newer = SECCOMP_RET_KILL_PROCESS;
    while (fgets(line, sizeof(line), file) != NULL) {
        filter.line++;
        if (strchr(line, '\n') == NULL) {
            wrong("the line is too long, or has no end:", line);
        }
        add_line(line);
    }
    fclose(file);
    add(BPF_JMP | BPF_JGT | BPF_K, filter.highest, 0, 1);
    add_return(filter.newer);
    add_return(filter.deflt);
}

void filter_install(const char *path)
{
    filter_read(path);
    struct sock_fprog program = {(unsigned short)filter.n, filter.code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0L, &program) != 0) {
        perror("confine: seccomp");
        exit(2);
    }
}
