# SPDX-License-Identifier: MIT
#
# The parts of the runtime that a board's library leaves out, for small systems
# (docs/guide/boards.md, small systems):
#
#   PIRN_WITHOUT         names of features, or "everything"; a list
#   PIRN_WITH            exceptions from "everything"; a list
#   PIRN_POLICIES        the policies that are included; the first one is the default. hw: only where the board has queues
#   PIRN_CPUS_MOST       largest number of cores in use; further ones sleep
#   PIRN_STACK_MIN       bytes of the smallest stack
#   PIRN_THREADS_MOST    threads at once, with main and an idle thread for each core
#   PIRN_DESCRIPTOR      bytes of a thread's descriptor in the program's memory
#   PIRN_CORE_STACK      bytes of the stack of each core's scheduler context
#   PIRN_HANDLER_ROOM    bytes of a thread's stack for handlers of interrupts, where threads are preempted (not Cortex-M)
#   PIRN_TRAP_STACK      bytes of the stack that faults are reported on (Cortex-M: that handlers run on)
#   PIRN_INTERRUPTS_MOST numbers of interrupts that handlers can be attached to: those below it
#
# A feature that is left out has no file in CORE_SOURCES, or a small twin. If other files refer to
# it, its header has a no-op twin (PIRN_WITHOUT_...). A program that needs the feature does not
# link: the linker names what is missing.
set(features
    trace     # the event trace
    prof      # the profiler
    stats     # counters
    settings  # options, read when the program starts; words for main. Without: pirn_settings of <pirn/static.h>
    classes   # disciplines posix and shmac: classes and priorities
    weights   # shares of threads of class OTHER by weight, discipline shmac. Without: they take turns
    owned     # mutexes that are robust, inherit priorities, or have a ceiling
    affinity  # task affinity: threads run where their producers have just run
    nodes     # NUMA nodes, where port_nodes.h tells them
    demands   # what threads demand of CPUs and caches (pirn_set_demand). Without: not the policies gate, groups and fair either
    capacities # CPUs of different speeds, where port_capacity.h tells them
    loads     # placing threads by measured loads (central, dist). Without: in turn
    report    # who waits for what, in a deadlock; not without stats
    timed     # waits with a deadline, sleeping, software timers
    cancel    # cancellation points
    preempt   # ticks that end a thread's turn
    stacks    # stacks and descriptors that the runtime makes. Without: <pirn/static.h>, pirn_attr_t
    marks     # how much of its stack a thread has used
    watchdog  # <pirn/watchdog.h>
    input     # waiting for the console
    messages  # texts of what ends a program. Without: its status alone
    speed)    # code for speed: -O2, inlined paths. Without: -Os
set(policies steal single central dist request gate groups fair hw)
set(PIRN_WITHOUT "" CACHE STRING "features that are left out, for boards: everything, or of: ${features}")
set(PIRN_WITH "" CACHE STRING "with PIRN_WITHOUT=everything: features that stay all the same")
set(PIRN_POLICIES "" CACHE STRING "policies that there are, for boards; none: all that the board can have, of: ${policies}")
set(cpus 8)
if(PIRN_BOARD_CORES_MOST GREATER cpus OR PIRN_BOARD_CORES_MOST EQUAL 1)
  set(cpus ${PIRN_BOARD_CORES_MOST})
endif()
set(PIRN_CPUS_MOST ${cpus} CACHE STRING "cores that are used at most, for boards")
set(PIRN_STACK_MIN 16384 CACHE STRING "bytes of the smallest stack, for boards")
set(PIRN_THREADS_MOST 65536 CACHE STRING "threads at once, for boards: a power of two")
set(PIRN_DESCRIPTOR 576 CACHE STRING "bytes of a thread's descriptor in the program's memory, for boards")
set(PIRN_CORE_STACK 8192 CACHE STRING "bytes of the stack of each core's scheduler context, for boards")
set(PIRN_HANDLER_ROOM 2048 CACHE STRING "bytes of a thread's stack for handlers of interrupts, for boards")
set(PIRN_TRAP_STACK "" CACHE STRING "bytes of the stack that faults are reported on, for boards; none: as the architecture needs")
set(PIRN_INTERRUPTS_MOST "" CACHE STRING "numbers of interrupts that handlers can have: those below it, for boards; none: all")

function(check_names variable what)
  foreach(name ${${variable}})
    if(NOT name IN_LIST ARGN)
      list(JOIN ARGN ", " valid)
      message(FATAL_ERROR "${variable}: there is no ${what} \"${name}\"; valid: ${valid}")
    endif()
  endforeach()
endfunction()

function(check_number variable least most)
  if(NOT ${variable} MATCHES "^[1-9][0-9]*$" OR ${variable} LESS least OR ${variable} GREATER most)
    message(FATAL_ERROR "${variable}=\"${${variable}}\" is not valid; valid: ${least} to ${most}")
  endif()
