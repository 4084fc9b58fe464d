/* SPDX-License-Identifier: MIT */
/*
 * pirn.h - Pirn's native API: user-level threads and their synchronisation.
 *
 * Conventions
 *   - Functions return 0 or a negative error number (-EINVAL, -EAGAIN, ...) unless they say
 *     otherwise.
 *   - Times are absolute nanoseconds of pirn_now() (the monotonic clock); PIRN_FOREVER means no
 *     limit.
 *   - Objects are valid when zeroed or set to their PIRN_*_INIT, and need no destruction. They may
 *     live anywhere, but must not move while in use.
 *   - Every function may be called from any user thread and from any kernel thread of the program
 *     ("foreign" threads block in the kernel). None may be called from a signal handler in this
 *     version, unless it says so.
 *   - No function is a cancellation point in this version.
 *   - The runtime starts at the first call. If the program's main thread makes that call, it
 *     becomes
 *     a user thread. If another kernel thread makes it, every kernel thread is foreign, including
 *     main. Options come from the environment (PIRN_SCHED, PIRN_CPUS, ...; see libpirn-pthread(7)).
 *   - User threads of this API share the `__thread` variables of the worker that runs them; errno
 *     is saved across switches. With PIRN_TLS=own, and in programs that use libpirn-pthread, each
 *     thread has its own.
 */
#ifndef PIRN_PIRN_H
#define PIRN_PIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIRN_VERSION "0.1.0"
#define PIRN_FOREVER UINT64_MAX

/* ---- library: version, time, number of CPUs ---- */

/* Version of the library, "major.minor.patch". */
const char *pirn_version(void);

/* JSON text that describes the options and the scheduling policies of this library. Static storage.
 * An option's "default" is that of the native API; "default_pthread" is present if the pthread API
 * has a different one. "values" of a policy's option is a list, or a string that says what any text
 * there is ("file"). */
const char *pirn_describe(void);

/* JSON text that says what this process gets of the machine: {"version", "policy", "workers",
 * "features": [{"name", "state", "why"}]}. Starts the runtime. Static storage, for one caller at a
 * time. Linux only; `pirn doctor` shows it. */
const char *pirn_features(void);

/* NULL if the values of the options in the environment are valid, else why the first wrong one is
 * not, until the next call. For programs that start others: call it before the runtime starts.
 * Linux only. */
const char *pirn_check_options(void);

/* Monotonic time in nanoseconds. */
uint64_t pirn_now(void);

/* The number of CPUs (workers) that run user threads, and the number of the CPU that runs the
 * caller (-1: foreign). */
unsigned pirn_cpu_count(void);
int pirn_cpu_self(void);

/* ---- thread: creating, joining and ending threads ---- */

typedef struct thread *pirn_thread_t;

/* Memory for a thread descriptor in the caller's storage. Then only the stack is allocated. (A
 * library for boards may need less: its package defines the size.) */
#ifndef PIRN_THREAD_STORAGE_SIZE
#define PIRN_THREAD_STORAGE_SIZE 576
#endif
typedef struct pirn_thread_storage {
    unsigned char opaque[PIRN_THREAD_STORAGE_SIZE]
        __attribute__((aligned(PIRN_THREAD_STORAGE_SIZE % 64 == 0 ? 64 : 16)));
} pirn_thread_storage_t;

/*
 * Scheduling classes, after POSIX XSH 2.8.4. They have an effect where PIRN_SCHED chooses a policy
 * with discipline=posix (or shmac, docs/guide/policies.md). There a ready FIFO or RR thread of
 * higher priority runs before one of lower priority, and both run before threads of class OTHER,
 * which share by weight. FIFO threads run until they block or yield. RR and OTHER threads have
 * slices (PIRN_SLICE), which end at the thread's next call that yields, blocks or wakes another
 * thread.
 */
enum pirn_class { PIRN_CLASS_OTHER, PIRN_CLASS_FIFO, PIRN_CLASS_RR };
#define PIRN_PRIORITY_MAX 99u
#define PIRN_WEIGHT_MAX 100u
#define PIRN_WEIGHT_DEFAULT 10u
typedef struct pirn_sched {
    enum pirn_class sched_class;
    unsigned priority; /* FIFO, RR: 1 to PIRN_PRIORITY_MAX, higher runs first; OTHER: 0 */
    unsigned weight;   /* in class OTHER: 1 to PIRN_WEIGHT_MAX; 0 = PIRN_WEIGHT_DEFAULT */
} pirn_sched_t;

