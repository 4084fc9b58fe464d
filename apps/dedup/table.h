/* SPDX-License-Identifier: MIT
 *
 * The contents that were seen, found by digest. Two contents of one digest are two entries: their
 * bytes are compared.
 */
#ifndef APPS_DEDUP_TABLE_H
#define APPS_DEDUP_TABLE_H

#include "sha1.h"

#include <pthread.h>
#include <stdbool.h>

struct entry {
    struct entry *next;        /* (lock of its part of the table) */
    uint8_t digest[SHA1_SIZE]; /* constant, with data and size */
    const uint8_t *data;       /* stays where it is as long as the table */
    size_t size;
    uint8_t *stored; /* who compresses it, then who writes */
    size_t stored_size;
    bool packed;
    bool ready, written; /* who writes, alone */
    uint64_t number;     /* among what was written */
};

enum { TABLE_PARTS = 64, TABLE_ROWS = 1 << 10 };

struct table {
    struct {
        pthread_mutex_t lock;
        struct entry *rows[TABLE_ROWS];
    } parts[TABLE_PARTS];
};

struct table *table_new(void);
void table_free(struct table *table);

/* The entry of these contents; *fresh if it is new. Any thread may call it. */
struct entry *table_find(struct table *table, const uint8_t digest[SHA1_SIZE], const uint8_t *data,
                         size_t size, bool *fresh);

#endif
