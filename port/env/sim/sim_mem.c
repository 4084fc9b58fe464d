/* SPDX-License-Identifier: MIT */
/*
 * sim_mem.c - the simulator's memory model.
 *
 * Model: C11 atomics by views (as in Kang et al., "A Promising Semantics for Relaxed-Memory
 * Concurrency", POPL 2017, without promises: no load buffering). Every location has a list of its
 * recent stores, in modification order, with time stamps. A view says for each location how old a
 * store may still be read. Each context has cur  what it may read at the oldest; grows by its own
 * accesses and by acquired messages acq  what an acquire fence would add (messages of relaxed
 * loads) rel  what a relaxed store publishes (cur at the last release fence) A store carries a
 * message view: cur for a release store, rel else; a read-modify-write reads the newest store and
 * passes the message on (release sequence). A sequentially consistent fence exchanges cur with one
 * global view in both directions; the heavy fence does so for every context at once.
 *
 * Invariants: the real memory always holds the newest store; the ring of a location holds the
 * newest HISTORY of them; a store older than AGE_LIMIT steps is no longer shown, so that every
 * store becomes visible at last. Memory that changes behind the model's back (plain initialisation)
 * shows as a difference and resets the location.
 */
#include <stdlib.h>
#include <string.h>

#include "atomic_sim.h"
#include "sim.h"

#define HISTORY 4u
#define AGE_LIMIT 400u
#define TABLE_SIZE 262144u

struct view {
    uint32_t n; /* locations 0 .. n-1 may be non-zero */
    uint32_t room;
    uint32_t *stamp; /* by location */
};

struct record {
    uint64_t value;
    uint64_t step; /* when stored */
    uint32_t stamp;
    struct view message; /* empty for a plain relaxed store of a context without release fence */
};

struct location {
    volatile void *address;
    uint32_t size;
    uint32_t id;
    uint32_t used;  /* records in the ring */
    uint32_t stamp; /* of the newest */
    struct record ring[HISTORY];
};

static struct {
    bool weak, asymmetric;
    struct location table[TABLE_SIZE / 2]; /* by id, so that few pages hold those of a run */
    uint32_t nlocations;
    uint32_t slots[TABLE_SIZE]; /* by the hash of the address: 1 + id; 0: free */
    struct view cur[SIM_CONTEXTS], acq[SIM_CONTEXTS], rel[SIM_CONTEXTS];
    struct view sc;
    bool stored[SIM_CONTEXTS]; /* since its last read-modify-write */
} mem;

static uint32_t slot_of[TABLE_SIZE / 2]; /* by id, for a quick reset */

static uint64_t raw_get(const volatile void *p, size_t size)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)p;
    case 4:
        return *(const volatile uint32_t *)p;
    case 8:
        return *(const volatile uint64_t *)p;
    default:
        sim_fail("atomic access of %zu bytes", size);
    }
}

static void raw_set(volatile void *p, size_t size, uint64_t value)
{
    switch (size) {
    case 1:
        *(volatile uint8_t *)p = (uint8_t)value;
        break;
    case 4:
        *(volatile uint32_t *)p = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)p = value;
        break;
    }
}

static uint32_t view_get(const struct view *v, uint32_t id)
{
    return id < v->n ? v->stamp[id] : 0;
}

static void view_room(struct view *v, uint32_t n)
{
    if (n > v->room) {
        v->room = n + 64;
        v->stamp = realloc(v->stamp, v->room * sizeof(uint32_t));
    }
}

static void view_reserve(struct view *v, uint32_t n)
{
    view_room(v, n);
    if (n > v->n) {
        memset(v->stamp + v->n, 0, (n - v->n) * sizeof(uint32_t));
        v->n = n;
    }
}

static void view_raise(struct view *v, uint32_t id, uint32_t stamp)
{
    view_reserve(v, id + 1);
    if (v->stamp[id] < stamp) {
        v->stamp[id] = stamp;
    }
}

static void view_join(struct view *to, const struct view *from)
{
    uint32_t n = from->n, *stamp;
    const uint32_t *theirs = from->stamp;
    view_reserve(to, n);
    stamp = to->stamp;
    for (uint32_t i = 0; i < n; i++) { /* without branches: the long run spends its time here */
        stamp[i] = stamp[i] < theirs[i] ? theirs[i] : stamp[i];
    }
}

static void view_copy(struct view *to, const struct view *from)
{
    view_room(to, from->n);
    to->n = from->n;
    if (from->n != 0) {
        memcpy(to->stamp, from->stamp, from->n * sizeof(uint32_t));
    }
}

static struct record *record_newest(struct location *l)
{
    return &l->ring[l->stamp % HISTORY];
}

_Static_assert(HISTORY >= 2,
               "a read-modify-write passes on the message of the record before its own");