/* A zeroed attribute means: default stack, joinable, no name, its creator's class. */
typedef struct pirn_attr {
    size_t stack_size;              /* bytes, at least pirn_stack_min(); 0 = default (PIRN_STACK) */
    void *stack;                    /* the caller's stack of stack_size bytes; NULL = ours */
    pirn_thread_storage_t *storage; /* the caller's descriptor; NULL = ours */
    const char *name;               /* up to 15 bytes are kept; NULL = none */
    bool detached;
    bool cxx; /* has its own C++ exception state (pirn.hpp sets it) */
    bool fp;  /* has its own floating-point rounding mode and exception control, initially its
               * creator's; the creator then has its own, too */
    const pirn_sched_t *sched; /* NULL = class, priority and weight of the creator */
} pirn_attr_t;

/* The smallest stack_size, in bytes. With preemption (PIRN_PREEMPT=1) it includes room for the
 * signal frame, whose size depends on the machine. */
size_t pirn_stack_min(void);

/* The largest number of bytes of its stack that a thread has used so far, including the runtime's
 * own use. 0: unknown, because the option stackfill is 0 (set PIRN_STACKFILL=1), or because it is
 * the main thread. The thread must not have been joined, nor detached and ended. The option stats
 * shows which of the threads that have ended used most. */
size_t pirn_stack_used(pirn_thread_t thread);

/* Write on standard error (a board: the console) what each thread does or waits for, as at a
 * deadlock; nothing stops for it. Linux: soon, by a thread of the runtime, and only if the runtime
 * has started. A board: now, and what other cores do meanwhile may be out of date; a line for each
 * thread and each of its calls, so this takes long. Context: threads, a board's handlers. No
 * cancellation point. The option dump does the same at a signal, or a key of a board's console. */
void pirn_dump(void);

/* Start fn(arg) in a new thread. attr may be NULL. -EAGAIN: out of memory for another thread;
 * -EINVAL: stack too small or fn NULL; -EINVAL, -ENOTSUP: `sched`, as pirn_set_sched. (After POSIX
 * pthread_create.) */
int pirn_create(pirn_thread_t *thread, const pirn_attr_t *attr, void *(*fn)(void *), void *arg);

/* Wait for a thread to end, take its return value (ret may be NULL) and release it. -EDEADLK: the
 * caller itself, or a cycle of joins; -EINVAL: detached, or another thread joins it;
 * pirn_join_until: -ETIMEDOUT. */
int pirn_join(pirn_thread_t thread, void **ret);
int pirn_join_until(pirn_thread_t thread, void **ret, uint64_t deadline);

/* The same if the thread has ended already, else -EBUSY. */
int pirn_tryjoin(pirn_thread_t thread, void **ret);

/* Release the thread when it ends: no thread will join it. -EINVAL as for join. */
int pirn_detach(pirn_thread_t thread);

/* Bind the calling thread to a CPU (0 to pirn_cpu_count() - 1): it runs there when the call
 * returns, and only there until the next call; -1: wherever the policy has it run. Threads that it
 * creates are bound to it, too. On Linux a CPU is a worker; processors are chosen by
 * pthread_setaffinity_np.
 *
 * The policies dist and central can bind, unless task affinity is on (option affinity). Context:
 * threads. No cancellation point. 0; -EINVAL: no such CPU; -ENOTSUP: the policy cannot, or the
 * caller is foreign. */
int pirn_bind(int cpu);

/* The CPU that a thread (NULL: the caller) is bound to; -1: none. Any context. */
int pirn_bound(pirn_thread_t thread);

/* The calling thread. For a foreign kernel thread this is a handle that cannot be joined. */
pirn_thread_t pirn_self(void);

/* End the calling thread. If the main thread calls it, the program continues until its last thread
 * has ended. */
void pirn_exit(void *ret) __attribute__((noreturn));

/* ---- pause: yielding, sleeping, waiting for a descriptor ---- */

/* Let another ready thread run. */
void pirn_yield(void);

