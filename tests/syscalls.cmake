# SPDX-License-Identifier: MIT
#
# pirn_system_calls(TARGET): calls.def for its sources, a line {"NAME", SYS_NAME}, for each system call
# that the system's headers know.
function(pirn_system_calls target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}-calls)
  file(WRITE ${folder}/calls.c "#include <sys/syscall.h>\n")
  execute_process(COMMAND ${CMAKE_C_COMPILER} -E -dM ${folder}/calls.c OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "#define SYS_[a-z0-9_]+ " macros "${macros}")
  list(TRANSFORM macros REPLACE "#define SYS_([a-z0-9_]+) " "{\"\\1\", SYS_\\1},\n")
  string(CONCAT macros ${macros})
  file(CONFIGURE OUTPUT ${folder}/calls.def CONTENT "@macros@" @ONLY)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
