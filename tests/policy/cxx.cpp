// SPDX-License-Identifier: MIT
/*
 * cxx.cpp - a policy in C++17: one ready queue for all CPUs, registered before main by a
 * static object, and a program that runs under it.
 */
#include <pirn/pirn.hpp>
#include <pirn/policy.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

class lock_guard
{
public:
    explicit lock_guard(pirn_policy_lock_t &lock) noexcept : lock_(lock)
    {
        pirn_policy_lock(&lock_);
    }
    ~lock_guard() { pirn_policy_unlock(&lock_); }
    lock_guard(const lock_guard &) = delete;
    lock_guard &operator=(const lock_guard &) = delete;

private:
    pirn_policy_lock_t &lock_;
};

pirn_policy_lock_t lock;
pirn_runq_t ready; // (lock)

struct queue : pirn_policy {
    queue() noexcept : pirn_policy{}
    {
        version = PIRN_POLICY_VERSION;
        name = "queue";
        help = "one ready queue for all CPUs";
        init = [](unsigned) {
            pirn_policy_lock_init(&lock);
            pirn_runq_init(&ready, false);
            return 0;
        };
        enqueue = [](pirn_cpu_t, pirn_thread_t t, pirn_why why) {
            lock_guard guard(lock);
            pirn_runq_push(&ready, t, why);
            return pirn_kick{PIRN_KICK_ANY, false, false};
        };
        pick = [](pirn_cpu_t) -> pirn_thread_t {
            if (pirn_runq_length(&ready) == 0) {
                return nullptr;
            }
            lock_guard guard(lock);
            return pirn_runq_pop(&ready);
        };
        has_work = [](pirn_cpu_t) { return pirn_runq_length(&ready) != 0; };
        check = [] { PIRN_POLICY_VERIFY(pirn_runq_first(&ready) == nullptr); };
        if (pirn_sched_register(this) != 0) {
            std::fprintf(stderr, "%s\n", pirn_sched_refusal());
            std::exit(1);
        }
    }
};

queue the_queue;

} // namespace

int main()
{
    constexpr int count = 1000;
    std::atomic<int> sum{0};
    std::vector<pirn::thread> threads;
    setenv("PIRN_SCHED", the_queue.name, 0);
    for (int i = 0; i < count; i++) {
        threads.emplace_back([&sum, i] {
            pirn::this_thread::yield();
            sum += i;
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::printf("%d\n", sum.load());
    return sum == count * (count - 1) / 2 ? 0 : 1;
}
