/* SPDX-License-Identifier: MIT */
/*
 * init.c - starting the runtime, by the first call of the API. If the call comes from the program's
 * main thread, that becomes a schedulable thread like any other, on CPU 0, and CPU 0's scheduler
 * context gets a stack of its own; every other CPU schedules on the stack on which the port starts
 * it. A first call from another kernel thread starts all CPUs on new kernel threads, because a
 * caller that may end cannot be a CPU. The main thread is foreign then.
 *
 * Identities before there are CPUs: starting calls the program's code. Its allocator (called by
 * pthread_create and ld.so) calls mutexes, keys and pthread_self, from the starting thread and from
 * the kernel threads that are being started. So, where PORT_IDENTITY is true:
 *   1. Each kernel thread has a descriptor from its first call on, like a foreign thread
 *      (port_foreign_self). The main thread keeps this one: rt.main_thread, or rt_survivor in the
 *      child of a fork. Its locked mutexes and its keys stay its own when it gets a CPU.
 *   2. While the runtime starts (started == 1) all threads are foreign. Only a thread that creates
 *      another one waits for the start (rt_start_awaited). Creating is refused in the starting
 *      thread, and in kernel threads of the runtime, because the start may be waiting for them. It
 *      is also refused, and `started` is 0 again, if there is no room for a start; the next call
 *      tries again.
 *   3. The main thread loses its flag THREAD_FOREIGN when it takes its CPU, with no call in
 *      between. It runs at that time and waits for nothing, so no waker uses the flag's old value.
 *   4. Making a descriptor calls no code of the program: its memory comes from the kernel
 *      (port_table_alloc).
 * Elsewhere the first call starts the runtime, and nothing else can come meanwhile.
 */
#include <errno.h>

#include "../trace/trace.h"
#include "capacity.h"
#include "carrier.h"
#include "id.h"
#include "life.h"
#include "nodes.h"
#include "objects.h"
#include "options.h"
#include "port_affinity.h"
#include "port_calls.h"
#include "port_foreign.h"
#include "port_preempt.h"
#include "port_processes.h"
#include "port_report.h"
#include "port_signals.h"
#include "port_tls.h"
#include "port_tools.h"
#include "runtime.h"
#include "start_failed.h"
#include "stats.h"
#include "switch.h"
#include "wake.h"

struct rt rt;

static NORETURN void idle_entry(struct port_ctx *from, struct port_ctx *to, void *cpu, void *arg,
                                uintptr_t post)
{
    port_irq_entered();
    port_san_switched(CONTAINER_OF(to, struct thread, ctx));
    (void)to;
    finish_switch((struct port_note){from, cpu, arg, post});
    rt_cpu_main(port_cpu_self());
    RT_PANIC("the scheduling loop has returned");
}

static int cpu_make(unsigned id)
{
    struct cpu *cpu = port_table_alloc(sizeof(struct cpu));
    struct carrier *k;
    if (cpu == NULL) {
        return -ENOMEM;
    }
    rt.cpus[id] = cpu;
    cpu_init(cpu, id);
    return carrier_make(&k, cpu);
}

/* The scheduler context of the CPU whose kernel thread is the program's main thread. */
static int idle_make_stack(struct cpu *cpu)
{
    struct thread *t = cpu->idle;
    int error = port_stack_alloc(&t->stack, PORT_IDLE_STACK + rt.tls_room, RT_GUARD_DEFAULT);
    if (error != 0) {
        return error;
    }
    char *top = (char *)t->stack.low + t->stack.size - rt.tls_room;
    t->stack_top = top;
    port_ctx_init(&t->ctx, t->stack.low, (size_t)(top - (char *)t->stack.low), idle_entry);
    port_san_create(t, (uintptr_t)top);
    return rt.tls_room != 0 ? port_tls_alloc(t, top) : 0;
}

/* The main thread's descriptor: in the child of a fork that of the thread that forked. NULL without
 * memory. */
