/* SPDX-License-Identifier: MIT */
/* main_posix.c - the suites of the POSIX layer, on the simulated kernel. */
#include "../driver.h"
#include "posix_suite.h"

static const struct suite *const suites[] = {&suite_signals, &suite_calls, &suite_process, NULL};

int main(int argc, char **argv)
{
    static const struct driver tests = {.name = "pirn-sim-posix-tests",
                                        .summary = "Pirn's POSIX layer in the simulator.",
                                        .suites = suites,
                                        .scheds = driver_scheds,
                                        .own_scheds = true,
                                        .seeds = 100};
    driver_parse(&tests, argc, argv);
    return driver_main();
}
