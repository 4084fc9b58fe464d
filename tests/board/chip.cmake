# SPDX-License-Identifier: MIT
#
# Tests of a board that is the simulated chip (tests.chip in its board.toml), about 1 MHz for one hardware thread
# and 0.1 MHz for 32: few tests, by number of cores x threads. They end by themselves: after CYCLES, not by the clock.
# Label fast: `make check-chip` runs these. All but those with 32 hardware threads run in lockstep with the
# instruction-set simulator. An image whose data are not cached (image.uncached) runs with few of them.
set(CYCLES 400000000)
set(SIZES 1x1 2x2)
if(NOT PIRN_BOARD_UNCACHED)
  list(APPEND SIZES 8x4)
endif()
set(TIMEOUT 7200) # seconds, of a simulator that hangs

# chip_command(VARIABLE SIZE "OPTION..." "NAME=VALUE..."): runs programs on a chip with SIZE, e.g. 2x4
function(chip_command variable size options environment)
  string(REGEX MATCH "^([0-9]+)x([0-9]+)$" unused ${size})
  math(EXPR cpus "${CMAKE_MATCH_1} * ${CMAKE_MATCH_2}")
  list(APPEND options --threads=${CMAKE_MATCH_2} --cycles=${CYCLES})
  if(cpus LESS 32)
    list(APPEND options --lockstep)
  endif()
  list(TRANSFORM options PREPEND "--with=")
  list(TRANSFORM environment PREPEND "--env=")
  set(${variable} ${PROJECT_SOURCE_DIR}/.venv/bin/pirn board run --timeout 0 --cpus ${cpus} ${options} ${environment} ${PIRN_BOARD}
      PARENT_SCOPE)
endfunction()

# chip_test(NAME SIZE PROGRAM STATUS PATTERN "NAME=VALUE..." ARGUMENT...)
function(chip_test name size program status pattern environment)
  chip_command(run ${size} "${OPTIONS}" "${environment}")
  add_test(NAME ${name}-${size} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/expect.py --status ${status} --match ${pattern}
                                ${EXPECT} -- ${run} $<TARGET_FILE:${program}> ${ARGN})
  slow_test(${TIMEOUT} ${name}-${size})
endfunction()

function(fast)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS fast)
endfunction()

# One simulator of each size is built before, not by several tests at once.
foreach(size ${SIZES})
  string(REPLACE "x" ";" numbers ${size})
  list(POP_FRONT numbers cores threads)
  add_test(NAME chip-${size} COMMAND ${PROJECT_SOURCE_DIR}/.venv/bin/pirn chip build --cores ${cores} --threads ${threads})
  slow_test(${TIMEOUT} chip-${size})
  set_tests_properties(chip-${size} PROPERTIES FIXTURES_SETUP chip-${size})
endforeach()
fast(chip-2x2)

# suite_test(SUITE SIZE POLICY PREEMPT)
function(suite_test suite size policy preempt)
  set(name suite-${suite}-${policy}-${preempt})
  chip_test(${name} ${size} suites 0 "[0-9]+ runs under ${policy} on [0-9]+ CPUs\n$"
            "PIRN_SCHED=${policy};PIRN_PREEMPT=${preempt}" --suite ${suite})
  set_tests_properties(${name}-${size} PROPERTIES FIXTURES_REQUIRED chip-${size})
endfunction()

foreach(size ${SIZES})
  foreach(suite core sync policy)
    suite_test(${suite} ${size} steal 1)
  endforeach()
  suite_test(core ${size} single 0)
  suite_test(sync ${size} single 0)
endforeach()
# Not at 8x4: there 33 threads of one priority yield without end, and compete for one lock.
foreach(size 1x1 2x2)
  suite_test(classes ${size} single:discipline=posix 1)
endforeach()
foreach(policy central dist request)
  suite_test(core 2x2 ${policy} 1)
  suite_test(sync 2x2 ${policy} 1)
endforeach()
fast(suite-core-steal-1-2x2)
if(PIRN_BOARD_UNCACHED)
  fast(suite-policy-steal-1-2x2)
else()
  fast(suite-sync-steal-1-2x2)
endif()

