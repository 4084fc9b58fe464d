/* SPDX-License-Identifier: MIT */
/*
 * glibc_facts.c - finds what glibc.h declares, in a running glibc.
 *
 * Sources, best first:
 *   - public interfaces: dl_iterate_phdr, the addresses of errno and of our own TLS variables;
 *   - symbols that glibc has for libthread_db, _thread_db_*: the offsets of fields of struct
 *     pthread and of ld.so's globals. Up to 2.33 they are local to libpthread, and so are the
 *     lists of threads;
 *   - neighbours of those fields, known for some versions: `known`. They are checked as far as
 *     possible; if a check fails, or the version is another one, threads have no blocks of their
 *     own.
 * The neighbours were read off the debugging information of Debian's packages (2.31, 2.36, 2.41,
 * 2.43) and, for the versions between them, off glibc's source.
 */
#include "glibc.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ADDRESS 0x10000u /* of memory; the counts beside the pointer to a dtv are smaller */

/* Where fields lie that no symbol tells: in words from the list of modules with TLS. Before the
 * list: the highest module number. Behind it: the number of modules that the program was started
 * with. */
#define MODULE_MAX (-1)
#define MODULES_AT_START 1

struct version {
    unsigned first, last; /* 2.first to 2.last */
    int static_used;      /* words from the list of modules: bytes of static TLS in use */
    int generation;       /* ... the counter of generations; before it: a pointer to a dtv */
    /* Bytes from the list head of descriptors whose stacks glibc did not allocate, to the lock of
     * the lists. 0: lists and lock are libpthread's. */
    unsigned list_lock;
    bool libpthread; /* a library of its own has the symbols */
};

static const struct version known[] = {
    {31, 31, 3, 6, 0, true}, /* as published; Debian's has a fix of 2.32 */
    {31, 32, 3, 7, 0, true},
    {33, 33, 3, 7, 16, true},
    {34, 43, 2, 5, 48, false},
};

#define KNOWN_TEXT "2.31 to 2.43"

struct glibc_facts glibc;

void glibc_lock(uint32_t *lock)
{
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE) != 0) {
            futex_wait(lock, 2, UINT64_MAX);
        }
    }
}

void glibc_unlock(uint32_t *lock)
{
    uint32_t before = __atomic_exchange_n(lock, 0, __ATOMIC_RELEASE);
    RT_ASSERT(before == 1 || before == 2);
    if (before == 2) {
        futex_wake(lock);
    }
}

/* A descriptor of libthread_db: size in bits, number of elements, offset in bytes. */
struct field {
    uint32_t bits, count, offset;
};

static void *symbol(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    return address != NULL ? address : glibc_libpthread_symbol(name);
}

static bool field_offset(const char *name, uint32_t bits, size_t *offset)
{
    const struct field *field = symbol(name);
    if (field == NULL || field->bits != bits) {
        return false;
    }
    *offset = field->offset;
    return true;
}

/* 0: not glibc 2. */
static unsigned long version_minor(void)
{
    const char *text = gnu_get_libc_version();
    return strncmp(text, "2.", 2) == 0 ? strtoul(text + 2, NULL, 10) : 0;
}

static bool version_is(const struct version *version, unsigned long minor)
{
    return minor >= version->first && minor <= version->last;
}

size_t glibc_descriptor_size(void)
{
    unsigned long minor = version_minor();
    for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
        if (known[i].libpthread && version_is(&known[i], minor)) {
            glibc_libpthread_open();
        }
    }
    const uint32_t *size = symbol("_thread_db_sizeof_pthread");
    return size != NULL ? *size : 0;
}

