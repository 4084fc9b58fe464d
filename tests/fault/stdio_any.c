/* SPDX-License-Identifier: MIT */
/* stdio_any.c - see stdio.c: the C library's functions are unchanged. */
#include "fault.h"

bool fault_no_stdio;