struct thread *rt_main_identity(void)
{
    struct thread *t = PORT_PROCESSES && rt_survivor != NULL ? rt_survivor : &rt.main_thread;
    if (t->id_slot != NULL) {
        return t;
    }
    thread_init_bare(t, THREAD_MAIN | THREAD_FOREIGN, rt_personality.main_name());
    at_init(&t->state, (uint32_t)THREAD_RUNNING);
    return id_assign(t) == 0 ? t : NULL;
}

static void main_takes(struct thread *t, struct cpu *cpu)
{
    t->flags &= ~(uint32_t)THREAD_FOREIGN;
    t->flags |= rt.tls_room != 0 ? (uint32_t)THREAD_TLS : 0;
    if (PORT_CALLS_BLOCK) {
        port_cpu_take(cpu->carrier, cpu->carrier->limbo);
    }
    port_cpu_take(cpu->carrier, cpu);
}

static int main_adopt(struct cpu *cpu)
{
    struct thread *t = rt_main_identity();
    int error = t != NULL ? 0 : -ENOMEM;
    if (error != 0) {
        return error;
    }
    rt_survivor = NULL;
    t->cpu = cpu;
    cpu->current = t;
    at_store_rel(&cpu->created, 1u); /* ORDER(life) */
    error = idle_make_stack(cpu);
    if (error == 0) {
        error = port_carrier_begin(cpu->carrier, t);
    }
    if (error == 0) {
        prof_adopt(t);
        main_takes(t, cpu);
    }
    return error;
}

static NORETURN void tls_refuse(const char *value, const char *why, const char *valid)
{
    (void)value; /* without messages */
    (void)why;
    (void)valid;
    rt_refuse("pirn: option tls=\"%s\": %s; valid here: %s\n", value, why, valid);
}

static void tls_start_always(void)
{
    const char *why = "every thread has storage of its own on this platform";
    if (RT_SETTINGS && (rt.tls == RT_TLS_SHARED || rt.tls == RT_TLS_OWN_SYSCALL)) {
        tls_refuse(rt.tls == RT_TLS_SHARED ? "shared" : "own-syscall", why, "auto, own");
    }
    if (port_tls_start(false, &why) != 0) {
        tls_refuse("auto", why, "none");
    }
    rt.tls_room = port_tls_room();
}

/* The option "tls". A value that the user has named and that is not possible is an error. */
static void tls_start(void)
{
    static bool warned; /* a child of a fork need not be */
    const char *why;
    if (!RT_MAIN_STARTS && rt.tls_room != 0) {
        return; /* in the child of a fork */
    }
    if (PORT_TLS_ALWAYS) {
        tls_start_always();
        return;
    }
    if (rt.tls == RT_TLS_SHARED || (rt.tls == RT_TLS_AUTO && !rt_personality.own_tls)) {
        return;
    }
    int error = port_tls_start(rt.tls == RT_TLS_OWN_SYSCALL, &why);
    if (error == 0) {
        rt.tls_room = port_tls_room();
        return;
    }
    if (rt.tls != RT_TLS_AUTO) {
        tls_refuse(rt.tls == RT_TLS_OWN ? "own" : "own-syscall", why, "auto, shared");
    }
    if (error != -ENOSYS && !warned) {
        warned = true;
        rt_say("pirn: threads share thread-local storage (__thread, errno): %s\n", why);
    }
}

/* Tools that follow threads (sanitizers) make pthread_create wait in the kernel. */
static void tools_check(void)
{
    if (rt_tooled && (rt.tls_room == 0 || rt.spares == 0)) {
        rt_refuse(
            "pirn: the program is built with AddressSanitizer or ThreadSanitizer: under them threads "
            "need thread-local storage of their own (option tls: auto, own or own-syscall; x86-64; "
            "a C library whose inside is known), and option spares must not be 0\n");
    }
}

const char *rt_why_no_preempt = "threads share thread-local storage, or option preempt is 0";

