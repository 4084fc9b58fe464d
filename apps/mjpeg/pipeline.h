/* SPDX-License-Identifier: MIT
 *
 * The decoder as a pipeline: demux → (VLD → IQ → IDCT, by slices) → LIBU.
 * Called by main.c and by the mutation test; one call may follow another.
 */
#ifndef APPS_MJPEG_PIPELINE_H
#define APPS_MJPEG_PIPELINE_H

#include "graph.h"

#include <stdio.h>

struct pipeline_settings {
    const struct graph *graph;
    int max_slices;  /* 1 … PICTURE_MAX_SLICES */
    int inflight;    /* pictures between demux and LIBU, at least 1 */
    long pictures;   /* stop after so many; 0: no limit */
    long repeat;     /* go through the stream so many times */
    FILE *output;    /* raw frames, or NULL */
    FILE *checksums; /* a line for each frame, or NULL */
};

struct pipeline_result {
    long pictures;           /* put out; all of them are good */
    int width, height;       /* of the first */
    long threads;            /* created, demux and LIBU included */
    uint64_t checksum;       /* of all frames, in order */
    struct jpeg_error error; /* the fault that ended the run early, if .set; in picture number
                              * `pictures` */
};

/* Returns true if all pictures asked for were decoded. */
bool pipeline_run(const struct stream *stream, const struct pipeline_settings *settings,
                  struct pipeline_result *result);

#endif
