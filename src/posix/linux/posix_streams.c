/* SPDX-License-Identifier: MIT */
/*
 * posix_streams.c - stdio's streams: a thread that waits in fgets, fprintf, fread, getline and so
 * on, for a pipe, a socket or a terminal, waits as in read and write (posix_io.h): it holds no
 * kernel thread. The C library calls these functions for its streams (port_stdio.h).
 *
 * A stream's lock is held meanwhile. It is the C library's and tells its owner by the descriptor of
 * the thread; so this needs threads with TLS blocks of their own. Another thread that uses the same
 * stream waits for the lock in the kernel.
 *
 * stdio is no cancellation point here: the C library would have to release the lock. So a request
 * waits while one of these functions is called, as if the thread had disabled cancellation.
 */
#include "port_posix.h"
#include "port_stdio.h"
#include "posix_io.h"

#if PORT_STDIO

static ssize_t stream_read(FILE *stream, void *buffer, ssize_t size)
{
    struct io_past past = io_past_begin();
    ssize_t got = pirn_posix_read(stream->_fileno, buffer, (size_t)size);
    io_past_end(&past);
    return got;
}

/* As the C library's own: an error leaves a mark at the stream. */
static ssize_t stream_write(FILE *stream, const void *data, ssize_t size)
{
    struct io_past past = io_past_begin();
    ssize_t done = 0;
    while (done < size) {
        ssize_t put =
            pirn_posix_write(stream->_fileno, (const char *)data + done, (size_t)(size - done));
        if (put < 0) {
            stream->_flags |= _IO_ERR_SEEN;
            break;
        }
        done += put;
    }
    io_past_end(&past);
    if (stream->_offset >= 0) {
        stream->_offset += done;
    }
    return done;
}

void posix_streams_begin(void)
{
    static const struct port_stdio functions = {.read = stream_read, .write = stream_write};
    static _Atomic(uint32_t) begun; /* 1: the child of a fork has the table that was changed */
    if (port_tls_own && at_xchg_rlx(&begun, 1u) == 0) {
        port_stdio_replace(&functions);
    }
}

#else

void posix_streams_begin(void) {}

#endif
