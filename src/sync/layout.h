/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the offsets of fields in this build, for debuggers: a table of constants that the
 * compiler makes. So tools/debuggers works on a library without debug information and on a core
 * file, and fails with a message where the versions differ.
 *
 * On boards the table costs no memory: it is in sections of the image's file that are not loaded,
 * like debug information (port/board/image.ld). Debuggers read it there; `entry` and `reason` count
 * from the beginning of the section, where the head is.
 */
#ifndef PIRN_CORE_LAYOUT_H
#define PIRN_CORE_LAYOUT_H

#include "report.h"

#define LAYOUT_VERSION 1
#define LAYOUT_NAME_MAX 28

/* A field of a structure, "thread.state", with offset and size; or a constant, of size 0. */
struct layout_entry {
    char name[LAYOUT_NAME_MAX];
    uint32_t value, size;
};

/* Fixed sizes, no pointers to text: readable from outside without types. */
struct layout {
    char magic[8]; /* "pirn-dbg" */
    uint32_t version, entries;
    const struct layout_entry *entry;
    const void *rt;        /* struct rt */
    const void *id_chunks; /* struct id_slot *[] */
    uint32_t reasons, text_max;
    const char (*reason)[REPORT_TEXT_MAX]; /* of enum wait_reason, for people */
};

#ifdef PIRN_BARE
#define LAYOUT_PART(suffix) __attribute__((section(".pirn_debug" suffix)))
#else
#define LAYOUT_PART(suffix)
#endif

/* Exported, so that stripping the library leaves it. Not const: then core files have it. */
extern EXPORT struct layout pirn_debug_layout;

#endif
