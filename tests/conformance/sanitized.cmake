# SPDX-License-Identifier: MIT
#
# Under a sanitizer the POSIX names belong to its interceptors, which only know kernel threads. So
# the programs are linked with the layer itself, by its internal names. Expected failures are not
# tried.
set(SCHEDS steal)
set(CPUS 2)
set(PREEMPT coop)
set(KINDS pirn)
list(APPEND RUN --unlisted-only)
# ThreadSanitizer otherwise sleeps a second at each exit.
set(SANITIZER_OPTIONS "TSAN_OPTIONS=halt_on_error=1:history_size=7:atexit_sleep_ms=0")

foreach(definitions posix.def glibc/posix_more.def)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/posix/${definitions} some REGEX "^(PTHREAD|POSIX)\\(")
  list(APPEND entries ${some})
endforeach()
set(names "/* Generated: the POSIX names as src/posix has them inside. */\n")
foreach(entry ${entries})
  if(entry MATCHES "^PTHREAD\\([^,]*, ([a-z0-9_]+),")
    string(APPEND names "#define pthread_${CMAKE_MATCH_1} pirn_pthread_${CMAKE_MATCH_1}\n")
  elseif(entry MATCHES "^POSIX\\([^,]*, ([a-z0-9_]+),")
    string(APPEND names "#define ${CMAKE_MATCH_1} pirn_posix_${CMAKE_MATCH_1}\n")
  endif()
endforeach()
string(APPEND names "#define pthread_exit pirn_pthread_exit\n#define thrd_exit pirn_posix_thrd_exit\n"
                    "#define sem_open pirn_posix_sem_open\n"
                    "#define sched_yield pirn_posix_sched_yield\n"
                    "#define __pthread_register_cancel posix_cleanup_register\n"
                    "#define __pthread_unregister_cancel posix_cleanup_unregister\n"
                    "#define __pthread_register_cancel_defer posix_cleanup_register_defer\n"
                    "#define __pthread_unregister_cancel_restore posix_cleanup_unregister_restore\n"
                    "#define __pthread_unwind_next posix_cleanup_next\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/names.h CONTENT "${names}" @ONLY)

function(conformance_sanitized target)
  target_compile_definitions(${target} PRIVATE SANITIZED)
  target_compile_options(${target} PRIVATE -include ${CMAKE_CURRENT_BINARY_DIR}/names.h)
  target_link_libraries(${target} PRIVATE pirn-posix-objects pirn-core-objects pirn_flags)
endfunction()
