/* SPDX-License-Identifier: MIT */
/* hooks.c - the simulator as a platform for the suites (suite.h): the part that does not depend on
 * the run. */
#include "sim.h"
#include "suite.h"

void test_fail(const char *file, int line, const char *what)
{
    sim_fail("%s:%d: %s", file, line, what);
}

uint32_t test_random(uint32_t n)
{
    return sim_random(n);
}

void test_pause(void)
{
    sim_pause();
}

int test_fd(unsigned i)
{
    return (int)i;
}

void test_fd_renew(unsigned i)
{
    sim_fd_renew((int)i);
}

void test_fd_set(unsigned i, bool readable)
{
    sim_fd_set((int)i, readable ? 1 : 0);
}

bool test_fd_get(unsigned i)
{
    return sim_fd_get((int)i) != 0;
}

void test_block(uint32_t ns)
{
    sim_block(ns);
}

bool test_lose_cpu(void)
{
    return sim_unannounced();
}

void test_spin(void)
{
    sim_pause();
}

void test_foreign(void (*fn)(void *), void *arg)
{
    sim_foreign(fn, arg);
}

void test_tick(void)
{
    sim_tick();
}

void test_part(void)
{
    sim_part();
}

void test_slice(void)
{
    sim_preempt();
}

bool test_misses(uint32_t misses, uint32_t work)
{
    return sim_misses(misses, work);
}

void test_places(void)
{
    sim_placing();
}

uint64_t test_measured(void)
{
    return sim_measured();
}

bool test_simulated(void)
{
    return true;
}

uint64_t *test_tls(void)
{
    return sim_tls_word();
}
