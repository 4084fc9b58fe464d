/* SPDX-License-Identifier: MIT
 *
 * The stages in the middle, and the pipeline as a whole (see pipeline.h).
 */
#include "check.h"
#include "output.h"
#include "pack.h"
#include "pipeline.h"

#include <stdlib.h>

/* Threads of one stage; the last that ends tells the next stage. */
struct stage {
    struct encoding *encoding;
    void (*work)(struct stage *);
    struct fifo *next;
    size_t next_threads;
    pthread_mutex_t lock;
    size_t left; /* (lock) threads */
    pthread_t *threads;
};

static void refine(struct encoding *e, struct fragment *f)
{
    size_t most = f->size / e->cutter.least + 1;

    f->chunks = array_alloc(most, sizeof *f->chunks);
    for (size_t at = 0; at < f->size;) {
        struct chunk *chunk = &f->chunks[f->count++];

        chunk->fragment = f;
        chunk->data = f->data + at;
        chunk->size = chunk_length(&e->cutter, chunk->data, f->size - at);
        at += chunk->size;
    }
    /* The thread that has the last chunk may free all of them. */
    for (size_t i = 0, count = f->count; i < count; i++)
        fifo_push(&e->chunks, &f->chunks[i]);
}

static void refine_work(struct stage *stage)
{
    struct encoding *e = stage->encoding;
    struct fragment *fragment;

    while ((fragment = fifo_pop(&e->fragments)) != NULL)
        refine(e, fragment);
}

static void deduplicate_work(struct stage *stage)
{
    struct encoding *e = stage->encoding;
    uint8_t digest[SHA1_SIZE];
    struct chunk *chunk;

    while ((chunk = fifo_pop(&e->chunks)) != NULL) {
        sha1_of(chunk->data, chunk->size, digest);
        chunk->entry = table_find(e->table, digest, chunk->data, chunk->size, &chunk->fresh);
        fifo_push(chunk->fresh ? &e->fresh : &e->done, chunk);
    }
}

/* Contents that compression does not shrink stay as they are. */
static void compress_entry(struct packer *packer, uint8_t *space, struct entry *entry)
{
    size_t size = pack(packer, entry->data, entry->size, space);

    entry->packed = size > 0;
    if (!entry->packed)
        return;
    entry->stored = array_alloc(size, 1);
    entry->stored_size = size;
    for (size_t i = 0; i < size; i++)
        entry->stored[i] = space[i];
}

static void compress_work(struct stage *stage)
{
    struct encoding *e = stage->encoding;
    uint8_t *space = array_alloc(e->cutter.most, 1);
    struct packer packer;
    struct chunk *chunk;

    packer_init(&packer, e->level, e->cutter.most);
    while ((chunk = fifo_pop(&e->fresh)) != NULL) {
        compress_entry(&packer, space, chunk->entry);
        fifo_push(&e->done, chunk);
    }
    packer_end(&packer);
    free(space);
}

static void *stage_main(void *arg)
{
    struct stage *stage = arg;
    bool last;

    stage->work(stage);
    check_rc(pthread_mutex_lock(&stage->lock), "pthread_mutex_lock");
    last = --stage->left == 0;
    check_rc(pthread_mutex_unlock(&stage->lock), "pthread_mutex_unlock");
    for (size_t i = 0; last && i < stage->next_threads; i++)
        fifo_push(stage->next, NULL);
    return NULL;
}

static void stage_start(struct stage *stage)
{
    size_t threads = stage->encoding->threads;

    check_rc(pthread_mutex_init(&stage->lock, NULL), "pthread_mutex_init");
    stage->left = threads;
    stage->threads = array_alloc(threads, sizeof *stage->threads);
    for (size_t i = 0; i < threads; i++)
        thread_start(&stage->threads[i], stage_main, stage);
}

static void stage_join(struct stage *stage)
{
    for (size_t i = 0; i < stage->encoding->threads; i++)
        thread_join(stage->threads[i]);
    check_rc(pthread_mutex_destroy(&stage->lock), "pthread_mutex_destroy");
    free(stage->threads);
}

static void encoding_init(struct encoding *e)
{
    e->file = input_open(e->input);
    output_open(e->output);
    e->table = table_new();
    fifo_init(&e->fragments, e->depth);
    fifo_init(&e->chunks, e->depth);
    fifo_init(&e->fresh, e->depth);
    fifo_init(&e->done, e->depth);
    semaphore_init(&e->room, (unsigned)e->inflight);
}

static void encoding_fini(struct encoding *e)
{
    output_close();
    fclose(e->file);
    semaphore_destroy(&e->room);
    fifo_destroy(&e->done);
    fifo_destroy(&e->fresh);
    fifo_destroy(&e->chunks);
    fifo_destroy(&e->fragments);
    table_free(e->table);
    while (e->last) {
        struct fragment *before = e->last->before;

        free(e->last->data);
        free(e->last);
        e->last = before;
    }
}

void encode(struct encoding *e)
{
    struct stage stages[] = {
        {.work = refine_work, .next = &e->chunks, .next_threads = e->threads},
        {.work = deduplicate_work, .next = &e->fresh, .next_threads = e->threads},
        {.work = compress_work, .next = &e->done, .next_threads = 1},
    };
    pthread_t first, last;

    encoding_init(e);
    thread_start(&first, fragment_main, e);
    for (size_t i = 0; i < 3; i++) {
        stages[i].encoding = e;
        stage_start(&stages[i]);
    }
    thread_start(&last, reorder_main, e);
    thread_join(first);
    for (size_t i = 0; i < 3; i++)
        stage_join(&stages[i]);
    thread_join(last);
    encoding_fini(e);
}
