/* SPDX-License-Identifier: MIT */
/*
 * absent.h - declarations that the conformance cases use and boards do not have, so that the files
 * compile unchanged: they include it first. A case that calls such a function fails, unless
 * left_out.def lists it.
 */
#ifndef BOARD_ABSENT_H
#define BOARD_ABSENT_H

#include <sys/resource.h>
#include <sys/types.h>

#ifndef CLOCK_PROCESS_CPUTIME_ID
#define CLOCK_PROCESS_CPUTIME_ID ((clockid_t)2)
#endif
#define CLOCK_THREAD_CPUTIME_ID ((clockid_t)3)

typedef unsigned long rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
enum { RLIMIT_AS, RLIMIT_RTPRIO, RLIMIT_STACK };
#define RLIM_INFINITY (~(rlim_t)0)
int getrlimit(int what, struct rlimit *limit);
int setrlimit(int what, const struct rlimit *limit);

#include <sched.h>
int sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set);
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);

#include <pthread.h>
#include <signal.h>
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int pthread_getcpuclockid(pthread_t thread, clockid_t *clock);
int pthread_attr_setstackaddr(pthread_attr_t *attr, void *top);
int pthread_attr_getstackaddr(const pthread_attr_t *attr, void **top);
int pthread_getattr_default_np(pthread_attr_t *attr);
int pthread_setattr_default_np(const pthread_attr_t *attr);
int pthread_yield(void);
int sched_getcpu(void);

#define MUTEX_KIND(mutex) ((mutex).__kind)

enum { PTHREAD_MUTEX_STALLED_NP, PTHREAD_MUTEX_ROBUST_NP };
int pthread_mutexattr_setrobust_np(pthread_mutexattr_t *attr, int robust);
int pthread_mutexattr_getrobust_np(const pthread_mutexattr_t *attr, int *robust);
int pthread_mutex_consistent_np(pthread_mutex_t *mutex);

extern char *program_invocation_short_name;

#endif