static void preempt_start(void)
{
    const char *why = "";
    rt.preempt = port_preempt_start(rt.tick_ns, &why) == 0;
    rt_why_no_preempt = why;
    if (!rt.preempt && rt.preempt_asked) {
        rt_refuse("pirn: option preempt=1: %s\n", why);
    }
}

static void stack_min_set(void)
{
    rt.stack_min = RT_STACK_MIN;
    if (rt.preempt) {
        size_t need = port_signal_room() + RT_STACK_MARGIN;
        need = (need + RT_STACK_UNIT - 1) & ~(size_t)(RT_STACK_UNIT - 1);
        rt.stack_min = need > RT_STACK_MIN ? need : RT_STACK_MIN;
    }
    rt.stack_size = rt.stack_size > rt.stack_min ? rt.stack_size : rt.stack_min;
}

/* A spare carrier, before one is needed. Making one takes locks of the C library, which later a
 * thread may hold that waits for a CPU. Without it the runtime works all the same. */
static void spare_first(void)
{
    if (PORT_CALLS_BLOCK && rt.spares != 0 && rt_personality.take_calls) {
        (void)rt_carrier_add();
    }
}

static void port_begin(bool *main_calls)
{
    int error = port_init(main_calls);
    if (error != 0) {
        start_failed(error, "no kernel threads of its own, or no handler of exit or fork");
    }
    tls_start();
    tools_check();
    error = RT_SETTINGS && rt.dump_signal != 0 ? port_dump_start(rt.dump_signal) : 0;
    if (error != 0) {
        start_failed(error, "no handler for the signal or key of option dump");
    }
}

static void bind_begin(void)
{
    if (RT_SETTINGS && rt.bind && port_workers_bind(rt.ncpu) != 0) {
        rt_refuse(
            "pirn: option bind=1: there are %u workers (option cpus), and the process may use "
            "%u processors\n",
            rt.ncpu, port_cpu_count());
    }
}

static void preempt_begin(void)
{
    /* Threads that share TLS notice it: a TLS address in a register may be another worker's. */
    rt.preempt = RT_PREEMPT && rt.preempt && (rt.preempt_asked || rt.tls_room != 0);
    if (RT_PREEMPT && rt.preempt) {
        preempt_start();
    }
    stack_min_set();
}

static void cpus_make(bool main_calls)
{
    for (unsigned i = 0; i < RT_NCPU; i++) {
        int error = cpu_make(i);
        if (error != 0) {
            start_failed_of(error, "no memory for", i);
        }
    }
    rt.main_carries = main_calls;
    int error = main_calls ? main_adopt(rt.cpus[0]) : 0;
    if (error != 0) {
        start_failed(error, "no memory for the main thread and a scheduler stack");
    }
}

static void policy_begin(bool main_calls)
{
    rt.lines = false; /* unless the policy says otherwise */
    int error = RT_POLICY.init != NULL ? RT_POLICY.init(rt.ncpu) : 0;
    if (error == 0 && main_calls && POLICY_HAS(thread_init)) {
        error = RT_POLICY.thread_init(rt.cpus[0]->current, NULL);
    }
    if (error != 0) {
        start_failed_policy(error);
    }
}

static void carriers_start(bool main_calls)
{
    for (unsigned i = main_calls ? 1 : 0; i < RT_NCPU; i++) {
        at_init(&rt.cpus[i]->idle->state, (uint32_t)THREAD_RUNNING);
        int error = port_carrier_start(rt.cpus[i]->carrier);
        if (error != 0) {
            start_failed_of(error, "no kernel thread for", i);
        }
    }
    spare_first();
}

/* Every refusal from here on ends the program. */
static void rt_start_once(void)
{
    bool caller = false;
    if (rt_personality.begin != NULL) {
        rt_personality.begin();
    }
    port_check();
    options_load();
    rt.spares = PORT_CALLS_BLOCK ? rt.spares : 0;
    at_init(&rt.wakers_fence, 0u);
    at_init(&rt.sleepers_light, 0u);
    prof_start();
    if (RT_REPORT) {
        rt_objects.report_start();
    }
    SCHED_SETTLE(&rt.policy, rt.detour);
    rt.start_ns = RT_TIMED ? port_now() : 0;
    port_begin(&caller);
    bool main_calls = RT_MAIN_STARTS || caller;
    port_start_goes_on();
    bind_begin();
    capacities_begin();
    nodes_begin();
    preempt_begin();
    stack_begin();
    cpus_make(main_calls);
    policy_begin(main_calls);
    trace_start();
    carriers_start(main_calls);
}

