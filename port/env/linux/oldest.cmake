# SPDX-License-Identifier: MIT
#
# Build with the compilers and the C library of the oldest release of Debian that the library runs
# on, in the root file system of tools/setup-glibc. Tests run in the release that IN_ROOT names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
get_filename_component(PIRN_PROJECT ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(PIRN_OLDEST ${PIRN_PROJECT}/.glibc/bullseye)
set(CMAKE_C_COMPILER ${PIRN_OLDEST}/bin/gcc)
set(CMAKE_CXX_COMPILER ${PIRN_OLDEST}/bin/g++)
set(CMAKE_FIND_ROOT_PATH ${PIRN_OLDEST}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PIRN_PROJECT}/tools/in-root)
