/* SPDX-License-Identifier: MIT */
/*
 * plan_x86.c (Linux, x86-64) - where a module makes system calls, and where it has room for
 * jumps. Reads code and changes none.
 *
 * A system call has 2 bytes: enough for a jump by -128 to 127. There must be 5 bytes that nobody
 * executes, for a jump to anywhere:
 *   - between two functions, where compilers align the second one: NOPs, behind an instruction
 *     that does not go on to the next;
 *   - inside a long NOP. A jump in its first two bytes leads behind it.
 *   - in the instruction before the system call, if that only loads or stores a register. It moves
 *     to the place where the jump leads. A thread that is between the two when the code changes
 *     executes it twice, which does no harm.
 * If they are too far away, jumps of 2 bytes in such places lead there.
 *
 * Which bytes are instructions is known from the call frame information: a function is decoded from
 * its first byte to its last. If the pair of bytes that is a system call occurs in code without
 * that information, or behind an instruction that the decoder does not know, or if the room does
 * not suffice, there is no plan: a module changes whole or not at all.
 */
#include "redirect_plan.h"

#if defined(__x86_64__) && defined(REDIRECT)

#include <string.h>

#include "code_x86.h"

#define LINE 64u    /* two bytes in one line of the cache are written at once */
#define AROUND 512  /* bytes before and behind a system call in which room is looked for */
#define GAP_MAX 64u /* bytes between two functions */
#define NO_CODE_STEP 16u
#define TRIES 1000u
#define HOP 2
#define JUMP 5
#define NOT_REACHED UINT16_MAX
#define FROM_SITE (UINT16_MAX - 1)

static bool in_one_line(uintptr_t at)
{
    return at % LINE != LINE - 1;
}

/* Can a jump of two bytes at `from` lead there? */
static bool reaches(uintptr_t from, uintptr_t to)
{
    intptr_t distance = (intptr_t)(to - from - HOP);
    return distance >= INT8_MIN && distance <= INT8_MAX;
}

static bool add_site(struct redirect_plan *plan, uintptr_t at, const struct code *last)
{
    if (plan->nsites == REDIRECT_SITES || !in_one_line(at)) {
        return false;
    }
    bool movable = last->moves && last->length >= JUMP && in_one_line(at - last->length);
    plan->sites[plan->nsites++] = (struct redirect_site){
        .at = at, .before = movable ? last->length : 0, .relative = last->relative};
    return true;
}

/* The bytes at `at` are 0f 05: a system call, or a part of another instruction? False: unknown. */
static bool look_at(struct redirect_plan *plan, uintptr_t at)
{
    struct cfi_entry e;
    if (!cfi_find(&e, at)) {
        return false;
    }
    struct code last = {0};
    for (uintptr_t pc = e.begin; pc <= at;) {
        struct code code = code_at((const uint8_t *)pc, e.end - pc);
        if (code.length == 0) {
            return false;
        }
        if (pc == at) {
            return code.kind == CODE_SYSCALL && add_site(plan, at, &last);
        }
        last = code;
        pc += code.length;
    }
    return true;
}

static bool find_sites(struct redirect_plan *plan, uintptr_t low, uintptr_t high)
{
    static const uint8_t syscall_bytes[] = {0x0f, 0x05};
    const uint8_t *at = (const uint8_t *)low;
    while (true) {
        at = memmem(at, high - (uintptr_t)at, syscall_bytes, sizeof(syscall_bytes));
        if (at == NULL) {
            return plan->nsites != 0;
        }
        if (!look_at(plan, (uintptr_t)at)) {
            return false;
        }
        at += sizeof(syscall_bytes);
    }
}

static void add_region(struct redirect_plan *plan, struct redirect_region region)
{
    if (plan->room.nregions < REDIRECT_REGIONS && region.size >= HOP) {
        plan->room.regions[plan->room.nregions++] = region;
    }
}

/* The NOPs of a function that are at or above `from`. Returns whether what follows it is not
 * executed; *bad: there is an unknown instruction. */
