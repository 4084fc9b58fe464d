/* SPDX-License-Identifier: MIT */
/*
 * pirn.c - the native API (pirn.h): checks arguments, and calls the core and the synchronisation
 * objects. The public types are opaque twins of the internal ones; the sizes are asserted here.
 */
#include <errno.h>
#include <pirn/pirn.h>

#include "../sync/sync.h"
#include "../trace/trace.h"
#include "bind.h"
#include "carrier.h"
#include "demand.h"
#include "id.h"
#include "io.h"
#include "life.h"
#include "mark.h"
#include "options.h"
#include "port_io.h"
#include "producers.h"
#include "runtime.h"

_Static_assert(sizeof(struct thread) <= PIRN_THREAD_STORAGE_SIZE, "PIRN_THREAD_STORAGE_SIZE");
_Static_assert(_Alignof(pirn_thread_storage_t) % _Alignof(struct thread) == 0,
               "PIRN_THREAD_STORAGE_SIZE: 64 divides it, or 16 where there is one CPU");
_Static_assert(sizeof(struct rt_call) <= sizeof(pirn_call_t), "pirn_call_t");
_Static_assert(sizeof(struct waitq) == sizeof(pirn_waitq_t), "pirn_waitq_t");
_Static_assert(sizeof(struct rt_mutex) == sizeof(pirn_mutex_t), "pirn_mutex_t");
_Static_assert(sizeof(struct rt_cond) >= sizeof(pirn_cond_t), "pirn_cond_t");
_Static_assert(offsetof(struct rt_cond, queue) == 0, "pirn_cond_t");
_Static_assert(sizeof(struct rt_sem) == sizeof(pirn_sem_t), "pirn_sem_t");
_Static_assert(sizeof(struct rt_rwlock) == sizeof(pirn_rwlock_t), "pirn_rwlock_t");
_Static_assert(sizeof(struct rt_barrier) == sizeof(pirn_barrier_t), "pirn_barrier_t");
_Static_assert(sizeof(struct rt_once) == sizeof(pirn_once_t), "pirn_once_t");
_Static_assert(sizeof(struct rt_fe) <= sizeof(pirn_fe_t), "pirn_fe_t has room");
_Static_assert(_Alignof(pirn_fe_t) % _Alignof(struct rt_fe) == 0, "pirn_fe_t is aligned");
_Static_assert((int)PIRN_CLASS_FIFO == (int)SCHED_CLASS_FIFO, "enum pirn_class");
_Static_assert((int)PIRN_CLASS_RR == (int)SCHED_CLASS_RR, "enum pirn_class");
_Static_assert(PIRN_WEIGHT_DEFAULT == SCHED_WEIGHT_DEFAULT, "PIRN_WEIGHT_DEFAULT");
_Static_assert(PIRN_WEIGHT_MAX == SCHED_WEIGHT_MAX, "PIRN_WEIGHT_MAX");

#ifdef __linux__
/* What inline.h knows. Another layout, or other values, need the next number and name there. */
_Static_assert(offsetof(struct rt_mutex, queue.lock.word) == offsetof(pirn_mutex_t, queue.opaque) &&
                   offsetof(struct rt_mutex, owner) == offsetof(pirn_mutex_t, opaque) + 8 &&
                   offsetof(struct rt_sem, queue.lock.word) == offsetof(pirn_sem_t, queue.opaque),
               "inline.h");
_Static_assert(MUTEX_FREE == 0 && MUTEX_OWNED == 2 && SEM_UNIT == 2 && STATE_LOCKED == 1 &&
                   RT_SEM_MAX == PIRN_SEM_MAX && ONCE_DONE == 2,
               "inline.h");
EXPORT const char pirn_inline_1 = 1;
#endif

_Static_assert(PIRN_PRODUCERS_MAX == RT_PRODUCERS_MAX, "PIRN_PRODUCERS_MAX");
_Static_assert(sizeof(pirn_demand_t) == sizeof(struct rt_demand), "pirn_demand_t");
_Static_assert(offsetof(pirn_demand_t, group) == offsetof(struct rt_demand, group),
               "pirn_demand_t");

