/* SPDX-License-Identifier: MIT */
/*
 * code_lengths.c - lengths and kinds of instructions (port/env/linux/redirect/code_x86.c) as
 * objdump has them. Reads the output of `objdump -d -w FILE` from standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_x86.h"

enum { LONGEST = 15, ENOUGH = 10000, UNKNOWN_PER_MILLION = 1000 };

struct line {
    unsigned long address;
    uint8_t bytes[LONGEST];
    unsigned length;
    const char *text; /* the instruction */
};

/* "  1edfc:\t0f 05    \tsyscall" */
static int parse(char *from, struct line *line)
{
    char *at, *colon = strchr(from, ':');
    line->address = strtoul(from, &at, 16);
    line->length = 0;
    if (from[0] != ' ' || colon == NULL || at != colon || colon[1] != '\t') {
        return 0;
    }
    for (at = colon + 2; *at != '\t' && *at != '\0' && *at != '\n';) {
        char *end;
        unsigned long byte = strtoul(at, &end, 16);
        if (end == at || line->length == LONGEST) {
            break;
        }
        line->bytes[line->length++] = (uint8_t)byte;
        at = end;
        at += strspn(at, " ");
    }
    line->text = *at == '\t' ? at + 1 : NULL;
    return line->text != NULL && line->length != 0;
}

static int has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

static int is_right(const struct line *line, struct code code)
{
    const char *text = line->text;
    char target[40];
    int jumps = (text[0] == 'j' || has(text, "call ") || has(text, "jmp ") ||
                 strncmp(text, "loop", 4) == 0) &&
                !has(text, " *");
    snprintf(target, sizeof(target), " %lx ",
             line->address + code.length + (unsigned long)(long)code.distance);
    return code.length == line->length &&
           (code.kind == CODE_SYSCALL) == (strncmp(text, "syscall", 7) == 0) &&
           (code.kind != CODE_NOP || has(text, "nop") || has(text, "xchg   %ax,%ax")) &&
           (code.kind != CODE_LEAVES || has(text, "ret") || has(text, "jmp") || has(text, "ud2")) &&
           code.jumps == (jumps != 0) && (!jumps || has(text, target)) &&
           (!code.moves || has(text, "mov"));
}

int main(void)
{
    char *text = NULL;
    size_t size = 0;
    unsigned long seen = 0, wrong = 0, unknown = 0;
    while (getline(&text, &size, stdin) > 0) {
        struct line line;
        /* Data between functions; objdump takes fwait for a part of the next instruction. */
        if (!parse(text, &line) || has(line.text, "(bad)") || has(line.text, ".byte") ||
            has(line.text, "rex") || line.bytes[0] == 0x9b) {
            continue;
        }
        struct code code = code_at(line.bytes, line.length);
        seen++;
        if (code.length == 0) {
            unknown++;
        } else if (!is_right(&line, code) && wrong++ < 10) {
            printf("length %u, kind %u: %s", code.length, code.kind, text);
        }
    }
    free(text);
    printf("%lu instructions: %lu unknown, %lu wrong\n", seen, unknown, wrong);
    return seen < ENOUGH || wrong != 0 || unknown * 1000000 > seen * UNKNOWN_PER_MILLION;
}
