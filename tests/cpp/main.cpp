/* SPDX-License-Identifier: MIT */
/*
 * main.cpp - runs the tests of pirn.hpp.
 */
#include "check.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static test *first;
static const char *running = "";

test::test(const char *its_name, void (*body)()) : name(its_name), run(body), next(first)
{
    first = this;
}

static const char *sched()
{
    const char *spec = std::getenv("PIRN_SCHED");
    return spec != nullptr ? spec : "steal";
}

void test_fail(const char *file, int line, const char *what)
{
    std::fprintf(stderr, "FAILED %s (PIRN_SCHED=%s): %s:%d: %s\n", running, sched(), file, line,
                 what);
    std::abort();
}

bool test_threads_migrate()
{
    return pirn_cpu_count() > 1 &&
           (std::strncmp(sched(), "steal", 5) == 0 || std::strncmp(sched(), "single", 6) == 0);
}

static void on_terminate()
{
    const char *what = "no exception";
    try {
        if (std::current_exception()) {
            throw;
        }
    } catch (const std::exception &e) {
        what = e.what();
    }
    std::printf("terminated: %s\n", what);
    std::fflush(stdout);
    std::_Exit(0);
}

/* The two ways into std::terminate; the handler ends the program with success. */
static int run_terminate(const char *how)
{
    std::set_terminate(on_terminate);
    if (std::strcmp(how, "escape") == 0) {
        pirn::thread escaping([] {
            pirn::this_thread::yield();
            throw std::runtime_error("escaped");
        });
        escaping.join();
    } else {
        pirn::thread forgotten([] {});
    }
    std::fprintf(stderr, "std::terminate was not called\n");
    return 1;
}

static int usage()
{
    std::fprintf(stderr,
                 "usage: pirn-cpp [--repeat N] [--test NAME] [--terminate escape|forget]\n");
    return 2;
}

int main(int argc, char **argv)
{
    long repeat = 5, runs = 0;
    const char *only = nullptr;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            return usage();
        }
        if (std::strcmp(argv[i], "--repeat") == 0) {
            repeat = std::atol(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--test") == 0) {
            only = argv[i + 1];
        } else if (std::strcmp(argv[i], "--terminate") == 0) {
            return run_terminate(argv[i + 1]);
        } else {
            return usage();
        }
    }
    for (test *t = first; t != nullptr; t = t->next) {
        running = t->name;
        for (long i = 0; i < repeat && (only == nullptr || std::strcmp(only, t->name) == 0); i++) {
            t->run();
            runs++;
        }
    }
    std::printf("%ld runs under %s on %u CPUs\n", runs, sched(), pirn_cpu_count());
    return runs != 0 ? 0 : 1;
}
