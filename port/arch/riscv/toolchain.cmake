# SPDX-License-Identifier: MIT
#
# Cross build for RISC-V 64 Linux with Debian's compiler; tests run under QEMU's user mode.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(PIRN_SYSROOT /usr/riscv64-linux-gnu)

set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH ${PIRN_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# As on x86-64 and AArch64, where it is the default: pthread_exit unwinds through C, too.
set(CMAKE_C_FLAGS_INIT -fasynchronous-unwind-tables)

# The static one first: it is what Debian's qemu-user-static has, and it needs no libraries.
find_program(PIRN_QEMU NAMES qemu-riscv64-static qemu-riscv64)
if(PIRN_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PIRN_QEMU};-L;${PIRN_SYSROOT})
endif()
