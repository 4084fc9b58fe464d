# SPDX-License-Identifier: MIT
#
# The library for a board, libpirn.a: core, bare environment, architecture, board. Programs call
# pirn_board_program(target). Toolchain files of boards set:
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

# The start code is what nobody refers to but the linker script.
function(pirn_board_program target)
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive pirn -Wl,--no-whole-archive -L${PIRN_BOARD_LIBC}/lib
                        -Wl,--start-group -lc -lgcc -Wl,--end-group)
  target_link_options(${target} PRIVATE -T ${board_script} -L${board_scripts})
  set_target_properties(${target} PROPERTIES SUFFIX .elf LINK_DEPENDS "${board_script};${board_scripts}/image.ld")
endfunction()
set(board_script ${board}/board.ld CACHE INTERNAL "linker script")
set(board_scripts ${boards} CACHE INTERNAL "what linker scripts include")
