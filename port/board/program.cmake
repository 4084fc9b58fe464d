# SPDX-License-Identifier: MIT
#
# pirn_board_program(TARGET [PTHREAD]): the executable TARGET is an image for the board. In this tree
# library.cmake includes it, elsewhere find_package(pirn) (cmake/pirn-board-config.cmake.in). Both have
#
#   pirn::pirn, pirn::pthread    the libraries; a program has one of them
#   pirn::cxx                    what programs in C++ call, where there is no C++ library
#   PIRN_BOARD_LIBC              the C library's folder, from the toolchain file
#   PIRN_BOARD_CXX_KEPT          what of pirn::cxx only the compiler refers to, likewise
#   PIRN_BOARD_SCRIPTS           where board.ld is, and what it includes
#   PIRN_BOARD_POSIX_HEADERS     what comes before the C library's headers
#
# The whole library is linked: nobody refers to the start code but the linker script, nor to
# what runs before main. pirn::cxx comes before the C library, whose atexit it replaces.
function(pirn_board_program target)
  cmake_parse_arguments(with "PTHREAD" "" "" ${ARGN})
  if(with_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pirn_board_program(${target}): \"${with_UNPARSED_ARGUMENTS}\"; valid is PTHREAD, or nothing")
  endif()
  set(library pirn::pirn)
  if(with_PTHREAD)
    set(library pirn::pthread)
    target_include_directories(${target} SYSTEM PRIVATE ${PIRN_BOARD_POSIX_HEADERS})
  endif()
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive ${library} -Wl,--no-whole-archive
                        "$<$<LINK_LANGUAGE:CXX>:${PIRN_BOARD_CXX_KEPT};pirn::cxx>" -Wl,--start-group -lc -lgcc -Wl,--end-group)
  target_link_options(${target} PRIVATE -T board.ld)
  target_link_directories(${target} PRIVATE ${PIRN_BOARD_LIBC}/lib ${PIRN_BOARD_SCRIPTS})
  set(scripts)
  foreach(folder ${PIRN_BOARD_SCRIPTS})
    file(GLOB found "${folder}/*.ld")
    list(APPEND scripts ${found})
  endforeach()
  set_target_properties(${target} PROPERTIES SUFFIX .elf LINK_DEPENDS "${scripts}")
endfunction()
