# SPDX-License-Identifier: MIT
#
# QEMU's RISC-V machine "virt", 32 bits.
set(PIRN_BOARD riscv32-virt)
set(PIRN_BOARD_CODE riscv-virt)
set(PIRN_BOARD_TARGET rv32)
set(PIRN_BOARD_COMPILER riscv64-unknown-elf-)
set(PIRN_BOARD_FLAGS -march=rv32gc -mabi=ilp32d -mcmodel=medany)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