/* Forget the past: the memory has a new life with this value. */
static void location_reset(struct location *l, uint64_t value)
{
    l->stamp++;
    l->used = 1;
    struct record *r = record_newest(l);
    r->value = value;
    r->stamp = l->stamp;
    r->step = sim_step();
    r->message.n = 0;
}

/* The slot of this address, or the free one that it would get. */
static uint32_t location_slot(const volatile void *p)
{
    uintptr_t h = ((uintptr_t)p >> 2) * 0x9e3779b97f4a7c15ull;
    uint32_t i = (uint32_t)(h >> 40) % TABLE_SIZE;
    while (mem.slots[i] != 0 && mem.table[mem.slots[i] - 1].address != p) {
        i = (i + 1) % TABLE_SIZE;
    }
    return i;
}

static struct location *location_new(uint32_t slot, const volatile void *p, size_t size)
{
    uint32_t id = mem.nlocations;
    if (id == TABLE_SIZE / 2) {
        sim_fail("too many atomic locations");
    }
    struct location *l = &mem.table[id];
    l->address = (volatile void *)(uintptr_t)p;
    l->size = (uint32_t)size;
    l->id = id;
    l->stamp = 0;
    location_reset(l, raw_get(p, size));
    slot_of[id] = slot;
    mem.slots[slot] = id + 1;
    mem.nlocations++;
    return l;
}

static struct location *location_of(const volatile void *p, size_t size)
{
    uint32_t slot = location_slot(p);
    struct location *l =
        mem.slots[slot] != 0 ? &mem.table[mem.slots[slot] - 1] : location_new(slot, p, size);
    uint64_t raw = raw_get(p, size);
    if (record_newest(l)->value != raw) {
        location_reset(l, raw);
    }
    return l;
}

/* One of the stores that the running context may read. */
static struct record *record_choose(struct location *l)
{
    uint32_t oldest = l->stamp - (l->used - 1);
    uint32_t least = view_get(&mem.cur[sim_current], l->id);
    if (least > oldest) {
        oldest = least;
    }
    /* A store may be read until AGE_LIMIT steps after the next one has replaced it. */
    while (oldest < l->stamp && sim_step() - l->ring[(oldest + 1) % HISTORY].step > AGE_LIMIT) {
        oldest++;
    }
    uint32_t range = l->stamp - oldest + 1;
    if (range <= 1 || sim_fresh(sim_current) || sim_choose(2) == 0) {
        return record_newest(l);
    }
    return &l->ring[(oldest + sim_choose(range)) % HISTORY];
}

static void message_read(const struct record *r, enum sim_order order)
{
    view_join(&mem.acq[sim_current], &r->message);
    if (order & SIM_ACQ) {
        view_join(&mem.cur[sim_current], &r->message);
    }
}

static void record_add(struct location *l, uint64_t value, enum sim_order order,
                       const struct view *passed_on)
{
    l->stamp++;
    l->used = l->used < HISTORY ? l->used + 1 : HISTORY;
    struct record *r = record_newest(l);
    r->value = value;
    r->stamp = l->stamp;
    r->step = sim_step();
    view_raise(&mem.cur[sim_current], l->id, l->stamp);
    view_raise(&mem.acq[sim_current], l->id, l->stamp);
    view_copy(&r->message, order & SIM_REL ? &mem.cur[sim_current] : &mem.rel[sim_current]);
    view_raise(&r->message, l->id, l->stamp);
    if (passed_on != NULL) {
        view_join(&r->message, passed_on);
    }
}

uint64_t sim_load(const volatile void *p, size_t size, enum sim_order order)
{
    if (!sim_active || sim_quiet) {
        return raw_get(p, size);
    }
    struct location *l = location_of(p, size);
    sim_point(1 + order, l->id);
    if (!mem.weak) {
        return raw_get(p, size);
    }
    l = location_of(p, size);
    struct record *r = record_choose(l);
    view_raise(&mem.cur[sim_current], l->id, r->stamp);
    view_raise(&mem.acq[sim_current], l->id, r->stamp);
    message_read(r, order);
    return r->value;
}

void sim_store(volatile void *p, size_t size, uint64_t value, enum sim_order order)
{
    if (!sim_active || sim_quiet) {
        raw_set(p, size, value);
        return;
    }
    struct location *l = location_of(p, size);
    sim_point(8 + order, l->id);
    mem.stored[sim_current] = true;
    if (mem.weak) {
        l = location_of(p, size);
        raw_set(p, size, value);
        record_add(l, raw_get(p, size), order, NULL);
    } else {
        raw_set(p, size, value);
        record_newest(l)->value = raw_get(p, size);
    }
}

static void rmw_finish(struct location *l, volatile void *p, size_t size, uint64_t value,
                       enum sim_order order)
{
    raw_set(p, size, value);
    if (mem.weak) {
        record_add(l, raw_get(p, size), order, &record_newest(l)->message);
    } else {
        record_newest(l)->value = raw_get(p, size);
    }
}