/* Only where callers can do without the runtime: pthread_create fails, and everything else is done
 * as by a foreign thread. */
static bool start_is_possible(void)
{
    if (RT_MAIN_STARTS || !rt_personality.early) {
        return true;
    }
    if (rt.ncpu == 0) {
        options_load_of("cpus");
    }
    return port_start_possible(rt.ncpu);
}

static int start_by(struct thread *self)
{
    at_store_rel(&rt.starter, self); /* ORDER(start) */
    if (!start_is_possible()) {
        at_store_rlx(&rt.starter, (struct thread *)NULL);
        at_store_rel(&rt.started, 0u); /* ORDER(start) */
        return -EAGAIN;
    }
    rt_start_once();
    at_store_rel(&rt.started, 2u); /* ORDER(start) */
    if (rt_personality.started != NULL) {
        rt_personality.started();
    }
    at_store_rel(&rt.starter, (struct thread *)NULL); /* ORDER(start) */
    return 0;
}

int rt_start(void)
{
    uint32_t state = 0;
    struct thread *self = PORT_IDENTITY ? port_foreign_self() : NULL;
    if (at_cas_acq(&rt.started, &state, 1u)) { /* ORDER(start) */
        int kept = port_start_enter();
        int error = start_by(self);
        port_start_leave(kept);
        return error;
    }
    return !RT_MAIN_STARTS && rt_personality.early ? 0 : rt_start_awaited(self);
}

int rt_start_awaited(const struct thread *self)
{
    uint32_t state;
    for (unsigned round = 0; (state = at_load_acq(&rt.started)) != 2; round++) { /* ORDER(start) */
        if (state == 0 || (self != NULL && at_load_rlx(&rt.starter) == self) || port_is_helper()) {
            return -EAGAIN;
        }
        port_relax(round);
    }
    return 0;
}

/* Before the runtime has started, or while it starts. */
static struct thread *self_early(void)
{
    if (at_load_acq(&rt.started) == 1 && rt_personality.early) { /* ORDER(start) */
        return port_foreign_self();
    }
    return rt_start() == 0 ? rt_self() : port_foreign_self();
}

struct thread *rt_self_slow(void)
{
    if (at_load_acq(&rt.started) != 2) { /* ORDER(start) */
        return self_early();
    }
    struct thread *t = port_foreign_self();
    if (PORT_CALLS_BLOCK && !(t->flags & THREAD_FOREIGN)) {
        rt_call_return(t);
    }
    return t;
}

struct thread *rt_identity_slow(void)
{
    bool early = PORT_IDENTITY && at_load_acq(&rt.started) != 2; /* ORDER(start) */
    return early ? port_foreign_self() : rt_self_slow();
}

struct thread *rt_identity_early(void)
{
    bool early = PORT_IDENTITY && at_load_acq(&rt.started) == 0; /* ORDER(start) */
    return early ? port_foreign_self() : NULL;
}

bool rt_is_foreign(void)
{
    if (at_load_acq(&rt.started) != 2) { /* ORDER(start) */
        return true;
    }
    struct thread *t = port_left_self();
    if (t == NULL || t->wait_reason == WAIT_CALL) {
        return true; /* in a call, a signal handler asks: the thread's CPU is on offer */
    }
    if (PORT_CALLS_BLOCK) {
        rt_call_return(t);
    }
    return false;
}

bool rt_takes_calls(void)
{
    return rt_personality.take_calls;
}

bool rt_thread_waits(const struct thread *t)
{
    return at_load_rlx(&t->state) == THREAD_BLOCKED && !(t->flags & THREAD_FOREIGN);
}