endfunction()

check_names(PIRN_WITHOUT feature everything ${features})
check_names(PIRN_WITH feature ${features})
# Policy hw needs queues in the hardware: [image.addresses] of a board that has them says where their registers are.
set(available ${policies})
if(NOT PIRN_BOARD_READY_QUEUES)
  list(REMOVE_ITEM available hw)
  if("hw" IN_LIST PIRN_POLICIES)
    list(JOIN PIRN_BOARDS_READY_QUEUES ", " valid)
    list(JOIN available ", " others)
    message(FATAL_ERROR "PIRN_POLICIES: policy \"hw\" needs queues of threads in hardware, and the board ${PIRN_BOARD} "
                        "has none (no \"scheduler\" in [image.addresses] of its board.toml); boards that have them: "
                        "${valid}; valid for ${PIRN_BOARD}: ${others}")
  endif()
endif()
check_names(PIRN_POLICIES policy ${available})
check_number(PIRN_CPUS_MOST 1 32)
check_number(PIRN_STACK_MIN 1024 1048576)
function(check_multiple variable unit)
  math(EXPR rest "${${variable}} % ${unit}")
  if(rest)
    message(FATAL_ERROR "${variable}=\"${${variable}}\" is not valid; valid: multiples of ${unit}")
  endif()
endfunction()

# check_power(VARIABLE LEAST MOST BITS): the number is 2 to the power of BITS, which is set.
function(check_power variable least most bits)
  check_number(${variable} ${least} ${most})
  set(power 1)
  set(n 0)
  while(power LESS ${variable})
    math(EXPR power "2 * ${power}")
    math(EXPR n "${n} + 1")
  endwhile()
  if(NOT power EQUAL ${variable})
    message(FATAL_ERROR "${variable}=\"${${variable}}\" is not valid; valid: powers of two from ${least} to ${most}")
  endif()
  set(${bits} ${n} PARENT_SCOPE)
endfunction()

check_multiple(PIRN_STACK_MIN 64)
check_power(PIRN_THREADS_MOST 8 65536 threads_bits)
check_number(PIRN_DESCRIPTOR 128 1024)
check_multiple(PIRN_DESCRIPTOR 16)
check_number(PIRN_CORE_STACK 512 65536)
check_multiple(PIRN_CORE_STACK 64)
check_number(PIRN_HANDLER_ROOM 256 65536)
if(NOT PIRN_TRAP_STACK STREQUAL "")
  check_power(PIRN_TRAP_STACK 256 65536 trap_bits)
endif()
if(NOT PIRN_INTERRUPTS_MOST STREQUAL "")
  check_number(PIRN_INTERRUPTS_MOST 1 1024)
endif()
set(without ${PIRN_WITHOUT})
if("everything" IN_LIST without)
  set(without ${features})
  list(REMOVE_ITEM without "" ${PIRN_WITH})
elseif(PIRN_WITH)
  message(FATAL_ERROR "PIRN_WITH=\"${PIRN_WITH}\" says what stays of PIRN_WITHOUT=everything, which is not there")
endif()
if("settings" IN_LIST without) # by which alone these are asked for
  list(APPEND without trace prof stats)
  list(REMOVE_DUPLICATES without)
endif()
if("stats" IN_LIST without AND NOT "report" IN_LIST without)
  list(APPEND without report) # which tells by counters whether a CPU has moved
endif()
if("classes" IN_LIST without) # whose threads have them
  list(APPEND without weights)
  list(REMOVE_DUPLICATES without)
endif()
if("demands" IN_LIST without) # by which these schedule
  foreach(policy gate groups fair)
    if(policy IN_LIST PIRN_POLICIES)
      message(FATAL_ERROR "PIRN_POLICIES: policy \"${policy}\" schedules by what threads demand, and the feature "
                          "\"demands\" is left out (PIRN_WITHOUT); valid: PIRN_WITH=demands, or another policy")
    endif()
  endforeach()
  list(REMOVE_ITEM available gate groups fair)
endif()
set(chosen ${PIRN_POLICIES})
if(NOT chosen)
  set(chosen ${available})
endif()

# Files that are removed, and twins that are added: WITHOUT_trace_REMOVES, WITHOUT_trace_ADDS.
set(trace_removes ${TRACE_SOURCES})
set(prof_removes prof/prof_file.c prof/instrument.c prof/sample.c prof/tree.c prof/waits.c)
set(stats_removes core/stats.c native/native_stats.c)
set(settings_removes sched/public.c core/options.c core/options_describe.c core/options_names.c core/options_sched.c)
set(settings_adds core/options_fixed.c)
set(classes_removes sched/classq.c sched/classq_heap.c sched/classq_levels.c sched/classes.c sched/steal_preempt.c)
set(weights_removes sched/classq.c sched/classq_heap.c sched/classq_levels.c)
if(NOT "classes" IN_LIST without)
  set(weights_adds sched/classq_turns.c)