#define MUTEX(m) ((struct rt_mutex *)(m))
#define COND(c) ((struct rt_cond *)(c))
#define SEM(s) ((struct rt_sem *)(s))
#define RWLOCK(l) ((struct rt_rwlock *)(l))
#define BARRIER(b) ((struct rt_barrier *)(b))
#define FE(w) ((struct rt_fe *)(w))

EXPORT const char *pirn_version(void)
{
    return RT_VERSION;
}

EXPORT const char *pirn_describe(void)
{
    return options_describe();
}

EXPORT uint64_t pirn_now(void)
{
    return port_now();
}

EXPORT unsigned pirn_cpu_count(void)
{
    rt_self();
    return rt.ncpu;
}

EXPORT int pirn_cpu_self(void)
{
    struct cpu *cpu = port_cpu_near();
    return cpu != NULL ? (int)cpu->id : -1;
}

EXPORT int pirn_bind(int cpu)
{
    return rt_bind(cpu);
}

EXPORT int pirn_bound(pirn_thread_t thread)
{
    return rt_bound(thread != NULL ? thread : rt_self());
}

EXPORT int pirn_wait_fd(int fd, uint32_t events, uint64_t deadline)
{
    struct rt_io io = {.fd = fd, .events = events};
    struct io_waiter w = RT_IO_WAITER(&io, 1);
    if (rt_self()->flags & THREAD_FOREIGN) {
        return port_io_block(fd, events, deadline);
    }
    int error;
    if (rt_io_offer()) {
        if (port_io_block(fd, events, 0) == 0) {
            return 0;
        }
        rt_io_offer_lost();
    }
    for (;;) {
        error = rt_io_wait(&w, deadline);
        rt_io_end(&w);
        if (error != -EINTR) {
            break;
        }
        rt_signals_act();
    }
    return error == 0 && (io.got & (RT_IO_FAILED | RT_IO_GONE)) ? -EBADF : error;
}

EXPORT void pirn_call_begin(pirn_call_t *call, bool blocks)
{
    rt_call_begin((struct rt_call *)call, blocks);
}

EXPORT void pirn_call_end(pirn_call_t *call)
{
    rt_call_end((struct rt_call *)call);
}

EXPORT size_t pirn_stack_used(pirn_thread_t thread)
{
    return stack_used(thread);
}

EXPORT size_t pirn_stack_min(void)
{
    rt_self();
    return rt.stack_min;
}

/* Convert class, priority and weight to the core's form. */
static int sched_translate(const pirn_sched_t *sched, struct sched_params *out)
{
    unsigned class = (unsigned)sched->sched_class;
    bool real_time = class != PIRN_CLASS_OTHER;
    if (class > PIRN_CLASS_RR || sched->weight > PIRN_WEIGHT_MAX ||
        sched->priority > PIRN_PRIORITY_MAX || real_time != (sched->priority != 0)) {
        return -EINVAL;
    }
    *out = (struct sched_params){(enum sched_class) class, sched->priority, sched->weight};
    return rt_sched_valid(out);
}

EXPORT int pirn_set_sched(pirn_thread_t thread, const pirn_sched_t *sched)
{
    struct sched_params params;
    rt_self();
    int error = sched_translate(sched, &params);
    if (error == 0) {
        rt_thread_set_sched(thread, &params, true);
    }
    return error;
}

EXPORT int pirn_set_priority(pirn_thread_t thread, unsigned priority)
{
    pirn_sched_t sched;
    struct sched_params params;
    pirn_get_sched(thread, &sched);
    sched.priority = priority;
    int error = sched_translate(&sched, &params);
    if (error == 0) {
        rt_thread_set_sched(thread, &params, false);
    }
    return error;
}

EXPORT void pirn_get_sched(pirn_thread_t thread, pirn_sched_t *sched)
{
    struct sched_params params = rt_thread_sched(thread);
    *sched = (pirn_sched_t){(enum pirn_class)params.class, params.priority, params.weight};
}

