/* SPDX-License-Identifier: MIT */
/*
 * posix_signal_send.c - sending signals to threads and to the process. See posix_signal.h.
 */
#include "posix_signal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "../../core/id.h"
#include "../core/runtime.h"
#include "../core/wake.h"
#include "mutant.h"
#include "port_foreign.h"
#include "port_posix.h"

#define SLAB_BYTES (64u << 10)
#define TELL_AGAIN_NS 100000u /* first interval; doubles each time */
#define TELL_AGAIN_MAX_NS 10000000u

/* ---- pending ---- */

static uint32_t queued_limit(void)
{
    static uint32_t limit;
    struct rlimit r;
    if (limit == 0) {
        bool known = getrlimit(RLIMIT_SIGPENDING, &r) == 0 && r.rlim_cur < UINT32_MAX;
        limit = known ? (uint32_t)r.rlim_cur : 1u << 20;
    }
    return limit;
}

static struct posix_queued *queued_get_locked(void)
{
    struct posix_queued *q = signals.queued_free;
    if (signals.queued >= queued_limit()) {
        return NULL;
    }
    if (q == NULL) {
        q = port_table_alloc(SLAB_BYTES);
        for (size_t i = 1; q != NULL && i < SLAB_BYTES / sizeof(*q); i++) {
            q[i].next = signals.queued_free;
            signals.queued_free = &q[i];
        }
    } else {
        signals.queued_free = q->next;
    }
    signals.queued += q != NULL;
    return q;
}

static void queued_put_locked(struct posix_queued *q)
{
    q->next = signals.queued_free;
    signals.queued_free = q;
    signals.queued--;
}

bool pending_put_locked(struct posix_pending *p, const siginfo_t *info)
{
    uint64_t bit = SIGNAL_BIT(info->si_signo);
    bool queues = info->si_signo > __SIGRTMIN;
    if ((p->set & bit) && !queues) {
        return true; /* a signal pends once */
    }
    struct posix_queued *q = queued_get_locked(), **at = &p->first;
    if (q == NULL && queues) {
        return false;
    }
    p->set |= bit;
    if (q != NULL) {
        while (*at != NULL) {
            at = &(*at)->next;
        }
        *q = (struct posix_queued){.info = *info};
        *at = q;
    }
    return true;
}

static struct posix_queued **pending_find(struct posix_pending *p, struct posix_queued **at,
                                          int signal)
{
    (void)p;
    while (*at != NULL && (*at)->info.si_signo != signal) {
        at = &(*at)->next;
    }
    return at;
}

bool pending_take_locked(struct posix_pending *p, uint64_t set, siginfo_t *info)
{
    if ((p->set & set) == 0) {
        return false;
    }
    int signal = __builtin_ctzll(p->set & set) + 1;
    struct posix_queued **at = pending_find(p, &p->first, signal), *q = *at;
    if (q == NULL) {
        memset(info, 0, sizeof(*info));
        info->si_signo = signal;
        p->set &= ~SIGNAL_BIT(signal);
        return true;
    }
    *at = q->next;
    *info = q->info;
    queued_put_locked(q);
    if (*pending_find(p, at, signal) == NULL) {
        p->set &= ~SIGNAL_BIT(signal);
    }
    return true;
}

void pending_drop_locked(struct posix_pending *p, uint64_t set)
{
    siginfo_t info;
    while (pending_take_locked(p, set, &info)) {
    }
}

/* ---- threads ---- */

struct posix_signals *signals_of_locked(struct thread *t)
{
    struct posix_signals *s = t->signals;
    if (s != NULL) {
        return s;
    }
    s = signals.thread_free;
    if (s == NULL) {
        s = port_table_alloc(SLAB_BYTES);
        for (size_t i = 1; s != NULL && i < SLAB_BYTES / sizeof(*s); i++) {
            s[i].next = signals.thread_free;
            signals.thread_free = &s[i];
        }
    } else {
        signals.thread_free = s->next;
    }
    if (s != NULL) {
        *s = (struct posix_signals){.thread = t};
        t->signals = s;
    }
    return s;
}

