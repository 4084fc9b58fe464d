/* SPDX-License-Identifier: MIT */
/*
 * port_arch.h (template) - the architecture's half. Everything is declared and nothing is defined:
 * what a port forgets is named by the linker. docs/PORTING.md says what each has to do.
 */
#ifndef PIRN_PORT_ARCH_H
#define PIRN_PORT_ARCH_H

#include "compiler.h"

/* What a thread that does not run consists of: as little as the calling convention allows. */
struct port_ctx {
    void *sp;
    void *pc;
};

void port_ctx_init(struct port_ctx *ctx, void *low, size_t size, port_ctx_entry_t *entry);
struct port_note port_ctx_switch(struct port_ctx *from, struct port_ctx *to, struct port_note note);
void port_cpu_relax(void);

#endif
