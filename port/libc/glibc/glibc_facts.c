/* SPDX-License-Identifier: MIT */
/*
 * glibc_facts.c - finds what glibc.h declares, in a running glibc 2.36.
 *
 * Sources, best first:
 *   - public interfaces: dl_iterate_phdr, the addresses of errno and of our own TLS variables;
 *   - symbols that glibc exports for libthread_db, _thread_db_*: the offsets of fields of struct
 *     pthread and of ld.so's globals;
 *   - neighbours of those fields, known for this version only: NEIGHBOUR_* below. They are checked
 *     as far as possible; if a check fails, threads have no blocks of their own.
 */
#include "glibc.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_VERSION "2.36"

/* From the list head of the descriptors whose stacks glibc did not allocate: to the lock of the
 * lists (behind this head: the head of the stack cache, two words). */
#define NEIGHBOUR_LIST_LOCK 48u

/* From the list of modules with TLS, in words: the number of modules that the program was started
 * with, bytes of static TLS in use, and the generation counter. Before it: the highest module
 * number. */
#define NEIGHBOUR_MODULE_MAX (-1)
#define NEIGHBOUR_MODULES_AT_START 1
#define NEIGHBOUR_STATIC_USED 2
#define NEIGHBOUR_GENERATION 5

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

static bool field_offset(const char *name, uint32_t bits, size_t *offset)
{
    const struct field *field = dlsym(RTLD_DEFAULT, name);
    if (field == NULL || field->bits != bits) {
        return false;
    }
    *offset = field->offset;
    return true;
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

static bool find_fields(void)
{
    const uint32_t *descriptor = dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread");
    char *rtld = dlsym(RTLD_DEFAULT, "_rtld_global");
    size_t blocks, threads, modules, dtv;
    if (descriptor == NULL || rtld == NULL ||
        !field_offset("_thread_db_pthread_tid", 32, &glibc.tid_at) ||
        !field_offset("_thread_db_pthread_list", 128, &glibc.list_at) ||
        !field_offset("_thread_db_pthread_dtvp", 64, &dtv) ||
        !field_offset("_thread_db_rtld_global__dl_stack_user", 128, &blocks) ||
        !field_offset("_thread_db_rtld_global__dl_stack_used", 128, &threads) ||
        !field_offset("_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", 64, &modules)) {
        return false;
    }
    glibc.descriptor = *descriptor;
    glibc.dtv_at = PORT_ARCH_TLS_VARIANT == 1 ? dtv - glibc.descriptor : dtv;
    glibc.blocks = (struct glibc_list *)(rtld + blocks);
    glibc.blocks_lock = (uint32_t *)(rtld + blocks + NEIGHBOUR_LIST_LOCK);
    glibc.threads = (struct glibc_list *)(rtld + threads);
    const size_t *module_list = (size_t *)(rtld + modules);
    glibc.module_max = module_list + NEIGHBOUR_MODULE_MAX;
    glibc.first_dynamic = module_list[NEIGHBOUR_MODULES_AT_START] + 1;
    glibc.static_used = module_list + NEIGHBOUR_STATIC_USED;
    glibc.generation = module_list + NEIGHBOUR_GENERATION;
    return true;
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

int glibc_find(const char **why)
{
    *why = "this C library is not one whose inside is known (glibc " KNOWN_VERSION " is)";
    if (strcmp(gnu_get_libc_version(), KNOWN_VERSION) != 0 || !find_functions() || !find_fields()) {
        return -ENOTSUP;
    }
    *why = "this glibc " KNOWN_VERSION " is not laid out as expected";
    return check_modules() && check_lists() ? 0 : -ENOTSUP;
}