static int attr_translate(const pirn_attr_t *attr, struct thread_attr *out)
{
    rt_self(); /* determines the smallest stack */
    if (attr->stack_size != 0 &&
        (attr->stack_size < rt.stack_min || attr->stack_size > RT_STACK_MAX)) {
        return -EINVAL;
    }
    if (attr->stack != NULL && attr->stack_size == 0) {
        return -EINVAL;
    }
    *out = (struct thread_attr){.stack_size = attr->stack_size,
                                .stack = attr->stack,
                                .storage = attr->storage,
                                .name = attr->name,
                                .flags = (attr->detached ? (uint32_t)THREAD_CREATE_DETACHED : 0) |
                                         (attr->cxx ? (uint32_t)THREAD_CXX : 0) |
                                         (attr->fp ? (uint32_t)THREAD_FP : 0),
                                .explicit_sched = attr->sched != NULL};
    return attr->sched != NULL ? sched_translate(attr->sched, &out->sched) : 0;
}

/* The caller creates a thread that has its own exception or floating-point state, so it gets its
 * own, too; it runs, so its flags are its own. Otherwise the main thread's exceptions would stay
 * with the worker. */
static COLD void creator_carries(struct thread *self, uint32_t flags)
{
    self->flags |= flags & (THREAD_CXX | THREAD_FP);
}

static NOINLINE int create_with(pirn_thread_t *thread, const pirn_attr_t *attr, void *(*fn)(void *),
                                void *arg)
{
    struct thread_attr internal;
    int error = attr_translate(attr, &internal);
    if (unlikely(error != 0)) {
        return error;
    }
    struct thread *self = rt_self();
    if (unlikely((internal.flags & ~self->flags) & (THREAD_CXX | THREAD_FP))) {
        creator_carries(self, internal.flags);
    }
    return rt_thread_create(thread, &internal, fn, arg);
}

EXPORT int pirn_create(pirn_thread_t *thread, const pirn_attr_t *attr, void *(*fn)(void *),
                       void *arg)
{
    if (likely(attr == NULL && fn != NULL)) {
        return rt_thread_create(thread, NULL, fn, arg);
    }
    return fn != NULL ? create_with(thread, attr, fn, arg) : -EINVAL;
}

EXPORT int pirn_join(pirn_thread_t thread, void **ret)
{
    return rt_thread_join(thread, ret, UINT64_MAX);
}

EXPORT int pirn_join_until(pirn_thread_t thread, void **ret, uint64_t deadline)
{
    return rt_thread_join(thread, ret, deadline);
}

EXPORT int pirn_tryjoin(pirn_thread_t thread, void **ret)
{
    return rt_thread_tryjoin(thread, ret);
}

EXPORT int pirn_detach(pirn_thread_t thread)
{
    return rt_thread_detach(thread);
}

EXPORT pirn_thread_t pirn_self(void)
{
    return rt_self();
}

EXPORT void pirn_exit(void *ret)
{
    RT_ASSERT(rt_is_outside());
    struct thread *self = rt_self();
    if (self->flags & THREAD_MAIN) {
        life_main_exit(ret);
    }
    RT_VERIFY(!(self->flags & THREAD_FOREIGN) &&
              "pirn_exit on a kernel thread that Pirn did not make");
    rt_thread_exit(ret);
}

#ifdef PORT_ARCH_RETURN_BY_JUMP
PORT_ARCH_RETURN_BY_JUMP_VIA(pirn_yield, rt_yield_way);
#else
EXPORT void pirn_yield(void)
{
    rt_yield();
}
#endif

EXPORT void pirn_sleep_until(uint64_t deadline)
{
    rt_sleep_until(deadline);
}

EXPORT void pirn_sleep(uint64_t ns)
{
    uint64_t now = port_now();
    rt_sleep_until(ns < UINT64_MAX - now ? now + ns : UINT64_MAX);
}

EXPORT void pirn_mark(const char *name, int64_t value)
{
    if (unlikely(trace_is_on())) {
        unsigned long irq;
        struct cpu *cpu =
            rt_enter(&irq); /* prevents preemption between finding the running thread and writing
                             * the mark */
        trace_mark(cpu, name, value);
        rt_leave(irq);
    }
}

EXPORT int pirn_trace(bool on)
{
    rt_self();
    unsigned long irq;
    struct cpu *cpu = rt_enter(&irq);
    int error = trace_set_on(cpu, on);
    rt_leave(irq);
    return error;
}

EXPORT int pirn_prof(bool on)
{
    rt_self();
    return prof_set_on(on);
}