# Ready threads in the hardware scheduler: few entries, so that its queues are often full.
function(scheduler_test suite size entries)
  string(REPLACE "x" ";" numbers ${size})
  list(POP_FRONT numbers cores threads)
  set(simulator chip-${size}-scheduler${entries})
  if(NOT TEST ${simulator})
    add_test(NAME ${simulator} COMMAND ${PROJECT_SOURCE_DIR}/.venv/bin/pirn chip build --cores ${cores} --threads ${threads}
                                       --scheduler ${entries})
    slow_test(${TIMEOUT} ${simulator})
    set_tests_properties(${simulator} PROPERTIES FIXTURES_SETUP ${simulator})
  endif()
  set(OPTIONS --scheduler=${entries})
  set(name suite-${suite}-hw${entries})
  chip_test(${name} ${size} suites 0 "[0-9]+ runs under hw on [0-9]+ CPUs\n$" "PIRN_SCHED=hw;PIRN_PREEMPT=1" --suite ${suite})
  set_tests_properties(${name}-${size} PROPERTIES FIXTURES_REQUIRED ${simulator})
endfunction()
foreach(suite core sync policy)
  scheduler_test(${suite} 1x1 4)
  scheduler_test(${suite} 2x2 4)
  scheduler_test(${suite} 2x2 64)
  if(NOT PIRN_BOARD_UNCACHED)
    scheduler_test(${suite} 8x4 64)
  endif()
endforeach()
if(NOT PIRN_BOARD_UNCACHED)
  fast(chip-2x2-scheduler4 suite-core-hw4-2x2)
endif()
chip_test(no-scheduler 1x1 suites 1 "policy hw cannot begin: this board has no such hardware" "PIRN_SCHED=hw" --suite core)
set_tests_properties(no-scheduler-1x1 PROPERTIES FIXTURES_REQUIRED chip-1x1)

# The same in another order of requests at each bank, and with banks that often take none.
foreach(seed 1 2 3)
  set(OPTIONS --seed=${seed} --pressure=64)
  chip_test(suite-core-seed-${seed} 2x2 suites 0 "runs under steal on 4 CPUs\n$" "PIRN_PREEMPT=1" --suite core)
  set_tests_properties(suite-core-seed-${seed}-2x2 PROPERTIES FIXTURES_REQUIRED chip-2x2)
endforeach()
set(OPTIONS)

# On cores of different speeds: CPUs take over threads that slower ones run.
if(NOT PIRN_BOARD_UNCACHED)
  set(OPTIONS --slow=1:4)
  foreach(suite core sync policy)
    chip_test(suite-${suite}-slow 2x2 suites 0 "runs under steal:capacity=on on 4 CPUs\n$"
              "PIRN_SCHED=steal:capacity=on;PIRN_PREEMPT=1" --suite ${suite})
    set_tests_properties(suite-${suite}-slow-2x2 PROPERTIES FIXTURES_REQUIRED chip-2x2)
  endforeach()
  set(OPTIONS)
endif()

# The workloads of `pirn bench figures hw` with threads of Pirn: in turn and as a tree, and with a shared word. The
# program checks that each thread has run once, and the sum of the word.
if(NOT PIRN_BOARD_UNCACHED)
  foreach(policy steal single central dist request)
    chip_test(many-threads-${policy} 2x2 many_threads 0 "^first [0-9]+\ncycles [0-9]+\nmean [0-9]+\ncores [0-9]+ [0-9]+\n$"
              "PIRN_SCHED=${policy};PIRN_STACK=16384" --workload=b --threads=40 --units=10 --tree)
    set_tests_properties(many-threads-${policy}-2x2 PROPERTIES FIXTURES_REQUIRED chip-2x2)
  endforeach()
  set(OPTIONS --scheduler=64)
  chip_test(many-threads-hw 2x2 many_threads 0 "^first [0-9]+\ncycles [0-9]+\nmean [0-9]+\ncores [0-9]+ [0-9]+\n$"
            "PIRN_SCHED=hw;PIRN_STACK=16384" --workload=b --threads=40 --units=10)
  set_tests_properties(many-threads-hw-2x2 PROPERTIES FIXTURES_REQUIRED chip-2x2-scheduler64)
  set(OPTIONS)
endif()

