# SPDX-License-Identifier: MIT
#
# QEMU's RealView EB with ARM11 MPCore.
set(PIRN_BOARD realview-eb-mpcore)
set(PIRN_BOARD_TARGET armv6k)
set(PIRN_BOARD_DEVICES gic.c mpcore_timer.c pl011.c cores_wait.c semihost_exit.c)
set(PIRN_BOARD_COMPILER arm-none-eabi-)
set(PIRN_BOARD_FLAGS -marm -mcpu=mpcore -mfloat-abi=hard -mno-unaligned-access)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
