/* SPDX-License-Identifier: MIT */
/* cost.c - an operation, so many times: `cost yield|create_join|pingpong N`. For cost.py. */
#include <pirn/pirn.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

static long n;
static pirn_sem_t ping, pong;

static void *yields(void *arg)
{
    for (long i = 0; i < n; i++) {
        pirn_yield();
    }
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *answers(void *arg)
{
    for (long i = 0; i < n; i++) {
        pirn_sem_wait(&ping);
        pirn_sem_post(&pong);
    }
    return arg;
}

static void run_yields(void)
{
    pirn_thread_t t;
    pirn_create(&t, NULL, yields, NULL);
    yields(NULL);
    pirn_join(t, NULL);
}

static void run_create_join(void)
{
    pirn_thread_t t;
    for (long i = 0; i < n; i++) {
        pirn_create(&t, NULL, nothing, NULL);
        pirn_join(t, NULL);
    }
}

static void run_answers(void)
{
    pirn_thread_t t;
    pirn_create(&t, NULL, answers, NULL);
    for (long i = 0; i < n; i++) {
        pirn_sem_post(&ping);
        pirn_sem_wait(&pong);
    }
    pirn_join(t, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"yield", run_yields}, {"create_join", run_create_join}, {"pingpong", run_answers}};

int main(int argc, char **argv)
{
    const struct option_page page = {.summary = "An operation, N times.", .operand = "CASE N"};
    char **operands = options_parse(argc, argv, &page);
    size_t i = OPERAND_CHOICE("CASE", operands[0], cases);
    n = operand_number("N", operands[1], 1, 1000000000);
    cases[i].run();
    return 0;
}
