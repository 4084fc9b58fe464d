# SPDX-License-Identifier: MIT
#
# QEMU's AArch64 machine "virt" with Cortex-A57. The compiler is one for Linux.
set(PIRN_BOARD aarch64-virt)
set(PIRN_BOARD_TARGET aarch64)
set(PIRN_BOARD_DEVICES gic.c generic_timer.c pl011.c psci.c semihost_exit.c)
set(PIRN_BOARD_COMPILER aarch64-linux-gnu-)
set(PIRN_BOARD_FLAGS -march=armv8-a -mstrict-align -mno-outline-atomics -fno-stack-protector -U__linux__)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