const struct port_ctx *rt_thread_ctx(const struct thread *t)
{
    return &t->ctx;
}

struct port_cpu *rt_cpu_port(struct cpu *cpu)
{
    return &cpu->port;
}

uint64_t rt_cpu_switches(const struct cpu *cpu)
{
    return CPU_SWITCHES(cpu);
}

struct port_carrier *rt_carrier_port(struct carrier *k)
{
    return &k->port;
}

/* The CPU that takes the thread writes it by plain stores; the caller accepts an old value. */
NO_TSAN struct cpu *rt_thread_cpu(const struct thread *t)
{
    return *(struct cpu *const volatile *)&t->cpu;
}

struct carrier *rt_cpu_carrier(struct cpu *cpu)
{
    return cpu->carrier;
}

unsigned rt_cpu_count(void)
{
    rt_self();
    return rt.ncpu;
}

struct cpu *rt_cpu_at(unsigned i)
{
    return rt.cpus[i];
}

bool rt_cpu_asleep(unsigned i)
{
    return rt_cpu_sleeps(i);
}

/* The monitor asks from the beginning of the start. */
bool rt_cpu_has_ready(struct cpu *cpu)
{
    return at_load_acq(&rt.started) == 2 && RT_POLICY.has_work(cpu); /* ORDER(start) */
}

unsigned rt_cpu_id(const struct cpu *cpu)
{
    return cpu->id;
}

struct port_thread *rt_thread_port(struct thread *t)
{
    return &t->port;
}

struct carrier *rt_thread_carrier(struct thread *t)
{
    return t->carrier;
}

void *rt_thread_stack(struct thread *t)
{
    return t->stack.low;
}

uintptr_t rt_thread_stack_top(const struct thread *t)
{
    return (uintptr_t)t->stack_top;
}

/* The CPU writes it by plain stores; the caller accepts an old value. */
NO_TSAN bool rt_cpu_runs(struct cpu *cpu, const struct thread *t)
{
    return *(struct thread *volatile *)&cpu->current == t;
}

struct thread *rt_cpu_thread(struct cpu *cpu)
{
    return cpu->current;
}

bool rt_thread_is_foreign(const struct thread *t)
{
    return (t->flags & THREAD_FOREIGN) != 0;
}

bool rt_thread_is_idle(const struct thread *t)
{
    return (t->flags & THREAD_IDLE) != 0;
}

bool rt_main_is_carrier(void)
{
    return rt.main_carries;
}

struct thread *rt_foreign_new(void)
{
    struct thread *t = port_table_alloc(sizeof(struct thread));
    if (t == NULL) {
        return NULL;
    }
    thread_init_bare(t, THREAD_FOREIGN, "foreign");
    at_init(&t->state, (uint32_t)THREAD_RUNNING);
    if (id_assign(t) != 0) {
        port_table_free(t, sizeof(struct thread));
        return NULL;
    }
    return t;
}

/* A carrier has had a stand-in; its idle thread takes over the values of its keys. */
void rt_foreign_becomes(struct thread *t, struct thread *idle)
{
    idle->local = t->local;
    t->local = NULL;
    rt_foreign_free(t);
}

void rt_foreign_free(struct thread *t)
{
    if (t->local != NULL) {
        rt_personality.local_end(t);
    }
    if (RT_OWNED && t->held != NULL) {
        rt_objects.held_end(t);
    }
    thread_fini_bare(t);
    port_table_free(t, sizeof(struct thread));
}

void rt_on_exit(void)
{
    if (at_load_acq(&rt.started) == 2 && RT_POLICY.at_exit != NULL) { /* ORDER(start) */
        RT_POLICY.at_exit();
    }
    stats_report();
    trace_end();
    if (rt_tooled) {
        rt_personality.tools_exit();
    }
}

struct thread *rt_thread_of_port(const struct port_thread *port)
{
    return CONTAINER_OF(port, struct thread, port);
}
