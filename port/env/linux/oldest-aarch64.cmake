# SPDX-License-Identifier: MIT
#
# The same for AArch64, with the cross compiler of that release (tools/setup-glibc --aarch64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
get_filename_component(PIRN_PROJECT ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(PIRN_OLDEST ${PIRN_PROJECT}/.glibc/bullseye)
set(CMAKE_C_COMPILER ${PIRN_OLDEST}/bin/aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH ${PIRN_OLDEST}/root/usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
