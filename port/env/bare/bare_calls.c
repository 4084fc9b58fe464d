/* SPDX-License-Identifier: MIT */
/*
 * bare_calls.c (bare) - which calls are active on a stack.
 *
 * Code has no frame pointers, which cost, and tables to unwind by are not in the image. So a
 * stack is searched for words that are addresses in the code with a call in front of them. The
 * active calls are among these; others are left from calls that have ended, or are numbers.
 */
#include "bare.h"

extern char bare_text_begin[], bare_text_end[], bare_library_begin[], bare_library_end[];

static bool is_in(uintptr_t address, const char *from, const char *to)
{
    return address >= (uintptr_t)from && address < (uintptr_t)to;
}

/* Where the stack ends that sp is in. Handlers may be on the stack of traps. */
static uintptr_t stack_end(const struct thread *t, uintptr_t sp)
{
    for (unsigned i = 0; i < BARE_CORES; i++) {
        uintptr_t trap = bare_trap_stack(i);
        if (sp >= bare_own[i].low && sp < bare_own[i].high) {
            return bare_own[i].high;
        }
        if (sp >= trap - BARE_TRAP_STACK && sp < trap) {
            return trap;
        }
    }
    return t != NULL ? rt_thread_stack_top(t) : 0;
}

static bool in_library(uintptr_t address)
{
    return is_in(address, bare_library_begin, bare_library_end);
}

/* outside: the call that was found last is not the library's. Then it was not made by a function
 * that the library calls by name. */
static bool is_return(uintptr_t word, bool outside)
{
    uintptr_t target;
    return is_in(word, bare_text_begin + 8, bare_text_end) && arch_call_before(word, &target) &&
           !(outside && in_library(word) && in_library(target));
}

/* The library's own innermost calls say nothing: they are left out; and repeated ones, also of two
 * by turns, as in a recursion whose frames hold a number that looks like a call. */
void bare_say_calls(const struct thread *t, uintptr_t from, uintptr_t to, unsigned lines)
{
    const uintptr_t size = sizeof(uintptr_t);
    uintptr_t end = stack_end(t, from), last = 0, before = 0;
    bool any = false;
    end = end < to ? end : to;
    for (uintptr_t at = (from + size - 1) & ~(size - 1); at < end && lines != 0; at += size) {
        uintptr_t word = *(const volatile uintptr_t *)at;
        if (word == last || word == before || !is_return(word, last != 0 && !in_library(last))) {
            continue;
        }
        before = last;
        last = word;
        any |= !in_library(word);
        if (any) {
            bare_say_place("from", ARCH_CODE(word));
            lines--;
        }
    }
}
