/* SPDX-License-Identifier: MIT */
/*
 * mutant.h - mistakes that the simulator must catch.
 *
 * Each name is a deliberate bug that a checker has to find (tests/sim/mutants.c). In the simulator
 * one of them can be switched on; everywhere else MUTANT() is the constant false and leaves no
 * code.
 */
#ifndef PIRN_CORE_MUTANT_H
#define PIRN_CORE_MUTANT_H

enum mutant {
    MUTANT_NONE,
    MUTANT_PUBLISH_EARLY,    /* a yielding thread is enqueued before its context is saved */
    MUTANT_NO_RECHECK,       /* an idle CPU sleeps without the last look */
    MUTANT_NO_IDLE_FENCE,    /* no fence between announcing idleness and the last look */
    MUTANT_NO_FOUND_LOOK,    /* nor between the end of a search and a look for more */
    MUTANT_NO_BIAS_FENCE,    /* a thief enters a run queue without the heavy fence */
    MUTANT_BIAS_BACK_UNSEEN, /* a thief enters a run queue whose owner has the short way again */
    MUTANT_MUTEX_DROP,       /* unlock forgets to wake */
    MUTANT_MUTEX_FORGETS,    /* a thread that takes a mutex does not see that others wait for it */
    MUTANT_MUTEX_HIDES,      /* bound threads, too: no other is woken while one is on its way */
    MUTANT_COND_DROP,        /* signal between enqueue and park is lost */
    MUTANT_SEM_DOUBLE,       /* a post hands over and counts */
    MUTANT_RWLOCK_READERS,   /* a leaving writer wakes one reader only */
    MUTANT_BARRIER_EARLY,    /* the barrier opens one arrival early */
    MUTANT_ONCE_DROP,        /* the end of once wakes nobody */
    MUTANT_FUTEX_BLIND,      /* a thread waits for a word that has changed already */
    MUTANT_FLAGS_UNSEEN,     /* a thread waits for flags that are set after it has tested them */
    MUTANT_FLAGS_SOME,       /* one that waits for all of them is content with some */
    MUTANT_QUEUE_LIFO,       /* the newest message is received first */
    MUTANT_QUEUE_DROP,       /* room in a full queue wakes no sender */
    MUTANT_TIMER_FIRES,      /* a timer that is stopped when it is due fires */
    MUTANT_TIMER_DRIFTS,     /* a period begins when the callback does */
    MUTANT_FE_DOUBLE,        /* a full word is handed to a reader and stays full */
    MUTANT_TIMED_STAY,       /* a timed-out waiter stays linked */
    MUTANT_JOIN_EARLY,       /* the joiner is made ready before the stack is left */
    MUTANT_OMUTEX_DROP,      /* a mutex with an owner is handed over, and the new owner not woken */
    MUTANT_ROBUST_FORGET,    /* a thread that ends keeps its robust mutexes */
    MUTANT_ROBUST_BARE,      /* a mutex between processes is taken before the kernel knows of it */
    MUTANT_ROBUST_STRANGER,  /* and given up in the name of the kernel thread that has taken it */
    MUTANT_PRIO_STAY,        /* a waiter that gives up leaves its priority with the owner */
    MUTANT_PRIO_ONE_LINK,    /* a priority is not passed on to the owner's owner */
    MUTANT_CEILING_STAY,     /* unlocking does not lower the ceiling */
    MUTANT_TLS_STALE,        /* a thread's TLS block goes to the next life as it is */
    MUTANT_SHARED_DROP,      /* an object between processes forgets to wake */
    MUTANT_CALL_BACK,    /* a thread takes its CPU back without asking whether it was given away */
    MUTANT_CALL_UNSEEN,  /* nobody watches a call */
    MUTANT_CALL_UNTOLD,  /* a waker does not make the port watch calls */
    MUTANT_CALL_KEEPS,   /* a call begins without a look at threads that wait for its CPU */
    MUTANT_CALL_BLIND,   /* the port stops watching without a last look */
    MUTANT_FENCES_EARLY, /* CPUs that fall asleep rely on wakers that do not know of it yet */
    MUTANT_CALL_SLEEP_BLIND, /* a CPU falls asleep in a call without the last look */
    MUTANT_CALL_SLEEP_DEAF,  /* a waker does not know that a CPU sleeps in a call */
    MUTANT_CALL_SLEEP_COUNT, /* a thread that takes its CPU back leaves it counted as searching */
    MUTANT_BELL_OPEN,        /* a thread that is losing its CPU may be interrupted meanwhile */
    MUTANT_CANCEL_UNSEEN,    /* a thread that is about to wait does not look for a request again */
    MUTANT_SIGNAL_UNSEEN,    /* nor for a signal */
    MUTANT_RETURN_ONCE,   /* a thread that loses its CPU while it returns continues without one */
    MUTANT_TRACE_LATE,    /* events that wait for their time do not get it */
    MUTANT_TRACE_FITS,    /* a ring that is just full has no room for its next record in the file */
    MUTANT_RANK_STAY,     /* a ready thread whose priority changes keeps its place */
    MUTANT_SLICE_FREE,    /* ticks cost no virtual time */
    MUTANT_PREEMPT_TAIL,  /* a preempted thread goes to the tail of its level */
    MUTANT_HANDOFF_FIRST, /* a real-time thread that is handed something goes before its equals */
    MUTANT_UNRANKED_KEEP, /* a thread that has met ticks enters the unranked list at once */
    MUTANT_UNRANKED_LATE, /* a thread that mostly waits has no credit */
    MUTANT_MOVE_QUIET,    /* a ready thread that goes to another queue wakes nobody */
    MUTANT_BYPASS_EVER,   /* threads that hand over to each other never pass through the queue */
    MUTANT_BYPASS_LONG,   /* nor after a tick */
    MUTANT_SHARED_LATE,   /* a tick does not make a CPU look into the shared queue */
    MUTANT_ARM_ONCE,      /* events armed for a descriptor count for the next file, too */
    MUTANT_IO_KEEPS,      /* a close does not copy the file for its waiters */
    MUTANT_IO_UNCOUNTED,  /* nor waits for an attempt under way */
    MUTANT_IO_LATE_STAYS, /* nor wakes who began to wait meanwhile */
    MUTANT_IO_STRANGER,   /* an older wait is kept when the number means another file */
    MUTANT_CANCEL_LEAVES, /* a thread leaves a call before its interruption has come */
    MUTANT_BLIND_QUEUE,   /* the last look before sleeping does not see one CPU's queue */
    MUTANT_BLIND_SHARED,  /* nor what foreign threads made ready */
    MUTANT_HW_BLIND,      /* nor, under hw, what waits outside the hardware */
    MUTANT_HW_DROP,       /* a thread that the full hardware has refused goes nowhere */
    MUTANT_LINE_UNKEPT,   /* a thread does not say that a line is kept for it */
    MUTANT_LINE_QUIET,    /* who has set a line wakes no CPU */
    MUTANT_LINE_DROP,     /* a thread that the hardware does not let wait is not made ready */
    MUTANT_LINE_DEAF,     /* threads that wait for a line with a deadline are not looked for */
    MUTANT_SPARE_MORE,    /* a CPU keeps a ready thread more than it may while others sleep */
    MUTANT_GIVE_NEVER,    /* a CPU that is asked for its running thread does nothing */
    MUTANT_BATCH_DROP,    /* the last thread of a batch that is stolen goes nowhere */
    MUTANT_REMOVE_KEEPS,  /* a thread that is taken out for a join stays in the queue */
    MUTANT_PICK_BOUND,    /* a CPU without work takes a thread that is bound to another */
    MUTANT_DIRECT_BOUND,  /* a joiner runs where the thread ends, wherever it is bound */
    MUTANT_PROF_TAKE,     /* two CPUs take the same place in the table of call trees */
    MUTANT_PROF_PLAIN,    /* threads that share a call tree count as if each were alone */
    MUTANT_SIGNAL_EARLY,  /* handlers run between the lending of a mask and the wait under it */
    MUTANT_SIGNAL_ONCE,   /* a thread that has not noticed a signal is not notified again */
    MUTANT_SIGNAL_STORM,  /* each signal interrupts a thread that has been interrupted before */
    MUTANT_SIGNAL_CLEARS, /* a thread forgets the signals of the process when it has taken its own */
    MUTANT_SIGNAL_BURIED,   /* signals for which an ending thread was notified are lost */
    MUTANT_SIGNAL_UNLISTED, /* a signal may come between looking and waiting for it */
    MUTANT_SIGNAL_BLOCKED,  /* so are those that a thread blocks after it was notified */
    MUTANT_SIGNAL_NEW,      /* a thread that is being created is notified */
    MUTANT_CALL_UNMADE,     /* a call that a signal kept from being made fails with EINTR */
    MUTANT_CALL_DROPS,      /* a request takes the result of the call with it */
    MUTANT_CALL_HIDES,      /* a handler does not end a call that is not repeated */
    MUTANT_CALL_POINT,      /* a request ends a call that is no cancellation point */
    MUTANT_EXEC_MASK,       /* a new program blocks what its kernel thread blocked */
    MUTANT_EXEC_PENDING,    /* a new program does not have what is pending for the process */
    MUTANT_FORK_LOCKED,     /* a child has the lock of signals as another thread left it */
    MUTANT_FORK_PENDING,    /* a child has what was pending for its thread in the parent */
    MUTANT_WAITS_TIMER, /* a wait for a lock that a timer ends counts as a release of the lock */
    MUTANT_PRODUCER_CIRCLE,  /* a thread may depend on itself through others */
    MUTANT_AFFINITY_STALE,   /* a consumer goes where its producer ran, whatever runs there now */
    MUTANT_AFFINITY_AWAY,    /* the waking CPU is not preferred */
    MUTANT_AFFINITY_TAIL,    /* a consumer goes behind the others of its CPU */
    MUTANT_AFFINITY_BEHIND,  /* or behind the policy's threads */
    MUTANT_AFFINITY_LEFT,    /* one that is preceded goes to no other producer's CPU */
    MUTANT_AFFINITY_LOWERED, /* one that runs away from its CPU keeps it though its priority falls */
    MUTANT_AFFINITY_CHANGED, /* also if that happens while the CPU takes it */
    MUTANT_AFFINITY_BEGUN,   /* one that waits does not preempt a thread that has just begun */
    MUTANT_AFFINITY_UNSEEN,  /* one that is being queued does not see that its priority changes */
    MUTANT_AFFINITY_EARLY,   /* nor does the thread that changes it see that */
    MUTANT_SENT_UNSEEN,  /* a thread that becomes urgent while it is sent to its CPU waits there */
    MUTANT_INBOX_UNSEEN, /* one that is sent waits for a less urgent one that has just begun */
    MUTANT_AFFINITY_BLIND, /* the last look before sleeping does not see the consumers of others */
    MUTANT_LEARN_BOTH, /* of two threads that wake each other, each is taken for the other's producer */
    MUTANT_AFFINITY_QUIET,  /* only the CPU of a consumer is woken for it */
    MUTANT_TIMER_UNTOLD,    /* the port does not learn of the timers of a CPU that was idle */
    MUTANT_TIMER_QUIET,     /* nor of a new one, when another thread runs next */
    MUTANT_JOB_SKIPS,       /* a job that ends late skips the releases that it has missed */
    MUTANT_JOB_ADDS,        /* the misses of a job count for the next one, too */
    MUTANT_JOB_THRASHES,    /* jobs that thrash are measured like others */
    MUTANT_MEASURED_UNUSED, /* what was measured does not count */
    MUTANT_MISSES_ASTRAY,   /* a thread pays for what the one before it on its CPU missed */
    MUTANT_GATE_FULL,       /* threads run whether their working sets fit or not */
    MUTANT_GATE_OVERTAKES,  /* a thread that fits overtakes one that does not */
    MUTANT_GATE_QUIET,      /* cache that becomes free wakes no CPU */
    MUTANT_GATE_LATER,      /* a thread that fits wakes no CPU either */
    MUTANT_GATE_BLIND,      /* a last look before sleeping that misses that one fits */
    MUTANT_EDF_PATIENT,     /* late threads do not go first */
    MUTANT_EDF_LARGEST,     /* the largest working set is promoted */
    MUTANT_GROUPS_ASTRAY,   /* threads of a group run on any CPU */
    MUTANT_GROUPS_FULL,     /* a group is chosen whether it fits or not */
    MUTANT_GROUPS_ALIKE,    /* a group is chosen though another CPU runs it */
    MUTANT_GROUPS_FORGET,   /* a CPU does not know which group ran there last */
    MUTANT_GROUPS_BLIND,    /* or the CPU's own groups */
    MUTANT_FAIR_BLIND,      /* a last look before sleeping that misses the threads of policy fair */
    MUTANT_FAIR_INVERSE,    /* slices are shorter where they should be longer */
    MUTANT_POLL_UNTOLD,     /* a poller that looks does not learn that something is outstanding */
    MUTANT_POLL_HELD,       /* a poller that goes on looking forgets the kick that it has held */
    MUTANT_POLL_ONCE,       /* a look in vain is the last one */
    MUTANT_POLL_LAZY,       /* a CPU without work does not look */
    MUTANT_FAIR_FORGETS,    /* what a correction leaves over is dropped */
    MUTANT_MAX
};

#ifdef PIRN_SIM
extern enum mutant sim_mutant;
#define MUTANT(name) (sim_mutant == MUTANT_##name)
#else
#define MUTANT(name) (0)
#endif

#endif
