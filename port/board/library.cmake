# SPDX-License-Identifier: MIT
#
# The libraries for a board. libpirn.a: core, native API, bare environment, architecture, board.
# libpirn-pthread.a: the POSIX layer over it. Programs call pirn_board_program(target), or
# pirn_board_program(target PTHREAD). Toolchain files of boards set:
#
#   PIRN_BOARD          its name
#   PIRN_BOARD_CODE     the folder of its code and linker script; default: its name
#   PIRN_BOARD_DEVICES  files of port/board/devices that it is made of
if(NOT PIRN_BOARD_CODE)
  set(PIRN_BOARD_CODE ${PIRN_BOARD})
endif()
set(bare ${CMAKE_SOURCE_DIR}/port/env/bare)
set(arch ${CMAKE_SOURCE_DIR}/port/arch/${PIRN_ARCH})
set(boards ${CMAKE_SOURCE_DIR}/port/board)
set(board ${boards}/${PIRN_BOARD_CODE})
file(GLOB bare_sources CONFIGURE_DEPENDS ${bare}/*.c ${arch}/bare/*.c ${arch}/bare/*.S ${board}/*.c)
list(TRANSFORM PIRN_BOARD_DEVICES PREPEND ${boards}/devices/ OUTPUT_VARIABLE devices)
add_library(pirn STATIC ${CORE_SOURCES} libc/picolibc.c ${bare_sources} ${devices})
target_include_directories(pirn PUBLIC ${CMAKE_SOURCE_DIR}/include
                                PRIVATE ${CORE_INCLUDES} ${bare} ${arch}/bare ${board} ${boards}/devices)
target_compile_definitions(pirn PRIVATE $<$<BOOL:${PIRN_DEBUG}>:PIRN_DEBUG>)
target_link_libraries(pirn PRIVATE $<BUILD_INTERFACE:pirn_flags>)

# pirn_board_pthread_library(SOURCES...): the layer's own headers come before the C library's
function(pirn_board_pthread_library)
  add_library(pirn-pthread STATIC ${ARGN})
  target_include_directories(pirn-pthread SYSTEM PUBLIC ${CMAKE_SOURCE_DIR}/include/pirn/bare)
  target_include_directories(pirn-pthread PRIVATE ${CMAKE_SOURCE_DIR}/src/posix/bare ${CMAKE_SOURCE_DIR}/src/posix ${board_includes})
  target_compile_definitions(pirn-pthread PRIVATE _GNU_SOURCE $<$<BOOL:${PIRN_DEBUG}>:PIRN_DEBUG>)
  target_link_libraries(pirn-pthread PUBLIC pirn PRIVATE $<BUILD_INTERFACE:pirn_flags>)
endfunction()

# pirn_board_program(TARGET [PTHREAD]). The whole of the libraries: nobody refers to the start code but the
# linker script, nor to what runs before main.
function(pirn_board_program target)
  cmake_parse_arguments(with "PTHREAD" "" "" ${ARGN})
  if(with_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pirn_board_program(${target}): \"${with_UNPARSED_ARGUMENTS}\"; valid is PTHREAD, or nothing")
  endif()
  if(with_PTHREAD)
    set(libraries $<TARGET_FILE:pirn-pthread>)
    add_dependencies(${target} pirn-pthread)
    target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_SOURCE_DIR}/include/pirn/bare)
  endif()
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive pirn ${libraries} -Wl,--no-whole-archive -L${PIRN_BOARD_LIBC}/lib
                        -Wl,--start-group -lc -lgcc -Wl,--end-group)
  target_link_options(${target} PRIVATE -T ${board_script} -L${board_scripts})
  set_target_properties(${target} PROPERTIES SUFFIX .elf LINK_DEPENDS "${board_script};${board_scripts}/image.ld")
endfunction()
set(board_script ${board}/board.ld CACHE INTERNAL "linker script")
set(board_scripts ${boards} CACHE INTERNAL "what linker scripts include")
set(board_includes ${CORE_INCLUDES} ${bare} ${arch}/bare ${board} ${boards}/devices CACHE INTERNAL "the library's folders")
