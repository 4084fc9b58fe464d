/* SPDX-License-Identifier: MIT
 *
 * Graph "tasks" (see graph.h): a thread for each stage of each slice. All threads
 * of a picture are created at once; a stage waits on the semaphore of the stage
 * before it, so most threads begin by blocking.
 */
#include "graph.h"

#include "check.h"

static void *task_main(void *arg)
{
    struct task *task = arg;
    struct slice *slice = task->slice;

    if (task->stage > 0)
        semaphore_wait(&slice->tasks[task->stage - 1].done);
    slice_run(slice, task->stage);
    semaphore_post(task->stage == STAGES - 1 ? &slice->picture->finished : &task->done);
    return NULL;
}

static struct graph_state *start(int max_slices, int depth)
{
    (void)max_slices;
    (void)depth;
    return NULL;
}

static void submit(struct graph_state *state, struct picture *picture)
{
    (void)state;
    for (int i = 0; i < picture->nslices; i++)
        for (int stage = 0; stage < STAGES; stage++) {
            struct task *task = &picture->slices[i].tasks[stage];

            thread_start(&task->thread, task_main, task);
        }
}

static void collect(struct graph_state *state, struct picture *picture)
{
    (void)state;
    for (int i = 0; i < picture->nslices; i++)
        for (int stage = 0; stage < STAGES; stage++)
            thread_join(picture->slices[i].tasks[stage].thread);
}

static void stop(struct graph_state *state)
{
    (void)state;
}

static long threads(int max_slices, const struct picture *picture)
{
    (void)max_slices;
    return picture ? (long)picture->nslices * STAGES : 0;
}

const struct graph graph_tasks = {"tasks", start, submit, collect, stop, threads};
