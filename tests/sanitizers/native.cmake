# SPDX-License-Identifier: MIT
# Builds with a sanitizer (PIRN_SANITIZE): programs of the native API.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
add_executable(sanitized-native native.c)
target_compile_definitions(sanitized-native PRIVATE _GNU_SOURCE)
target_compile_options(sanitized-native PRIVATE -w -g -O1 -fsanitize=${PIRN_SANITIZE})
target_link_options(sanitized-native PRIVATE -fsanitize=${PIRN_SANITIZE})
target_link_libraries(sanitized-native PRIVATE pirn pirn_options)

# native_test(CASE CPUS STATUS PATTERN)
function(native_test case cpus status pattern)
  add_test(NAME sanitizers.native.${case}.${cpus}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_report.py ${status} ${pattern}
                   setarch -R $<TARGET_FILE:sanitized-native> ${case})
  set_tests_properties(sanitizers.native.${case}.${cpus} PROPERTIES LABELS sanitizers TIMEOUT 120
                       ENVIRONMENT "PIRN_CPUS=${cpus};ASAN_OPTIONS=detect_leaks=1;TSAN_OPTIONS=atexit_sleep_ms=50:exitcode=66")
endfunction()

foreach(cpus 1 2)
  native_test(good ${cpus} 0 "^done$")
  if(PIRN_SANITIZE STREQUAL address)
    foreach(mistake heap_overflow=heap-buffer-overflow use_after_free=heap-use-after-free
                    stack_overflow=stack-buffer-overflow)
      string(REPLACE "=" ";" pair ${mistake})
      list(GET pair 0 case)
      list(GET pair 1 name)
      native_test(${case} ${cpus} not0 "AddressSanitizer: ${name} .*\n    #0 [^\n]* in ${case} .*native.c:")
    endforeach()
    # Of 20 leaks, because a word that happens to look like a pointer hides one.
    native_test(leaks ${cpus} not0 "Direct leak of [0-9]+ byte.s. in (1[0-9]|20) object.s. allocated from:.* in leaks .*native.c:")
  endif()
endforeach()
if(PIRN_SANITIZE STREQUAL thread)
  native_test(race 2 not0 "WARNING: ThreadSanitizer: data race.*#0 race .*native.c:.*Previous write of size 4 .*#0 race ")
endif()
