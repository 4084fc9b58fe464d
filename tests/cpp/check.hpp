/* SPDX-License-Identifier: MIT */
/*
 * check.hpp - a test is a function that registers itself by name; CHECK ends the program.
 *
 * Tests run as the main thread, again and again, on the runtime that PIRN_SCHED and PIRN_CPUS
 * choose; they join what they create.
 */
#ifndef PIRN_TESTS_CPP_CHECK_HPP
#define PIRN_TESTS_CPP_CHECK_HPP

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <pirn/pirn.hpp>

[[noreturn]] void test_fail(const char *file, int line, const char *what);

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        if (!(__VA_ARGS__)) {                                                                      \
            test_fail(__FILE__, __LINE__, #__VA_ARGS__);                                           \
        }                                                                                          \
    } while (0)

struct test {
    test(const char *its_name, void (*body)());

    const char *name;
    void (*run)();
    test *next;
};

#define TEST(name)                                                                                 \
    static void test_##name();                                                                     \
    static test register_##name(#name, test_##name);                                               \
    static void test_##name()

/* True if the policy moves threads to CPUs without work. */
bool test_threads_migrate();

/* A duration that is over soon, and one that no test reaches. */
inline constexpr std::chrono::milliseconds soon(2);
inline constexpr std::chrono::seconds far(60);

/* fn() throws a std::system_error of this kind. */
template <class F>
bool throws(std::errc code, F fn)
{
    try {
        fn();
    } catch (const std::system_error &error) {
        return error.code() == code;
    }
    return false;
}

/* A kernel thread that is not a worker and runs fn(); waiting for it lets user threads run. */
class kernel_thread
{
public:
    template <class F>
    explicit kernel_thread(F fn)
        : thread_([this, fn = std::move(fn)] {
              fn();
              done_.count_down();
          })
    {
    }

    ~kernel_thread()
    {
        done_.wait();
        thread_.join();
    }

private:
    pirn::latch done_{1};
    std::thread thread_;
};

#endif
