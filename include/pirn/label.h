/* SPDX-License-Identifier: MIT */
/*
 * label.h - labels of waits: words for what a thread waits for, where the runtime itself would know
 * a semaphore only. For libraries whose threads wait for something outside the process, as
 * libpirn-mpi's do for messages.
 *
 *     #include <pirn/label.h>
 *
 *     pirn_label_t label = {"MPI_Recv", "source tag bytes", {1, 7, 64}};
 *     pirn_sem_wait_as(&mine, &label);
 *
 * While the thread waits, `pirn ps`, `top` and `dump`, pirn_dump, reports of deadlocks and the
 * debugger's commands show "MPI_Recv source=1 tag=7 bytes=64", and so does the event trace. Nobody
 * formats or copies a label before somebody looks: it costs as much as filling the structure.
 *
 * Linux and the simulator; boards have no labels. The conventions are those of pirn.h.
 */
#ifndef PIRN_LABEL_H
#define PIRN_LABEL_H

#include <pirn/pirn.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIRN_LABEL_FIELDS 6u     /* values of a label */
#define PIRN_LABEL_WORD_MAX 64u  /* bytes that are shown of a name, and of a value that is text */
#define PIRN_LABEL_TEXT_MAX 192u /* room for every label's text, with its NUL */

/* Values that are no numbers: the field is left out; "any". */
#define PIRN_LABEL_NONE INT64_MIN
#define PIRN_LABEL_ANY (INT64_MIN + 1)

/*
 * What a thread waits for. `fields` has the names of the values, separated by spaces. The end of a
 * name says how its value is shown: "tag" as a number; "comm:x" in hexadecimal; "comm:s" as text:
 * the value is then a const char *, and is left out if it is NULL. `fields` may have fewer names
 * than there are values, or be NULL.
 */
typedef struct pirn_label {
    const char *name;
    const char *fields;
    int64_t values[PIRN_LABEL_FIELDS];
} pirn_label_t;

/*
 * pirn_sem_wait, with a label. The label and all that it points to must stay as they are until the
 * call returns; it may lie on the caller's stack. Context: threads. No cancellation point.
 */
void pirn_sem_wait_as(pirn_sem_t *sem, const pirn_label_t *label);

/*
 * Write the label as text, with a NUL, and return the length that it has, or would have with
 * enough room (as snprintf). Any context; no cancellation point.
 */
size_t pirn_label_text(const pirn_label_t *label, char *text, size_t size);

/*
 * How many threads of the process run or are ready, the caller not among them. Threads that wait,
 * sleep, or are in a call that may block do not count, nor do kernel threads of the program's own.
 * They go on meanwhile. Context: threads. No cancellation point.
 */
unsigned pirn_threads_running(void);

/* How many threads of the process have not ended, the main thread included. Any thread; no
 * cancellation point. */
unsigned pirn_threads_alive(void);

#ifdef __cplusplus
}
#endif

#endif
