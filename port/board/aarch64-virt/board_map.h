/* SPDX-License-Identifier: MIT */
/*
 * board_map.h (aarch64-virt) - addresses, for C and assembly.
 */
#ifndef PIRN_BOARD_MAP_H
#define PIRN_BOARD_MAP_H

/* Memory, and where the devices are, in MiB. */
#define BOARD_RAM_MIB 0x400
#define BOARD_RAM_MIBS 128
#define BOARD_DEVICES_MIB 0x080
#define BOARD_DEVICES_MIBS 0x030

#define BOARD_COHERENT 0x40 /* of CPUECTLR */

#define BOARD_GIC_COMMON 0x08000000u
#define BOARD_GIC_CORE 0x08010000u
#define BOARD_TIMER_SOURCE 27u
#define BOARD_UART 0x09000000u
#define BOARD_UART_SOURCE 33u

#endif
