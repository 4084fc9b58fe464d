# SPDX-License-Identifier: MIT
#
# QEMU's Versatile Express with Cortex-A9.
set(PIRN_BOARD vexpress-a9)
set(PIRN_BOARD_TARGET armv7a)
set(PIRN_BOARD_DEVICES gic.c mpcore_timer.c pl011.c cores_wait.c semihost_exit.c)
set(PIRN_BOARD_COMPILER arm-none-eabi-)
set(PIRN_BOARD_FLAGS -marm -march=armv7-a+mp+fp -mfloat-abi=hard -mno-unaligned-access)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
