/* SPDX-License-Identifier: MIT */
/*
 * mutants.c - shows that a deliberate bug (core/mutant.h) is caught.
 *
 * The runs take place in a child process: a mutant may crash it, or make it loop where the
 * simulator cannot interrupt; that counts as caught. The current run is recorded in memory shared
 * with the parent. The seeds are the outer loop, so the reported number of seeds is for all
 * policies and memory modes together.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

#define HANG_SECONDS 20

enum { EXIT_CAUGHT = 10, EXIT_NOT_CAUGHT = 11 };

static const char *const names[MUTANT_MAX + 1] = {
    [MUTANT_NONE] = "none",
    [MUTANT_PRODUCER_CIRCLE] = "producer-circle",
    [MUTANT_AFFINITY_STALE] = "affinity-stale",
    [MUTANT_AFFINITY_AWAY] = "affinity-away",
    [MUTANT_AFFINITY_TAIL] = "affinity-tail",
    [MUTANT_AFFINITY_BEHIND] = "affinity-behind",
    [MUTANT_AFFINITY_LEFT] = "affinity-left",
    [MUTANT_AFFINITY_LOWERED] = "affinity-lowered",
    [MUTANT_AFFINITY_CHANGED] = "affinity-changed",
    [MUTANT_AFFINITY_BEGUN] = "affinity-begun",
    [MUTANT_AFFINITY_UNSEEN] = "affinity-unseen",
    [MUTANT_AFFINITY_EARLY] = "affinity-early",
    [MUTANT_SENT_UNSEEN] = "sent-unseen",
    [MUTANT_INBOX_UNSEEN] = "inbox-unseen",
    [MUTANT_AFFINITY_BLIND] = "affinity-blind",
    [MUTANT_LEARN_BOTH] = "learn-both",
    [MUTANT_AFFINITY_QUIET] = "affinity-quiet",
    [MUTANT_POLL_UNTOLD] = "poll-untold",
    [MUTANT_POLL_HELD] = "poll-held",
    [MUTANT_POLL_ONCE] = "poll-once",
    [MUTANT_POLL_LAZY] = "poll-lazy",
    [MUTANT_TIMER_UNTOLD] = "timer-untold",
    [MUTANT_TIMER_QUIET] = "timer-quiet",
    [MUTANT_JOB_SKIPS] = "job-skips",
    [MUTANT_JOB_ADDS] = "job-adds",
    [MUTANT_JOB_THRASHES] = "job-thrashes",
    [MUTANT_MEASURED_UNUSED] = "measured-unused",
    [MUTANT_MISSES_ASTRAY] = "misses-astray",
    [MUTANT_GATE_FULL] = "gate-full",
    [MUTANT_GATE_OVERTAKES] = "gate-overtakes",
    [MUTANT_GATE_QUIET] = "gate-quiet",
    [MUTANT_GATE_LATER] = "gate-later",
    [MUTANT_GATE_BLIND] = "gate-blind",
    [MUTANT_EDF_PATIENT] = "edf-patient",
    [MUTANT_EDF_LARGEST] = "edf-largest",
    [MUTANT_GROUPS_ASTRAY] = "groups-astray",
    [MUTANT_GROUPS_FULL] = "groups-full",
    [MUTANT_GROUPS_ALIKE] = "groups-alike",
    [MUTANT_GROUPS_FORGET] = "groups-forget",
    [MUTANT_GROUPS_BLIND] = "groups-blind",
    [MUTANT_FAIR_BLIND] = "fair-blind",
    [MUTANT_FAIR_INVERSE] = "fair-inverse",
    [MUTANT_FAIR_FORGETS] = "fair-forgets",
    [MUTANT_PUBLISH_EARLY] = "publish-early",
    [MUTANT_NO_RECHECK] = "no-recheck",
    [MUTANT_NO_IDLE_FENCE] = "no-idle-fence",
    [MUTANT_NO_FOUND_LOOK] = "no-found-look",
    [MUTANT_NO_BIAS_FENCE] = "no-bias-fence",
    [MUTANT_BIAS_BACK_UNSEEN] = "bias-back-unseen",
    [MUTANT_MUTEX_DROP] = "mutex-drop",
    [MUTANT_MUTEX_FORGETS] = "mutex-forgets",
    [MUTANT_MUTEX_HIDES] = "mutex-hides",
    [MUTANT_COND_DROP] = "cond-drop",
    [MUTANT_SEM_DOUBLE] = "sem-double",
    [MUTANT_RWLOCK_READERS] = "rwlock-readers",
    [MUTANT_BARRIER_EARLY] = "barrier-early",
    [MUTANT_ONCE_DROP] = "once-drop",
    [MUTANT_FUTEX_BLIND] = "futex-blind",
    [MUTANT_FLAGS_UNSEEN] = "flags-unseen",
    [MUTANT_FLAGS_SOME] = "flags-some",
    [MUTANT_QUEUE_LIFO] = "queue-lifo",
    [MUTANT_QUEUE_DROP] = "queue-drop",
    [MUTANT_TIMER_FIRES] = "timer-fires",
    [MUTANT_TIMER_DRIFTS] = "timer-drifts",
    [MUTANT_FE_DOUBLE] = "fe-double",
    [MUTANT_TIMED_STAY] = "timed-stay",
    [MUTANT_JOIN_EARLY] = "join-early",
    [MUTANT_OMUTEX_DROP] = "omutex-drop",
    [MUTANT_ROBUST_FORGET] = "robust-forget",
    [MUTANT_ROBUST_BARE] = "robust-bare",
    [MUTANT_ROBUST_STRANGER] = "robust-stranger",
    [MUTANT_PRIO_STAY] = "prio-stay",
    [MUTANT_PRIO_ONE_LINK] = "prio-one-link",
    [MUTANT_CEILING_STAY] = "ceiling-stay",
    [MUTANT_TLS_STALE] = "tls-stale",
    [MUTANT_SHARED_DROP] = "shared-drop",
    [MUTANT_CALL_BACK] = "call-back",
    [MUTANT_CALL_UNSEEN] = "call-unseen",
    [MUTANT_CALL_UNTOLD] = "call-untold",
    [MUTANT_CALL_KEEPS] = "call-keeps",
    [MUTANT_CALL_BLIND] = "call-blind",
    [MUTANT_FENCES_EARLY] = "fences-early",
    [MUTANT_CALL_SLEEP_BLIND] = "call-sleep-blind",
    [MUTANT_CALL_SLEEP_DEAF] = "call-sleep-deaf",
    [MUTANT_CALL_SLEEP_COUNT] = "call-sleep-count",
    [MUTANT_BELL_OPEN] = "probe-open",
    [MUTANT_ARM_ONCE] = "arm-once",
    [MUTANT_CANCEL_UNSEEN] = "cancel-unseen",
    [MUTANT_SIGNAL_UNSEEN] = "signal-unseen",
    [MUTANT_RETURN_ONCE] = "return-once",
    [MUTANT_TRACE_LATE] = "trace-late",
    [MUTANT_TRACE_FITS] = "trace-fits",
    [MUTANT_RANK_STAY] = "rank-stay",
    [MUTANT_SLICE_FREE] = "slice-free",
    [MUTANT_PREEMPT_TAIL] = "preempt-tail",
    [MUTANT_HANDOFF_FIRST] = "handoff-first",
    [MUTANT_UNRANKED_KEEP] = "unranked-keep",
    [MUTANT_UNRANKED_LATE] = "unranked-late",
    [MUTANT_MOVE_QUIET] = "move-quiet",
    [MUTANT_BYPASS_EVER] = "bypass-ever",
    [MUTANT_BYPASS_LONG] = "bypass-long",
    [MUTANT_SHARED_LATE] = "shared-late",
    [MUTANT_IO_KEEPS] = "io-keeps",
    [MUTANT_IO_UNCOUNTED] = "io-uncounted",
    [MUTANT_IO_LATE_STAYS] = "io-late-stays",
    [MUTANT_IO_STRANGER] = "io-stranger",
    [MUTANT_CANCEL_LEAVES] = "cancel-leaves",
    [MUTANT_BLIND_QUEUE] = "blind-queue",
    [MUTANT_BLIND_SHARED] = "blind-shared",
    [MUTANT_HW_BLIND] = "hw-blind",
    [MUTANT_HW_DROP] = "hw-drop",
    [MUTANT_LINE_UNKEPT] = "line-unkept",
    [MUTANT_LINE_QUIET] = "line-quiet",
    [MUTANT_LINE_DROP] = "line-drop",
    [MUTANT_LINE_DEAF] = "line-deaf",
    [MUTANT_SPARE_MORE] = "spare-more",
    [MUTANT_GIVE_NEVER] = "give-never",
    [MUTANT_BATCH_DROP] = "batch-drop",
    [MUTANT_REMOVE_KEEPS] = "remove-keeps",
    [MUTANT_PICK_BOUND] = "pick-bound",
    [MUTANT_DIRECT_BOUND] = "direct-bound",
    [MUTANT_PROF_TAKE] = "prof-take",
    [MUTANT_PROF_PLAIN] = "prof-plain",
    [MUTANT_SIGNAL_EARLY] = "signal-early",
    [MUTANT_SIGNAL_ONCE] = "signal-once",
    [MUTANT_SIGNAL_STORM] = "signal-storm",
    [MUTANT_SIGNAL_CLEARS] = "signal-clears",
    [MUTANT_SIGNAL_BURIED] = "signal-buried",
    [MUTANT_SIGNAL_UNLISTED] = "signal-unlisted",
    [MUTANT_SIGNAL_BLOCKED] = "signal-blocked",
    [MUTANT_SIGNAL_NEW] = "signal-new",
    [MUTANT_CALL_UNMADE] = "call-unmade",
    [MUTANT_CALL_DROPS] = "call-drops",
    [MUTANT_CALL_HIDES] = "call-hides",
    [MUTANT_CALL_POINT] = "call-point",
    [MUTANT_EXEC_MASK] = "exec-mask",
    [MUTANT_EXEC_PENDING] = "exec-pending",
    [MUTANT_FORK_LOCKED] = "fork-locked",
    [MUTANT_FORK_PENDING] = "fork-pending",
    [MUTANT_WAITS_TIMER] = "waits-timer",
};

const char *const *mutant_names(void)
{
    return names;
}

struct report {
    struct where where;
    char why[1024];
};

static bool place_catches(const struct place *place, uint64_t seed, struct report *report)
{
    for (const struct test *test = place->suite->tests; test->name != NULL; test++) {
        struct sim_result result;
        if (!test_selected(test)) {
            continue;
        }
        run_one(place, test, seed, &result);
        if (result.failed) {
            snprintf(report->why, sizeof(report->why), "%s", result.why);
            return true;
        }
    }
    return false;
}

static int child_main(struct report *report)
{
    where = &report->where;
    for (uint64_t seed = options.first; seed < options.first + options.seeds; seed++) {
        for (unsigned i = 0; i < places_count(); i++) {
            struct place place = place_get(i);
            alarm(HANG_SECONDS);
            if (place_catches(&place, seed, report)) {
                return EXIT_CAUGHT;
            }
        }
    }
    return EXIT_NOT_CAUGHT;
}

static bool child_caught(int status, struct report *report)
{
    if (WIFSIGNALED(status)) {
        snprintf(report->why, sizeof(report->why), "%s",
                 WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
        return true;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CAUGHT;
}

int mutants_main(void)
{
    int status;
    char text[WHERE_TEXT];
    struct report *report = mmap(NULL, sizeof(struct report), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        _exit(child_main(report));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        return 2;
    }
    if (!child_caught(status, report)) {
        printf("mutant %s: NOT CAUGHT in %llu seeds, %llu schedules\n", names[options.mutant],
               (unsigned long long)options.seeds, report->where.schedules);
        return 1;
    }
    where_print(text, sizeof(text), &report->where);
    printf("mutant %s: caught after %llu seeds, %llu schedules\n%s\n%.200s\n",
           names[options.mutant], (unsigned long long)(report->where.seed - options.first + 1),
           report->where.schedules, text, report->why);
    return 0;
}
