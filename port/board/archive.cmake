# SPDX-License-Identifier: MIT
#
# pirn_board_archive(TARGET OBJECTS...): the static library TARGET, of object libraries. It exports the names of
# include/pirn/bare/symbols.txt and no others: all objects become one (ld -r), whose other symbols are made local.
#
# A list, not objcopy --localize-hidden: hidden visibility covers too little (symbols of assembly files) and too
# much (what the C library asks for, _exit and the like, is compiled with the rest). --unique keeps a section for each function and
# variable, also for static ones of one name in two files, so --gc-sections drops as much of the one object as of
# many. Debug information stays as it is. -flinker-output=nolto-rel: objects compiled with -flto become
# machine code here, because symbols cannot be made local in the compiler's intermediate form.
#
# TARGET.map beside the library tells which object a section comes from (tests/board/small/small.py).
set(PIRN_BOARD_SYMBOLS ${PROJECT_SOURCE_DIR}/include/pirn/bare/symbols.txt CACHE INTERNAL "external symbols of the libraries")

function(pirn_board_archive target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  set(whole ${CMAKE_CURRENT_BINARY_DIR}/${target}-whole.o)
  set(exporting ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
  add_custom_command(OUTPUT ${exporting}
    COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -flinker-output=nolto-rel -Wl,--unique -Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/${target}.map
            -o ${whole} ${objects}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbols=${PIRN_BOARD_SYMBOLS} ${whole} ${exporting}
    DEPENDS ${objects} ${PIRN_BOARD_SYMBOLS}
    BYPRODUCTS ${whole} ${CMAKE_CURRENT_BINARY_DIR}/${target}.map
    COMMENT "Linking ${target}.o, whose other symbols are local"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${exporting} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${target} STATIC ${exporting})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
endfunction()