endif()
set(affinity_removes ${AFFINITY_SOURCES})
set(nodes_removes core/nodes.c)
set(demands_removes core/demand.c core/misses.c sched/cache.c)
set(capacities_removes core/capacity.c sched/capacities.c sched/steal_capacity.c)
set(owned_removes sync/omutex.c sync/robust.c)
set(classes_adds sched/classes_none.c)
set(loads_removes sched/place.c)
set(loads_adds sched/place_turn.c)
set(report_removes sync/report.c native/native_report.c)
set(timed_removes core/timer.c sync/sleep.c sync/timers.c native/native_timer.c) # and posix_deadline.c of the POSIX layer
set(stacks_removes core/stack.c)
set(marks_removes core/mark.c)
set(input_removes core/io.c core/io_close.c)
set(messages_removes core/message.c core/start_failed.c)
set(messages_adds core/message_none.c)

# What is reported with a text needs 2048 bytes; on other architectures cores begin there, or handlers run there.
if(NOT PIRN_TRAP_STACK STREQUAL "" AND PIRN_TRAP_STACK LESS 2048 AND NOT ("messages" IN_LIST without AND PIRN_ARCH STREQUAL riscv))
  message(FATAL_ERROR "PIRN_TRAP_STACK=\"${PIRN_TRAP_STACK}\" is not valid: messages (a feature) need 2048 or more; valid: "
                      "that, or on RISC-V without messages 256 or more")
endif()
set(definitions PIRN_BARE RT_MAX_CPUS=${PIRN_CPUS_MOST} RT_STACK_MIN=${PIRN_STACK_MIN} RT_ID_INDEX_BITS=${threads_bits}u
                BARE_CORE_STACK=${PIRN_CORE_STACK} BARE_HANDLER_ROOM=${PIRN_HANDLER_ROOM})
if(NOT PIRN_TRAP_STACK STREQUAL "")
  list(APPEND definitions BARE_TRAP_STACK=${PIRN_TRAP_STACK})
endif()
if(NOT PIRN_INTERRUPTS_MOST STREQUAL "")
  list(APPEND definitions BARE_INTERRUPTS_MOST=${PIRN_INTERRUPTS_MOST})
endif()
if(chosen STREQUAL "single")
  list(APPEND definitions PIRN_ONLY_SINGLE)
endif()
# Programs that size memory for the library must know these.
set(PIRN_PROGRAM_DEFINITIONS PIRN_STACK_LEAST=${PIRN_STACK_MIN} PIRN_THREAD_STORAGE_SIZE=${PIRN_DESCRIPTOR})
foreach(feature ${without})
  string(TOUPPER ${feature} name)
  list(APPEND definitions PIRN_WITHOUT_${name})
  list(REMOVE_ITEM CORE_SOURCES ${${feature}_removes})
  list(APPEND CORE_SOURCES ${${feature}_adds})
endforeach()
foreach(policy ${policies})
  if(NOT policy IN_LIST chosen)
    string(TOUPPER ${policy} name)
    list(APPEND definitions PIRN_WITHOUT_${name})
    list(REMOVE_ITEM CORE_SOURCES sched/${policy}.c)
    if(policy STREQUAL steal)
      list(REMOVE_ITEM CORE_SOURCES sched/steal_search.c sched/steal_capacity.c sched/steal_preempt.c)
    endif()
  endif()
endforeach()
if(NOT "gate" IN_LIST chosen)
  list(REMOVE_ITEM CORE_SOURCES sched/gate_edf.c)
  if(NOT "groups" IN_LIST chosen)
    list(REMOVE_ITEM CORE_SOURCES sched/cache.c)
  endif()
endif()
if(NOT "central" IN_LIST chosen AND NOT "dist" IN_LIST chosen)
  list(REMOVE_ITEM CORE_SOURCES sched/place.c sched/place_turn.c)
endif()
list(GET chosen 0 first)
list(APPEND definitions RT_SCHED_DEFAULT="${first}" RT_SCHED_FIRST=sched_${first})
set(PIRN_FEATURE_DEFINITIONS ${definitions})
set(PIRN_LEFT_OUT ${without} CACHE INTERNAL "features that are left out")
set(PIRN_SMALL_CODE OFF)
if("speed" IN_LIST without)
  set(PIRN_SMALL_CODE ON)
endif()
list(JOIN chosen " " chosen_text)
list(JOIN without " " without_text)
message(STATUS "pirn: policies: ${chosen_text}; left out: ${without_text}")
