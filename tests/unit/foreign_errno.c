/* SPDX-License-Identifier: MIT */
/*
 * foreign_errno.c - a kernel thread that the runtime did not make keeps its errno while it waits in
 * a call: until a deadline, which the kernel reports by ETIMEDOUT, or disturbed by signals, which
 * it reports by EINTR.
 */
#include <errno.h>
#include <pirn/pirn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define OWN 555
#define SIGNALS 200
#define HOUR UINT64_C(3600000000000)

static pirn_sem_t never, at_the_end;
static int waits, seen_late, seen_signalled, result;

static void on_signal(int signal)
{
    (void)signal;
}

static void *kernel_thread(void *unused)
{
    errno = OWN;
    result = pirn_sem_wait_until(&never, pirn_now() + 1000000);
    seen_late = errno;
    errno = OWN;
    __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
    pirn_sem_wait_until(&at_the_end, pirn_now() + HOUR);
    seen_signalled = errno;
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    pirn_sem_init(&never, 0);
    pirn_sem_init(&at_the_end, 0);
    if (pthread_create(&thread, NULL, kernel_thread, NULL) != 0) {
        perror("foreign errno: pthread_create");
        return 1;
    }
    while (__atomic_load_n(&waits, __ATOMIC_ACQUIRE) == 0) {
        pirn_yield();
    }
    for (int i = 0; i < SIGNALS; i++) {
        pthread_kill(thread, SIGUSR1);
        pirn_sleep(100000); /* it waits again meanwhile */
    }
    pirn_sem_post(&at_the_end);
    pthread_join(thread, NULL);
    if (result != -ETIMEDOUT || seen_late != OWN || seen_signalled != OWN) {
        fprintf(stderr, "foreign errno: failed: result %d, errno %d after it, %d after signals\n",
                result, seen_late, seen_signalled);
        return 1;
    }
    puts("foreign errno: done");
    return 0;
}
