/* SPDX-License-Identifier: MIT */
/*
 * board_map.h (realview-eb-mpcore) - addresses, for C and assembly.
 */
#ifndef PIRN_BOARD_MAP_H
#define PIRN_BOARD_MAP_H

/* Memory, and where the devices are, in MiB. */
#define BOARD_RAM_MIB 0x000
#define BOARD_RAM_MIBS 128
#define BOARD_DEVICES_MIB 0x100
#define BOARD_DEVICES_MIBS 2

#define BOARD_SNOOP_CONTROL 0x10100000
#define BOARD_COHERENT 0x20 /* of the auxiliary control register */

#define BOARD_GIC_CORE 0x10100100u
#define BOARD_GIC_COMMON 0x10101000u
#define BOARD_PRIVATE_TIMER 0x10100600u
#define BOARD_TIMER_SOURCE 29u
#define BOARD_COUNTER 0x1000005cu
#define BOARD_UART 0x10009000u
#define BOARD_UART_SOURCE 36u /* the board's line 12 */

#endif
