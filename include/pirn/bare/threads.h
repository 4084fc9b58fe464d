/* SPDX-License-Identifier: MIT */
/*
 * threads.h (boards) - threads of C11 (7.26), over <pthread.h>: the same threads, objects and
 * contexts. Times are absolute, of TIME_UTC.
 *
 * Results: thrd_success, thrd_nomem, thrd_timedout, thrd_busy, thrd_error. Context: threads, not
 * interrupt handlers. Cancellation points are cnd_wait, cnd_timedwait, thrd_join and thrd_sleep.
 */
#ifndef PIRN_BARE_THREADS_H
#define PIRN_BARE_THREADS_H

#include <sys/_pthreadtypes.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#else
#define thread_local _Thread_local
#endif

typedef pthread_t thrd_t;
typedef pthread_mutex_t mtx_t;
typedef pthread_cond_t cnd_t;
typedef pthread_key_t tss_t;
typedef pthread_once_t once_flag;
typedef int (*thrd_start_t)(void *);
typedef void (*tss_dtor_t)(void *);

#define ONCE_FLAG_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }
#define TSS_DTOR_ITERATIONS 4 /* PTHREAD_DESTRUCTOR_ITERATIONS */

enum { thrd_success, thrd_busy, thrd_error, thrd_nomem, thrd_timedout };
enum { mtx_plain, mtx_recursive, mtx_timed };

int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg);
thrd_t thrd_current(void);
int thrd_detach(thrd_t thread);
int thrd_equal(thrd_t a, thrd_t b);
void thrd_exit(int result) __attribute__((__noreturn__));
int thrd_join(thrd_t thread, int *result);
/* 0, or a negative number on an error. */
int thrd_sleep(const struct timespec *time, struct timespec *left);
void thrd_yield(void);

int mtx_init(mtx_t *mutex, int type);
void mtx_destroy(mtx_t *mutex);
int mtx_lock(mtx_t *mutex);
int mtx_timedlock(mtx_t *__restrict mutex, const struct timespec *__restrict time);
int mtx_trylock(mtx_t *mutex);
int mtx_unlock(mtx_t *mutex);

int cnd_init(cnd_t *cond);
void cnd_destroy(cnd_t *cond);
int cnd_wait(cnd_t *cond, mtx_t *mutex);
int cnd_timedwait(cnd_t *__restrict cond, mtx_t *__restrict mutex,
                  const struct timespec *__restrict time);
int cnd_signal(cnd_t *cond);
int cnd_broadcast(cnd_t *cond);

int tss_create(tss_t *key, tss_dtor_t destructor);
void tss_delete(tss_t key);
void *tss_get(tss_t key);
int tss_set(tss_t key, void *value);

void call_once(once_flag *once, void (*fn)(void));

#ifdef __cplusplus
}
#endif

#endif
