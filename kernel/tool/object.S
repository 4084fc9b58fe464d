/* SPDX-License-Identifier: MIT
 *
 * The BPF object inside the command. The build passes its path.
 */
    .section .rodata
    .global bpf_object_begin, bpf_object_end
    .balign 16
bpf_object_begin:
    .incbin BPF_OBJECT
bpf_object_end:
    .section .note.GNU-stack, "", %progbits
