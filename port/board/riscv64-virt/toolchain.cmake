# SPDX-License-Identifier: MIT
#
# QEMU's RISC-V machine "virt", 64 bits.
set(PIRN_BOARD riscv64-virt)
set(PIRN_BOARD_CODE riscv-virt)
set(PIRN_BOARD_TARGET rv64)
set(PIRN_BOARD_COMPILER riscv64-unknown-elf-)
set(PIRN_BOARD_FLAGS -march=rv64gc -mabi=lp64d -mcmodel=medany)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
