# SPDX-License-Identifier: MIT
#
# Functions that the tests and benchmarks on boards share; the board's own values come from its
# board.toml.

# fast_test(SECONDS NAME...): tests short enough for `make check`; "fast", if the board's tests.fast matches
function(fast_test seconds)
  slow_test(${seconds} ${ARGN})
  foreach(name ${ARGN})
    if(name MATCHES "${PIRN_BOARD_FAST}")
      set_property(TEST ${name} APPEND PROPERTY LABELS fast)
    endif()
  endforeach()
endfunction()

function(slow_test seconds)
  set_tests_properties(${ARGN} PROPERTIES LABELS board TIMEOUT ${seconds})
endfunction()

# board_program(NAME [PTHREAD] [OPTIONS] SOURCE...): an image for the board, with the warnings of the tree; OPTIONS: and
# with the parser of command lines
function(board_program name)
  cmake_parse_arguments(with "PTHREAD;OPTIONS" "" "" ${ARGN})
  add_executable(${name} ${with_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/board) # check_board.h
  target_link_libraries(${name} PRIVATE pirn_flags $<$<BOOL:${with_OPTIONS}>:pirn_options>)
  if(with_PTHREAD)
    set(layer PTHREAD)
  endif()
  pirn_board_program(${name} ${layer})
endfunction()

# board_test(NAME PROGRAM STATUS PATTERN CORES "NAME=VALUE..." ARGUMENT...): a fast test. The
# command is in RUN, options of expect.py in EXPECT.
function(board_test name program status pattern cores environment)
  list(TRANSFORM environment PREPEND "--env;")
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/board/expect.py --status ${status} --match ${pattern}
                                ${EXPECT} -- ${RUN} --cpus ${cores} ${environment} ${PIRN_BOARD} $<TARGET_FILE:${program}> ${ARGN})
  fast_test(300 ${name})
endfunction()

# small_tests(NAMES SECONDS): a test for each of the board's configurations in small/sizes.toml, and their names. The
# command is in SMALL, its options in small_options.
function(small_tests names seconds)
  file(STRINGS small/sizes.toml found REGEX "^\\[\"${PIRN_BOARD}-")
  list(TRANSFORM found REPLACE "[^a-z0-9-]" "")
  list(TRANSFORM found PREPEND small-)
  foreach(test ${found})
    string(REGEX REPLACE "^small-" "" configuration ${test})
    add_test(NAME ${test} COMMAND ${SMALL} ${small_options} ${configuration})
    slow_test(${seconds} ${test})
    set_tests_properties(${test} PROPERTIES PROCESSORS 2)
  endforeach()
  set(${names} ${found} PARENT_SCOPE)
endfunction()

# target_link_alarm(TARGET): only where the board has an alarm (PIRN_BOARD_ALARM: device, source,
# address, the console's source, its clock's Hz).
function(target_link_alarm target)
  list(POP_FRONT PIRN_BOARD_ALARM device source address console hz)
  set(alarms ${PROJECT_SOURCE_DIR}/tools/pirn_tools/board/skeleton-irq) # of projects with a handler, too
  target_sources(${target} PRIVATE ${alarms}/alarm_${device}.c)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/board ${alarms})
  target_compile_definitions(${target} PRIVATE ALARM_SOURCE=${source} ALARM_ADDRESS=${address} CONSOLE_SOURCE=${console} ALARM_HZ=${hz})
endfunction()
