/* SPDX-License-Identifier: MIT */
/*
 * frames.h - the callers above a sample, by the chain of frame pointers: for environments that know
 * the registers of the interrupted code. The architecture describes the frames
 * (PORT_ARCH_FRAME_NEXT, PORT_ARCH_FRAME_RETURN: offsets in words from the frame pointer), or says
 * that there is no chain (PORT_ARCH_FRAME_NONE).
 */
#ifndef PIRN_ENV_FRAMES_H
#define PIRN_ENV_FRAMES_H

#include "port.h"

struct frame_registers {
    uintptr_t sp, fp;
    uintptr_t link; /* where a function returns to that calls nothing; 0: that is on the stack */
};

#ifndef PORT_ARCH_FRAME_NONE

#define FRAMES_CODE_FIRST 4096u /* no code is below */

/* The word `offset` words from fp, if it lies from `least` to high. */
static inline const uintptr_t *frames_word(uintptr_t fp, int offset, uintptr_t least,
                                           uintptr_t high)
{
    const uintptr_t word = sizeof(uintptr_t);
    uintptr_t at = fp + (uintptr_t)((intptr_t)offset * (intptr_t)word);
    return at % word == 0 && at >= least && at < high && high - at >= word ? (const uintptr_t *)at
                                                                           : NULL;
}

/* As port_prof_frames. All memory between the stack pointer and the stack's top can be read. A
 * value that is no frame pointer (of code compiled without) ends the chain, or adds an address that
 * is no code. A function that calls nothing may have stored only the frame pointer: then the next
 * frame is where others have their return address. */
static inline unsigned frames_follow(const struct frame_registers *at, uintptr_t low,
                                     uintptr_t high, uintptr_t *frames, unsigned max)
{
    enum {
        LAST = PORT_ARCH_FRAME_NEXT > PORT_ARCH_FRAME_RETURN ? PORT_ARCH_FRAME_NEXT
                                                             : PORT_ARCH_FRAME_RETURN
    };
    uintptr_t fp = at->fp, least = at->sp;
    unsigned n = 0;
    if (least < low || least >= high) {
        return 0;
    }
    while (n < max) {
        const uintptr_t *back = frames_word(fp, PORT_ARCH_FRAME_RETURN, least, high);
        if (back == NULL) {
            break;
        }
        bool leaf = n == 0 && at->link != 0 && *back > fp && *back <= high;
        const uintptr_t *next = leaf ? back : frames_word(fp, PORT_ARCH_FRAME_NEXT, least, high);
        uintptr_t to = leaf ? at->link : *back;
        if (next == NULL || to < FRAMES_CODE_FIRST) {
            break;
        }
        frames[n++] = to;
        least = fp + (LAST + 1) * sizeof(uintptr_t);
        fp = *next;
    }
    return n;
}

#endif
#endif
