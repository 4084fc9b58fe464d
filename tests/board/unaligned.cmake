# SPDX-License-Identifier: MIT
#
# A load of a word: QEMU's RISC-V executes it, the C library of AArch64 needs that it is executed. With
# bare_unaligned_access the program says that it is no mistake.
board_program(unaligned unaligned.c)
set(crooked "[0-9a-f]*[26ae]")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m)
  set(crooked "[0-9a-f]+") # of the instruction: no register has the other one
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(riscv|aarch64)")
  board_test(unaligned-load unaligned 0 "^done\n$" ${MANY} "")
else()
  board_test(unaligned-load unaligned 134
             "^pirn: fault: unaligned access.* address 0x${crooked}, in thread [0-9.]+ \"crooked\"\npirn: at 0x[0-9a-f]+  reads_crooked, .*unaligned.c:"
             ${MANY} "")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(arm|cortex-m)$")
  board_program(unaligned-allowed unaligned.c)
  target_link_options(unaligned-allowed PRIVATE -Wl,--defsym=bare_unaligned_access=1)
  board_test(unaligned-allowed unaligned-allowed 0 "^done\n$" ${MANY} "")
endif()