EXPORT int pirn_prof_write(const char *path)
{
    rt_self();
    return prof_write(path);
}

EXPORT uint64_t pirn_thread_id(pirn_thread_t thread)
{
    return id_of(thread);
}

EXPORT pirn_thread_t pirn_thread_find(uint64_t id)
{
    return id_lookup(id);
}

EXPORT void pirn_set_name(pirn_thread_t thread, const char *name)
{
    rt_thread_rename(thread, name);
}

EXPORT const char *pirn_name(pirn_thread_t thread)
{
    return thread->name;
}

EXPORT int pirn_affinity_add(pirn_thread_t producer)
{
    return rt_producer_add(rt_self(), producer);
}

EXPORT int pirn_affinity_del(pirn_thread_t producer)
{
    return rt_producer_del(rt_self(), producer);
}

EXPORT int pirn_affinity_add_to(pirn_thread_t consumer, pirn_thread_t producer)
{
    rt_self();
    return rt_producer_add(consumer, producer);
}

EXPORT int pirn_affinity_del_from(pirn_thread_t consumer, pirn_thread_t producer)
{
    rt_self();
    return rt_producer_del(consumer, producer);
}

EXPORT int pirn_set_demand(pirn_thread_t thread, const pirn_demand_t *demand)
{
    rt_self();
    return rt_demand_set(thread, (const struct rt_demand *)demand);
}

EXPORT int pirn_get_demand(pirn_thread_t thread, pirn_demand_t *demand)
{
    rt_self();
    return rt_demand_get(thread, (struct rt_demand *)demand);
}

EXPORT int pirn_job_wait(void)
{
    uint64_t release;
    int missed = rt_job_next(&release);
    if (missed == 0) {
        rt_sleep_until(release);
    } else if (missed > 0) {
        rt_yield();
    }
    return missed;
}

EXPORT void pirn_mutex_init(pirn_mutex_t *mutex)
{
    rt_mutex_init(MUTEX(mutex));
}

EXPORT void pirn_mutex_lock(pirn_mutex_t *mutex)
{
    if (!rt_mutex_lock_fast(MUTEX(mutex))) {
        rt_mutex_lock_slow(MUTEX(mutex), UINT64_MAX);
    }
}

EXPORT int pirn_mutex_trylock(pirn_mutex_t *mutex)
{
    return rt_mutex_trylock(MUTEX(mutex));
}

EXPORT int pirn_mutex_lock_until(pirn_mutex_t *mutex, uint64_t deadline)
{
    return rt_mutex_lock_until(MUTEX(mutex), deadline);
}

EXPORT void pirn_mutex_unlock(pirn_mutex_t *mutex)
{
    rt_mutex_check_owner(MUTEX(mutex));
    if (!rt_mutex_unlock_fast(MUTEX(mutex))) {
        rt_mutex_unlock_slow(MUTEX(mutex));
    }
}

EXPORT void pirn_cond_init(pirn_cond_t *cond)
{
    *cond = (pirn_cond_t)PIRN_COND_INIT;
    at_init(&COND(cond)->queue.lock.word, 0u);
}

EXPORT void pirn_cond_wait(pirn_cond_t *cond, pirn_mutex_t *mutex)
{
    rt_cond_wait_until(COND(cond), MUTEX(mutex), UINT64_MAX);
}

EXPORT int pirn_cond_wait_until(pirn_cond_t *cond, pirn_mutex_t *mutex, uint64_t deadline)
{
    return rt_cond_wait_until(COND(cond), MUTEX(mutex), deadline);
}

EXPORT void pirn_cond_signal(pirn_cond_t *cond)
{
    rt_cond_signal(COND(cond));
}

EXPORT void pirn_cond_broadcast(pirn_cond_t *cond)
{
    rt_cond_broadcast(COND(cond));
}

EXPORT int pirn_sem_init(pirn_sem_t *sem, unsigned value)
{
    return rt_sem_init(SEM(sem), value);
}

#ifdef PORT_ARCH_RETURN_BY_JUMP
PORT_ARCH_RETURN_BY_JUMP(pirn_sem_wait, rt_sem_wait);
#else
EXPORT void pirn_sem_wait(pirn_sem_t *sem)
{
    rt_sem_wait(SEM(sem));
}
#endif

