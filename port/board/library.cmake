# SPDX-License-Identifier: MIT
#
# The libraries for a board. libpirn.a: core, native API, bare environment, architecture, board.
# libpirn-pthread.a: these and the POSIX layer, instead of libpirn.a. libpirn-cxx.a: for C++ programs. Programs are
# made by program.cmake. Values that depend on the board were read from its board.toml (board/tree.cmake in the build).
set(bare ${PROJECT_SOURCE_DIR}/port/env/bare)
set(arch ${PROJECT_SOURCE_DIR}/port/arch/${PIRN_ARCH})
set(boards ${PROJECT_SOURCE_DIR}/port/board)
set(board ${PIRN_BOARD_CODE} ${PROJECT_BINARY_DIR}/board)
file(GLOB bare_sources CONFIGURE_DEPENDS ${bare}/*.c ${arch}/bare/*.c ${arch}/bare/*.S ${PIRN_BOARD_CODE}/*.c)
# Files that have a small twin, and their features.
foreach(pair words:settings message:messages console:input)
  string(REGEX REPLACE ":.*" "" file ${pair})
  string(REGEX REPLACE ".*:" "" feature ${pair})
  if(feature IN_LIST PIRN_LEFT_OUT)
    list(REMOVE_ITEM bare_sources ${bare}/bare_${file}.c)
  else()
    list(REMOVE_ITEM bare_sources ${bare}/bare_${file}_none.c)
  endif()
endforeach()
foreach(feature trace prof watchdog report)
  if(feature IN_LIST PIRN_LEFT_OUT)
    list(REMOVE_ITEM bare_sources ${bare}/bare_${feature}.c)
  endif()
endforeach()
list(TRANSFORM PIRN_BOARD_DEVICES PREPEND ${boards}/devices/ OUTPUT_VARIABLE devices)
include(${boards}/archive.cmake)
set(libc_sources libc/picolibc.c)
if(PIRN_SMALL_CODE)
  list(APPEND libc_sources libc/memory_small.c)
  set_source_files_properties(libc/memory_small.c PROPERTIES COMPILE_OPTIONS "-fno-builtin;-fno-tree-loop-distribute-patterns")
endif()
add_library(pirn-objects OBJECT ${CORE_SOURCES} sync/layout.c ${libc_sources} ${bare_sources} ${devices})
# Else gcc makes calloc from malloc and memset. Then calloc, and with it malloc, would be in every image.
set_source_files_properties(libc/picolibc.c PROPERTIES COMPILE_OPTIONS -fno-builtin-malloc)
target_include_directories(pirn-objects PUBLIC ${PROJECT_SOURCE_DIR}/include
                                        PRIVATE ${CORE_INCLUDES} ${bare} ${arch}/bare ${board} ${boards}/devices)
target_compile_definitions(pirn-objects PRIVATE ${PIRN_FEATURE_DEFINITIONS} $<$<BOOL:${PIRN_DEBUG}>:PIRN_DEBUG>)
target_link_libraries(pirn-objects PRIVATE pirn_flags)
if(PIRN_SECTIONS)
  target_compile_definitions(pirn-objects PRIVATE PIRN_SECTIONS)
endif()
# Programs that size memory for the library must know which parts are left out.
target_compile_definitions(pirn-objects PUBLIC ${PIRN_PROGRAM_DEFINITIONS})
# RISC-V: functions save and restore registers by calls of the compiler's library.
set(board_size_flags $<$<BOOL:${PIRN_SMALL_CODE}>:-Os>)
if(PIRN_SMALL_CODE AND PIRN_ARCH STREQUAL riscv)
  list(APPEND board_size_flags -msave-restore)
endif()
set(board_size_flags ${board_size_flags} CACHE INTERNAL "")
target_compile_options(pirn-objects PRIVATE ${board_size_flags})
pirn_board_archive(pirn pirn-objects)
target_include_directories(pirn INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(pirn INTERFACE ${PIRN_PROGRAM_DEFINITIONS})
add_library(pirn::pirn ALIAS pirn)

file(GLOB cxx_sources CONFIGURE_DEPENDS ${boards}/cxx/*.cpp)
add_library(pirn-cxx STATIC ${cxx_sources})
target_link_libraries(pirn-cxx PRIVATE $<BUILD_INTERFACE:pirn_flags>)
target_include_directories(pirn-cxx PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(pirn-cxx PRIVATE ${board_size_flags})
add_library(pirn::cxx ALIAS pirn-cxx)

# pirn_board_pthread_library(SOURCES...): the layer's own headers come before the C library's
function(pirn_board_pthread_library)
  add_library(pirn-pthread-objects OBJECT ${ARGN})
  target_include_directories(pirn-pthread-objects SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/include/pirn/bare)
  target_include_directories(pirn-pthread-objects PRIVATE ${PROJECT_SOURCE_DIR}/src/posix/bare ${PROJECT_SOURCE_DIR}/src/posix
                                                          ${PROJECT_SOURCE_DIR}/include ${board_includes})
  target_compile_definitions(pirn-pthread-objects PRIVATE _GNU_SOURCE ${PIRN_FEATURE_DEFINITIONS} ${PIRN_PROGRAM_DEFINITIONS}
                                                          $<$<BOOL:${PIRN_DEBUG}>:PIRN_DEBUG>)
  target_link_libraries(pirn-pthread-objects PRIVATE pirn_flags)
  target_compile_options(pirn-pthread-objects PRIVATE ${board_size_flags})
  pirn_board_archive(pirn-pthread pirn-objects pirn-pthread-objects)
  target_include_directories(pirn-pthread SYSTEM INTERFACE ${PROJECT_SOURCE_DIR}/include/pirn/bare)
  target_include_directories(pirn-pthread INTERFACE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(pirn-pthread INTERFACE ${PIRN_PROGRAM_DEFINITIONS})
  add_library(pirn::pthread ALIAS pirn-pthread)
endfunction()

set(PIRN_BOARD_SCRIPTS ${PROJECT_BINARY_DIR}/board ${boards} CACHE INTERNAL "folders of the linker script, and of what it includes")
set(PIRN_BOARD_POSIX_HEADERS ${PROJECT_SOURCE_DIR}/include/pirn/bare CACHE INTERNAL "headers of the POSIX layer")
set(board_includes ${CORE_INCLUDES} ${bare} ${arch}/bare ${board} ${boards}/devices CACHE INTERNAL "the library's folders")
include(${boards}/program.cmake)