/* Block until `deadline`, or for `ns` nanoseconds. */
void pirn_sleep_until(uint64_t deadline);
void pirn_sleep(uint64_t ns);

/*
 * Wait until a file descriptor is ready for any of `events` (bits of poll(): POLLIN, POLLOUT, ...),
 * or has failed, or until `deadline`. Only the calling thread waits, no kernel thread. 0: try the
 * call; it may still block if another thread was faster. -ETIMEDOUT. -EBADF: the kernel cannot wait
 * for the descriptor; it is closed, or a regular file, which is always ready (and may be found so:
 * 0). Foreign threads: poll().
 */
int pirn_wait_fd(int fd, uint32_t events, uint64_t deadline);

/* ---- record: marks in the event trace, pauses of trace and profiler ---- */

/*
 * Record a mark of the program's own in the event trace (option trace; `pirn trace`): a name, of
 * which the first 32 bytes are kept, and a number that the program chooses. Without a trace, and
 * before the first call of the API that starts the runtime, it costs a few instructions. Any
 * context, including signal handlers and foreign kernel threads; no cancellation point.
 *
 *     pirn_mark("frame", n);
 */
void pirn_mark(const char *name, int64_t value);

/*
 * Pause the trace (false) or continue it (true); the file contains the times of both. A call that
 * changes nothing is allowed. 0, or -ENOENT: the option trace names no file. One thread at a time;
 * any context, no cancellation point. The first call of the API starts the runtime.
 */
int pirn_trace(bool on);

/*
 * The profiler (option prof; `pirn prof`). pirn_prof: pause it (false) or continue it (true). 0, or
 * -ENOENT: the option prof names no file. Calls that begin during a pause are not counted.
 * Functions that are active when the pause ends are forgotten: their later calls appear below the
 * thread's root.
 *
 * pirn_prof_write: write the profile so far to a file. The file that is written when the program
 * ends is not affected. 0, -ENOENT as above, or -errno of the file (-ELOOP: the name is that of a
 * symbolic link; -ENODEV: of a FIFO, a socket or a device). Both: any thread, no cancellation
 * point.
 */
int pirn_prof(bool on);
int pirn_prof_write(const char *path);

/* ---- call: system calls that block ---- */

/*
 * System calls that may block the kernel thread. Between pirn_call_begin and pirn_call_end the
 * caller has no CPU, and other threads run on it. `blocks`: the caller knows that the call will
 * block, and its CPU is given away at once. Otherwise the monitor gives it away if the call lasts
 * more than about a millisecond. In between, call no function of this API except pirn_sem_post and
 * pirn_now. Foreign threads may call both functions; errno is kept. Not in a signal handler.
 *
 *     pirn_call_t call;
 *     pirn_call_begin(&call, false);
 *     n = read(fd, buffer, size);
 *     pirn_call_end(&call);
 *
 * PIRN_SPARES limits the number of spare carriers; at the limit the call keeps its CPU.
 */
typedef struct pirn_call {
    void *opaque[2];
} pirn_call_t;
void pirn_call_begin(pirn_call_t *call, bool blocks);
void pirn_call_end(pirn_call_t *call);

/* ---- property: id, class, priority, weight and name of a thread ---- */

/* The thread's id, unique among all threads of the process's life. The idle threads have the ids
 * below pirn_cpu_count(). */
uint64_t pirn_thread_id(pirn_thread_t thread);

/* The living thread with this id, or NULL. */
pirn_thread_t pirn_thread_find(uint64_t id);

/*
 * Set the class, priority and weight of a thread, which moves to the tail of its level. If another
 * ready thread then precedes the caller, that one runs. pirn_set_priority changes only the
 * priority; if the priority falls, the thread moves to the head of its level. -EINVAL: a value that
 * pirn_sched_t does not allow, or a priority for class OTHER; -ENOTSUP: anything except class OTHER
 * with the default weight, where the discipline has no classes (fifo, lifo). (After POSIX
 * pthread_setschedparam, pthread_setschedprio.) pirn_get_sched returns the values that were set,
 * not those that the thread inherits through a mutex.
 */
int pirn_set_sched(pirn_thread_t thread, const pirn_sched_t *sched);
int pirn_set_priority(pirn_thread_t thread, unsigned priority);
void pirn_get_sched(pirn_thread_t thread, pirn_sched_t *sched);

