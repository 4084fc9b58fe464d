# SPDX-License-Identifier: MIT
#
# C++: the classes of pirn.hpp, and the support that the language needs. CMakeLists.txt includes
# it.
board_program(cxx-classes OPTIONS ${PROJECT_SOURCE_DIR}/tests/cpp/freestanding.cpp)
board_program(cxx OPTIONS cxx.cpp)
# cxx_test(NAME PROGRAM STATUS PATTERN CORES PREEMPT ARGUMENTS...)
function(cxx_test name program status pattern cores preempt)
  board_test(${name} ${program} ${status} ${pattern} ${cores} PIRN_PREEMPT=${preempt} ${ARGN})
endfunction()
foreach(cores ${PIRN_BOARD_CORES})
  foreach(preempt 0 1)
    cxx_test(cxx-classes-${cores}-${preempt} cxx-classes 0 "^done\n$" ${cores} ${preempt})
    cxx_test(cxx-${cores}-${preempt} cxx 0 "^done\nsecond ends after 50\natexit\nfirst ends after 50\n$" ${cores} ${preempt})
  endforeach()
endforeach()
cxx_test(cxx-pure cxx 134 "^pirn: a pure virtual function was called\n" 1 0 pure)
cxx_test(cxx-memory cxx 134 "^pirn: operator new: no memory\n" 1 0 memory)
foreach(end "join=pirn: pirn::thread::join: error 22" "forget=pirn: pirn::thread: neither joined nor detached when its object ends"
        "stack=pirn: pirn::thread: error 22" "unlock=pirn: pirn::unique_lock: error 1" "barrier=pirn: pirn::barrier: error 22"
        "flags=pirn: pirn::event_flags::wait: error 22")
  string(REGEX MATCH "^([a-z]+)=(.*)$" end ${end})
  cxx_test(cxx-end-${CMAKE_MATCH_1} cxx-classes 134 "${CMAKE_MATCH_2}" 1 0 ${CMAKE_MATCH_1})
endforeach()
