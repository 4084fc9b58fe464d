/* SPDX-License-Identifier: MIT */
/*
 * posix_children.h - the environment of a program that this one executes, as far as LD_PRELOAD
 * names this library. posix_children.c has the rules; posix_spawn.c calls it.
 */
#ifndef PIRN_POSIX_CHILDREN_H
#define PIRN_POSIX_CHILDREN_H

#include "compiler.h"

/* An environment made for one call. */
struct children_env {
    void *memory; /* NULL: it is the caller's */
    size_t size;
};

/* Where the program's file is. */
struct children_file {
    int at;           /* a folder's descriptor, or AT_FDCWD; with an empty name the file's own */
    const char *name; /* "": `at` itself */
    bool searched;    /* in PATH, if the name has no / */
};

/* The environment for that file, in place of env. executes: the process becomes that program; else
 * it is for a child. Without memory it is env. Any context in which exec may be called. */
char *const *children_env_begin(struct children_env *e, const struct children_file *file,
                                char *const env[], bool executes);
void children_env_end(struct children_env *e);

/* Before main, once: what option children asks for. */
void children_begin(void);

#endif
