# SPDX-License-Identifier: MIT
# Interrupts of a device: kind, source, address; and the console's source.
set(alarm_riscv32-virt rtc 11 0x101000 10)
set(alarm_riscv64-virt ${alarm_riscv32-virt})
set(alarm_realview-eb-mpcore sp804 33 0x10011000 36)
set(alarm_vexpress-a9 sp804 34 0x10011000 37)
set(alarm_malta-p5600 pit 0 0xb8000040 4)

# target_link_alarm(TARGET): where the board has one: alarm_${PIRN_BOARD}
function(target_link_alarm target)
  list(POP_FRONT alarm_${PIRN_BOARD} kind source address console)
  target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/board/alarm_${kind}.c)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/board)
  target_compile_definitions(${target} PRIVATE ALARM_SOURCE=${source} ALARM_ADDRESS=${address} CONSOLE_SOURCE=${console})
endfunction()