static bool find_functions(void)
{
    void (*static_info)(size_t *, size_t *);
    *(void **)&glibc.allocate = dlsym(RTLD_DEFAULT, "_dl_allocate_tls");
    *(void **)&glibc.allocate_init = dlsym(RTLD_DEFAULT, "_dl_allocate_tls_init");
    *(void **)&glibc.deallocate = dlsym(RTLD_DEFAULT, "_dl_deallocate_tls");
    *(void **)&glibc.call_destructors = dlsym(RTLD_DEFAULT, "__call_tls_dtors");
    *(void **)&static_info = dlsym(RTLD_DEFAULT, "_dl_get_tls_static_info");
    if (glibc.allocate == NULL || glibc.allocate_init == NULL || glibc.deallocate == NULL ||
        glibc.call_destructors == NULL || static_info == NULL) {
        return false;
    }
    static_info(&glibc.static_size, &glibc.align);
    return true;
}

static bool find_lists(const struct version *version, char *rtld)
{
    size_t blocks, threads;
    if (version->list_lock == 0) {
        glibc.blocks = symbol("__stack_user");
        glibc.threads = symbol("stack_used");
        glibc.blocks_lock = symbol("stack_cache_lock");
        return glibc.blocks != NULL && glibc.threads != NULL && glibc.blocks_lock != NULL;
    }
    if (!field_offset("_thread_db_rtld_global__dl_stack_user", 128, &blocks) ||
        !field_offset("_thread_db_rtld_global__dl_stack_used", 128, &threads)) {
        return false;
    }
    glibc.blocks = (struct glibc_list *)(rtld + blocks);
    glibc.blocks_lock = (uint32_t *)(rtld + blocks + version->list_lock);
    glibc.threads = (struct glibc_list *)(rtld + threads);
    return true;
}

static bool find_fields(const struct version *version)
{
    const uint32_t *descriptor = symbol("_thread_db_sizeof_pthread");
    char *rtld = symbol("_rtld_global");
    size_t modules, dtv;
    if (descriptor == NULL || rtld == NULL || !find_lists(version, rtld) ||
        !field_offset("_thread_db_pthread_tid", 32, &glibc.tid_at) ||
        !field_offset("_thread_db_pthread_list", 128, &glibc.list_at) ||
        !field_offset("_thread_db_pthread_dtvp", 64, &dtv) ||
        !field_offset("_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", 64, &modules)) {
        return false;
    }
    glibc.descriptor = *descriptor;
    glibc.dtv_at = PORT_ARCH_TLS_VARIANT == 1 ? dtv - glibc.descriptor : dtv;
    const size_t *module_list = (size_t *)(rtld + modules);
    glibc.module_max = module_list + MODULE_MAX;
    glibc.first_dynamic = module_list[MODULES_AT_START] + 1;
    glibc.static_used = module_list + version->static_used;
    glibc.generation = module_list + version->generation;
    return glibc.generation[-1] >= FIRST_ADDRESS;
}

/* The modules with TLS, from dl_iterate_phdr. */
struct modules {
    size_t highest, libc; /* numbers */
    size_t used;          /* bytes of static TLS up to the farthest module */
    bool own;             /* our module holds all our variables */
    uintptr_t tp;
};

static const ElfW(Phdr) * tls_segment(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            return &info->dlpi_phdr[i];
        }
    }
    return NULL;
}

static bool range_holds(const struct glibc_range *range, uintptr_t tp, const void *variable)
{
    return (uintptr_t)variable - (tp + (uintptr_t)range->at) < range->size;
}

/* Bytes of the block up to the far end of the range; 0 if it does not lie in the block. */
static size_t range_reach(const struct glibc_range *range)
{
    ptrdiff_t reach = PORT_ARCH_TLS_VARIANT == 1 ? range->at + (ptrdiff_t)range->size : -range->at;
    return reach > 0 && (size_t)reach <= glibc.static_size ? (size_t)reach : 0;
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct modules *all = arg;
    const ElfW(Phdr) *segment = tls_segment(info);
    (void)size;
    if (segment == NULL) {
        return 0;
    }
    /* Of a dynamic module that the caller has not used there is no data. */
    struct glibc_range range = {(ptrdiff_t)((uintptr_t)info->dlpi_tls_data - all->tp),
                                segment->p_memsz};
    size_t number = info->dlpi_tls_modid, reach = range_reach(&range);
    all->highest = number > all->highest ? number : all->highest;
    if (reach == 0) {
        return 0;
    }
    all->used = reach > all->used ? reach : all->used;
    if (range_holds(&range, all->tp, &errno)) {
        glibc.libc = range;
        all->libc = number;
    }
    if (range_holds(&range, all->tp, &port_tls_self)) {
        glibc.own = range;
        all->own = range_holds(&range, all->tp, &port_tls_thread);
    }
    return 0;
}

