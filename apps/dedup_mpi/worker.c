/* SPDX-License-Identifier: MIT
 *
 * A worker cuts parts of the input into chunks, asks the owner of each chunk's digest whether its
 * contents are new, and compresses them if they are. An owner answers.
 */
#include "check.h"
#include "pack.h"
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

/* Grows while a worker puts together its answer for one part of the input. */
struct message {
    uint8_t *bytes;
    size_t size, room;
};

static void *message_grow(struct message *m, size_t size)
{
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size);
        m->bytes = check_alloc(realloc(m->bytes, m->room), m->room);
    }
    m->size += size;
    return m->bytes + m->size - size;
}

static void part_get(const struct worker *w, struct part *part)
{
    MPI_Send(&w->number, sizeof w->number, MPI_BYTE, 0, TAG_WANT, MPI_COMM_WORLD);
    MPI_Recv(part, sizeof *part, MPI_BYTE, 0, TAG_REPLY + (int)w->number, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static int owner_of(const struct rank_state *state, const uint8_t digest[SHA1_SIZE])
{
    return (int)((digest[0] | (unsigned)digest[1] << 8) % (unsigned)state->ranks);
}

static void ask(const struct worker *w, struct chunk_record *chunk)
{
    struct question question = {.at = chunk->at, .size = chunk->size, .worker = w->number};
    int owner = owner_of(w->state, chunk->digest);
    struct answer answer;

    memcpy(question.digest, chunk->digest, SHA1_SIZE);
    MPI_Send(&question, sizeof question, MPI_BYTE, owner, TAG_ASK, MPI_COMM_WORLD);
    MPI_Recv(&answer, sizeof answer, MPI_BYTE, owner, TAG_REPLY + (int)w->number, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    chunk->name = answer.at;
    chunk->fresh = answer.fresh != 0;
}

/* The chunks of a part, behind it in the message. Returns how many. */
static size_t refine(const struct worker *w, const struct part *part, struct message *m)
{
    const struct rank_state *state = w->state;
    size_t count = 0;

    for (uint64_t at = part->at, end = at + part->size; at < end; count++) {
        struct chunk_record chunk = {.at = at};

        chunk.size = (uint32_t)chunk_length(&state->encoding->cutter, state->input + at, end - at);
        sha1_of(state->input + at, chunk.size, chunk.digest);
        ask(w, &chunk);
        memcpy(message_grow(m, sizeof chunk), &chunk, sizeof chunk);
        at += chunk.size;
    }
    return count;
}

/* The record moves if the message grows. */
static void compress_chunk(const struct worker *w, struct packer *packer, struct message *m,
                           size_t record)
{
    struct chunk_record chunk;
    size_t stored = 0;

    memcpy(&chunk, m->bytes + record, sizeof chunk);
    if (chunk.fresh) {
        uint8_t *space = message_grow(m, chunk.size);

        stored = pack(packer, w->state->input + chunk.at, chunk.size, space);
        m->size -= chunk.size - stored;
    }
    chunk.packed = stored > 0;
    chunk.stored_size = (uint32_t)stored;
    memcpy(m->bytes + record, &chunk, sizeof chunk);
}

static void message_send(const struct message *m)
{
    MPI_Send(m->bytes, (int)m->size, MPI_BYTE, 0, TAG_PART, MPI_COMM_WORLD);
}

static void part_do(const struct worker *w, struct packer *packer, const struct part *part,
                    struct message *m)
{
    m->size = 0;
    memcpy(message_grow(m, sizeof *part), part, sizeof *part);
    for (size_t i = 0, count = refine(w, part, m); i < count; i++)
        compress_chunk(w, packer, m, sizeof *part + i * sizeof(struct chunk_record));
    message_send(m);
}

void *worker_main(void *arg)
{
    const struct worker *w = arg;
    const struct encoding *e = w->state->encoding;
    struct message m = {.bytes = NULL};
    struct packer packer;
    struct part part;

    packer_init(&packer, e->level, e->cutter.most);
    for (part_get(w, &part); part.size != 0; part_get(w, &part))
        part_do(w, &packer, &part, &m);
    m.size = 0;
    memcpy(message_grow(&m, sizeof part), &part, sizeof part);
    message_send(&m);
    packer_end(&packer);
    free(m.bytes);
    return NULL;
}

void *owner_main(void *arg)
{
    const struct rank_state *state = arg;
    struct question question;
    MPI_Status status;

    for (;;) {
        MPI_Recv(&question, sizeof question, MPI_BYTE, MPI_ANY_SOURCE, TAG_ASK, MPI_COMM_WORLD,
                 &status);
        if (question.size == 0)
            return NULL;

        bool fresh;
        const struct entry *entry = table_find(state->encoding->table, question.digest,
                                               state->input + question.at, question.size, &fresh);
        struct answer answer = {.at = (uint64_t)(entry->data - state->input), .fresh = fresh};

        MPI_Send(&answer, sizeof answer, MPI_BYTE, status.MPI_SOURCE,
                 TAG_REPLY + (int)question.worker, MPI_COMM_WORLD);
    }
}