/* The thread's name, in traces, profiles, reports and debuggers; its first 15 bytes are kept.
 * pirn_name returns "" if it has none; the string is valid until the name changes or the thread is
 * released. */
void pirn_set_name(pirn_thread_t thread, const char *name);
const char *pirn_name(pirn_thread_t thread);

/* ---- task affinity: threads that read what others have written ---- */

/*
 * A thread (the consumer) depends on another one (its producer), whose data it reads. If a policy
 * with the option affinity runs (PIRN_SCHED=steal:affinity=declared), a consumer that wakes goes to
 * a CPU whose current or last thread is one of its producers, because the data is in that CPU's
 * caches. Otherwise the dependency is recorded and has no effect. It ends with either thread.
 * (After M. Marini, "Exploring performance scalability of task-affinity on different multicore
 * architectures", Politecnico di Milano, 2011: sched_add_taskaffinity.)
 *
 * pirn_affinity_add, pirn_affinity_del: the caller is the consumer. Adding a dependency that exists
 * changes nothing. Threads; not in signal or interrupt handlers; no cancellation point. 0 or
 *   -ESRCH   a handle is NULL, or its thread has ended
 *   -EINVAL  add: the thread itself
 *   -ELOOP   add: the producer depends on the consumer, directly or through other threads
 *   -ENOSPC  add: the consumer has PIRN_PRODUCERS_MAX producers
 *   -ENOMEM  add: no memory for the consumer's first producer
 *   -ENOENT  del: there is no such dependency
 *   -ENOTSUP the library was built without task affinity (boards)
 */
#define PIRN_PRODUCERS_MAX 16u
int pirn_affinity_add(pirn_thread_t producer);
int pirn_affinity_del(pirn_thread_t producer);
int pirn_affinity_add_to(pirn_thread_t consumer, pirn_thread_t producer);
int pirn_affinity_del_from(pirn_thread_t consumer, pirn_thread_t producer);

/* ---- demands: periodic jobs, working sets, shared data ---- */

/*
 * What a thread demands. Cache-aware policies (gate, groups, fair) schedule by it; all others keep
 * it and do not look at it. A thread that demands nothing has all values 0.
 */
typedef struct pirn_demand {
    uint64_t period_ns;   /* between two releases of its jobs; 0: it has no jobs */
    uint64_t cost_ns;     /* longest time that a job takes; at most the period. Kept for programs:
                           * no policy of the library uses it */
    uint64_t working_set; /* bytes of the shared cache that it uses while it runs */
    uint32_t group;       /* threads with the same number share data; 0: with none */
} pirn_demand_t;

/*
 * pirn_set_demand: what the thread demands from the next time on when it becomes ready. A period
 * other than before begins now: the thread's current job is released at this moment, and each
 * further one a period later. The deadline of a job is the release of the next one.
 * pirn_get_demand: what was set. Threads; not in signal or interrupt handlers; no cancellation
 * point. 0 or
 *   -ESRCH   the handle is NULL, or its thread has ended
 *   -EINVAL  the pointer is NULL; set: the period is above 2^62 ns, or the cost above the period
 *   -ENOMEM  set: no memory for the thread's first demand
 *   -ENOTSUP the library was built without demands (boards)
 */
int pirn_set_demand(pirn_thread_t thread, const pirn_demand_t *demand);
int pirn_get_demand(pirn_thread_t thread, pirn_demand_t *demand);

/*
 * The caller has finished its job and waits for the release of the next one, a period after that of
 * the job. If that time has passed, the job was too late: the next one begins at once, after other
 * threads had the chance to run. No job is skipped. Returns the number of releases that have passed
 * (0: in time); or -EINVAL: the caller has no period; -ENOTSUP: as above. Threads; not in
 * handlers; no cancellation point. (The model of periodic tasks of Liu and Layland, "Scheduling
 * algorithms for multiprogramming in a hard-real-time environment", 1973.)
 */
int pirn_job_wait(void);

/* ---- waiting ---- */

/* A wait queue: two words and a pointer, zero = empty. The objects below contain one. */
typedef struct pirn_waitq {
    uint32_t opaque[2];
    void *first;
} pirn_waitq_t;