# An image whose data are cached says that it cannot run where caches are not coherent.
if(NOT PIRN_BOARD_UNCACHED)
  set(OPTIONS --incoherent)
  foreach(size 1x1 2x2)
    chip_test(incoherent ${size} suites 1
              "^pirn: the caches of this chip are not coherent, and this image has its data in them. build it for the board pirn-soc-incoherent\n$"
              "" --suite core)
    set_tests_properties(incoherent-${size} PROPERTIES FIXTURES_REQUIRED chip-${size})
  endforeach()
  fast(incoherent-2x2)
  set(OPTIONS)
endif()

# hardware_test(NAME STATUS PATTERN "NAME=VALUE..." MODE)
function(hardware_test name status pattern environment)
  foreach(size 1x1 2x2)
    chip_test(${name} ${size} hardware ${status} ${pattern} "${environment}" ${ARGN})
    set_tests_properties(${name}-${size} PROPERTIES FIXTURES_REQUIRED chip-${size})
  endforeach()
endfunction()

chip_test(files 1x1 hardware 0 "done\n$" "FILES=${CMAKE_CURRENT_BINARY_DIR}/file" files)
set_tests_properties(files-1x1 PROPERTIES FIXTURES_REQUIRED chip-1x1)
hardware_test(overflow 134 "pirn: stack overflow in thread [0-9.]+ \"deep\": its 65536 bytes are used up" "" overflow)
hardware_test(fault 134 "pirn: fault: no such memory to read .*address 0xf0000000, in thread [0-9.]+ \"astray\"\npirn: at .*reads_nothing, .*hardware.c:"
              "" fault)
hardware_test(fault-write 134 "pirn: fault: no such memory to write .*address 0xf0000000, in thread [0-9.]+ \"astray\"\npirn: at .*writes_nothing, .*hardware.c:"
              "" fault-write)
hardware_test(fault-jump 134 "pirn: fault: no such instruction memory .*in thread [0-9.]+ \"astray\"\npirn: at 0xf0000000" "" fault-jump)
hardware_test(unaligned 134 "pirn: fault: .*not aligned .*in thread [0-9.]+ \"crooked\"\npirn: at " "" unaligned)
set(EXPECT --input "hello, board")
hardware_test(console 0 "ready\ngot hello, board\n$" "" console)
set(EXPECT)
hardware_test(words 0 "\\[words\\]\\[a b\\]\\[A=B\\]\\[.\"'\\\\\\]" "" words "a b" A=B ".\"'\\")

# Trace and profile, read by the tools and by GNU gprof: times are cycles. With little memory, as the chip clears
# all of it before.
chip_command(run 2x2 "" "ROUNDS=50;PIRN_TRACESIZE=256K;PIRN_PROFNODES=1000;PIRN_PROFTHREADS=100")
add_test(NAME records-2x2 COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_records.py --chip ${PIRN_BOARD_COMPILER}gprof
                                  $<TARGET_FILE:hardware> ${CMAKE_CURRENT_BINARY_DIR} ${run})
slow_test(${TIMEOUT} records-2x2)
set_tests_properties(records-2x2 PROPERTIES FIXTURES_REQUIRED chip-2x2)

# Libraries without some features, and their sizes: they run on 1 and on 4 cores.
small_tests(configurations ${TIMEOUT})
if(configurations)
  add_test(NAME chip-4x1 COMMAND ${PROJECT_SOURCE_DIR}/.venv/bin/pirn chip build --cores 4 --threads 1)
  slow_test(${TIMEOUT} chip-4x1)
  set_tests_properties(chip-4x1 PROPERTIES FIXTURES_SETUP chip-4x1)
  set_tests_properties(${configurations} PROPERTIES FIXTURES_REQUIRED "chip-1x1;chip-4x1")
endif()

# POSIX threads: areas and cases of the conformance suite, with policy steal, and some with ready threads in the hardware
# scheduler. All tests posix_test() together take at most 50 million cycles: each has a limit, and boots once.
set(CONFORMANCE_AREAS barrier cond join key mutex mutexattr once sem spin)
include(conformance.cmake)

