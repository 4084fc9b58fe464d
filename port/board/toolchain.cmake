# SPDX-License-Identifier: MIT
#
# What the toolchain files of all boards have in common: a cross compiler without an operating
# system, and picolibc as `tools/setup-boards` has made it. Programs run in QEMU.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
get_filename_component(PIRN_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(PIRN_BOARD_LIBC ${PIRN_ROOT}/.boards/picolibc/${PIRN_BOARD_TARGET})
if(NOT EXISTS ${PIRN_BOARD_LIBC}/include)
  message(FATAL_ERROR "no C library for the board ${PIRN_BOARD} in ${PIRN_BOARD_LIBC}: tools/setup-boards makes it")
endif()

set(CMAKE_C_COMPILER ${PIRN_BOARD_COMPILER}gcc)
set(CMAKE_ASM_COMPILER ${PIRN_BOARD_COMPILER}gcc)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include OUTPUT_VARIABLE PIRN_BOARD_GCC_HEADERS OUTPUT_STRIP_TRAILING_WHITESPACE)
# Some compilers have <limits.h> here.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include-fixed OUTPUT_VARIABLE PIRN_BOARD_GCC_FIXED OUTPUT_STRIP_TRAILING_WHITESPACE)
list(JOIN PIRN_BOARD_FLAGS " " PIRN_BOARD_FLAGS)
string(APPEND PIRN_BOARD_FLAGS " -ftls-model=local-exec -ffunction-sections -fdata-sections -fno-pic")
set(PIRN_BOARD_HEADERS "-nostdinc -isystem ${PIRN_BOARD_LIBC}/include -isystem ${PIRN_BOARD_GCC_HEADERS} -isystem ${PIRN_BOARD_GCC_FIXED}")
set(CMAKE_C_FLAGS_INIT "${PIRN_BOARD_FLAGS} ${PIRN_BOARD_HEADERS}")
set(CMAKE_ASM_FLAGS_INIT "${PIRN_BOARD_FLAGS}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-z,max-page-size=4096 -Wl,--build-id=none -Wl,--no-warn-rwx-segments")

set(CMAKE_FIND_ROOT_PATH ${PIRN_BOARD_LIBC})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PIRN_ROOT}/.venv/bin/pirn;board;run;${PIRN_BOARD})
