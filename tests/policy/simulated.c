/* SPDX-License-Identifier: MIT */
/*
 * simulated.c - policies from outside, in the simulator: the suites that every policy must pass,
 * and deliberate mistakes that they must find.
 */
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "driver.h"
#include "list.h"
#include "mistakes.h"

static const struct suite *const suites[] = {
    &suite_core, &suite_sync, &suite_policy, &suite_classes, &suite_call, &suite_objects, NULL};
static const char *const scheds[] = {POLICY_SPECS, NULL};

static long chosen = -1; /* of mistake_names */
static bool mistakes;

static const char *chosen_text(void)
{
    static char text[64];
    snprintf(text, sizeof(text), " --mistake %s", mistake_made());
    return strcmp(where->place.sched, "mistake") == 0 ? text : "";
}

static void waits_for_ever(void *unused)
{
    pirn_sem_t sem = PIRN_SEM_INIT(0);
    (void)unused;
    pirn_sem_wait(&sem);
}

/* The report of a hang ends with what `dump` prints. */
static bool dumped(void)
{
    struct sim_result result;
    struct sim_config config = {.seed = 4, .ncpu = 1, .sched = "owned"};
    sim_run(&config, waits_for_ever, NULL, &result);
    bool said = strstr(result.why, " {CPU 0: 0 ready, inbox empty}") != NULL;
    if (!result.failed || !said) {
        printf("FAILED: no dump in \"%s\"\n", result.why);
    }
    return result.failed && said;
}

static bool register_all(void)
{
    static const struct pirn_policy *const all[] = {POLICY_TABLES, &policy_mistake};
    mistake_make(0);
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (pirn_sched_register(all[i]) != 0) {
            fprintf(stderr, "%s\n", pirn_sched_refusal());
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    const struct option_spec more[] = {
        option_flag("mistakes", &mistakes, "show that each deliberate mistake is found"),
        option_choice("mistake", &chosen, mistake_names(), "which one --sched=mistake is"),
        {0}};
    const struct driver policies = {.name = "pirn-policy-sim",
                                    .summary =
                                        "Policies from outside the library, in the simulator.",
                                    .suites = suites,
                                    .scheds = scheds,
                                    .seeds = 30,
                                    .more = more,
                                    .chosen = chosen_text};
    if (!register_all()) {
        return 1;
    }
    driver_parse(&policies, argc, argv);
    if (chosen >= 0 && (options.sched == NULL || strcmp(options.sched, "mistake") != 0)) {
        options_refuse("--mistake=%s: together with --sched=mistake only", mistake_names()[chosen]);
    }
    if (chosen >= 0) {
        mistake_make((unsigned)chosen);
    }
    if (mistakes) {
        bool found = mistakes_main() == 0;
        return dumped() && found ? 0 : 1;
    }
    return driver_main();
}
