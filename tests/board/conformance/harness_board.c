/* SPDX-License-Identifier: MIT */
/*
 * harness_board.c - tests/conformance/harness.h for boards: one program has the cases of all files,
 * and runs them one after the other.
 *
 *     conformance [--from CASE] [--case CASE] [--times] [--list] [AREA|CASE...]    CASE: AREA.name
 *
 * It prints "run CASE" before each case; then "pass CASE", "unsupported: reason", or a failure,
 * with which the program ends. With --times follows "time NANOSECONDS": since the last such line,
 * with what the program does between two cases. A case may also end the program, and so do threads
 * that a case leaves behind: conformance.py then starts the program again with the next case. The
 * program also ends before a case that needs the initial values of variables that other cases have
 * changed. left_out.def lists these, and the cases that boards cannot run. The last line is "done".
 */
#include "harness.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <pirn/pirn.h>
#include <pirn/pthread_np.h>

enum { PASSED = 0, FAILED = 1, UNSUPPORTED = 77, USAGE = 2 };
enum { NAME_BYTES = 160 };

static struct conformance_case *first, **last = &first;
static const struct conformance_case *current;

struct left_out {
    const char *pattern, *reason;
};

static const struct left_out left_out[] = {
#define LEFT_OUT(pattern, reason) {pattern, reason},
#define NEEDS_TICKS(pattern, reason)
#define NEEDS_BOOT(name)
#include "left_out.def"
#undef LEFT_OUT
#undef NEEDS_TICKS
};

static const struct left_out needs_ticks[] = {
#define LEFT_OUT(pattern, reason)
#define NEEDS_TICKS(pattern, reason) {pattern, reason},
#include "left_out.def"
#undef NEEDS_TICKS
#undef NEEDS_BOOT
};

static const char *const needs_boot[] = {
#define NEEDS_TICKS(pattern, reason)
#define NEEDS_BOOT(name) name,
#include "left_out.def"
};

void case_add(struct conformance_case *c)
{
    *last = c;
    last = &c->next;
}