/* ---- mutex ---- */

/* Not recursive, without error checks. Not FIFO: a running thread may overtake waiters, but the
 * mutex is handed over to a waiter that has not got it for 1 ms. */
typedef struct pirn_mutex {
    uint32_t opaque[4 + sizeof(void *) / 4];
    pirn_waitq_t queue;
} pirn_mutex_t;
#define PIRN_MUTEX_INIT                                                                            \
    {                                                                                              \
        {0},                                                                                       \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }

/* Make it unlocked, as a zeroed mutex is. No other thread may use it meanwhile. */
void pirn_mutex_init(pirn_mutex_t *mutex);

/* Lock it. pirn_mutex_lock waits until it is free; trylock returns -EBUSY at once; lock_until waits
 * until `deadline`. A thread that locks a mutex which it holds waits for ever. */
void pirn_mutex_lock(pirn_mutex_t *mutex);
int pirn_mutex_trylock(pirn_mutex_t *mutex);                       /* -EBUSY */
int pirn_mutex_lock_until(pirn_mutex_t *mutex, uint64_t deadline); /* -ETIMEDOUT */

/* Unlock it; only the thread that holds it may. If threads wait, one is woken. */
void pirn_mutex_unlock(pirn_mutex_t *mutex);

/* ---- condition variable ---- */

typedef struct pirn_cond {
    pirn_waitq_t queue;
} pirn_cond_t;
#define PIRN_COND_INIT                                                                             \
    {                                                                                              \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }

/* Make it empty, as a zeroed one is. */
void pirn_cond_init(pirn_cond_t *cond);

/* Release the mutex and wait for a signal, in one step. The caller holds the mutex, and holds it
 * again on return, whatever the result. */
void pirn_cond_wait(pirn_cond_t *cond, pirn_mutex_t *mutex);
int pirn_cond_wait_until(pirn_cond_t *cond, pirn_mutex_t *mutex,
                         uint64_t deadline); /* -ETIMEDOUT */

/* Wake the first waiter, or all waiters; nothing happens if there are none. The caller may hold the
 * mutex or not. */
void pirn_cond_signal(pirn_cond_t *cond);
void pirn_cond_broadcast(pirn_cond_t *cond);

/* ---- counting semaphore ---- */

/* FIFO. A post with waiters hands over: the first waiter goes to the head of the poster's run
 * queue, and the value stays 0. */
typedef struct pirn_sem {
    uint32_t opaque[4];
    pirn_waitq_t queue;
} pirn_sem_t;
#define PIRN_SEM_MAX 0x7fffffffu
#define PIRN_SEM_INIT(value)                                                                       \
    {                                                                                              \
        {(value)},                                                                                 \
        {                                                                                          \
            {(value)*2u, 0}, 0                                                                     \
        }                                                                                          \
    }

/* Set the value; a zeroed semaphore has 0. */
int pirn_sem_init(pirn_sem_t *sem, unsigned value); /* -EINVAL: above PIRN_SEM_MAX */

/* Take 1 from the value. pirn_sem_wait waits while it is 0; trywait returns -EAGAIN at once;
 * wait_until waits until `deadline`. */
void pirn_sem_wait(pirn_sem_t *sem);
int pirn_sem_trywait(pirn_sem_t *sem);                       /* -EAGAIN */
int pirn_sem_wait_until(pirn_sem_t *sem, uint64_t deadline); /* -ETIMEDOUT */

/* Add 1, or hand it to the first waiter. Also allowed between pirn_call_begin and pirn_call_end,
 * and in interrupt handlers on boards. */
int pirn_sem_post(pirn_sem_t *sem); /* -EOVERFLOW: it is PIRN_SEM_MAX */

/* The current value; another thread may change it at once. */
unsigned pirn_sem_value(pirn_sem_t *sem);

/* ---- readers-writer lock ---- */

/* Readers share the lock. A reader may lock again while writers wait, unless prefer_writer is
 * set. */
typedef struct pirn_rwlock {
    uint32_t opaque[8];
    pirn_waitq_t queue;
    uint32_t prefer_writer, spare;
} pirn_rwlock_t;
#define PIRN_RWLOCK_INIT                                                                           \
    {                                                                                              \
        {0}, {{0}, 0}, 0, 0                                                                        \
    }

