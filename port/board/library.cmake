# SPDX-License-Identifier: MIT
#
# The library for a board, libpirn.a: core, bare environment, architecture, board. Programs call
# pirn_board_program(target).
set(bare ${CMAKE_SOURCE_DIR}/port/env/bare)
set(arch ${CMAKE_SOURCE_DIR}/port/arch/${PIRN_ARCH})
set(board ${CMAKE_SOURCE_DIR}/port/board/${PIRN_BOARD_CODE})
file(GLOB bare_sources CONFIGURE_DEPENDS ${bare}/*.c ${arch}/bare/*.c ${arch}/bare/*.S ${board}/*.c)
add_library(pirn STATIC ${CORE_SOURCES} libc/picolibc.c ${bare_sources})
target_include_directories(pirn PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CORE_INCLUDES} ${bare} ${arch}/bare)
target_compile_definitions(pirn PRIVATE $<$<BOOL:${PIRN_DEBUG}>:PIRN_DEBUG>)
target_link_libraries(pirn PRIVATE $<BUILD_INTERFACE:pirn_flags>)

# The start code is what nobody refers to but the linker script.
function(pirn_board_program target)
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive pirn -Wl,--no-whole-archive -L${PIRN_BOARD_LIBC}/lib
                        -Wl,--start-group -lc -lgcc -Wl,--end-group)
  target_link_options(${target} PRIVATE -T ${board_script})
  set_target_properties(${target} PROPERTIES SUFFIX .elf LINK_DEPENDS ${board_script})
endfunction()
set(board_script ${board}/board.ld CACHE INTERNAL "linker script")
