# SPDX-License-Identifier: MIT
#
# Mistakes of programs, and what is said of them (docs/results/board-mistakes.md). Needs an alarm.
if(NOT PIRN_BOARD_ALARM)
  return()
endif()
board_program(mistakes PTHREAD OPTIONS mistakes.c)
target_compile_options(mistakes PRIVATE -fno-optimize-sibling-calls -fno-inline -Wno-null-dereference)
target_link_alarm(mistakes)
list(GET PIRN_BOARD_ALARM 1 source)
set(calls "(pirn: from 0x[0-9a-f]+.*\n)*")
set(waits_main "^pirn: deadlock: [12] threads? waits?, and nothing is left that can wake (it|one)\npirn:   thread [0-9]+ \".*\" .main. waits for ")

# mistake_test(CASE STATUS PATTERN [FUNCTION]): the output matches, and the calls in it name the function
function(mistake_test case status pattern)
  if(ARGN)
    string(APPEND pattern "(pirn: .*\n)*pirn: (at|from) 0x[0-9a-f]+  ${ARGN}, .*mistakes.c:[0-9]+\n")
  endif()
  board_test(mistake-${case} mistakes ${status} ${pattern} ${TWO} "" ${case})
endfunction()

mistake_test(relock 134 "${waits_main}mutex 0x[0-9a-f]+, which it holds itself\n" relocks)
mistake_test(relock-early 134 "${waits_main}mutex 0x[0-9a-f]+, which it holds itself\n" relocks_early)
mistake_test(held-at-end 134 "${waits_main}mutex 0x[0-9a-f]+, whose owner has ended\n" locks_what_an_ended_thread_has)
mistake_test(two-orders 134 "${waits_main}mutex 0x[0-9a-f]+, owned by thread [0-9]+ .*\n(pirn: .*\n)*pirn: cycle: thread [0-9]+ .* -> [0-9]+ .* -> [0-9]+ ")
mistake_test(lost-signal 134 "${waits_main}condition 0x[0-9a-f]+\n" signals_before_the_wait)
mistake_test(no-interrupt 134 "${waits_main}semaphore 0x[0-9a-f]+\n" waits_for_an_interrupt_that_never_comes)
mistake_test(garbage-cond 134 "^pirn: fault: .*, in thread \"main\"\n" uses_a_condition_never_initialized)
# These get an error.
foreach(case unlock destroyed garbage-mutex join-twice static-twice priority stack-small)
  mistake_test(${case} 0 "^done\n$")
endforeach()
mistake_test(abort 134 "^pirn: abort, in thread \"main\"\n" aborts)
mistake_test(assert 134 "^assertion .*never == 1.* failed.*mistakes.c.*asserts\npirn: abort, in thread \"main\"\n" asserts)
mistake_test(fault-in-main 134 "^pirn: fault: no such memory to read .*, address 0xf0000000, in thread \"main\"\n" reads_what_is_not_there)
mistake_test(fault-in-handler 134 "^pirn: fault: no such memory to write .*, address 0xf0000000, in the handler of interrupt ${source}\n" on_fault)
mistake_test(null-call 134 "^pirn: fault: no such instruction memory .*, address 0, in thread [0-9.]+ .*\n" calls_null)

# Address 0 is ordinary memory on some boards, which the docs name; division by 0 is defined on RISC-V and AArch64.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m AND NOT PIRN_BOARD STREQUAL realview-eb-mpcore)
  mistake_test(null-write 134 "^pirn: fault: no such memory to write .*, address 0, in thread \"main\"\n" writes_to_null)
  mistake_test(free-twice 134 "^pirn: fault: .*\n(pirn: .*\n)*pirn: at 0x[0-9a-f]+  free, .*\n" frees_twice)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(mips|cortex-m)$")
  mistake_test(divide 134 "^pirn: fault: division by zero .*, in thread \"main\"\n" divides_by_zero)
endif()

# On any processor, if the compiler adds the check.
board_program(mistakes-checked PTHREAD OPTIONS mistakes.c)
target_compile_options(mistakes-checked PRIVATE -fno-inline -Wno-null-dereference -fsanitize=integer-divide-by-zero,null
                       -fsanitize-undefined-trap-on-error)
target_link_alarm(mistakes-checked)
foreach(case divide null-write)
  set(divide divides_by_zero)
  set(null-write writes_to_null)
  board_test(mistake-checked-${case} mistakes-checked 134
             "^pirn: (fault: |abort, )(.*\n)*pirn: (at|from) 0x[0-9a-f]+  ${${case}}, .*mistakes.c:" ${TWO} "" ${case})
endforeach()

# Nothing can say that a handler never ends: the emulator does when the time is up.
list(TRANSFORM RUN REPLACE "^240$" 60)
mistake_test(endless-handler 124 "^pirn: no end after 60 s: .* was stopped\n(pirn: .*\n)*pirn: core [0-9]+ is at 0x[0-9a-f]+  on_endless, .*mistakes.c:")
list(TRANSFORM RUN REPLACE "^60$" 240)
slow_test(300 mistake-endless-handler) # not fast