/* Make it unlocked, with readers preferred, as a zeroed one is. */
void pirn_rwlock_init(pirn_rwlock_t *lock);

/* Lock it for reading, with others, or for writing, alone. The plain functions wait; try returns
 * -EBUSY at once; until waits until `deadline`. A thread that waits for a lock which it holds
 * itself waits for ever. */
void pirn_rwlock_rdlock(pirn_rwlock_t *lock);
void pirn_rwlock_wrlock(pirn_rwlock_t *lock);
int pirn_rwlock_tryrdlock(pirn_rwlock_t *lock); /* -EBUSY */
int pirn_rwlock_trywrlock(pirn_rwlock_t *lock);
int pirn_rwlock_rdlock_until(pirn_rwlock_t *lock, uint64_t deadline); /* -ETIMEDOUT */
int pirn_rwlock_wrlock_until(pirn_rwlock_t *lock, uint64_t deadline);

/* Release the caller's lock, for reading or writing. If threads wait, the last reader or the writer
 * hands the lock over. */
void pirn_rwlock_unlock(pirn_rwlock_t *lock);

/* ---- barrier ---- */

typedef struct pirn_barrier {
    uint32_t opaque[4];
    pirn_waitq_t queue;
} pirn_barrier_t;

/* Set up a barrier for `count` threads. It may be used again as soon as they have passed. */
int pirn_barrier_init(pirn_barrier_t *barrier, unsigned count); /* -EINVAL: count 0 */

/* Wait for `count` threads. True in exactly one of them. */
bool pirn_barrier_wait(pirn_barrier_t *barrier);

/* ---- once ---- */

typedef struct pirn_once_control {
    uint32_t opaque;
} pirn_once_t;
#define PIRN_ONCE_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }

/* Call fn(), unless an earlier call with this control did. Returns when fn has returned, also in
 * the threads that did not call it. */
void pirn_once(pirn_once_t *once, void (*fn)(void));

/* ---- Full/Empty word (as in Qthreads and on the HEP: read when full, write when empty) ---- */

typedef struct pirn_fe {
    uint64_t value;
#if defined(__riscv) && __riscv_xlen == 32
    uint32_t opaque[8] __attribute__((aligned(16))); /* lines of memory: some chips wait for them */
#else
    uint32_t opaque[2];
#endif
    pirn_waitq_t queue;
} pirn_fe_t;
#define PIRN_FE_EMPTY                                                                              \
    {                                                                                              \
        0, {0, 0},                                                                                 \
        {                                                                                          \
            {0}, 0                                                                                 \
        }                                                                                          \
    }

void pirn_fe_init(pirn_fe_t *word);                      /* empty */
void pirn_fe_write(pirn_fe_t *word, uint64_t value);     /* wait until empty, write, set full */
void pirn_fe_overwrite(pirn_fe_t *word, uint64_t value); /* write and set full at once */
uint64_t pirn_fe_read(pirn_fe_t *word);                  /* wait until full; stays full */
uint64_t pirn_fe_take(pirn_fe_t *word);                  /* wait until full, set empty */
void pirn_fe_purge(pirn_fe_t *word);                     /* set empty at once */
bool pirn_fe_full(pirn_fe_t *word);
int pirn_fe_write_until(pirn_fe_t *word, uint64_t value, uint64_t deadline); /* -ETIMEDOUT */
int pirn_fe_read_until(pirn_fe_t *word, uint64_t *value, uint64_t deadline);
int pirn_fe_take_until(pirn_fe_t *word, uint64_t *value, uint64_t deadline);

/* ---- statistics ---- */

struct pirn_counters {
    uint64_t threads, switches, steals, steal_attempts, migrations, kicks, idle_ns, stacks_new,
        stacks_recycled, sleeps, preemptions, ticks, handovers;
};

/* Sums over all CPUs since the start; a snapshot. Any thread. */
void pirn_stats(struct pirn_counters *stats);

/* The same for each CPU, and more, in the Prometheus text format (0.0.4), for a program that
 * answers a scraper. Like snprintf it returns the number of bytes without the final NUL, and cuts
 * off text that exceeds `size`. The text grows by a few digits from one call to the next. Any
 * thread. */
size_t pirn_stats_prometheus(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
