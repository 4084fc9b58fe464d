// SPDX-License-Identifier: MIT
//
// library-waits: threads that wait inside libraries, not in pthread functions: in stdio, in the
// futexes of libstdc++ and gcc's OpenMP, in the resolver. The program knows nothing of the library
// that its threads come from.
//
//     library-waits --kind=gate --threads=100 --rounds=10
//     -> kind=gate threads=100 rounds=10 seconds=0.012345
//
// Each round ends when every thread has waited once, or has been served once. Creating the threads
// does not count, but for OpenMP's, which are created in the first round of a team.
#include <netdb.h>
#include <omp.h>
#include <sys/socket.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "common/options.h"

namespace
{

uint64_t threads = 100, rounds = 10;

void check(bool right, const char *what)
{
    if (!right) {
        std::perror(what);
        std::exit(1);
    }
}

using Clock = std::chrono::steady_clock;

// All threads are there before the time begins; it ends when all are done.
double timed(const std::function<void(uint64_t)> &work, const std::function<void()> &drive)
{
    std::vector<std::thread> all;
    std::atomic<uint64_t> there{0};
    std::atomic<bool> go{false};
    for (uint64_t i = 0; i < threads; i++) {
        all.emplace_back([&, i] {
            there.fetch_add(1);
            go.wait(false);
            work(i);
        });
    }
    while (there.load() < threads) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto begin = Clock::now();
    go.store(true);
    go.notify_all();
    drive();
    for (std::thread &thread : all) {
        thread.join();
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Each thread reads lines from a connection of its own.
double streams()
{
    std::vector<FILE *> in(threads), out(threads);
    for (uint64_t i = 0; i < threads; i++) {
        int pair[2];
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
        in[i] = fdopen(pair[0], "r");
        out[i] = fdopen(pair[1], "w");
        check(in[i] != nullptr && out[i] != nullptr, "fdopen");
    }
    std::atomic<uint64_t> served{0};
    auto work = [&](uint64_t i) {
        char line[32];
        for (uint64_t r = 0; r < rounds; r++) {
            check(fgets(line, sizeof(line), in[i]) != nullptr, "fgets");
            if (served.fetch_add(1) + 1 == threads * (r + 1)) {
                served.notify_all();
            }
        }
    };
    double seconds = timed(work, [&] {
        for (uint64_t r = 0; r < rounds; r++) {
            for (FILE *file : out) {
                check(fputs("a line\n", file) >= 0 && fflush(file) == 0, "fputs");
            }
            for (uint64_t n; (n = served.load()) < threads * (r + 1);) {
                served.wait(n);
            }
        }
    });
    for (uint64_t i = 0; i < threads; i++) {
        fclose(in[i]);
        fclose(out[i]);
    }
    return seconds;
}

// Each thread waits for its turn, and wakes the next one.
double ring()
{
    struct alignas(64) Turn {
        std::atomic<uint32_t> at{0};
    };
    std::vector<Turn> turns(threads + 1);
    return timed(
        [&](uint64_t i) {
            for (uint32_t r = 0; r < rounds; r++) {
                turns[i].at.wait(r);
                turns[i + 1].at.store(r + 1);
                turns[i + 1].at.notify_one();
            }
        },
        [&] {
            for (uint32_t r = 0; r < rounds; r++) {
                turns[0].at.store(r + 1);
                turns[0].at.notify_one();
                turns[threads].at.wait(r);
            }
        });
}

// All threads wait for one word. The last one that has seen it opens the next gate.
double gate()
{
    std::atomic<uint32_t> open{0}, passed{0};
    return timed(
        [&](uint64_t) {
            for (uint32_t r = 0; r < rounds; r++) {
                open.wait(r);
                if (passed.fetch_add(1) + 1 == threads * (r + 1) && r + 1 < rounds) {
                    open.store(r + 2);
                    open.notify_all();
                }
            }
        },
        [&] {
            open.store(1);
            open.notify_all();
        });
}

double semaphore()
{
    std::vector<std::unique_ptr<std::counting_semaphore<>>> turns;
    for (uint64_t i = 0; i <= threads; i++) {
        turns.push_back(std::make_unique<std::counting_semaphore<>>(0));
    }
    return timed(
        [&](uint64_t i) {
            for (uint64_t r = 0; r < rounds; r++) {
                turns[i]->acquire();
                turns[i + 1]->release();
            }
        },
        [&] {
            for (uint64_t r = 0; r < rounds; r++) {
                turns[0]->release();
                turns[threads]->acquire();
            }
        });
}

double std_barrier()
{
    std::barrier<> meet(static_cast<std::ptrdiff_t>(threads));
    return timed(
        [&](uint64_t) {
            for (uint64_t r = 0; r < rounds; r++) {
                meet.arrive_and_wait();
            }
        },
        [] {});
}

// A thread's result is the next one's input.
double futures()
{
    std::vector<std::vector<std::promise<uint64_t>>> promises(rounds);
    for (auto &chain : promises) {
        chain = std::vector<std::promise<uint64_t>>(threads + 1);
    }
    return timed(
        [&](uint64_t i) {
            for (uint64_t r = 0; r < rounds; r++) {
                promises[r][i + 1].set_value(promises[r][i].get_future().get() + 1);
            }
        },
        [&] {
            for (uint64_t r = 0; r < rounds; r++) {
                promises[r][0].set_value(0);
                check(promises[r][threads].get_future().get() == threads, "future");
            }
        });
}

double resolver()
{
    return timed(
        [&](uint64_t) {
            for (uint64_t r = 0; r < rounds; r++) {
                struct addrinfo *found = nullptr;
                check(getaddrinfo("localhost", "80", nullptr, &found) == 0, "getaddrinfo");
                freeaddrinfo(found);
            }
        },
        [] {});
}

double openmp_barrier()
{
    auto begin = Clock::now();
#pragma omp parallel num_threads(static_cast <int>(threads))
    for (uint64_t r = 0; r < rounds; r++) {
#pragma omp barrier
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A team in each thread of a team: 4 times as many threads.
double openmp_nested()
{
    omp_set_max_active_levels(2);
    std::atomic<uint64_t> sum{0};
    auto begin = Clock::now();
    for (uint64_t r = 0; r < rounds; r++) {
#pragma omp parallel num_threads(static_cast <int>(threads))
        {
#pragma omp parallel for num_threads(4)
            for (int i = 0; i < 4; i++) {
                sum.fetch_add(1);
            }
        }
    }
    check(sum.load() == 4 * threads * rounds, "nested");
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

const char *const names[] = {"streams", "ring",     "gate",           "semaphore",     "barrier",
                             "futures", "resolver", "openmp-barrier", "openmp-nested", nullptr};
double (*const kinds[])() = {streams, ring,     gate,           semaphore,    std_barrier,
                             futures, resolver, openmp_barrier, openmp_nested};

} // namespace

int main(int argc, char **argv)
{
    long kind = 2;
    const option_spec options[] = {
        option_choice("kind", &kind, names, "what the threads wait in"),
        option_count("threads", &threads, 1, 100000, "that wait"),
        option_count("rounds", &rounds, 1, 1000000000, "in each of which every thread waits once"),
        {},
    };
    const option_page page = {"Threads that wait inside libraries.", nullptr, options};
    options_parse(argc, argv, &page);
    double seconds = kinds[kind]();
    std::printf("kind=%s threads=%ju rounds=%ju seconds=%.6f\n", names[kind],
                static_cast<uintmax_t>(threads), static_cast<uintmax_t>(rounds), seconds);
    return 0;
}
