/* SPDX-License-Identifier: MIT */
/*
 * posix_unwind.c - the unwinder of gcc's library, libgcc_s, loaded when it is first needed. This
 * library calls it by the linker's --wrap.
 *
 * A library that is linked with libgcc_s makes each process load it: a tenth of a millisecond, a
 * seventh of the time that an empty process takes, and a preloaded library is in every process of a
 * shell script. C programs need it only for pthread_exit, a cancellation and back traces; the C
 * library loads it as late, for the same purposes. Programs of other languages have loaded it
 * before.
 *
 * Where it cannot be loaded (a changed root, no memory), a thread ends as if no frame had anything
 * to clean up but the handlers of pthread_cleanup_push: code that has more is linked with libgcc_s,
 * or with a static unwinder of its own, which it uses itself.
 *
 * Loading takes the dynamic linker's lock and allocates. The callers are in calls of the program's
 * that may do that: pthread_exit, and cancellation, of which asynchronous cancellation only comes
 * in code that calls next to nothing (POSIX 2.9.5.4).
 */
#include <dlfcn.h>
#include <unwind.h>

#include "../posix.h"

typedef _Unwind_Reason_Code personality_fn(int, _Unwind_Action, _Unwind_Exception_Class,
                                           struct _Unwind_Exception *, struct _Unwind_Context *);

static struct {
    __typeof__(&_Unwind_Resume) resume;
    __typeof__(&_Unwind_ForcedUnwind) forced;
    __typeof__(&_Unwind_Backtrace) backtrace;
    __typeof__(&_Unwind_GetIP) ip;
    __typeof__(&_Unwind_GetCFA) cfa;
    personality_fn *personality;
} unwinder; /* written before `loaded`; by several threads the same */

static _Atomic(uint32_t) loaded; /* (A) */

NORETURN void __wrap__Unwind_Resume(struct _Unwind_Exception *exception);
_Unwind_Reason_Code __wrap__Unwind_ForcedUnwind(struct _Unwind_Exception *exception,
                                                _Unwind_Stop_Fn stop, void *arg);
_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn trace, void *arg);
_Unwind_Ptr __wrap__Unwind_GetIP(struct _Unwind_Context *context);
_Unwind_Word __wrap__Unwind_GetCFA(struct _Unwind_Context *context);
personality_fn __wrap___gcc_personality_v0;

/* NOLINTBEGIN: pointers to functions */
static COLD bool load(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
    bool whole = library != NULL;
    if (whole) {
        unwinder.resume = (__typeof__(unwinder.resume))dlsym(library, "_Unwind_Resume");
        unwinder.forced = (__typeof__(unwinder.forced))dlsym(library, "_Unwind_ForcedUnwind");
        unwinder.backtrace = (__typeof__(unwinder.backtrace))dlsym(library, "_Unwind_Backtrace");
        unwinder.ip = (__typeof__(unwinder.ip))dlsym(library, "_Unwind_GetIP");
        unwinder.cfa = (__typeof__(unwinder.cfa))dlsym(library, "_Unwind_GetCFA");
        unwinder.personality = (personality_fn *)dlsym(library, "__gcc_personality_v0");
        whole = unwinder.resume != NULL && unwinder.forced != NULL && unwinder.backtrace != NULL &&
                unwinder.ip != NULL && unwinder.cfa != NULL && unwinder.personality != NULL;
    }
    if (whole) {
        at_store_rel(&loaded, 1u);
    }
    return whole;
}
/* NOLINTEND */

static bool have(void)
{
    return at_load_acq(&loaded) != 0 || load();
}

/* These are called by what the unwinder does: it is there. */
static void must_have(void)
{
    static const char text[] = "pirn: FATAL: libgcc_s.so.1 cannot be loaded, and an exception "
                               "needs it\n";
    if (!have()) {
        port_write(text, sizeof(text) - 1);
        port_panic();
    }
}

void __wrap__Unwind_Resume(struct _Unwind_Exception *exception)
{
    must_have();
    unwinder.resume(exception);
    __builtin_unreachable();
}

_Unwind_Reason_Code __wrap___gcc_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class class,
                                                struct _Unwind_Exception *exception,
                                                struct _Unwind_Context *context)
{
    must_have();
    return unwinder.personality(version, actions, class, exception, context);
}

_Unwind_Ptr __wrap__Unwind_GetIP(struct _Unwind_Context *context)
{
    must_have();
    return unwinder.ip(context);
}

_Unwind_Word __wrap__Unwind_GetCFA(struct _Unwind_Context *context)
{
    must_have();
    return unwinder.cfa(context);
}

_Unwind_Reason_Code __wrap__Unwind_ForcedUnwind(struct _Unwind_Exception *exception,
                                                _Unwind_Stop_Fn stop, void *arg)
{
    return have() ? unwinder.forced(exception, stop, arg) : _URC_FATAL_PHASE2_ERROR;
}

_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn trace, void *arg)
{
    return have() ? unwinder.backtrace(trace, arg) : _URC_END_OF_STACK;
}
