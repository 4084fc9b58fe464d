/* SPDX-License-Identifier: MIT */
/*
 * board_map.h (vexpress-a9) - addresses, for C and assembly.
 */
#ifndef PIRN_BOARD_MAP_H
#define PIRN_BOARD_MAP_H

/* Memory, and where the devices are, in MiB. */
#define BOARD_RAM_MIB 0x600
#define BOARD_RAM_MIBS 128
#define BOARD_DEVICES_MIB 0x100
#define BOARD_DEVICES_MIBS 0x100

#define BOARD_SNOOP_CONTROL 0x1e000000
#define BOARD_COHERENT 0x41 /* of the auxiliary control register */

#define BOARD_GIC_CORE 0x1e000100u
#define BOARD_GIC_COMMON 0x1e001000u
#define BOARD_PRIVATE_TIMER 0x1e000600u
#define BOARD_TIMER_SOURCE 29u
#define BOARD_COUNTER 0x1000005cu
#define BOARD_UART 0x10009000u
#define BOARD_UART_SOURCE 37u

#endif
