/* SPDX-License-Identifier: MIT */
/*
 * bare_console.c (bare) - input from the board's console. The interrupt puts bytes into a ring. A
 * reader takes them out, and waits for descriptor 0 while there is none. If the ring is full, bytes
 * are lost: a console has no flow control.
 *
 * A console that cannot interrupt is polled: its readers fill the ring themselves. While there is
 * nothing to read they wait for POLL_NS, so that other threads run. Without deadlines (feature
 * `timed`) a reader keeps its core.
 *
 * `put` is written by the handler, on the core that listens, or by the reader that polls and holds
 * the lock; `got` by the reader that holds the lock. Both only grow. ORDER(console) The handler, a
 * core that is interrupted for that, or one that searches finds a request for a report, and bytes:
 * it takes the request and reports.
 *
 * With option dump one key is not the program's: at it the threads are reported.
 */
#include "bare.h"
#include "port_io.h"
#include "port_report.h"
#include "port_signals.h"

#include <errno.h>

#define ROOM 1024u
#define BARE_POLLIN 1u /* as in poll() */

/* Meanwhile a line of 115,200 baud brings 12 bytes; the FIFO of a 16550 has room for 16. */
#define POLL_NS 1000000u

/* How bytes reach the ring; not decided before the first read. */
enum source { SOURCE_UNKNOWN, SOURCE_INTERRUPT, SOURCE_POLLED };

static struct {
    uint32_t lock;
    enum source source; /* (lock) */
    uint32_t put, got;
    uint32_t armed; /* a report is asked for */
    int dump_key;   /* (C) of option dump; 0: none */
    char bytes[ROOM];
} input;

static bool has_input(void)
{
    return __atomic_load_n(&input.put, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&input.got, __ATOMIC_SEQ_CST);
}

void port_io_poll(void)
{
    if (has_input() && __atomic_exchange_n(&input.armed, 0, __ATOMIC_SEQ_CST) != 0) {
        rt_io_ready(0, BARE_POLLIN);
        bare_look_again();
    }
}

/* With the lock of the descriptor's entry: the report comes from an interrupt. */
int port_io_arm(int fd, uint32_t events)
{
    if (fd != 0 || events != BARE_POLLIN) {
        return -ENOSYS;
    }
    RT_ASSERT(arch_irq_is_off());                        /* the entry's lock is held */
    __atomic_store_n(&input.armed, 1, __ATOMIC_SEQ_CST); /* before the look */
    if (has_input()) {
        board_ipi((unsigned)arch_core()->hart);
    }
    return 0;
}

/* True: the key of option dump was among the bytes. */
static bool fill(void)
{
    int byte;
    bool dump = false;
    while ((byte = board_console_get()) >= 0) {
        if (byte == input.dump_key && byte != 0) {
            dump = true;
            continue;
        }
        uint32_t put = input.put;
        RT_ASSERT(put - __atomic_load_n(&input.got, __ATOMIC_RELAXED) <= ROOM);
        if (put - __atomic_load_n(&input.got, __ATOMIC_ACQUIRE) < ROOM) { /* ORDER(console) */
            input.bytes[put % ROOM] = (char)byte;
            __atomic_store_n(&input.put, put + 1, __ATOMIC_SEQ_CST); /* ORDER(console) */
        }
    }
    return dump;
}

static void on_input(void *unused)
{
    (void)unused;
    RT_ASSERT(bare_in_handler());
    bool dump = fill();
    port_io_poll();
    if (RT_REPORT && dump) {
        rt_dump();
    }
}

static enum source source_find(void)
{
    if (bare_irq_attach(board_console_source(), on_input, NULL) != 0) {
        return SOURCE_POLLED;
    }
    board_console_listen();
    return SOURCE_INTERRUPT;
}

static size_t take(char *to, size_t most)
{
    size_t n = 0;
    unsigned long irq = bare_lock(&input.lock);
    if (input.source == SOURCE_UNKNOWN) {
        input.source = source_find();
    }
    if (input.source == SOURCE_POLLED) {
        fill();
    }
    uint32_t got = input.got;
    uint32_t put = __atomic_load_n(&input.put, __ATOMIC_ACQUIRE); /* ORDER(console) */
    RT_ASSERT(bare_is_locked(&input.lock) && put - got <= ROOM);
    while (got != put && n < most) {
        char byte = input.bytes[got++ % ROOM];
        to[n++] = byte == '\r' ? '\n' : byte;
    }
    STORE_REL(&input.got, got); /* ORDER(console) */
    bare_unlock(&input.lock, irq);
    return n;
}

int port_signal_of(const char *name)
{
    bool is_key = name[0] == '^' && name[1] >= 'A' && name[1] <= '_' && name[2] == '\0';
    return is_key && RT_REPORT ? name[1] - '@' : -1;
}

/* The console's interrupts are enabled at once, on this core. */
int port_dump_start(int key)
{
    unsigned long irq = bare_lock(&input.lock);
    input.dump_key = key;
    if (input.source == SOURCE_UNKNOWN) {
        input.source = source_find();
    }
    bool polled = input.source == SOURCE_POLLED;
    bare_unlock(&input.lock, irq);
    return polled ? -ENODEV : 0;
}

/* After take, which has decided about the source for good. */
static void wait_for_input(void)
{
    bool polled = input.source == SOURCE_POLLED;
    RT_ASSERT(input.source != SOURCE_UNKNOWN);
    if (port_may_wait() && (RT_TIMED || !polled)) {
        rt_io_await(0, BARE_POLLIN, polled ? port_now() + POLL_NS : UINT64_MAX);
    } else if (!polled) {
        arch_wait();
    } else {
        port_cpu_relax();
    }
}

ptrdiff_t console_read(void *to, size_t most)
{
    size_t n = 0;
    while (most != 0 && (n = take(to, most)) == 0) {
        wait_for_input();
    }
    return (ptrdiff_t)n;
}