static void say(const char *what, const char *name, const char *more)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "%s%s%s\n", what, name, more);
    write(STDOUT_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* The name of a case: of tests/conformance/mutex.c it is "mutex." and the case's own name. */
static void name_of(const struct conformance_case *c, char *name)
{
    const char *base = strrchr(c->file, '/');
    base = base != NULL ? base + 1 : c->file;
    snprintf(name, NAME_BYTES, "%.*s.%s", (int)strcspn(base, "."), base, c->name);
}

static void say_of(const char *what, const struct conformance_case *c)
{
    char name[NAME_BYTES];
    name_of(c, name);
    say(what, name, "");
}

void case_passed(void)
{
    say_of("pass ", current);
    _exit(PASSED);
}

void case_fail(const char *file, int line, const char *what, long got, long want)
{
    char text[512];
    const char *base = strrchr(file, '/');
    snprintf(text, sizeof(text), "%s:%d: %s: got %ld, want %ld", base ? base + 1 : file, line, what,
             got, want);
    say(text, "", "");
    _exit(FAILED);
}

void case_unsupported(const char *reason)
{
    say("unsupported: ", reason, "");
    _exit(UNSUPPORTED);
}

/* ---- functions that boards do not have ---- */

#define ABSENT(ret, name, params)                                                                  \
    ret name params;                                                                               \
    ret name params                                                                                \
    {                                                                                              \
        say(#name, ": boards do not have it, and left_out.def does not list the case", "");        \
        _exit(FAILED);                                                                             \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
ABSENT(pid_t, fork, (void))
ABSENT(pid_t, waitpid, (pid_t child, int *status, int options))
ABSENT(int, getrlimit, (int what, struct rlimit *limit))
ABSENT(int, setrlimit, (int what, const struct rlimit *limit))
ABSENT(int, sched_setaffinity, (pid_t process, size_t size, const cpu_set_t *set))
ABSENT(int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t *set))
ABSENT(int, pthread_getattr_np, (pthread_t thread, pthread_attr_t *attr))
ABSENT(int, pthread_getcpuclockid, (pthread_t thread, clockid_t *clock))
ABSENT(int, pthread_attr_setstackaddr, (pthread_attr_t * attr, void *top))
ABSENT(int, pthread_attr_getstackaddr, (const pthread_attr_t *attr, void **top))
ABSENT(int, pthread_getattr_default_np, (pthread_attr_t * attr))
ABSENT(int, pthread_setattr_default_np, (const pthread_attr_t *attr))
ABSENT(int, pthread_yield, (void))
ABSENT(int, sched_getcpu, (void))
ABSENT(int, pthread_mutexattr_setrobust_np, (pthread_mutexattr_t * attr, int robust))
ABSENT(int, pthread_mutexattr_getrobust_np, (const pthread_mutexattr_t *attr, int *robust))
ABSENT(int, pthread_mutex_consistent_np, (pthread_mutex_t * mutex))
ABSENT(int, mprotect, (void *at, size_t size, int protection))
ABSENT(int, setgroups, (int n, const gid_t *list))
ABSENT(int, setuid, (uid_t user))
ABSENT(uid_t, geteuid, (void))
ABSENT(unsigned, alarm, (unsigned seconds))
ABSENT(int, sigaction, (int signal, const struct sigaction *action, struct sigaction *old))
ABSENT(int, timer_create, (clockid_t clock, struct sigevent *event, timer_t *timer))
ABSENT(int, timer_delete, (timer_t timer))
ABSENT(int, timer_settime,
       (timer_t timer, int flags, const struct itimerspec *value, struct itimerspec *old))
ABSENT(int, setitimer, (int which, const struct itimerval *value, struct itimerval *old))
ABSENT(int, setgid, (gid_t group))
ABSENT(int, chdir, (const char *path))
ABSENT(char *, getcwd, (char *path, size_t size))
ABSENT(pid_t, child_start, (void (*fn)(void)))
ABSENT(void, child_ends_well, (pid_t child))
ABSENT(void, in_child, (void (*fn)(void)))
ABSENT(void *, shared_memory, (size_t size))
#pragma GCC diagnostic pop

char *program_invocation_short_name;

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    (void)at, (void)protection, (void)flags, (void)fd, (void)offset;
    void *p = memalign(64, size);
    return p != NULL ? memset(p, 0, size) : MAP_FAILED;
}

int munmap(void *at, size_t size)
{
    (void)size;
    free(at);
    return 0;
}

void need_one_cpu(void)
{
    if (pthread_num_processors_np() > 1) {
        case_unsupported("threads of one CPU run on several cores");
    }
}

/* The CPU set of one core. */
cpu_set_t first_cpu(void)
{
    cpu_set_t first;
    need_one_cpu();
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    return first;
}

int getpagesize(void)
{
    return (int)sysconf(_SC_PAGESIZE);
}

/* ---- running ---- */

static bool matches(const char *pattern, const char *name)
{
    size_t n = strcspn(pattern, "*");
    return pattern[n] == '*' ? strncmp(pattern, name, n) == 0 : strcmp(pattern, name) == 0;
}

static const char *reason_in(const struct left_out *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (matches(list[i].pattern, name)) {
            return list[i].reason;
        }
    }
    return NULL;
}

static const char *why_left_out(const char *name)
{
    return reason_in(left_out, COUNT(left_out), name);
}

static void need_ticks(const char *name)
{
    const char *preempt = getenv("PIRN_PREEMPT");
    const char *why = reason_in(needs_ticks, COUNT(needs_ticks), name);
    if (why != NULL && preempt != NULL && strcmp(preempt, "0") == 0) {
        case_unsupported(why);
    }
}

