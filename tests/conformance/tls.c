/* SPDX-License-Identifier: MIT */
/* tls.c - state that a thread has implicitly: errno, __thread, locale, strerror, the floating-point
 * environment. */
#include "harness.h"

#include <dlfcn.h>
#include <fenv.h>
#include <gnu/libc-version.h>
#include <locale.h>

#define THREADS 8

static void in_threads(void *(*fn)(void *))
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(fn, (void *)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

static void *own_errno(void *arg)
{
    for (int i = 0; i < 200; i++) {
        set_errno((int)(long)arg);
        sched_yield();
        CHECK_EQ(get_errno(), (long)arg);
    }
    return NULL;
}

CASE(errno_belongs_to_the_thread)
{
    in_threads(own_errno);
}

/* As compilers do: the address of errno is computed once in a function. */
static void *errno_in_one_function(void *arg)
{
    for (int i = 0; i < 200; i++) {
        errno = (int)(long)arg;
        usleep(i % 10 == 0 ? 50 : 0);
        CHECK_EQ(errno, (long)arg);
        FAILS(close(-1), EBADF);
    }
    return NULL;
}

CASE(errno_stays_the_same_object)
{
    NOT_SANITIZED("threads share TLS in these builds");
    in_threads(errno_in_one_function);
}

static void *address_of_errno(void *arg)
{
    (void)arg;
    return &errno;
}

CASE(errno_has_an_address_of_its_own)
{
    NOT_SANITIZED("threads share TLS in these builds");
    CHECK(in_thread(address_of_errno, NULL) != &errno);
}

static __thread int initialised = 1234, zero;
static __thread char big[10000];
static __thread struct {
    char c;
    long double x;
} __attribute__((aligned(64))) aligned = {'c', 2.5L};
__thread int global_variable = 77;

static void *has_its_variables(void *arg)
{
    int *at = &initialised;
    CHECK_EQ(initialised, 1234);
    CHECK_EQ(zero, 0);
    CHECK_EQ(global_variable, 77);
    CHECK_EQ((uintptr_t)&aligned % 64, 0);
    CHECK(aligned.c == 'c' && aligned.x == 2.5L);
    for (size_t i = 0; i < sizeof(big); i++) {
        CHECK_EQ(big[i], 0);
        big[i] = (char)(long)arg;
    }
    initialised = zero = global_variable = (int)(long)arg;
    for (int i = 0; i < 100; i++) {
        if (i % 20 == 0) {
            usleep(50);
        } else {
            sched_yield();
        }
        CHECK_EQ(initialised, (long)arg);
        CHECK_EQ(zero, (long)arg);
        CHECK_EQ(global_variable, (long)arg);
        CHECK_EQ(big[sizeof(big) - 1], (long)arg);
        CHECK(at == &initialised);
    }
    return NULL;
}

CASE(thread_variables_belong_to_the_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    initialised = 5;
    in_threads(has_its_variables);
    CHECK_EQ(initialised, 5);
}

/* Also when the memory of ended threads is used again. */
CASE(thread_variables_are_fresh_in_every_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    for (long i = 0; i < 100; i++) {
        in_thread(has_its_variables, (void *)(i % 50 + 1));
    }
}

static int *shared;

static void *changes_anothers(void *arg)
{
    CHECK(shared != &initialised);
    *shared = 99;
    return arg;
}

CASE(thread_variables_may_be_shared_by_address)
{
    NOT_SANITIZED("threads share TLS in these builds");
    shared = &initialised;
    in_thread(changes_anothers, NULL);
    CHECK_EQ(initialised, 99);
}

/* A module that is loaded later adds variables to existing threads. */
static int *(*counter_of_module)(void);
static flag_t loaded, waiting;

static void *uses_the_module(void *arg)
{
    flag_add(&waiting, 1);
    flag_wait(&loaded, 1);
    int *counter = counter_of_module();
    CHECK_EQ(*counter, 1000);
    *counter = (int)(long)arg;
    for (int i = 0; i < 50; i++) {
        sched_yield();
        CHECK(counter_of_module() == counter);
        CHECK_EQ(*counter, (long)arg);
    }
    return NULL;
}

static const char *module_path(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    CHECK(n > 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/') + 1, "libconformance-tls.so");
    return path;
}

CASE(modules_loaded_later_have_thread_variables)
{
    NOT_SANITIZED("threads share TLS in these builds");
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(uses_the_module, (void *)(i + 1));
    }
    flag_wait(&waiting, THREADS);
    void *module = dlopen(module_path(), RTLD_NOW);
    if (module == NULL) {
        puts(dlerror());
    }
    CHECK(module != NULL);
    counter_of_module = (int *(*)(void))dlsym(module, "tls_counter");
    CHECK(counter_of_module != NULL);
    flag_set(&loaded, 1);
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
    in_thread(uses_the_module, (void *)3L);
    OK(dlclose(module));
}

static void *has_its_dlerror(void *arg)
{
    char name[40];
    snprintf(name, sizeof(name), "/nowhere/%ld.so", (long)arg);
    CHECK(dlopen(name, RTLD_NOW) == NULL);
    for (int i = 0; i < 20; i++) {
        sched_yield();
    }
    const char *error = dlerror();
    CHECK(error != NULL && strstr(error, name) != NULL);
    return NULL;
}

CASE(dlerror_belongs_to_the_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    in_threads(has_its_dlerror);
}

static void *has_its_text(void *arg)
{
    char want[64];
    snprintf(want, sizeof(want), "Unknown error %ld", 5000 + (long)arg);
    for (int i = 0; i < 50; i++) {
        char *text = strerror(5000 + (int)(long)arg);
        sched_yield();
        OK(strcmp(text, want));
    }
    return NULL;
}

CASE(strerror_text_belongs_to_the_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    if (strverscmp(gnu_get_libc_version(), "2.32") < 0) {
        case_unsupported("glibc has one text for all threads before 2.32");
    }
    in_threads(has_its_text);
}

/* A thread's locale is neither the process's nor another thread's. */
static void *has_its_locale(void *arg)
{
    CHECK(uselocale(NULL) == LC_GLOBAL_LOCALE); /* not inherited */
    locale_t mine = newlocale(LC_ALL_MASK, "C", NULL);
    CHECK(mine != NULL);
    CHECK(uselocale(mine) == LC_GLOBAL_LOCALE);
    for (int i = 0; i < 50; i++) {
        sched_yield();
        CHECK(uselocale(NULL) == mine);
    }
    CHECK(uselocale(LC_GLOBAL_LOCALE) == mine);
    freelocale(mine);
    return arg;
}

CASE(locale_belongs_to_the_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    locale_t mine = newlocale(LC_ALL_MASK, "C", NULL);
    uselocale(mine);
    in_threads(has_its_locale);
    CHECK(uselocale(NULL) == mine);
}

/* State of conversions that is kept between calls, inside of the library. */
static void *has_its_conversions(void *arg)
{
    for (int i = 0; i < 100; i++) {
        char text[64];
        snprintf(text, sizeof(text), "%ld:%.17g", (long)arg, 1.0 / (double)(long)arg);
        sched_yield();
        long n;
        double x;
        CHECK_EQ(sscanf(text, "%ld:%lf", &n, &x), 2);
        CHECK(n == (long)arg && x == 1.0 / (double)n);
    }
    return NULL;
}

CASE(printf_and_scanf_in_threads)
{
    in_threads(has_its_conversions);
}

static volatile double one = 1, three = 3;

static double third(void)
{
    return one / three;
}

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void *has_its_rounding(void *arg)
{
    int mode = modes[(long)arg % (long)COUNT(modes)];
    OK(fesetround(mode));
    double want = third();
    for (int i = 0; i < 200; i++) {
        sched_yield();
        CHECK_EQ(fegetround(), mode);
        CHECK(third() == want);
    }
    return NULL;
}

CASE(rounding_belongs_to_the_thread)
{
    in_threads(has_its_rounding);
    CHECK_EQ(fegetround(), FE_TONEAREST);
}

static void *tells_rounding(void *arg)
{
    (void)arg;
    return (void *)(long)fegetround();
}

CASE(rounding_is_inherited)
{
    OK(fesetround(FE_DOWNWARD));
    CHECK_EQ((long)in_thread(tells_rounding, NULL), FE_DOWNWARD);
    OK(fesetround(FE_UPWARD));
    CHECK_EQ((long)in_thread(tells_rounding, NULL), FE_UPWARD);
}

static void *has_its_exceptions(void *arg)
{
    bool raises = (long)arg % 2;
    OK(feclearexcept(FE_ALL_EXCEPT));
    if (raises) {
        OK(feraiseexcept(FE_OVERFLOW));
    }
    for (int i = 0; i < 100; i++) {
        sched_yield();
        CHECK_EQ(fetestexcept(FE_OVERFLOW) != 0, raises);
    }
    return NULL;
}

CASE(floating_point_exceptions_belong_to_the_thread)
{
    in_threads(has_its_exceptions);
}

/* Registers of numbers in the middle of a computation. */
static void *computes(void *arg)
{
    double x = (double)(long)arg, sum = 0;
    for (int i = 1; i <= 2000; i++) {
        sum += x / i;
        if (i % 50 == 0) {
            sched_yield();
        }
    }
    double again = 0;
    for (int i = 1; i <= 2000; i++) {
        again += x / i;
    }
    CHECK(sum == again);
    return NULL;
}

CASE(computations_are_not_disturbed)
{
    in_threads(computes);
}

/* An identity as the kernel's: different for each thread, and constant for its life. */

static long ids[THREADS + 1];

static void *has_its_id(void *arg)
{
    long id = gettid();
    ids[(long)arg] = id;
    flag_add(&waiting, 1);
    flag_wait(&waiting, THREADS);
    for (int i = 0; i < 50; i++) {
        sched_yield();
        CHECK_EQ(gettid(), id);
    }
    return NULL;
}

CASE(gettid_belongs_to_the_thread)
{
    NOT_SANITIZED("threads share TLS in these builds");
    ids[0] = gettid();
    CHECK_EQ(ids[0], getpid());
    in_threads(has_its_id);
    for (int i = 0; i <= THREADS; i++) {
        for (int k = 0; k < i; k++) {
            CHECK(ids[i] != ids[k]);
        }
    }
}

static void *uses_the_heap(void *arg)
{
    enum { N = 200 };
    char *p[N];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < N; i++) {
            p[i] = malloc((size_t)(i * 37 % 2000 + 1));
            p[i][0] = (char)(long)arg;
        }
        sched_yield();
        for (int i = 0; i < N; i++) {
            CHECK_EQ(p[i][0], (char)(long)arg);
            free(p[i]);
        }
    }
    return NULL;
}

CASE(heap_is_used_by_all_threads)
{
    for (int i = 0; i < 5; i++) {
        in_threads(uses_the_heap);
    }
}
