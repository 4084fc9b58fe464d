/* SPDX-License-Identifier: MIT */
/*
 * port_asm.h - a function written in assembly language, for the headers of architectures.
 */
#ifndef PIRN_PORT_ASM_H
#define PIRN_PORT_ASM_H

/* At the top level of a file: define the global function `name`. symbols: PORT_ASM_HIDDEN for it
 * and for places in it that C code names, or "". code: instructions, each with its call frame
 * information where that changes. */
#define PORT_ASM_FUNCTION(name, symbols, code)                                                     \
    __asm__(".pushsection .text\n\t"                                                               \
            ".globl " #name "\n\t" symbols ".type " #name ", @function\n\t"                        \
            ".p2align 4\n" #name ":\n\t"                                                           \
            ".cfi_startproc\n\t" code "\n\t"                                                       \
            ".cfi_endproc\n\t"                                                                     \
            ".size " #name ", .-" #name "\n\t"                                                     \
            ".popsection")
#define PORT_ASM_HIDDEN(names) ".globl " names "\n\t.hidden " names "\n\t"

#endif
