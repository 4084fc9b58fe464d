/* SPDX-License-Identifier: MIT
 *
 * The first stage: reads the file and cuts it into fragments, as close to --fragment bytes as the
 * contents allow. The rest behind the cut begins the next fragment.
 */
#include "check.h"
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fills `data` up to `size` bytes; fewer at the end of the file. */
static size_t fill(struct encoding *e, uint8_t *data, size_t filled, size_t size)
{
    filled += fread(data + filled, 1, size - filled, e->file);
    if (filled < size && ferror(e->file))
        app_die("cannot read '%.96s': %s", e->input, strerror(errno));
    return filled;
}

static void send(struct encoding *e, uint8_t *data, size_t size, uint64_t number)
{
    struct fragment *fragment = array_alloc(1, sizeof *fragment);

    *fragment = (struct fragment){.before = e->last, .number = number, .data = data, .size = size};
    e->last = fragment;
    semaphore_wait(&e->room);
    fifo_push(&e->fragments, fragment);
}

static uint8_t *carry(const uint8_t *data, size_t size, size_t room)
{
    uint8_t *next = array_alloc(room, 1);

    memcpy(next, data, size);
    return next;
}

void *fragment_main(void *arg)
{
    struct encoding *e = arg;
    uint8_t *data = array_alloc(e->fragment_size, 1);
    uint64_t number = 0;
    size_t filled = 0;

    for (;;) {
        filled = fill(e, data, filled, e->fragment_size);
        if (filled < e->fragment_size)
            break;
        size_t size = last_cut(&e->cutter, data, filled);
        uint8_t *next = carry(data + size, filled - size, e->fragment_size);

        send(e, data, size, number++);
        data = next;
        filled -= size;
    }
    if (filled > 0)
        send(e, data, filled, number);
    else
        free(data);
    for (size_t i = 0; i < e->threads; i++)
        fifo_push(&e->fragments, NULL);
    return NULL;
}
