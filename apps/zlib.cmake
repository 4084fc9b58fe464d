# SPDX-License-Identifier: MIT
#
# apps-zlib: the system's, or for boards what `tools/setup-boards` has made of its source.
if(PIRN_BOARD)
  set(zlib ${PIRN_ROOT}/.boards/zlib/${PIRN_BOARD_TARGET})
  if(NOT EXISTS ${zlib}/lib/libz.a)
    message(FATAL_ERROR "no zlib for the board ${PIRN_BOARD} in ${zlib}: tools/setup-boards makes it")
  endif()
  add_library(apps-zlib INTERFACE)
  target_include_directories(apps-zlib SYSTEM INTERFACE ${zlib}/include)
  target_link_libraries(apps-zlib INTERFACE ${zlib}/lib/libz.a)
elseif(CMAKE_CROSSCOMPILING)
  message(STATUS "dedup is left out: there is no zlib for this cross build")
else()
  find_package(ZLIB REQUIRED)
  add_library(apps-zlib INTERFACE)
  target_link_libraries(apps-zlib INTERFACE ZLIB::ZLIB)
endif()
