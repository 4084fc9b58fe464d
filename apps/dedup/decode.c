/* SPDX-License-Identifier: MIT
 *
 * Restores the input. The archive is read and checked whole before the output is made, so that a
 * damaged one leaves nothing behind; its contents are held in memory meanwhile.
 */
#include "archive.h"
#include "check.h"
#include "chunks.h"
#include "output.h"
#include "pack.h"
#include "pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct content {
    uint8_t *data;
    uint32_t size;
    uint8_t digest[SHA1_SIZE];
};

struct list { /* of contents, or of numbers of contents */
    void *items;
    size_t count, room;
};

struct archive {
    const char *path;
    FILE *file;
    uint64_t at; /* bytes that were read */
    uint8_t *space;
    struct packer packer;
    struct list contents, order;
    uint64_t bytes;
    struct sha1 digests;
};

#define fault(a, ...) fault_at((a)->path, (a)->at, __VA_ARGS__)
static void __attribute__((noreturn, format(printf, 3, 4)))
fault_at(const char *path, uint64_t at, const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    app_die("%.96s: byte %" PRIu64 ": %s", path, at, text);
}

static void *list_add(struct list *list, size_t size)
{
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->items = check_alloc(realloc(list->items, list->room * size), list->room * size);
    }
    return (char *)list->items + list->count++ * size;
}

static void take(struct archive *a, void *into, size_t size, const char *what)
{
    size_t got = fread(into, 1, size, a->file);

    if (got < size && ferror(a->file))
        fault(a, "cannot read: %s", strerror(errno));
    if (got < size)
        fault(a, "the archive ends inside %s: %zu of %zu bytes", what, got, size);
    a->at += size;
}

static void contents_add(struct archive *a, const struct record *r)
{
    struct content content = {.size = r->raw_size};
    uint8_t digest[SHA1_SIZE];
    bool good = true;

    if (r->raw_size < 1 || r->raw_size > CHUNK_MOST)
        fault(a, "a chunk of %" PRIu32 " bytes; valid is 1 to %d", r->raw_size, CHUNK_MOST);
    if (r->stored_size < 1 || r->stored_size > r->raw_size)
        fault(a, "%" PRIu32 " bytes stored for %" PRIu32, r->stored_size, r->raw_size);
    content.data = array_alloc(r->raw_size, 1);
    if (r->kind == RECORD_STORED)
        take(a, content.data, r->raw_size, "a chunk");
    else {
        take(a, a->space, r->stored_size, "a chunk");
        good = unpack(&a->packer, a->space, r->stored_size, content.data, r->raw_size);
    }
    if (!good)
        fault(a, "the chunk before is damaged: zlib cannot make %" PRIu32 " bytes of it",
              r->raw_size);
    sha1_of(content.data, content.size, digest);
    if (memcmp(digest, r->digest, SHA1_SIZE) != 0)
        fault(a, "the chunk before is damaged: it has another SHA-1 than its record says");
    memcpy(content.digest, digest, SHA1_SIZE);
    *(struct content *)list_add(&a->contents, sizeof content) = content;
}

static void order_add(struct archive *a, uint64_t number)
{
    const struct content *contents = a->contents.items;

    if (number >= a->contents.count)
        fault(a, "chunk %" PRIu64 " comes again, and %zu have come so far", number,
              a->contents.count);
    *(size_t *)list_add(&a->order, sizeof(size_t)) = (size_t)number;
    sha1_add(&a->digests, contents[number].digest, SHA1_SIZE);
    a->bytes += contents[number].size;
}

static void check_end(struct archive *a, const struct record *r)
{
    uint8_t digest[SHA1_SIZE];

    if (r->bytes != a->bytes || r->number != a->order.count)
        fault(a,
              "the end record says %" PRIu64 " bytes in %" PRIu64 " chunks; there are %" PRIu64
              " in %zu",
              r->bytes, r->number, a->bytes, a->order.count);
    sha1_end(&a->digests, digest);
    if (memcmp(digest, r->digest, SHA1_SIZE) != 0)
        fault(a, "the archive is damaged: the order of its chunks has another SHA-1");
    if (fgetc(a->file) != EOF)
        fault(a, "something follows the end record");
}

static enum record_kind record_read(struct archive *a)
{
    int kind = fgetc(a->file);
    uint8_t bytes[RECORD_MOST];
    struct record record;

    if (kind == EOF)
        fault(a, "the archive ends without its end record");
    if (record_size(kind) == 0)
        fault(a, "a record of kind 0x%02x; valid are Z, S, R, E", (unsigned)kind);
    a->at++;
    take(a, bytes, record_size(kind), "a record");
    record_decode(&record, kind, bytes);
    if (record.kind == RECORD_END)
        check_end(a, &record);
    else if (record.kind == RECORD_AGAIN)
        order_add(a, record.number);
    else {
        contents_add(a, &record);
        order_add(a, a->contents.count - 1);
    }
    return record.kind;
}

static void archive_read(struct archive *a)
{
    char magic[ARCHIVE_MAGIC_SIZE];

    if (fread(magic, 1, sizeof magic, a->file) != sizeof magic ||
        memcmp(magic, ARCHIVE_MAGIC, sizeof magic) != 0)
        fault(a, "no archive of dedup: it does not begin with \"%s\"", ARCHIVE_MAGIC);
    a->at = sizeof magic;
    while (record_read(a) != RECORD_END)
        ;
}

static void contents_write(const struct archive *a)
{
    const struct content *contents = a->contents.items;
    const size_t *order = a->order.items;

    for (size_t i = 0; i < a->order.count; i++)
        output_write(contents[order[i]].data, contents[order[i]].size);
}

void decode(const char *input, const char *output, struct decoded *decoded)
{
    struct archive a = {.path = input, .file = input_open(input)};

    a.space = array_alloc(CHUNK_MOST, 1);
    unpacker_init(&a.packer);
    sha1_begin(&a.digests);
    archive_read(&a);
    output_open(output);
    contents_write(&a);
    output_close();
    *decoded =
        (struct decoded){.bytes = a.bytes, .count = a.order.count, .unique = a.contents.count};
    for (size_t i = 0; i < a.contents.count; i++)
        free(((struct content *)a.contents.items)[i].data);
    free(a.contents.items);
    free(a.order.items);
    unpacker_end(&a.packer);
    free(a.space);
    fclose(a.file);
}