static struct posix_signals **notified_find_locked(const struct posix_signals *s)
{
    struct posix_signals **at = &signals.notified;
    while (*at != NULL && *at != s) {
        at = &(*at)->next;
    }
    return at;
}

void posix_signals_end(struct thread *self)
{
    unsigned long irq;
    signals_lock(&irq);
    struct posix_signals *s = self->signals;
    at_store_rlx(&self->sigmask, ~UINT64_C(0));
    if (s != NULL) {
        pending_drop_locked(&s->pending, ~UINT64_C(0));
        if (s->notified) {
            *notified_find_locked(s) = s->next;
        }
        self->signals = NULL;
        s->next = signals.thread_free;
        signals.thread_free = s;
    }
    if (signals.process.set != 0 && !MUTANT(SIGNAL_BURIED)) {
        signals_retell_locked(signals.process.set);
    }
    signals_unlock(irq);
}

/* posix_signal.h, 7. */
static bool is_told(const struct thread *t)
{
    const uint32_t both = CANCEL_SIGNALLED | CANCEL_TOLD;
    return (at_load_rlx(&t->cancel) & both) == both && !MUTANT(SIGNAL_STORM);
}

/* The caller needs no message: it notices when it leaves the runtime. */
void signals_tell_locked(struct thread *t)
{
    struct cpu *cpu = port_cpu_self();
    struct posix_signals *s = signals_of_locked(t);
    if (cpu != NULL && cpu->current == t) {
        rt_cancel_set(t, CANCEL_SIGNALLED, 0);
        return;
    }
    if (!is_told(t)) {
        rt_thread_signal(t);
    }
    signals.notified_more = true;
    if (s != NULL && !s->notified && !MUTANT(SIGNAL_ONCE)) {
        s->notified = true;
        s->next = signals.notified;
        signals.notified = s;
        port_signals_wake();
    }
}

/* ---- signals of the process ---- */

static void retell_locked(uint64_t set, bool again)
{
    while (set != 0) {
        uint64_t bit = set & -set;
        struct thread *t = again ? signal_next_taker_locked(bit) : signal_taker_locked(bit);
        if (t != NULL) {
            signals_tell_locked(t);
        }
        set &= ~bit;
    }
}

void signals_retell_locked(uint64_t set)
{
    retell_locked(set, false);
}

/* Gives the signal to a thread that waits for it: to t itself, or, for the process, to any
 * thread. */
static bool waiter_gets_locked(const siginfo_t *info, const struct thread *t)
{
    for (struct posix_waiter *w = signals.waiters; w != NULL; w = w->next) {
        if (!w->got && (t == NULL || w->thread == t) && (w->set & SIGNAL_BIT(info->si_signo))) {
            w->info = *info;
            state_lock(&w->queue.lock, RANK_WAITQ);
            w->got = true;
            struct thread *waits = waitq_pop_locked(&w->queue);
            state_unlock(&w->queue.lock, RANK_WAITQ);
            if (waits != NULL) {
                rt_wake(port_cpu_self(), waits, PIRN_WHY_WAKE);
            }
            return true;
        }
    }
    return false;
}

static bool ends_by_default_locked(int signal)
{
    return !signal_has_handler_locked(signal) && !signal_is_ignored_locked(signal);
}

int signals_send_locked(struct thread *t, const siginfo_t *info, bool *ends)
{
    uint64_t bit = SIGNAL_BIT(info->si_signo);
    bool blocked = (at_load_rlx(&t->sigmask) & bit) != 0;
    *ends = false;
    if (waiter_gets_locked(info, t) || (!blocked && signal_is_ignored_locked(info->si_signo)) ||
        at_load_rlx(&t->state) == THREAD_EXITED || at_load_rlx(&t->sigmask) == ~UINT64_C(0)) {
        return 0;
    }
    if (!blocked && ends_by_default_locked(info->si_signo)) {
        *ends = true;
        return 0;
    }
    struct posix_signals *s = signals_of_locked(t);
    if (s == NULL || !pending_put_locked(&s->pending, info)) {
        return EAGAIN;
    }
    if (!blocked) {
        signals_tell_locked(t);
    }
    return 0;
}