static bool is_to_be_first(const char *name)
{
    for (size_t i = 0; i < COUNT(needs_boot); i++) {
        if (strcmp(needs_boot[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Flags that cases have changed: each case finds them with their initial values. */
static flag_t list_end;
static flag_t *changed = &list_end;
extern char __bss_start[], __bss_end[];

void flag_changes(flag_t *f)
{
    bool is_static = (uintptr_t)f >= (uintptr_t)__bss_start && (uintptr_t)f < (uintptr_t)__bss_end;
    flag_t *next = NULL;
    if (!is_static || !__atomic_compare_exchange_n(&f->next, &next, &list_end, false,
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return;
    }
    next = __atomic_load_n(&changed, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&f->next, next, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&changed, &next, f, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

/* No thread changes a flag. */
static void flags_as_new(void)
{
    while (changed != &list_end) {
        flag_t *f = changed;
        changed = f->next;
        *f = (flag_t){0};
    }
}

/* The number of threads that have not ended; near the beginning of the page. */
static unsigned alive(void)
{
    char page[1024];
    pirn_stats_prometheus(page, sizeof(page));
    const char *found = strstr(page, "\npirn_threads_alive ");
    if (found == NULL) {
        fprintf(stderr, "no pirn_threads_alive in the first %zu bytes of the counters\n",
                sizeof(page));
        abort();
    }
    return (unsigned)strtoul(strchr(found, ' '), NULL, 10);
}

/* Since the last call. This is cheap; the page of alive() takes the chip 0.7 million cycles. */
static bool threads_were_created(void)
{
    static uint64_t before;
    struct pirn_counters now;
    pirn_stats(&now);
    bool more = now.threads != before;
    before = now.threads;
    return more;
}

/* False if threads of the case are still alive after a while: the next case needs a new program. */
static bool is_alone(void)
{
    for (int i = 0; i < 200 && alive() > 1; i++) {
        usleep(1000);
    }
    return alive() == 1;
}

static void leave_as_new(void)
{
    const struct sched_param other = {.sched_priority = 0};
    int policy;
    struct sched_param param;
    OK(pthread_getschedparam(pthread_self(), &policy, &param));
    if (policy != SCHED_OTHER) {
        OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &other));
    }
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL));
    if (threads_were_created() && !is_alone()) {
        _exit(PASSED);
    }
    flags_as_new();
}

static void say_time(void)
{
    static int64_t before;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = 1000000000 * (int64_t)t.tv_sec + t.tv_nsec;
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)(now - before));
    say("time ", number, "");
    before = now;
}

static void run(const struct conformance_case *c, bool only)
{
    char name[NAME_BYTES];
    current = c;
    say_of("run ", c);
    name_of(c, name);
    need_ticks(name);
    if (c->run != NULL) {
        c->run();
    } else {
        c->run_with(c->row);
    }
    say_of("pass ", c);
    if (!only) {
        leave_as_new();
    }
}

static bool is_asked(const char *name, char **areas, int n)
{
    for (int i = 0; i < n; i++) {
        size_t length = strlen(areas[i]);
        if (strncmp(name, areas[i], length) == 0 && (name[length] == '.' || name[length] == '\0')) {
            return true;
        }
    }
    return n == 0;
}

struct asked {
    bool list, times;
    const char *from, *only;
    char **areas;
    int nareas;
};

static bool run_all(const struct asked *asked)
{
    char name[NAME_BYTES];
    bool begun = asked->from == NULL, found = false, any = false;
    threads_were_created();
    if (asked->times) {
        say_time(); /* since the start of the program */
    }
    for (const struct conformance_case *c = first; c != NULL; c = c->next) {
        name_of(c, name);
        begun = begun || strcmp(name, asked->from) == 0;
        if (!begun || !is_asked(name, asked->areas, asked->nareas) ||
            (asked->only != NULL && strcmp(name, asked->only) != 0)) {
            continue;
        }
        found = true;
        if (why_left_out(name) != NULL) {
            continue;
        }
        if (asked->list) {
            say(name, "", "");
        } else if (any && is_to_be_first(name)) {
            _exit(PASSED);
        } else {
            run(c, asked->only != NULL);
            any = true;
            if (asked->times) {
                say_time();
            }
        }
    }
    return found;
}

static bool is_unbuilt_area(const char *pattern)
{
    char name[NAME_BYTES];
    for (const struct conformance_case *c = first; c != NULL; c = c->next) {
        name_of(c, name);
        if (matches(pattern, name)) {
            return false;
        }
    }
    return true;
}

/* The whole table: cases, and areas that the program does not have. */
static void say_left_out(void)
{
    char name[NAME_BYTES];
    for (const struct conformance_case *c = first; c != NULL; c = c->next) {
        name_of(c, name);
        const char *why = why_left_out(name);
        if (why != NULL) {
            say("left out ", name, "");
            say("    ", why, "");
        }
    }
    for (size_t i = 0; i < COUNT(left_out); i++) {
        if (is_unbuilt_area(left_out[i].pattern)) {
            say("left out area ", left_out[i].pattern, "");
            say("    ", left_out[i].reason, "");
        }
    }
}

static struct asked parse(int argc, char **argv)
{
    struct asked asked = {.areas = argv + argc};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            asked.list = true;
        } else if (strcmp(argv[i], "--times") == 0) {
            asked.times = true;
        } else if (strcmp(argv[i], "--left-out") == 0) {
            say_left_out();
            _exit(PASSED);
        } else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc) {
            asked.from = argv[++i];
        } else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
            asked.only = argv[++i];
        } else {
            say(argv[i], ": valid: --list, --times, --left-out, --from CASE, --case CASE, areas",
                " and cases");
            _exit(USAGE);
        }
    }
    asked.areas = argv + i;
    asked.nareas = argc - i;
    return asked;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    program_invocation_short_name = slash != NULL ? (char *)slash + 1 : argv[0];
    struct asked asked = parse(argc, argv);
    if (!run_all(&asked)) {
        say("no such case or area; --list names them", "", "");
        return USAGE;
    }
    say("done", "", "");
    return PASSED;
}
