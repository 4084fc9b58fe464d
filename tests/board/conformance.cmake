# SPDX-License-Identifier: MIT
#
# The conformance suite as a board's program: the areas whose files need no operating system to make sense, or those of
# CONFORMANCE_AREAS.
set(AREAS attr barrier c11 cancel cancel_waits cleanup clock cond demand join key mq mutex mutexattr once prio robust rwlock sched sem sleep
          spin stack stdio taskaffinity thread)
if(CONFORMANCE_AREAS)
  set(AREAS ${CONFORMANCE_AREAS})
endif()
list(TRANSFORM AREAS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/conformance/\\1.c" OUTPUT_VARIABLE area_sources)
add_executable(conformance conformance/harness_board.c ${PROJECT_SOURCE_DIR}/tests/conformance/harness_threads.c ${area_sources})
target_include_directories(conformance PRIVATE ${PROJECT_SOURCE_DIR}/tests/conformance conformance)
target_compile_definitions(conformance PRIVATE _GNU_SOURCE ON_PIRN RAM_MIB=${PIRN_BOARD_RAM_MIB})
target_compile_options(conformance PRIVATE -Wall -Wextra -include ${CMAKE_CURRENT_SOURCE_DIR}/conformance/absent.h $<$<BOOL:${PIRN_WERROR}>:-Werror>)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/conformance/stack.c PROPERTIES
                            COMPILE_DEFINITIONS "CLOCK_PROCESS_CPUTIME_ID=CLOCK_MONOTONIC")
pirn_board_program(conformance PTHREAD)