struct everyone {
    uint32_t skip, found;
    struct thread *thread[64];
};

/* Also threads that block the signal: it stays pending for them. Those that end block all. */
static bool everyone_looks(struct thread *t, void *arg)
{
    struct everyone *e = arg;
    if (signal_may_take(t, 0) && at_load_rlx(&t->sigmask) != ~UINT64_C(0)) {
        if (e->skip > 0) {
            e->skip--;
        } else {
            e->thread[e->found++] = t;
        }
    }
    return e->found == sizeof(e->thread) / sizeof(*e->thread);
}

void posix_signal_everyone(int signal)
{
    siginfo_t info = {.si_signo = signal, .si_code = SI_TKILL};
    struct everyone e = {.found = 0};
    uint32_t done = 0;
    unsigned long irq;
    bool ends;
    info.si_pid = getpid();
    info.si_uid = getuid();
    signals_lock(&irq);
    do {
        e.skip = done;
        e.found = 0;
        id_find_locked(everyone_looks, &e);
        for (uint32_t i = 0; i < e.found; i++) {
            signals_send_locked(e.thread[i], &info, &ends);
        }
        done += e.found;
    } while (e.found != 0);
    signals_unlock(irq);
}

/* As signals_send_locked. A signal that is lost for lack of memory is lost as in the kernel, which
 * returned the error to the sender. */
static void process_gets_locked(const siginfo_t *info, bool *ends)
{
    int signal = info->si_signo;
    *ends = false;
    if (waiter_gets_locked(info, NULL)) {
        return;
    }
    struct thread *t = signal_taker_locked(SIGNAL_BIT(signal));
    if (t != NULL && signal_is_ignored_locked(signal)) {
        return;
    }
    if (t != NULL && ends_by_default_locked(signal)) {
        *ends = true;
        return;
    }
    if (t == NULL && !rt_main_is_carrier() && port_signal_to_main(signal, info)) {
        return; /* it may not block the signal, or wait for it: the kernel knows */
    }
    pending_put_locked(&signals.process, info);
    if (t != NULL) {
        signals_tell_locked(t);
    }
}

void posix_signal_arrived(const siginfo_t *info, struct thread *t)
{
    unsigned long irq;
    bool ends;
    signals_lock(&irq);
    if (t != NULL) {
        signals_send_locked(t, info, &ends);
    } else {
        process_gets_locked(info, &ends);
    }
    signals_unlock_here(irq);
    if (ends) {
        port_signal_default(info->si_signo);
    }
}

/* Fetches under the lock: a thread that looks for pending signals finds each either in the kernel
 * or here. */
static int fetch_one(bool *ends)
{
    siginfo_t info;
    unsigned long irq;
    signals_lock(&irq);
    bool got = port_signal_fetch(&info);
    *ends = false;
    if (got) {
        process_gets_locked(&info, ends);
    }
    signals_unlock(irq);
    return got ? info.si_signo : 0;
}

void posix_signals_fetch(void)
{
    bool ends;
    int signal;
    while ((signal = fetch_one(&ends)) != 0) {
        if (ends) {
            port_signal_default(signal);
        }
    }
}

/* Tells those threads again whose bit is still set; the others have taken all signals. */
static bool notify_again_locked(void)
{
    struct posix_signals **at = &signals.notified;
    while (*at != NULL) {
        struct posix_signals *s = *at;
        if (at_load_rlx(&s->thread->cancel) & CANCEL_SIGNALLED) {
            rt_thread_signal(s->thread);
            at = &s->next;
        } else {
            s->notified = false;
            *at = s->next;
        }
    }
    return signals.notified != NULL;
}

