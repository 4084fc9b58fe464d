/* SPDX-License-Identifier: MIT
 *
 * Boost.Fiber: micro-boost. Round robin with one worker, work stealing with more. Stacks and
 * launch policy are the library's defaults. It has no semaphore; ours is a mutex and a condition
 * variable.
 */
#ifndef BENCH_SYS_BOOST_H
#define BENCH_SYS_BOOST_H

#include "sys.h"

#include <boost/fiber/all.hpp>

#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

/* The rows are C: their objects are raw storage, made and ended by the init and fini calls. */
template <class T>
struct place {
    alignas(T) unsigned char bytes[sizeof(T)];

    template <class... A>
    void make(A &&...args)
    {
        new (bytes) T(std::forward<A>(args)...);
    }

    void end() { get().~T(); }

    T &get() { return *std::launder(reinterpret_cast<T *>(bytes)); }
};

struct boost_sem {
    fibers::mutex mutex;
    fibers::condition_variable nonzero;
    unsigned value;

    explicit boost_sem(unsigned start) : value(start) {}
};

typedef place<fibers::fiber> sys_thread;
typedef place<fibers::mutex> sys_mutex;
typedef place<boost_sem> sys_sem;
typedef place<fibers::barrier> sys_barrier;
typedef place<fibers::condition_variable> sys_cond;

#define SYS_NAME "boost"
#define FIB_N 20
#define SYS_COND
#define SYS_SLEEP

/* Three of four runs of turns_timed on two workers did not end (Boost 1.74). */
static inline const char *sys_lacks(const char *row, unsigned workers)
{
    if (workers > 1 && strcmp(row, "turns_timed") == 0)
        return "a wait with a deadline can hang with work stealing";
    return nullptr;
}

inline unsigned boost_workers;

static inline void sys_prepare(const char *, unsigned workers)
{
    boost_workers = workers;
}

static inline void sys_create(sys_thread *thread, void *(*fn)(void *), void *arg)
{
    thread->make([fn, arg] { fn(arg); });
}

static inline void sys_join(sys_thread *thread)
{
    thread->get().join();
    thread->end();
}

static inline void sys_yield()
{
    boost::this_fiber::yield();
}

static inline void sys_mutex_init(sys_mutex *mutex)
{
    mutex->make();
}

static inline void sys_mutex_lock(sys_mutex *mutex)
{
    mutex->get().lock();
}

static inline void sys_mutex_unlock(sys_mutex *mutex)
{
    mutex->get().unlock();
}

static inline void sys_mutex_fini(sys_mutex *mutex)
{
    mutex->end();
}

static inline void sys_sem_init(sys_sem *sem, unsigned value)
{
    sem->make(value);
}

static inline void sys_sem_wait(sys_sem *sem)
{
    boost_sem &s = sem->get();
    std::unique_lock<fibers::mutex> lock(s.mutex);
    s.nonzero.wait(lock, [&s] { return s.value > 0; });
    s.value--;
}

static inline void sys_sem_post(sys_sem *sem)
{
    boost_sem &s = sem->get();
    std::unique_lock<fibers::mutex> lock(s.mutex);
    s.value++;
    s.nonzero.notify_one();
}

static inline void sys_sem_fini(sys_sem *sem)
{
    sem->end();
}

static inline void sys_barrier_init(sys_barrier *barrier, unsigned threads)
{
    barrier->make(threads);
}

static inline void sys_barrier_wait(sys_barrier *barrier)
{
    barrier->get().wait();
}

static inline void sys_barrier_fini(sys_barrier *barrier)
{
    barrier->end();
}

static inline void sys_cond_init(sys_cond *cond)
{
    cond->make();
}

/* The caller holds the mutex before and afterwards: the lock object does not keep it. */
static inline void sys_cond_wait(sys_cond *cond, sys_mutex *mutex)
{
    std::unique_lock<fibers::mutex> lock(mutex->get(), std::adopt_lock);
    cond->get().wait(lock);
    lock.release();
}

static inline int sys_cond_wait_for(sys_cond *cond, sys_mutex *mutex, uint64_t ns)
{
    std::unique_lock<fibers::mutex> lock(mutex->get(), std::adopt_lock);
    fibers::cv_status status = cond->get().wait_for(lock, std::chrono::nanoseconds(ns));
    lock.release();
    return status == fibers::cv_status::no_timeout;
}

static inline void sys_cond_signal(sys_cond *cond)
{
    cond->get().notify_one();
}

static inline void sys_cond_broadcast(sys_cond *cond)
{
    cond->get().notify_all();
}

static inline void sys_cond_fini(sys_cond *cond)
{
    cond->end();
}

static inline void sys_sleep(uint64_t ns)
{
    boost::this_fiber::sleep_for(std::chrono::nanoseconds(ns));
}

/* The other workers take part until the body has ended. The body is a fiber of its own: a kernel
 * thread's first fiber is never stolen, and would tie its children's joins to one worker. */
static inline void sys_run(void (*body)(void *), void *arg)
{
    fibers::mutex mutex;
    fibers::condition_variable_any ended_changed;
    bool ended = false;
    auto join_in = [] {
        if (boost_workers == 1)
            fibers::use_scheduling_algorithm<fibers::algo::round_robin>();
        else
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(boost_workers);
    };
    auto until_ended = [&] {
        std::unique_lock<fibers::mutex> lock(mutex);
        ended_changed.wait(lock, [&] { return ended; });
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < boost_workers; i++)
        others.emplace_back([&] {
            join_in();
            until_ended();
        });
    join_in();
    fibers::fiber([&] {
        body(arg);
        std::unique_lock<fibers::mutex> lock(mutex);
        ended = true;
        ended_changed.notify_all();
    }).detach();
    until_ended();
    for (std::thread &other : others)
        other.join();
}

#endif
