/* SPDX-License-Identifier: MIT */
/*
 * glibc_libpthread.c (Linux) - variables of libpthread that are not exported.
 *
 * Up to glibc 2.33 threads are in a library of their own, and what libthread_db reads of it has
 * local symbols only. So it is looked up as debuggers do: in the file's table of symbols, which
 * distributions leave in this library for them.
 */
#include "glibc.h"

#include <link.h>
#include <string.h>

static uintptr_t load_address;

/* What glibc_facts.c asks for. */
static struct symbol_named variables[] = {
    {"__stack_user", 0},
    {"stack_used", 0},
    {"stack_cache_lock", 0},
    {"_thread_db_sizeof_pthread", 0},
    {"_thread_db_pthread_tid", 0},
    {"_thread_db_pthread_list", 0},
    {"_thread_db_pthread_dtvp", 0},
    {"_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", 0},
    {"_thread_db_rtld_global__dl_stack_user", 0},
    {"_thread_db_rtld_global__dl_stack_used", 0},
};

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *name = strrchr(info->dlpi_name, '/');
    (void)size;
    (void)arg;
    if (name == NULL || strncmp(name, "/libpthread", strlen("/libpthread")) != 0) {
        return 0;
    }
    load_address = (uintptr_t)info->dlpi_addr;
    symbols_find(info->dlpi_name, variables, ARRAY_SIZE(variables));
    return 1;
}

void glibc_libpthread_open(void)
{
    if (load_address == 0) {
        dl_iterate_phdr(look_at_module, NULL);
    }
}

void *glibc_libpthread_symbol(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(variables); i++) {
        if (strcmp(variables[i].name, name) == 0 && variables[i].value != 0) {
            return (void *)(load_address + variables[i].value);
        }
    }
    return NULL;
}
