/* SPDX-License-Identifier: MIT
 *
 * The definitions that a system provides for rows*.c, in a header of its own (all of it `static
 * inline` or types, so that this interface costs no system anything):
 *
 *   sys_thread, sys_mutex, sys_sem, sys_barrier             types
 *   void sys_create(sys_thread *, void *(*fn)(void *), void *arg)
 *   void sys_join(sys_thread *)
 *   void sys_yield(void)
 *   void sys_mutex_init(sys_mutex *), _lock, _unlock, _fini
 *   void sys_sem_init(sys_sem *, unsigned value), _wait, _post, _fini
 *   void sys_barrier_init(sys_barrier *, unsigned threads), _wait, _fini
 *   SYS_NAME                                                 text, as printed
 *   FIB_N                                                    size of the fib row
 *   const char *sys_lacks(const char *row, unsigned workers) why a row cannot be run, or 0
 *   void sys_prepare(const char *row, unsigned workers)      in main, before anything else
 *   void sys_run(void (*body)(void *), void *arg)            runs body on a thread of the system
 * and, for the pinned rows only,
 *   SYS_PLACE(index)                                         moves the caller to the index-th CPU
 *   int sys_cpu(void)                                        the caller's CPU
 *
 * Rows that not every system can do; it defines the first name of a group to have them:
 *
 *   SYS_COND, sys_cond; sys_cond_init(sys_cond *), _signal, _broadcast, _fini
 *   void sys_cond_wait(sys_cond *, sys_mutex *)
 *   int sys_cond_wait_for(sys_cond *, sys_mutex *, uint64_t ns)  0: the time was up
 *   SYS_RWLOCK, sys_rwlock; sys_rwlock_init(sys_rwlock *), _rdlock, _wrlock, _unlock, _fini
 *   SYS_SLEEP; void sys_sleep(uint64_t ns)
 *   SYS_SOCKETS; void sys_socket_prepare(int fd)             once, before the first of
 *   long sys_read(int fd, void *, size_t), sys_write         as read, write; only a thread waits
 *
 * A failing call ends the program; sys_check() names it.
 */
#ifndef BENCH_SYS_H
#define BENCH_SYS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void sys_check(int ok, const char *call)
{
    if (!ok) {
        fprintf(stderr, "%s failed\n", call);
        exit(1);
    }
}

#endif
