/* SPDX-License-Identifier: MIT */
/*
 * main.cpp - runs the tests of pirn.hpp.
 */
#include "check.hpp"
#include "common/options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

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
enum { ESCAPE, FORGET };
static const char *const ways[] = {"escape", "forget", nullptr};

static int run_terminate(long way)
{
    std::set_terminate(on_terminate);
    if (way == ESCAPE) {
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

static void test_check(const char *only)
{
    std::vector<const char *> names;
    for (test *t = first; t != nullptr; t = t->next) {
        names.push_back(t->name);
    }
    operand_choice("--test", only, names.data(), names.size(), sizeof(names[0]));
}

int main(int argc, char **argv)
{
    std::uint64_t repeat = 5, runs = 0;
    const char *only = nullptr;
    long way = -1;
    const option_spec options[] = {
        option_count("repeat", &repeat, 1, UINT32_MAX, "how often each test runs"),
        option_text("test", "NAME", &only, "one test"),
        option_choice("terminate", &way, ways, "run into std::terminate: escape, forget"),
        {}};
    const option_page page = {"Tests of pirn.hpp.", nullptr, options};
    options_parse(argc, argv, &page);
    if (way >= 0) {
        return run_terminate(way);
    }
    if (only != nullptr) {
        test_check(only);
    }
    for (test *t = first; t != nullptr; t = t->next) {
        running = t->name;
        for (std::uint64_t i = 0;
             i < repeat && (only == nullptr || std::strcmp(only, t->name) == 0); i++) {
            t->run();
            runs++;
        }
    }
    std::printf("%llu runs under %s on %u CPUs\n", (unsigned long long)runs, sched(),
                pirn_cpu_count());
    return runs != 0 ? 0 : 1;
}
