# SPDX-License-Identifier: MIT
# install-board.cmake - installs Pirn for a board, for projects elsewhere. The root includes it. All
# files of a board are in one folder; a project names only the toolchain file in it:
#
#   <prefix>/lib/pirn/boards/<board>/    toolchain.cmake, board.cmake, board.toml, libraries, headers,
#                                        linker script, the package of find_package(pirn), pirn.mk
#                                        for make, pirn-cc and pirn-c++ for other build systems
#   <prefix>/lib/pirn/boards/            parts common to the toolchain files of all boards
#   <prefix>/lib/pirn/libc/<target>/     the C library
#
# The build folder is such a package, too.
include(CMakePackageConfigHelpers)

# What programs must be compiled with, so that headers fit the libraries.
set(package_definition PIRN_STACK_LEAST=${PIRN_STACK_MIN})

set(boards_dir ${CMAKE_INSTALL_LIBDIR}/pirn/boards)
set(board_dir ${boards_dir}/${PIRN_BOARD})
set(board_port ${PROJECT_SOURCE_DIR}/port/board)

# pirn_board_compiler(FILE LANGUAGE COMPILER FLAGS LIBRARIES): the board's compiler as one command.
function(pirn_board_compiler file package_cc_language package_cc_compiler package_cc_flags package_cc_libraries)
  configure_file(${board_port}/cc.in ${file} @ONLY USE_SOURCE_PERMISSIONS)
endfunction()

# pirn_board_package(FOLDER): sets package_... to the files that contain the paths.
function(pirn_board_package folder)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pirn-board-toolchain.cmake.in ${folder}/toolchain.cmake @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pirn-board-config.cmake.in ${folder}/pirn-config.cmake @ONLY)
  list(TRANSFORM package_scripts REPLACE "(.+)" "-L\\1" OUTPUT_VARIABLE package_mk_scripts)
  list(TRANSFORM package_scripts REPLACE "(.+)" "-L\"\\1\"" OUTPUT_VARIABLE package_cc_scripts)
  foreach(what headers libc pirn pthread cxx)
    set(package_mk_${what} ${package_${what}})
    set(package_cc_${what} ${package_${what}})
  endforeach()
  foreach(what headers libc pirn pthread cxx scripts)
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}" "$(PIRN_HERE)" package_mk_${what} "${package_mk_${what}}")
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}" "$here" package_cc_${what} "${package_cc_${what}}")
  endforeach()
  list(JOIN package_mk_scripts " " package_mk_scripts)
  list(JOIN package_cc_scripts " " package_cc_scripts)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pirn-board.mk.in ${folder}/pirn.mk @ONLY)
  pirn_board_compiler(${folder}/pirn-cc C gcc "" "")
  pirn_board_compiler(${folder}/pirn-c++ C++ g++ "${PIRN_BOARD_CXX_FLAGS}" "${PIRN_BOARD_CXX_KEPT} \"${package_cc_cxx}\"")
  write_basic_package_version_file(${folder}/pirn-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
endfunction()

set(package_toolchain ${PROJECT_BINARY_DIR}/toolchain.cmake)
set(package_toolchains ${board_port}/toolchain.cmake)
set(package_pirn ${PROJECT_BINARY_DIR}/src/libpirn.a)
set(package_pthread ${PROJECT_BINARY_DIR}/src/posix/libpirn-pthread.a)
set(package_cxx ${PROJECT_BINARY_DIR}/src/libpirn-cxx.a)
set(package_headers ${PROJECT_SOURCE_DIR}/include)
set(package_scripts ${PIRN_BOARD_SCRIPTS})
set(package_program ${board_port}/program.cmake)
set(package_libc ${PIRN_BOARD_LIBC})
pirn_board_package(${PROJECT_BINARY_DIR})

set(here "\${CMAKE_CURRENT_LIST_DIR}")
set(package_toolchain ${here}/toolchain.cmake)
set(package_toolchains ${here}/../toolchain.cmake)
set(package_pirn ${here}/libpirn.a)
set(package_pthread ${here}/libpirn-pthread.a)
set(package_cxx ${here}/libpirn-cxx.a)
set(package_headers ${here}/include)
set(package_scripts ${here})
set(package_program ${here}/program.cmake)
set(package_libc ${here}/../../libc/${PIRN_BOARD_TARGET})
pirn_board_package(${PROJECT_BINARY_DIR}/package)

install(TARGETS pirn pirn-pthread pirn-cxx ARCHIVE DESTINATION ${board_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pirn DESTINATION ${board_dir}/include
        PATTERN poll.h EXCLUDE PATTERN label.h EXCLUDE PATTERN record.h EXCLUDE)
install(FILES ${PIRN_BOARD_FILE} ${PROJECT_BINARY_DIR}/board.cmake ${PROJECT_BINARY_DIR}/board/board.ld
              ${board_port}/image.ld ${board_port}/program.cmake DESTINATION ${board_dir})
install(DIRECTORY ${PROJECT_BINARY_DIR}/package/ DESTINATION ${board_dir} USE_SOURCE_PERMISSIONS)
# installed.cmake marks the package as installed, and names the command that runs programs.
file(WRITE ${PROJECT_BINARY_DIR}/installed.cmake "set(PIRN_COMMAND \"${PIRN_COMMAND}\")\n")
install(FILES ${board_port}/toolchain.cmake ${PROJECT_BINARY_DIR}/installed.cmake DESTINATION ${boards_dir})
install(DIRECTORY ${PIRN_BOARD_LIBC}/include ${PIRN_BOARD_LIBC}/lib DESTINATION ${CMAKE_INSTALL_LIBDIR}/pirn/libc/${PIRN_BOARD_TARGET})
