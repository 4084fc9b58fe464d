/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    int taken = device_run(100);
    if (taken < 0) {
        printf("the device cannot be used: %s\n", strerror(-taken));
        return 1;
    }
    printf("%d events\n", taken);
    return 0;
}
