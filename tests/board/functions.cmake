# SPDX-License-Identifier: MIT
# What the tests and benchmarks on boards share; the board's own values come from its board.toml.

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

# target_link_alarm(TARGET): where the board has one (PIRN_BOARD_ALARM: device, source, address, the
# console's source)
function(target_link_alarm target)
  list(POP_FRONT PIRN_BOARD_ALARM device source address console)
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/board/alarm_${device}.c)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/board)
  target_compile_definitions(${target} PRIVATE ALARM_SOURCE=${source} ALARM_ADDRESS=${address} CONSOLE_SOURCE=${console})
endfunction()