static bool check_modules(void)
{
    struct modules all = {.tp = port_arch_tp()};
    dl_iterate_phdr(look_at_module, &all);
    return glibc.libc.size != 0 && all.own && *glibc.module_max >= all.highest &&
           *glibc.module_max < all.highest + 4096 && glibc.first_dynamic > all.libc &&
           glibc.first_dynamic <= *glibc.module_max + 1 && *glibc.static_used >= all.used &&
           *glibc.static_used <= glibc.static_size;
}

/* A lock that is one is free soon. */
static bool lock_soon(uint32_t *lock)
{
    for (unsigned round = 0; round < 100000; round++) {
        uint32_t free = 0;
        if (__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            return true;
        }
        if (free > 2) {
            return false;
        }
        port_relax(round);
    }
    return false;
}

/* A ring of descriptors; true if it is whole. *found: one has the process's id, the main thread's.
 */
static bool check_ring(struct glibc_list *head, bool *found)
{
    struct glibc_list *link = head;
    RT_ASSERT(glibc_is_locked(glibc.blocks_lock));
    for (unsigned steps = 0; steps < 1u << 20; steps++) {
        struct glibc_list *next = link->next;
        if (next == NULL || next->prev != link) {
            return false;
        }
        if (next == head) {
            return true;
        }
        *found |= *(pid_t *)((char *)next - glibc.list_at + glibc.tid_at) == getpid();
        link = next;
    }
    return false;
}

static bool check_lists(void)
{
    bool found = false;
    if (!lock_soon(glibc.blocks_lock)) {
        return false;
    }
    bool whole = check_ring(glibc.blocks, &found) && check_ring(glibc.threads, &found);
    glibc_unlock(glibc.blocks_lock);
    return whole && found;
}

static unsigned list_ids(const struct glibc_list *head, pid_t *tids, unsigned room, unsigned n)
{
    RT_ASSERT(glibc_is_locked(glibc.blocks_lock));
    for (const struct glibc_list *link = head->next; link != head; link = link->next) {
        RT_ASSERT(link->next->prev == link);
        pid_t tid = *(const volatile pid_t *)((const char *)link - glibc.list_at + glibc.tid_at);
        if (tid > 0 && tid < GLIBC_FIRST_TID) {
            if (n < room) {
                tids[n] = tid;
            }
            n++;
        }
    }
    return n;
}

unsigned glibc_kernel_threads(pid_t *tids, unsigned room)
{
    glibc_lock(glibc.blocks_lock);
    unsigned n = list_ids(glibc.threads, tids, room, 0);
    n = list_ids(glibc.blocks, tids, room, n);
    glibc_unlock(glibc.blocks_lock);
    return n;
}

static bool find_all(const struct version *version)
{
    if (version->libpthread) {
        glibc_libpthread_open();
    }
    return find_functions() && find_fields(version) && check_modules() && check_lists();
}

int glibc_find(const char **why)
{
    static char text[160];
    unsigned long minor = version_minor();
    *why = text;
    snprintf(text, sizeof(text),
             "the inside of this C library, glibc %s, is not known (of " KNOWN_TEXT " it is)",
             gnu_get_libc_version());
    for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
        if (version_is(&known[i], minor)) {
            if (find_all(&known[i])) {
                glibc_rseq_find();
                return 0;
            }
            snprintf(text, sizeof(text), "this glibc %s is not laid out as expected",
                     gnu_get_libc_version());
        }
    }
    return -ENOTSUP;
}
