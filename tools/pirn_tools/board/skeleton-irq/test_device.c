/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <stdio.h>

int main(void)
{
    int taken = device_run(200);
    if (taken != 200) {
        printf("%d events, not 200\n", taken);
        return 1;
    }
    /* Until the watchdog has been served: it is, some time. */
    while (device_petted() == 0) {
        device_run(20);
    }
    return 0;
}