static void rmw_read(struct location *l, enum sim_order order)
{
    mem.stored[sim_current] = false;
    if (mem.weak) {
        struct record *r = record_newest(l);
        view_raise(&mem.cur[sim_current], l->id, r->stamp);
        message_read(r, order);
    }
}

uint64_t sim_rmw(volatile void *p, size_t size, enum sim_rmw op, uint64_t value,
                 enum sim_order order)
{
    uint64_t old = raw_get(p, size);
    struct location *l = NULL;
    if (sim_active && !sim_quiet) {
        l = location_of(p, size);
        sim_point(16 + order, l->id);
        l = location_of(p, size);
        old = raw_get(p, size);
        rmw_read(l, order);
    }
    uint64_t new = op == SIM_XCHG  ? value
                   : op == SIM_ADD ? old + value
                   : op == SIM_SUB ? old - value
                   : op == SIM_OR  ? (old | value)
                                   : (old & value);
    if (l != NULL) {
        rmw_finish(l, p, size, new, order);
    } else {
        raw_set(p, size, new);
    }
    return old;
}

int sim_cas(volatile void *p, size_t size, uint64_t *want, uint64_t value, enum sim_order order)
{
    struct location *l = NULL;
    if (sim_active && !sim_quiet) {
        l = location_of(p, size);
        sim_point(24 + order, l->id);
        l = location_of(p, size);
        rmw_read(l, order);
    }
    uint64_t old = raw_get(p, size);
    if (old != *want) {
        *want = old;
        return 0;
    }
    if (l != NULL) {
        rmw_finish(l, p, size, value, order);
    } else {
        raw_set(p, size, value);
    }
    return 1;
}

/* cur and acq meet the global view in both directions; afterwards all is released. */
static void fence_gather(unsigned c)
{
    view_join(&mem.sc, &mem.cur[c]);
    view_join(&mem.sc, &mem.acq[c]);
}

static void fence_spread(unsigned c)
{
    view_copy(&mem.cur[c], &mem.sc);
    view_copy(&mem.rel[c], &mem.sc);
    view_copy(&mem.acq[c], &mem.sc);
}

void sim_fence(enum sim_fence kind)
{
    if (!sim_active || sim_quiet) {
        return;
    }
    bool free_of_charge = kind == SIM_FENCE_LIGHT && mem.asymmetric;
    if (kind == SIM_FENCE_RMW && mem.stored[sim_current]) {
        sim_fail(
            "at_fence_after_rmw after a store: on x86 it orders only what precedes the read-modify-write");
    }
    sim_point(32 + (uint32_t)kind, 0);
    if (!mem.weak || free_of_charge) {
        return;
    }
    if (kind == SIM_FENCE_HEAVY && mem.asymmetric) {
        for (unsigned c = 0; c < sim_ncontexts; c++) {
            fence_gather(c);
        }
        for (unsigned c = 0; c < sim_ncontexts; c++) {
            fence_spread(c);
        }
        return;
    }
    fence_gather(sim_current);
    fence_spread(sim_current);
}

void sim_init(volatile void *p, size_t size, uint64_t value)
{
    raw_set(p, size, value);
    if (!sim_active) {
        return;
    }
    uint32_t id = mem.slots[location_slot(p)];
    if (id != 0) {
        location_reset(&mem.table[id - 1], raw_get(p, size));
    }
}

void sim_mem_inherit(unsigned context)
{
    view_copy(&mem.cur[context], &mem.cur[sim_current]);
    view_copy(&mem.acq[context], &mem.cur[sim_current]);
}

void sim_mem_forget(void *low, size_t size)
{
    for (uint32_t i = 0; i < mem.nlocations; i++) {
        struct location *l = &mem.table[i];
        if ((uintptr_t)l->address - (uintptr_t)low < size) {
            location_reset(l, 0);
            record_newest(l)->value = ~0ull; /* unlike any later value */
        }
    }
}

const volatile void *sim_mem_address(uint32_t location)
{
    return mem.table[location].address;
}

void sim_mem_begin(bool weak, bool asymmetric)
{
    mem.weak = weak;
    mem.asymmetric = asymmetric;
}

void sim_mem_end(void)
{
    for (uint32_t i = 0; i < mem.nlocations; i++) {
        mem.slots[slot_of[i]] = 0;
        for (unsigned k = 0; k < HISTORY; k++) {
            mem.table[i].ring[k].message.n = 0;
        }
    }
    mem.nlocations = 0;
    mem.sc.n = 0;
    for (unsigned c = 0; c < SIM_CONTEXTS; c++) {
        mem.cur[c].n = mem.acq[c].n = mem.rel[c].n = 0;
        mem.stored[c] = false;
    }
}
