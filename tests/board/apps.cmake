# SPDX-License-Identifier: MIT
#
# The applications on a board, with real files: the checks of tests/apps, with the board in front.
set(APPS ${PROJECT_SOURCE_DIR}/tests/apps)
set(CLIPS ${CMAKE_CURRENT_BINARY_DIR}/clips)
set(RUN ${PROJECT_SOURCE_DIR}/.venv/bin/pirn board run --timeout 240)

add_test(NAME apps-clips COMMAND ${Python3_EXECUTABLE} ${APPS}/make_clips.py ${CLIPS})
fast_test(120 apps-clips)
set_tests_properties(apps-clips PROPERTIES FIXTURES_SETUP clips)

# board_apps_test(NAME PROGRAM CORES CHECK...): CHECK, followed by the command that starts PROGRAM.
# Tests with the largest number of cores are fast.
function(board_apps_test name program cores)
  add_test(NAME ${name}-${cores} COMMAND ${Python3_EXECUTABLE} -B ${ARGN} ${RUN} --cpus ${cores} ${PIRN_BOARD}
                                         $<TARGET_FILE:${program}>)
  apps_test(${name} ${cores})
  set_tests_properties(${name}-${cores} PROPERTIES FIXTURES_REQUIRED clips)
endfunction()

function(apps_test name cores)
  if(cores EQUAL MANY)
    fast_test(300 ${name}-${cores})
  else()
    slow_test(300 ${name}-${cores})
  endif()
endfunction()

set(MAKE_OPTIONS ${PROJECT_SOURCE_DIR}/apps/blackscholes/make_options.py)
foreach(cores ${PIRN_BOARD_CORES})
  board_apps_test(blackscholes blackscholes ${cores} ${APPS}/check_blackscholes.py prices ${MAKE_OPTIONS})
  board_apps_test(dedup-short dedup ${cores} ${APPS}/check_dedup.py short)
  board_apps_test(mjpeg mjpeg ${cores} ${APPS}/check_mjpeg.py command ${CLIPS} 420-restart)
  add_test(NAME comm-${cores} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/expect.py --status 0
                                      --match "^comm: pairs=8 items=2000 fifo=1 work=3 seconds=[0-9.]+ checksum=796d902c4a4a81c0\n$"
                                      -- ${RUN} --cpus ${cores} ${PIRN_BOARD} $<TARGET_FILE:comm> --pairs=8 --items=2000 --fifo=1 --work=3)
  apps_test(comm ${cores})
endforeach()
board_apps_test(blackscholes-faults blackscholes ${TWO} ${APPS}/check_blackscholes.py faults ${MAKE_OPTIONS})
board_apps_test(dedup-faults dedup ${TWO} ${APPS}/check_dedup.py faults)

# Placement by loads measured on one core: written and read through the board's files. Few items: on a busy machine
# each that goes to another core waits for QEMU's turn.
if(MANY GREATER 1)
  add_test(NAME place-measured COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/unit/check_place.py ${RUN} --cpus "{cpus}"
                                     ${PIRN_BOARD} $<TARGET_FILE:comm> --pairs=8 --items=200 --fifo=1 --work=3)
  fast_test(600 place-measured)
endif()

# The compiler command for other build systems.
add_test(NAME pirn-cc-${MANY} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_cc.py ${PROJECT_BINARY_DIR}/pirn-cc ${RUN} --cpus ${MANY}
                                ${PIRN_BOARD})
fast_test(300 pirn-cc-${MANY})
