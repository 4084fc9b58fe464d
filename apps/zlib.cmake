# SPDX-License-Identifier: MIT
#
# apps-zlib: the system's zlib. For boards it is compiled, without its functions for files, from
# the source that `tools/setup-boards` fetches.
if(PIRN_BOARD)
  set(zlib ${PIRN_ROOT}/.boards/sources/zlib/source)
  if(NOT EXISTS ${zlib}/zlib.h)
    message(FATAL_ERROR "no source of zlib in ${zlib}: tools/setup-boards fetches it")
  endif()
  set(zlib_sources adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil)
  list(TRANSFORM zlib_sources REPLACE "(.+)" "${zlib}/\\1.c")
  add_library(apps-zlib STATIC ${zlib_sources})
  target_include_directories(apps-zlib SYSTEM PUBLIC ${zlib})
  target_compile_options(apps-zlib PRIVATE -w) # others' code
elseif(CMAKE_CROSSCOMPILING)
  message(STATUS "dedup is left out: there is no zlib for this cross build")
else()
  find_package(ZLIB REQUIRED)
  add_library(apps-zlib INTERFACE)
  target_link_libraries(apps-zlib INTERFACE ZLIB::ZLIB)
endif()
