/* SPDX-License-Identifier: MIT */
/*
 * system.h (ARM's microcontrollers) - registers of the processor, at the same addresses in all of
 * them. Names of the manuals (Arm, ARMv7-M Architecture Reference Manual, B3.2) in brackets.
 */
#ifndef PIRN_ARCH_SYSTEM_H
#define PIRN_ARCH_SYSTEM_H

#define SYSTEM_LINES 0xe000e004         /* [ICTR] interrupts of devices: 32 a unit, less one */
#define SYSTEM_TIMER_CONTROL 0xe000e010 /* [SYST_CSR] */
#define SYSTEM_TIMER_LOAD 0xe000e014    /* [SYST_RVR] */
#define SYSTEM_TIMER_VALUE 0xe000e018   /* [SYST_CVR] */
#define SYSTEM_ENABLE 0xe000e100        /* [NVIC_ISER] a bit for each interrupt */
#define SYSTEM_DISABLE 0xe000e180       /* [NVIC_ICER] */
#define SYSTEM_CLEAR 0xe000e280         /* [NVIC_ICPR] is not pending any more */
#define SYSTEM_PRIORITY 0xe000e400      /* [NVIC_IPR] a byte for each interrupt */
#define SYSTEM_PENDING 0xe000ed04       /* [ICSR] */
#define SYSTEM_VECTORS 0xe000ed08       /* [VTOR] */
#define SYSTEM_CONFIGURATION 0xe000ed14 /* [CCR] */
#define SYSTEM_PRIORITY_LAST 0xe000ed20 /* [SHPR3] of PendSV and SysTick */
#define SYSTEM_HANDLERS 0xe000ed24      /* [SHCSR] */
#define SYSTEM_FAULT 0xe000ed28         /* [CFSR] */
#define SYSTEM_HARD_FAULT 0xe000ed2c    /* [HFSR] */
#define SYSTEM_FAULT_MEMORY 0xe000ed34  /* [MMFAR] */
#define SYSTEM_FAULT_BUS 0xe000ed38     /* [BFAR] */
#define SYSTEM_COPROCESSORS 0xe000ed88  /* [CPACR] */
#define SYSTEM_MPU_CONTROL 0xe000ed94   /* [MPU_CTRL] */
#define SYSTEM_MPU_BASE 0xe000ed9c      /* [MPU_RBAR] */
#define SYSTEM_MPU_REGION 0xe000eda0    /* [MPU_RASR] */
#define SYSTEM_FP_CONTROL 0xe000ef34    /* [FPCCR] */

#define PENDING_CALL (1u << 28)      /* [PENDSVSET] */
#define PENDING_TIMER_NOT (1u << 25) /* [PENDSTCLR] */
#define TIMER_ON 7u                  /* enabled, interrupts, the processor's clock */
#define CONFIGURATION_ON 0x210       /* aligned frames, no division by 0 */
#define HANDLERS_FAULTS 0x70000      /* memory, bus and usage faults have handlers of their own */
#define MPU_ON 5u                    /* on; outside all regions as if off */
#define MPU_THIS_REGION 0x10u        /* the number stands in the same word */
#define MPU_NOTHING 0x10000001u      /* on; no access */
#define COPROCESSORS_FP 0xf00000
#define FP_CONTROL_LAZY 0x40000000

#endif