# conformance_test(NAME CYCLES SIMULATOR "OPTION..." "NAME=VALUE..." AREA|CASE...)
function(conformance_test name cycles simulator options environment)
  set(CYCLES ${cycles})
  chip_command(run 2x2 "${options}" "${environment}")
  add_test(NAME conformance-${name}-2x2
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/conformance/conformance.py --boots 1 ${run} $<TARGET_FILE:conformance>
                   -- ${ARGN})
  slow_test(${TIMEOUT} conformance-${name}-2x2)
  set_tests_properties(conformance-${name}-2x2 PROPERTIES FIXTURES_REQUIRED ${simulator})
endfunction()

set(posix_cycles 50000000)
function(posix_test name cycles simulator options environment)
  math(EXPR left "${posix_cycles} - ${cycles}")
  if(left LESS 0)
    message(FATAL_ERROR "the limits of the tests posix_test() are more than 50 million cycles together")
  endif()
  set(posix_cycles ${left} PARENT_SCOPE)
  conformance_test(${name} ${cycles} ${simulator} "${options}" "${environment}" ${ARGN})
endfunction()

if(NOT PIRN_BOARD_UNCACHED)
  set(barrier a_barrier_of_one_never_waits those_that_came_wait_for_the_last init_is_einval_for_no_threads attr_init_sets_defaults
              attr_pshared_is_kept attr_pshared_is_einval_for_other_values)
  list(TRANSFORM barrier PREPEND barrier.)
  posix_test(areas 21000000 chip-2x2 "" "" key mutexattr once spin ${barrier})

  set(mutex init_works_again_after_destroy trylock_is_ebusy_when_the_caller_holds_it normal_waits_for_itself_when_locked_again
            recursive_is_eagain_at_the_most errorcheck_lock_is_edeadlk_when_the_caller_holds_it unlock_is_eperm_when_another_thread_holds_it
            unlock_is_eperm_when_nobody_holds_it unlock_wakes_every_waiter_in_turn unknown_kind_is_einval lock_is_einval_after_destroy)
  list(TRANSFORM mutex PREPEND mutex.)
  set(join tryjoin_is_ebusy_until_the_end tryjoin_of_oneself_is_refused timedjoin_without_a_time_waits
           timedjoin_is_edeadlk_when_joining_oneself)
  list(TRANSFORM join PREPEND join.)
  posix_test(mutex-join 10000000 chip-2x2 "" "" ${mutex} ${join})

  # Two tests, as the command line of a program has at most 1023 bytes.
  set(cond signal_wakes_one_for_each broadcast_wakes_all signal_without_waiter_is_lost wait_releases_the_mutex
           clockwait_is_einval_for_other_clocks timed_waits_are_woken_before_their_time wait_is_eperm_when_errorcheck_is_not_held
           condattr_init_sets_defaults condattr_clock_is_kept condattr_clock_is_einval_for_other_clocks condattr_pshared_is_kept)
  list(TRANSFORM cond PREPEND cond.)
  set(sem init_sets_the_value init_is_einval_above_the_maximum value_counts_posts_and_waits post_wakes_one_waiter_each
          trywait_is_eagain_when_empty timedwait_is_etimedout_when_empty timedwait_is_einval_for_bad_nanoseconds
          post_is_eoverflow_at_the_maximum)
  list(TRANSFORM sem PREPEND sem.)
  posix_test(cond-sem 11000000 chip-2x2 "" "" ${cond} ${sem})

  posix_test(hw4 7600000 chip-2x2-scheduler4 "--scheduler=4" "PIRN_SCHED=hw" cond.signal_wakes_one_for_each join.tryjoin_is_ebusy_until_the_end
             mutex.unlock_wakes_every_waiter_in_turn once.everybody_waits_for_the_one_run sem.post_wakes_one_waiter_each)

  # Not part of these: all of an area with many waits.
  conformance_test(barrier 50000000 chip-2x2 "" "" barrier)
else()
  foreach(area key once barrier spin mutexattr)
    conformance_test(${area} 50000000 chip-2x2 "" "" ${area})
  endforeach()
  foreach(area once spin)
    conformance_test(${area}-hw4 50000000 chip-2x2-scheduler4 "--scheduler=4" "PIRN_SCHED=hw" ${area})
  endforeach()
endif()
