/* SPDX-License-Identifier: MIT */
/* harness.c - see harness.h. */
#include "harness.h"

#include <sys/mman.h>
#include <sys/wait.h>

#ifdef ON_PIRN
#include <pirn/pthread_np.h>
#endif

enum { PASSED = 0, FAILED = 1, UNSUPPORTED = 77, USAGE = 2 };

static struct conformance_case *first, **last = &first;
static const struct conformance_case *current;

void case_add(struct conformance_case *c)
{
    *last = c;
    last = &c->next;
}

void cases_add(void (*run)(const void *), const void *rows, size_t size, size_t count,
               const char *(*name_of)(const void *))
{
    for (size_t i = 0; i < count; i++) {
        const void *row = (const char *)rows + i * size;
        struct conformance_case *c = calloc(1, sizeof(*c));
        *c = (struct conformance_case){.name = name_of(row), .run_with = run, .row = row};
        case_add(c);
    }
}

/* Past the buffers of stdio: the case may have left them in any state. */
static void say(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t n = write(STDOUT_FILENO, text, left);
        if (n <= 0) {
            return;
        }
        text += n;
        left -= (size_t)n;
    }
}

static void say_passed(void)
{
    char line[160];
    snprintf(line, sizeof(line), "pass %s\n", current->name);
    say(line);
}

void case_passed(void)
{
    say_passed();
    _exit(PASSED);
}

void case_fail(const char *file, int line, const char *what, long got, long want)
{
    char text[512];
    const char *base = strrchr(file, '/');
    snprintf(text, sizeof(text), "%s:%d: %s: got %ld, want %ld\n", base ? base + 1 : file, line,
             what, got, want);
    say(text);
    _exit(FAILED);
}

void case_unsupported(const char *reason)
{
    char text[256];
    snprintf(text, sizeof(text), "unsupported: %s\n", reason);
    say(text);
    _exit(UNSUPPORTED);
}

__attribute__((noinline)) void set_errno(int value)
{
    errno = value;
}

__attribute__((noinline)) int get_errno(void)
{
    return errno;
}

struct timespec after_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * NS_PER_MS;
    if (t.tv_nsec >= NS_PER_S) {
        t.tv_nsec -= NS_PER_S;
        t.tv_sec++;
    }
    return t;
}

int64_t ns_between(const struct timespec *from, const struct timespec *to)
{
    return (int64_t)(to->tv_sec - from->tv_sec) * NS_PER_S + (to->tv_nsec - from->tv_nsec);
}

bool has_passed(clockid_t clock, const struct timespec *t)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return ns_between(t, &now) >= 0;
}

pthread_t start_with(const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    pthread_t t;
    OK(pthread_create(&t, attr, fn, arg));
    return t;
}

pthread_t start(void *(*fn)(void *), void *arg)
{
    return start_with(NULL, fn, arg);
}

void *join(pthread_t t)
{
    void *result = NULL;
    OK(pthread_join(t, &result));
    return result;
}

void *in_thread(void *(*fn)(void *), void *arg)
{
    return join(start(fn, arg));
}

pid_t child_start(void (*fn)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fn();
        _exit(PASSED);
    }
    return child;
}

void child_ends_well(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) != child) {
        CHECK_EQ(get_errno(), EINTR);
    }
    CHECK_EQ(status, 0);
}

void in_child(void (*fn)(void))
{
    child_ends_well(child_start(fn));
}

void flag_set(flag_t *f, int value)
{
    __atomic_store_n(&f->value, value, __ATOMIC_SEQ_CST);
}

int flag_add(flag_t *f, int n)
{
    return __atomic_add_fetch(&f->value, n, __ATOMIC_SEQ_CST);
}

int flag_get(const flag_t *f)
{
    return __atomic_load_n(&f->value, __ATOMIC_SEQ_CST);
}

void flag_wait(const flag_t *f, int at_least)
{
    for (int i = 0; flag_get(f) < at_least; i++) {
        if (i < 100) {
            sched_yield();
        } else {
            /* A yield lets nobody run whose priority is lower. No cancellation point. */
            int state;
            OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
            usleep(50);
            OK(pthread_setcancelstate(state, NULL));
        }
    }
}

cpu_set_t first_cpu(void)
{
    cpu_set_t all, one;
    OK(sched_getaffinity(0, sizeof(all), &all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    return one;
}

void need_one_cpu(void)
{
    cpu_set_t one = first_cpu();
#ifdef ON_PIRN
    if (pthread_num_processors_np() > 1) {
        case_unsupported("threads of one CPU run on several workers");
    }
#endif
    OK(pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
}

void give_way(void)
{
    for (int i = 0; i < 50; i++) {
        sched_yield();
    }
    usleep(500);
}

void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

static int run(const char *name)
{
    for (current = first; current != NULL; current = current->next) {
        if (strcmp(current->name, name) == 0) {
            if (current->run != NULL) {
                current->run();
            } else {
                current->run_with(current->row);
            }
            say_passed();
            return PASSED;
        }
    }
    fprintf(stderr, "no case %s; --list names them\n", name);
    return USAGE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const struct conformance_case *c = first; c != NULL; c = c->next) {
            puts(c->name);
        }
        return PASSED;
    }
    if (argc == 3 && strcmp(argv[1], "--case") == 0) {
        return run(argv[2]);
    }
    fprintf(stderr, "usage: %s --list | --case NAME\n", argv[0]);
    return USAGE;
}
