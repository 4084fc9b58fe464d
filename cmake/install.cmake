# SPDX-License-Identifier: MIT
# install.cmake - the files of `cmake --install` and their folders: libraries, headers, pkg-config
# files, and the package that find_package(pirn) reads (pirn::pirn, pirn::pthread). The root
# includes it.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(PIRN_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pirn)

set_target_properties(pirn-pthread PROPERTIES EXPORT_NAME pthread)
# libpirn-mpi, for each MPI that was found; a component of its own, because not every build makes it.
foreach(mpi ${PIRN_MPIS})
  install(TARGETS pirn-mpi-${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi NAMELINK_COMPONENT mpi)
endforeach()

install(TARGETS pirn pirn-pthread EXPORT pirn-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pirn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        PATTERN bare EXCLUDE)
install(EXPORT pirn-targets NAMESPACE pirn:: DESTINATION ${PIRN_CMAKE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pirn-config.cmake.in ${PROJECT_BINARY_DIR}/pirn-config.cmake
                              INSTALL_DESTINATION ${PIRN_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pirn-config-version.cmake VERSION ${PROJECT_VERSION}
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pirn-config.cmake ${PROJECT_BINARY_DIR}/pirn-config-version.cmake
        DESTINATION ${PIRN_CMAKE_DIR})

# User threads in gdb: one copy to be sourced, and one where gdb looks for a library's scripts by
# its full name; the module that the script loads lies beside each.
install(FILES ${PROJECT_SOURCE_DIR}/tools/debuggers/pirn-gdb.py ${PROJECT_SOURCE_DIR}/tools/debuggers/pirn_gdb_state.py
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pirn)
foreach(target pirn pirn-pthread)
  install(CODE "
    get_filename_component(libdir \"${CMAKE_INSTALL_LIBDIR}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
    get_filename_component(datadir \"${CMAKE_INSTALL_DATADIR}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
    file(INSTALL \"${PROJECT_SOURCE_DIR}/tools/debuggers/pirn-gdb.py\" DESTINATION \"\${datadir}/gdb/auto-load\${libdir}\"
         RENAME \"lib${target}.so.${PROJECT_VERSION}-gdb.py\")
    file(INSTALL \"${PROJECT_SOURCE_DIR}/tools/debuggers/pirn_gdb_state.py\" DESTINATION \"\${datadir}/gdb/auto-load\${libdir}\")")
endforeach()

file(RELATIVE_PATH PIRN_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name pirn pirn-pthread)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
foreach(PIRN_MPI_NAME ${PIRN_MPIS})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/pirn-mpi.pc.in ${PROJECT_BINARY_DIR}/pirn-mpi-${PIRN_MPI_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pirn-mpi-${PIRN_MPI_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT mpi)
endforeach()
