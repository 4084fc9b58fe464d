/* SPDX-License-Identifier: MIT */
/*
 * auxv.c - the program starts on a kernel that tells less of itself: its getauxval does not find
 * what newer kernels have added, and says ENOENT, as the C library's does. The start leaves errno
 * alone, and the size of signal frames that it takes instead suffices. Prints "done".
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>

static unsigned refused;
static volatile sig_atomic_t handled;

unsigned long getauxval(unsigned long type)
{
    if (type == AT_SECURE || type == AT_HWCAP2) {
        return ((unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval"))(type);
    }
    refused++;
    errno = ENOENT;
    return 0;
}

static void on_signal(int number)
{
    handled = number;
}

static void *thread(void *arg)
{
    return pthread_kill(pthread_self(), SIGUSR1) == 0 && handled == SIGUSR1 ? NULL : arg;
}

int main(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    pthread_t t;
    void *wrong = NULL;
    if (sigaction(SIGUSR1, &act, NULL) != 0) {
        return 1;
    }
    errno = 77;
    if (pthread_create(&t, NULL, thread, &wrong) != 0 || errno != 77) {
        fprintf(stderr, "errno is %d after pthread_create, not 77\n", errno);
        return 1;
    }
    if (pthread_join(t, &wrong) != 0 || wrong != NULL || errno != 77) {
        fprintf(stderr, "the thread's signal was not handled, or errno (%d) is not 77\n", errno);
        return 1;
    }
    printf("done: %u values refused\n", refused);
    return refused == 0;
}
