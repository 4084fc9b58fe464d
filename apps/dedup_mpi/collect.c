/* SPDX-License-Identifier: MIT
 *
 * Rank 0: hands out the parts of the input, and collects what workers have made of them for dedup's
 * last stage (reorder.c). The parts are the fragments of dedup: where one ends depends on its last
 * bytes alone, so that finding the ends takes little time.
 */
#include "check.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

/* ---- dispatch ---- */

/* As fragment.c, without the bytes in front of those that decide. */
static uint64_t part_size(const struct rank_state *state, uint64_t at)
{
    const struct encoding *e = state->encoding;
    uint64_t size = e->fragment_size, tail = e->cutter.most + RABIN_WINDOW;

    if (state->size - at < size)
        return state->size - at;
    tail = tail < size ? tail : size;
    return size - tail + last_cut(&e->cutter, state->input + at + size - tail, tail);
}

/* To the worker that wants one next. */
static void part_give(const struct part *part)
{
    uint32_t worker;
    MPI_Status status;

    MPI_Recv(&worker, sizeof worker, MPI_BYTE, MPI_ANY_SOURCE, TAG_WANT, MPI_COMM_WORLD, &status);
    MPI_Send(part, sizeof *part, MPI_BYTE, status.MPI_SOURCE, TAG_REPLY + (int)worker,
             MPI_COMM_WORLD);
}

void *dispatch_main(void *arg)
{
    const struct rank_state *state = arg;
    struct part part = {.at = 0};

    for (; part.at < state->size; part.number++) {
        part.size = part_size(state, part.at);
        semaphore_wait(&state->encoding->room);
        part_give(&part);
        part.at += part.size;
    }
    part.size = 0;
    for (size_t i = 0; i < state->encoding->threads * (size_t)state->ranks; i++)
        part_give(&part);
    return NULL;
}

/* ---- collect ---- */

enum { ROWS = 1 << 16 };

/* Contents by name. */
struct names {
    struct entry *rows[ROWS];
};

static struct entry *entry_of(struct names *names, const struct rank_state *state,
                              const struct chunk_record *chunk)
{
    struct entry **row = &names->rows[(chunk->name ^ chunk->name >> 16) % ROWS];
    struct entry *entry = *row;

    while (entry != NULL && entry->data != state->input + chunk->name)
        entry = entry->next;
    if (entry == NULL) {
        entry = array_alloc(1, sizeof *entry);
        memcpy(entry->digest, chunk->digest, SHA1_SIZE);
        entry->data = state->input + chunk->name;
        entry->size = chunk->size;
        entry->next = *row;
        *row = entry;
    }
    return entry;
}

static void names_free(struct names *names)
{
    for (size_t i = 0; i < ROWS; i++) {
        while (names->rows[i] != NULL) {
            struct entry *entry = names->rows[i];

            names->rows[i] = entry->next;
            free(entry);
        }
    }
    free(names);
}

/* Takes the compressed contents from the message. Returns what follows them. */
static const uint8_t *chunk_read(struct chunk *chunk, const struct chunk_record *record,
                                 const uint8_t *stored)
{
    struct entry *entry = chunk->entry;

    chunk->fresh = record->fresh;
    chunk->data = entry->data;
    chunk->size = record->size;
    if (!record->fresh)
        return stored;
    entry->packed = record->packed;
    entry->stored_size = record->stored_size;
    if (record->packed)
        entry->stored = memcpy(array_alloc(record->stored_size, 1), stored, record->stored_size);
    return stored + record->stored_size;
}

static void part_read(struct names *names, const struct rank_state *state, const struct part *part,
                      const uint8_t *bytes, struct fragment **last)
{
    struct encoding *e = state->encoding;
    struct fragment *f = array_alloc(1, sizeof *f);
    struct chunk_record record;
    const uint8_t *stored = bytes;

    for (uint64_t size = 0; size < part->size; size += record.size, stored += sizeof record) {
        memcpy(&record, stored, sizeof record);
        f->count++;
    }
    *f = (struct fragment){
        .before = *last, .number = part->number, .size = part->size, .count = f->count};
    *last = f;
    f->chunks = array_alloc(f->count, sizeof *f->chunks);
    for (size_t i = 0; i < f->count; i++) {
        memcpy(&record, bytes + i * sizeof record, sizeof record);
        f->chunks[i].fragment = f;
        f->chunks[i].entry = entry_of(names, state, &record);
        stored = chunk_read(&f->chunks[i], &record, stored);
    }
    /* The writer frees the chunks when it has all. */
    struct chunk *chunks = f->chunks;
    for (size_t i = 0, count = f->count; i < count; i++)
        fifo_push(&e->done, &chunks[i]);
}

/* A message of any size; to be freed by the caller. */
static uint8_t *message_get(void)
{
    MPI_Message message;
    MPI_Status status;
    int size;

    MPI_Mprobe(MPI_ANY_SOURCE, TAG_PART, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &size);
    uint8_t *bytes = array_alloc((size_t)size, 1);
    MPI_Mrecv(bytes, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return bytes;
}

void *collect_main(void *arg)
{
    struct rank_state *state = arg;
    struct encoding *e = state->encoding;
    struct names *names = array_alloc(1, sizeof *names);
    struct fragment *last = NULL;
    pthread_t writer;

    thread_start(&writer, reorder_main, e);
    for (size_t left = e->threads * (size_t)state->ranks; left > 0;) {
        uint8_t *bytes = message_get();
        struct part part;

        memcpy(&part, bytes, sizeof part);
        if (part.size != 0)
            part_read(names, state, &part, bytes + sizeof part, &last);
        else
            left--;
        free(bytes);
    }
    fifo_push(&e->done, NULL);
    thread_join(writer);
    while (last != NULL) {
        struct fragment *before = last->before;

        free(last);
        last = before;
    }
    names_free(names);
    return NULL;
}
