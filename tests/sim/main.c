/* SPDX-License-Identifier: MIT */
/* main.c - the suites in the simulator, under the policies of the library. */
#include "driver.h"

static const struct suite *const suites[] = {&suite_core,
                                             &suite_sync,
                                             &suite_policy,
                                             &suite_classes,
                                             &suite_call,
                                             &suite_cancel,
                                             &suite_signal,
                                             &suite_prof,
                                             &suite_io,
                                             &suite_affinity,
                                             &suite_affinity_classes,
                                             &suite_demand,
                                             &suite_objects,
                                             &suite_poll,
                                             NULL};

int main(int argc, char **argv)
{
    static const struct driver tests = {.name = "pirn-sim-tests",
                                        .summary = "Pirn's test suites in the simulator.",
                                        .suites = suites,
                                        .scheds = driver_scheds,
                                        .own_scheds = true,
                                        .seeds = 100};
    driver_parse(&tests, argc, argv);
    return driver_main();
}
