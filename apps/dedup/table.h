/* SPDX-License-Identifier: MIT
 *
 * The contents seen so far, found by digest. Two contents with one digest are two entries, because
 * their bytes are compared.
 */
#ifndef APPS_DEDUP_TABLE_H
#define APPS_DEDUP_TABLE_H

#include "sha1.h"

#include <pthread.h>
#include <stdbool.h>

struct entry {
    struct entry *next;        /* (lock of its part of the table) */
    uint8_t digest[SHA1_SIZE]; /* constant, with data and size */
    const uint8_t *data;       /* constant address as long as the table exists */
    size_t size;
    uint8_t *stored; /* the thread that compresses it, then the writer */
    size_t stored_size;
    bool packed;
    bool ready, written; /* the writer alone */
    uint64_t number;     /* sequence number among the written contents */
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
