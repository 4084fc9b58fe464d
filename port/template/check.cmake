# SPDX-License-Identifier: MIT
# Link the core alone: it must fail, and each call that port.h and the template's headers declare
# must be named as missing. As a program: of a library the linker stops at the first variable that is
# declared hidden and missing.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${LINKER} -Wl,--whole-archive ${LIBRARY} -Wl,--no-whole-archive -o ${OUT}
                RESULT_VARIABLE status ERROR_VARIABLE messages)
if(status EQUAL 0)
  message(FATAL_ERROR "the template links")
endif()

# Calls that the core itself has no use for: ports and the POSIX layer call them.
set(unused port_cpu_relax port_may_wait)

set(missing 0)
foreach(header ${CONTRACT} ${TEMPLATE}/port_arch.h ${TEMPLATE}/port_env.h)
  file(STRINGS ${header} lines REGEX "^[A-Za-z].*[ *]port_[a-z_]+\\(")
  foreach(line ${lines})
    string(REGEX REPLACE "^[^(]*[ *](port_[a-z_]+)\\(.*" "\\1" name "${line}")
    if(name IN_LIST unused OR line MATCHES "^typedef")
      continue()
    endif()
    if(NOT messages MATCHES "[^a-z_]${name}[^a-z_]")
      message(SEND_ERROR "${name} is missing, and the linker does not say so")
    endif()
    math(EXPR missing "${missing} + 1")
  endforeach()
endforeach()
message(STATUS "${missing} calls named by the linker")
