/* SPDX-License-Identifier: MIT */
/* A correct program on the threads of C++, for AddressSanitizer and ThreadSanitizer. */
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static void must(bool condition, const char *text)
{
    if (!condition) {
        std::fprintf(stderr, "not so: %s\n", text);
        std::abort();
    }
}

static std::mutex mutex;
static std::condition_variable condition;

struct counted {
    std::vector<int> values = std::vector<int>(100, 3);
    static int destroyed;
    ~counted()
    {
        std::lock_guard<std::mutex> lock(mutex);
        destroyed++;
    }
};
int counted::destroyed;

static thread_local counted of_thread;

static void takes_turns()
{
    int turn = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; i++) {
        threads.emplace_back([&turn, i] {
            std::unique_lock<std::mutex> lock(mutex);
            condition.wait(lock, [&turn, i] { return turn == i; });
            turn++;
            condition.notify_all();
        });
    }
    for (auto &t : threads) {
        t.join();
    }
    must(turn == 20, "all had a turn");
}

static void initialises_once()
{
    std::once_flag flag;
    int once = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back([&] {
            static const std::vector<int> made_by_first(100, 7);
            std::call_once(flag, [&] { once++; });
            must(once == 1 && made_by_first[5] == 7 && of_thread.values[9] == 3, "initialised");
        });
    }
    for (auto &t : threads) {
        t.join();
    }
    std::lock_guard<std::mutex> lock(mutex);
    must(counted::destroyed == 8, "thread_local objects are destroyed");
}

int main()
{
    takes_turns();
    initialises_once();
    auto future =
        std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); });
    bool caught = false;
    try {
        future.get();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    must(caught, "the exception has arrived");
    std::promise<int> promise;
    std::thread giver([&promise] { promise.set_value(5); });
    must(promise.get_future().get() == 5, "the value has arrived");
    giver.join();
    std::puts("done");
}
