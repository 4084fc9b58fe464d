# SPDX-License-Identifier: MIT
#
# QEMU's ARM machine "virt" with Cortex-A15.
set(PIRN_BOARD arm-virt)
set(PIRN_BOARD_TARGET armv7a)
set(PIRN_BOARD_DEVICES gic.c generic_timer.c pl011.c psci.c semihost_exit.c)
set(PIRN_BOARD_COMPILER arm-none-eabi-)
set(PIRN_BOARD_FLAGS -marm -march=armv7-a+mp+fp -mfloat-abi=hard -mno-unaligned-access)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