static bool gather_in(struct redirect_plan *plan, const struct cfi_entry *e, uintptr_t from,
                      bool *bad)
{
    struct code code = {0};
    for (uintptr_t pc = e->begin; pc < e->end; pc += code.length) {
        code = code_at((const uint8_t *)pc, e->end - pc);
        if (code.length == 0) {
            *bad = true;
            return false;
        }
        if (code.kind == CODE_NOP && code.length >= 2 * HOP && pc >= from && in_one_line(pc)) {
            uint16_t left = (uint16_t)(code.length - HOP);
            add_region(plan, (struct redirect_region){pc + HOP, pc, left, left});
        }
    }
    return code.kind == CODE_LEAVES;
}

/* Where the next function begins, if there are only NOPs up to it; 0: there are not. */
static uintptr_t behind_gap(uintptr_t begin, uintptr_t high)
{
    struct cfi_entry e;
    uintptr_t at = begin;
    while (at < high && at - begin < GAP_MAX && !cfi_find(&e, at)) {
        struct code code = code_at((const uint8_t *)at, high - at);
        if (code.length == 0 || code.kind != CODE_NOP) {
            return 0;
        }
        at += code.length;
    }
    return at < high && at - begin < GAP_MAX && e.begin == at ? at : 0;
}

/* The regions at or above `from`, and below `to` or little above; returns where to go on. high: the
 * end of the code. */
static uintptr_t gather(struct redirect_plan *plan, uintptr_t from, uintptr_t to, uintptr_t high)
{
    uintptr_t at = from;
    while (at < to && at < high) {
        struct cfi_entry e;
        bool bad = false;
        if (!cfi_find(&e, at)) {
            at += NO_CODE_STEP;
            continue;
        }
        bool ends = gather_in(plan, &e, from, &bad);
        uintptr_t next = bad || !ends ? 0 : behind_gap(e.end, high);
        if (next > e.end) {
            add_region(plan, (struct redirect_region){e.end, 0, (uint16_t)(next - e.end), 0});
        }
        at = next != 0 ? next : e.end;
    }
    return at;
}

/* The way back from region `last` gets its bytes. */
static bool take_way(struct redirect_plan *plan, struct redirect_site *site, unsigned last)
{
    struct redirect_region *r = &plan->room.left[last];
    uintptr_t to = r->at;
    site->last = to;
    r->at += JUMP;
    r->size = (uint16_t)(r->size - JUMP);
    for (unsigned i = plan->room.before[last]; i != FROM_SITE; i = plan->room.before[i]) {
        r = &plan->room.left[i];
        if (plan->room.nhops == REDIRECT_HOPS) {
            return false;
        }
        plan->room.hops[plan->room.nhops++] = (struct redirect_hop){r->at, to};
        to = r->at;
        r->at += HOP;
        r->size = (uint16_t)(r->size - HOP);
    }
    site->first = to;
    return true;
}

/* The shortest way from the site over regions to one that has room for the jump. */
static bool find_way(struct redirect_plan *plan, struct redirect_site *site)
{
    unsigned head = 0, tail = 0;
    if (site->before != 0) {
        site->first = site->last = site->at - site->before;
        return true;
    }
    memset(plan->room.before, 0xff,
           plan->room.nregions * sizeof(plan->room.before[0])); /* NOT_REACHED */
    for (uintptr_t from = site->at;; from = plan->room.left[plan->room.queue[head++]].at) {
        for (unsigned i = 0; i < plan->room.nregions; i++) {
            const struct redirect_region *r = &plan->room.left[i];
            if (plan->room.before[i] != NOT_REACHED || r->size < HOP || !reaches(from, r->at)) {
                continue;
            }
            plan->room.before[i] = from == site->at ? FROM_SITE : plan->room.queue[head - 1];
            if (r->size >= JUMP) {
                return take_way(plan, site, i);
            }
            plan->room.queue[tail++] = (uint16_t)i;
        }
        if (head == tail) {
            return false;
        }
    }
}