uint64_t posix_signals_pump(void)
{
    static uint64_t interval = TELL_AGAIN_NS;
    unsigned long irq;
    posix_signals_fetch();
    signals_lock(&irq);
    bool waits = notify_again_locked(), more = signals.notified_more;
    signals.notified_more = false;
    if (waits && signals.process.set != 0 && interval == TELL_AGAIN_MAX_NS) {
        retell_locked(signals.process.set, true);
    }
    signals_unlock(irq);
    interval = !waits || more                     ? TELL_AGAIN_NS
               : interval < TELL_AGAIN_MAX_NS / 2 ? interval * 2
                                                  : TELL_AGAIN_MAX_NS;
    return waits ? port_now() + interval : UINT64_MAX;
}

/* ---- the interface ---- */

static siginfo_t info_of(int signal, int code)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = code;
    info.si_pid = getpid();
    info.si_uid = getuid();
    return info;
}

static int send(struct thread *t, const siginfo_t *info)
{
    unsigned long irq;
    bool ends;
    signals_lock(&irq);
    int error = signals_send_locked(t, info, &ends);
    signals_unlock(irq);
    if (ends) {
        port_signal_default(info->si_signo);
    }
    posix_signals_take();
    return error;
}

/* Sends through the kernel: to a foreign kernel thread, or while the kernel keeps all signals. */
static int send_by_kernel(const struct thread *t, siginfo_t *info)
{
    int tid = t != NULL && (t->flags & THREAD_FOREIGN) ? t->port.tid : (int)syscall(SYS_gettid);
    if (info->si_signo == 0) {
        return 0;
    }
    long result = info->si_code == SI_QUEUE
                      ? syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, info->si_signo, info)
                      : syscall(SYS_tgkill, getpid(), tid, info->si_signo);
    return result == 0 ? 0 : errno;
}

static int thread_send(pthread_t thread, siginfo_t *info)
{
    struct thread *t = posix_thread(thread);
    if (info->si_signo != 0 && !posix_signal_valid(info->si_signo)) {
        return EINVAL;
    }
    if (t == NULL) {
        return ESRCH;
    }
    bool self = t == rt_self();
    if ((t->flags & THREAD_FOREIGN) || (self && !posix_signals_on())) {
        return send_by_kernel(t, info);
    }
    if (info->si_signo == 0) {
        return 0;
    }
    if (!posix_signals_begin()) {
        return ENOTSUP; /* threads have no signals of their own here */
    }
    return send(t, info);
}

int pirn_pthread_kill(pthread_t thread, int signal)
{
    siginfo_t info = info_of(signal, SI_TKILL);
    return thread_send(thread, &info);
}

int pirn_pthread_sigqueue(pthread_t thread, int signal, union sigval value)
{
    siginfo_t info = info_of(signal, SI_QUEUE);
    info.si_value = value;
    return thread_send(thread, &info);
}

int pirn_posix_raise(int signal)
{
    siginfo_t info = info_of(signal, SI_TKILL);
    if (!posix_signal_valid(signal)) {
        return posix_fail(EINVAL);
    }
    int error = posix_signals_mine() ? send(rt_self(), &info) : send_by_kernel(NULL, &info);
    return error == 0 ? 0 : posix_fail(error);
}

/* A signal for this process that this thread may take is taken before the function returns (POSIX,
 * kill). */
static int sent(long result)
{
    if (result == 0 && posix_signals_mine()) {
        posix_signals_fetch();
        posix_signals_take();
    }
    return (int)result;
}

int pirn_posix_kill(pid_t pid, int signal)
{
    return sent(syscall(SYS_kill, pid, signal));
}

int pirn_posix_killpg(pid_t group, int signal)
{
    return group < 0 ? posix_fail(EINVAL) : pirn_posix_kill(-group, signal);
}

int pirn_posix_sigqueue(pid_t pid, int signal, union sigval value)
{
    siginfo_t info = info_of(signal, SI_QUEUE);
    info.si_value = value;
    return sent(syscall(SYS_rt_sigqueueinfo, pid, signal, &info));
}
