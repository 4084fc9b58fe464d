# SPDX-License-Identifier: MIT
#
# The toolchain of all boards: a cross compiler without an operating system, and picolibc as
# `tools/setup-boards` has made it. Programs run in QEMU. Which board it is:
#
#   PIRN_BOARD            its name, when this tree is configured; its board.toml is read then
#   PIRN_BOARD_SETTINGS   board.cmake, which was made of that: of projects elsewhere, whose toolchain file
#                         (cmake/pirn-board-toolchain.cmake.in) includes this one
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(NOT PIRN_BOARD_SETTINGS)
  get_filename_component(PIRN_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  if(NOT EXISTS ${PIRN_ROOT}/.venv/bin/python)
    message(FATAL_ERROR "boards are not set up: tools/setup-boards does that")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PIRN_ROOT}/tools ${PIRN_ROOT}/.venv/bin/python -B -m
                          pirn_tools.board.configure "${PIRN_BOARD}" ${CMAKE_BINARY_DIR}
                  RESULT_VARIABLE PIRN_STATUS ERROR_VARIABLE PIRN_SAID)
  if(PIRN_STATUS)
    string(REGEX REPLACE "^Error: " "" PIRN_SAID "${PIRN_SAID}")
    message(FATAL_ERROR "${PIRN_SAID}")
  endif()
  set(PIRN_BOARD_SETTINGS ${CMAKE_BINARY_DIR}/board.cmake)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PIRN_BOARD_SETTINGS)
include(${PIRN_BOARD_SETTINGS})
# Installed (cmake/install-board.cmake), everything lies side by side.
include(${CMAKE_CURRENT_LIST_DIR}/installed.cmake OPTIONAL RESULT_VARIABLE PIRN_BOARD_INSTALLED)
if(PIRN_BOARD_INSTALLED)
  get_filename_component(PIRN_BOARD_LIBC ${CMAKE_CURRENT_LIST_DIR}/../libc/${PIRN_BOARD_TARGET} ABSOLUTE)
  if(NOT EXISTS "${PIRN_COMMAND}")
    set(PIRN_COMMAND pirn)
  endif()
else()
  get_filename_component(PIRN_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  set(PIRN_BOARD_LIBC ${PIRN_ROOT}/.boards/picolibc/${PIRN_BOARD_TARGET})
  set(PIRN_COMMAND ${PIRN_ROOT}/.venv/bin/pirn)
endif()
if(NOT EXISTS "${PIRN_BOARD_LIBC}/include")
  message(FATAL_ERROR "no C library for the board ${PIRN_BOARD} in ${PIRN_BOARD_LIBC}: tools/setup-boards makes it")
endif()
# Where find_package(pirn) looks.
if(NOT DEFINED pirn_DIR)
  get_filename_component(pirn_DIR ${PIRN_BOARD_SETTINGS} DIRECTORY)
endif()

set(CMAKE_C_COMPILER ${PIRN_BOARD_COMPILER}gcc)
set(CMAKE_CXX_COMPILER ${PIRN_BOARD_COMPILER}g++)
set(CMAKE_ASM_COMPILER ${PIRN_BOARD_COMPILER}gcc)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include OUTPUT_VARIABLE PIRN_BOARD_GCC_HEADERS OUTPUT_STRIP_TRAILING_WHITESPACE)
# Some compilers have <limits.h> here.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include-fixed OUTPUT_VARIABLE PIRN_BOARD_GCC_FIXED OUTPUT_STRIP_TRAILING_WHITESPACE)
list(JOIN PIRN_BOARD_FLAGS " " PIRN_BOARD_FLAGS)
string(APPEND PIRN_BOARD_FLAGS " -ftls-model=local-exec -ffunction-sections -fdata-sections -fno-pic")
set(PIRN_BOARD_HEADERS "-nostdinc -isystem \"${PIRN_BOARD_LIBC}/include\" -isystem \"${PIRN_BOARD_GCC_HEADERS}\" -isystem \"${PIRN_BOARD_GCC_FIXED}\"")

# pirn_board_flags(NAME FLAGS): the first value of the variable NAME. With a value of the user's, as of
# -DCMAKE_C_FLAGS=..., CMake would leave them out: they come before it. This file is read several times.
function(pirn_board_flags name flags)
  string(STRIP "${flags}" flags)
  set(${name}_INIT "${flags}" PARENT_SCOPE)
  if(DEFINED CACHE{${name}})
    string(FIND "$CACHE{${name}}" "${flags}" at)
    if(at EQUAL -1)
      set(${name} "${flags} $CACHE{${name}}" CACHE STRING "the board's flags, and others" FORCE)
    endif()
  endif()
endfunction()
pirn_board_flags(CMAKE_C_FLAGS "${PIRN_BOARD_FLAGS} ${PIRN_BOARD_HEADERS}")
# There is no C++ library, nor what exceptions and types at run time need of one (port/board/cxx).
set(PIRN_BOARD_CXX_FLAGS "-nostdinc++ -fno-exceptions -fno-rtti")
set(PIRN_BOARD_CXX_KEPT "-Wl,-u,__cxa_pure_virtual,-u,__cxa_deleted_virtual")
pirn_board_flags(CMAKE_CXX_FLAGS "${PIRN_BOARD_FLAGS} ${PIRN_BOARD_HEADERS} ${PIRN_BOARD_CXX_FLAGS}")
pirn_board_flags(CMAKE_ASM_FLAGS "${PIRN_BOARD_FLAGS}")
set(PIRN_BOARD_LINK_FLAGS "-static -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-z,max-page-size=4096 -Wl,--build-id=none -Wl,--no-warn-rwx-segments")
pirn_board_flags(CMAKE_EXE_LINKER_FLAGS "${PIRN_BOARD_LINK_FLAGS}")

set(CMAKE_FIND_ROOT_PATH ${PIRN_BOARD_LIBC})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PIRN_COMMAND};board;run;${PIRN_BOARD})
endif()
