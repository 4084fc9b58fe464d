# SPDX-License-Identifier: MIT
#
# QEMU's MIPS machine "malta" with P5600, little endian. The compiler is one for Linux.
set(PIRN_BOARD malta-p5600)
set(PIRN_BOARD_TARGET mips32r2)
set(PIRN_BOARD_COMPILER mipsel-linux-gnu-)
set(PIRN_BOARD_FLAGS -march=mips32r2 -mfp32 -mno-abicalls -G0 -fno-stack-protector -U__linux__)
set(PIRN_BOARD_DEVICES semihost_exit.c)
set(CMAKE_SYSTEM_PROCESSOR mips)
include(${CMAKE_CURRENT_LIST_DIR}/../toolchain.cmake)