/* A jump leads to `to`. Sites are in the order of their addresses. */
static void note_jump(struct redirect_plan *plan, uintptr_t to)
{
    unsigned low = 0, high = plan->nsites;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (plan->sites[middle].at < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < plan->nsites && plan->sites[low].at == to) {
        plan->sites[low].entered = true;
    }
}

/* Look at all jumps of the module. False: at an instruction that is unknown. */
static bool note_jumps(struct redirect_plan *plan, uintptr_t low, uintptr_t high)
{
    struct cfi_entry e;
    for (uintptr_t at = low; at < high;) {
        if (!cfi_find(&e, at)) {
            at++;
            continue;
        }
        for (at = e.begin; at < e.end;) {
            struct code code = code_at((const uint8_t *)at, e.end - at);
            if (code.length == 0) {
                return false;
            }
            at += code.length;
            if (code.jumps) {
                note_jump(plan, at + (uintptr_t)(intptr_t)code.distance);
            }
        }
    }
    return true;
}

/* The instruction before the call moves away, if there is one that can. Then no code may jump to
 * the call. */
static void use_moves(struct redirect_plan *plan, uintptr_t low, uintptr_t high)
{
    bool known = note_jumps(plan, low, high);
    for (unsigned i = 0; i < plan->nsites; i++) {
        struct redirect_site *site = &plan->sites[i];
        if (!known || site->entered) {
            site->before = 0;
        }
    }
}

/* The order in which the calls take their bytes decides whether there are enough for all: several
 * are tried. */
static void shuffle(struct redirect_plan *plan, uint32_t *seed)
{
    for (unsigned i = plan->nsites - 1; i > 0; i--) {
        *seed = *seed * 1664525u + 1013904223u;
        unsigned other = (*seed >> 8) % (i + 1);
        struct redirect_site site = plan->sites[i];
        plan->sites[i] = plan->sites[other];
        plan->sites[other] = site;
    }
}

static bool find_ways(struct redirect_plan *plan)
{
    uint32_t seed = 77;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        unsigned found = 0;
        plan->room.nhops = 0;
        memcpy(plan->room.left, plan->room.regions,
               plan->room.nregions * sizeof(plan->room.left[0]));
        while (found < plan->nsites && find_way(plan, &plan->sites[found])) {
            found++;
        }
        if (found == plan->nsites) {
            return true;
        }
        shuffle(plan, &seed);
    }
    return false;
}

static void bounds_of(struct redirect_plan *plan)
{
    plan->low = UINTPTR_MAX;
    plan->high = 0;
    for (unsigned i = 0; i < plan->room.nregions; i++) {
        const struct redirect_region *r = &plan->room.regions[i];
        uintptr_t low = r->head != 0 ? r->head : r->at;
        plan->low = low < plan->low ? low : plan->low;
        plan->high = r->at + r->size > plan->high ? r->at + r->size : plan->high;
    }
    for (unsigned i = 0; i < plan->nsites; i++) {
        uintptr_t at = plan->sites[i].at, from = at - plan->sites[i].before;
        plan->low = from < plan->low ? from : plan->low;
        plan->high = at + HOP > plan->high ? at + HOP : plan->high;
    }
}

bool redirect_plan_code(struct redirect_plan *plan, uintptr_t low, uintptr_t high)
{
    uintptr_t gathered = low;
    plan->room.nregions = plan->room.nhops = 0;
    if (!find_sites(plan, low, high)) {
        return false;
    }
    for (unsigned i = 0; i < plan->nsites; i++) {
        uintptr_t at = plan->sites[i].at, from = at - low > AROUND ? at - AROUND : low;
        gathered = gather(plan, from > gathered ? from : gathered, at + AROUND, high);
    }
    bounds_of(plan);
    use_moves(plan, low, high);
    return find_ways(plan);
}

int redirect_plan_protection(const Elf64_Ehdr *head, uintptr_t base)
{
    (void)head;
    (void)base;
    return 0;
}

#endif