EXPORT int pirn_sem_trywait(pirn_sem_t *sem)
{
    return rt_sem_trywait(SEM(sem));
}

EXPORT int pirn_sem_wait_until(pirn_sem_t *sem, uint64_t deadline)
{
    return rt_sem_wait_until(SEM(sem), deadline);
}

EXPORT int pirn_sem_post(pirn_sem_t *sem)
{
    return rt_sem_post(SEM(sem));
}

EXPORT unsigned pirn_sem_value(pirn_sem_t *sem)
{
    return rt_sem_value(SEM(sem));
}

EXPORT void pirn_rwlock_init(pirn_rwlock_t *lock)
{
    rt_rwlock_init(RWLOCK(lock));
}

EXPORT void pirn_rwlock_rdlock(pirn_rwlock_t *lock)
{
    rt_rwlock_rdlock_until(RWLOCK(lock), UINT64_MAX);
}

EXPORT void pirn_rwlock_wrlock(pirn_rwlock_t *lock)
{
    rt_rwlock_wrlock_until(RWLOCK(lock), UINT64_MAX);
}

EXPORT int pirn_rwlock_tryrdlock(pirn_rwlock_t *lock)
{
    return rt_rwlock_tryrdlock(RWLOCK(lock));
}

EXPORT int pirn_rwlock_trywrlock(pirn_rwlock_t *lock)
{
    return rt_rwlock_trywrlock(RWLOCK(lock));
}

EXPORT int pirn_rwlock_rdlock_until(pirn_rwlock_t *lock, uint64_t deadline)
{
    return rt_rwlock_rdlock_until(RWLOCK(lock), deadline);
}

EXPORT int pirn_rwlock_wrlock_until(pirn_rwlock_t *lock, uint64_t deadline)
{
    return rt_rwlock_wrlock_until(RWLOCK(lock), deadline);
}

EXPORT void pirn_rwlock_unlock(pirn_rwlock_t *lock)
{
    rt_rwlock_unlock(RWLOCK(lock));
}

EXPORT int pirn_barrier_init(pirn_barrier_t *barrier, unsigned count)
{
    return rt_barrier_init(BARRIER(barrier), count);
}

EXPORT bool pirn_barrier_wait(pirn_barrier_t *barrier)
{
    return rt_barrier_wait(BARRIER(barrier));
}

EXPORT void pirn_once(pirn_once_t *once, void (*fn)(void))
{
    rt_once((struct rt_once *)once, fn);
}

EXPORT void pirn_fe_init(pirn_fe_t *word)
{
    rt_fe_init(FE(word));
}

EXPORT void pirn_fe_write(pirn_fe_t *word, uint64_t value)
{
    rt_fe_write_until(FE(word), value, UINT64_MAX);
}

EXPORT void pirn_fe_overwrite(pirn_fe_t *word, uint64_t value)
{
    rt_fe_overwrite(FE(word), value);
}

EXPORT uint64_t pirn_fe_read(pirn_fe_t *word)
{
    uint64_t value = 0;
    rt_fe_read_until(FE(word), &value, UINT64_MAX);
    return value;
}

EXPORT uint64_t pirn_fe_take(pirn_fe_t *word)
{
    uint64_t value = 0;
    rt_fe_take_until(FE(word), &value, UINT64_MAX);
    return value;
}

EXPORT void pirn_fe_purge(pirn_fe_t *word)
{
    rt_fe_purge(FE(word));
}

EXPORT bool pirn_fe_full(pirn_fe_t *word)
{
    return rt_fe_full(FE(word));
}

EXPORT int pirn_fe_write_until(pirn_fe_t *word, uint64_t value, uint64_t deadline)
{
    return rt_fe_write_until(FE(word), value, deadline);
}

EXPORT int pirn_fe_read_until(pirn_fe_t *word, uint64_t *value, uint64_t deadline)
{
    return rt_fe_read_until(FE(word), value, deadline);
}

EXPORT int pirn_fe_take_until(pirn_fe_t *word, uint64_t *value, uint64_t deadline)
{
    return rt_fe_take_until(FE(word), value, deadline);
}
