/* SPDX-License-Identifier: MIT */
    .section .text.start, "ax"
    .globl  _start
_start:
#ifdef __riscv_flen
    li      t0, 0x6000              /* floating point on */
    csrs    mstatus, t0
    csrwi   fcsr, 0
#endif
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, __stack
    la      t0, __bss_start
    la      t1, __bss_end
1:  sw      zero, 0(t0)
    addi    t0, t0, 4
    bltu    t0, t1, 1b
    la      a0, __tls_base
    call    _init_tls
    la      a0, __tls_base
    call    _set_tls
    call    __libc_init_array
    call    main
    call    exit
