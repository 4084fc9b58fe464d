# SPDX-License-Identifier: MIT
# Link the core alone: it must fail, and each call that port.h declares must be named as missing. As a
# program: of a library the linker stops at the first variable that is declared hidden and missing.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${LINKER} -Wl,--whole-archive ${LIBRARY} -Wl,--no-whole-archive -o ${OUT}
                RESULT_VARIABLE status ERROR_VARIABLE messages)
if(status EQUAL 0)
  message(FATAL_ERROR "the template links")
endif()

set(missing 0)
file(STRINGS ${CONTRACT} lines REGEX "^[A-Za-z].*[ *]port_[a-z_]+\\(")
foreach(line ${lines})
  if(line MATCHES "^(typedef|ALWAYS_INLINE)")
    continue()
  endif()
  string(REGEX REPLACE "^[^(]*[ *](port_[a-z_]+)\\(.*" "\\1" name "${line}")
  if(NOT messages MATCHES "[^a-z_]${name}[^a-z_]")
    message(SEND_ERROR "${name} is missing, and the linker does not say so")
  endif()
  math(EXPR missing "${missing} + 1")
endforeach()
if(missing LESS 15 OR missing GREATER 30)
  message(SEND_ERROR "port.h declares ${missing} calls; expected 15 to 30")
endif()
message(STATUS "${missing} calls named by the linker")
