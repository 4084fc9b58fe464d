/* SPDX-License-Identifier: MIT
 *
 * A hash table with a lock for each part (see table.h). The digest is the hash.
 */
#include "table.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

struct table *table_new(void)
{
    struct table *table = array_alloc(1, sizeof *table);

    for (int i = 0; i < TABLE_PARTS; i++)
        check_rc(pthread_mutex_init(&table->parts[i].lock, NULL), "pthread_mutex_init");
    return table;
}

static void row_free(struct entry *entry)
{
    while (entry) {
        struct entry *next = entry->next;

        free(entry->stored);
        free(entry);
        entry = next;
    }
}

void table_free(struct table *table)
{
    for (int i = 0; i < TABLE_PARTS; i++) {
        for (int row = 0; row < TABLE_ROWS; row++)
            row_free(table->parts[i].rows[row]);
        check_rc(pthread_mutex_destroy(&table->parts[i].lock), "pthread_mutex_destroy");
    }
    free(table);
}

static struct entry *entry_new(const uint8_t *digest, const uint8_t *data, size_t size)
{
    struct entry *entry = array_alloc(1, sizeof *entry);

    memcpy(entry->digest, digest, SHA1_SIZE);
    entry->data = data;
    entry->size = size;
    return entry;
}

static bool is_same(const struct entry *entry, const uint8_t *digest, const uint8_t *data,
                    size_t size)
{
    return memcmp(entry->digest, digest, SHA1_SIZE) == 0 && entry->size == size &&
           memcmp(entry->data, data, size) == 0;
}

struct entry *table_find(struct table *table, const uint8_t digest[SHA1_SIZE], const uint8_t *data,
                         size_t size, bool *fresh)
{
    unsigned part = digest[0] % TABLE_PARTS;
    unsigned row = (digest[1] | (unsigned)digest[2] << 8) % TABLE_ROWS;
    struct entry **link = &table->parts[part].rows[row];
    struct entry *entry;

    check_rc(pthread_mutex_lock(&table->parts[part].lock), "pthread_mutex_lock");
    while (*link && !is_same(*link, digest, data, size))
        link = &(*link)->next;
    *fresh = *link == NULL;
    if (*fresh)
        *link = entry_new(digest, data, size);
    entry = *link;
    check_rc(pthread_mutex_unlock(&table->parts[part].lock), "pthread_mutex_unlock");
    return entry;
}
