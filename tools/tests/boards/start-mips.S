/* SPDX-License-Identifier: MIT */
    .section .text.start, "ax"
    .globl  _start
_start:
    mfc0    $8, $12
    lui     $9, 0x2000              /* Status.CU1: floating point on */
    or      $8, $8, $9
    mtc0    $8, $12
    ehb
    la      $28, _gp
    la      $29, __stack - 32
    la      $8, __bss_start
    la      $9, __bss_end
1:  sw      $0, 0($8)
    addiu   $8, $8, 4
    bltu    $8, $9, 1b
    la      $4, __tls_base
    jal     _init_tls
    la      $4, __tls_base
    jal     _set_tls
    jal     __libc_init_array
    jal     main
    move    $4, $2
    jal     exit

/* The library's leaves the offset out that the ABI has. */
    .globl  _set_tls
_set_tls:
    li      $8, 0x7000
    addu    $4, $4, $8
    mtc0    $4, $4, 2               /* UserLocal */
    ehb
    jr      $31

/* Its semihosting has no clock. */
    .globl  gettimeofday
gettimeofday:
    li      $8, 1
    sw      $8, 0($4)               /* 64 bits of seconds */
    sw      $0, 4($4)
    sw      $0, 8($4)
    move    $2, $0
    jr      $31
