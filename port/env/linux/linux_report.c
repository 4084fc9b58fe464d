/* SPDX-License-Identifier: MIT */
/*
 * linux_report.c (Linux) - the port's part of reports (sync/report.h).
 *
 * A copy of the process, made by fork, writes the report. It has all threads as of one moment. A
 * lock that a thread holds, or a damaged stack, can stop or end only the copy, not the program. The
 * copy has one kernel thread. No handlers of the program run in it, not even those of fork, because
 * the system call is made directly. It ends after REPORT_SECONDS at the latest.
 *
 * Kernel threads of the process are counted without opening a file, whose number the program might
 * notice: the directory /proc/self/task has two links, and one for each thread.
 */
#include "linux.h"

#include "config.h"
#include "port_foreign.h"
#include "port_report.h"
#include "port_signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#define REPORT_SECONDS 10
#define LOOK_NS 2000000u /* between two looks whether the copy has ended */
#define OWN_MAX 8
#define FRAMES_MAX 64
#define PLACES_MAX 16

static const void *own_handlers[OWN_MAX]; /* written while the runtime starts */

void report_own_handler(const void *fn)
{
    for (unsigned i = 0; i < OWN_MAX; i++) {
        if (own_handlers[i] == NULL || own_handlers[i] == fn) {
            own_handlers[i] = fn;
            return;
        }
    }
    RT_ASSERT(fn == NULL); /* there is no room: it would be taken for the program's */
}

static bool handler_is_own(const void *fn)
{
    for (unsigned i = 0; i < OWN_MAX && own_handlers[i] != NULL; i++) {
        if (own_handlers[i] == fn) {
            return true;
        }
    }
    return false;
}

/* As the kernel has it; the C library hides its own two signals. */
struct kernel_action {
    const void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static bool any_handler(void)
{
    for (int signal = 1; signal < _NSIG; signal++) {
        struct kernel_action old = {0};
        if (signal == 32 || signal == 33 ||
            syscall(SYS_rt_sigaction, signal, NULL, &old, sizeof(old.mask)) != 0) {
            continue;
        }
        if (old.handler != (const void *)SIG_DFL && old.handler != (const void *)SIG_IGN &&
            !handler_is_own(old.handler)) {
            return true;
        }
    }
    return false;
}

bool port_alone(void)
{
    struct stat tasks;
    unsigned begun = kernel_threads_begun(), ours = begun != 0 ? begun : 1;
    int saved = errno;
    bool alone =
        stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink >= 3 && tasks.st_nlink - 2 <= ours;
    errno = saved;
    return alone;
}

bool port_outsiders(void)
{
    return !port_alone() || any_handler();
}

static void copy_prepare(void)
{
    for (int signal = 1; signal < _NSIG; signal++) {
        struct kernel_action plain = {.handler = (const void *)SIG_DFL};
        syscall(SYS_rt_sigaction, signal, &plain, NULL, sizeof(plain.mask));
    }
    uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
    alarm(REPORT_SECONDS);
}

/* Its status; 0 if the program has waited for all of its children. Carriers are made meanwhile: all
 * CPUs may be in need of one for as long as the copy hangs. A request for a report that comes
 * meanwhile ends a turn, too; the poke at the end makes the monitor look for it. */
static int copy_wait(long pid)
{
    int status = 0;
    long done;
    while ((done = syscall(SYS_wait4, pid, &status, __WCLONE | WNOHANG, NULL)) == 0 ||
           (done < 0 && errno == EINTR)) {
        maker_turn(port_now() + LOOK_NS);
    }
    port_report_poke();
    return done == pid ? status : 0;
}

/* No signal tells the program that the copy has ended, and no wait of its own finds it. */
void port_report_run(void (*fn)(void))
{
    RT_ASSERT(port_cpu_self() == NULL && port_is_helper()); /* the copy has no CPU, either */
    long pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
    if (pid == 0) {
        copy_prepare();
        fn();
        syscall(SYS_exit_group, 0);
    }
    if (pid < 0) {
        static const char text[] = "pirn: no memory for a report on the threads\n";
        port_write(text, sizeof(text) - 1);
        return;
    }
    if (WIFSIGNALED(copy_wait(pid))) {
        static const char text[] =
            "pirn: the report ends here: a stack or an object is damaged, or "
            "a lock of the C library is held\n";
        port_write(text, sizeof(text) - 1);
    }
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},     {"INT", SIGINT},   {"QUIT", SIGQUIT},     {"USR1", SIGUSR1},
    {"USR2", SIGUSR2},   {"ALRM", SIGALRM}, {"TERM", SIGTERM},     {"CHLD", SIGCHLD},
    {"CONT", SIGCONT},   {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},     {"TTOU", SIGTTOU},
    {"URG", SIGURG},     {"XCPU", SIGXCPU}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF},
    {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR},
};

int port_signal_of(const char *name)
{
    const char *bare = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strcmp(bare, signals[i].name) == 0) {
            return signals[i].number;
        }
    }
    char *end;
    long n = strtol(name, &end, 10);
    bool valid = end != name && *end == '\0' && n > 0 && n < _NSIG;
    return valid && n != SIGKILL && n != SIGSTOP && n != 32 && n != 33 ? (int)n : -1;
}

static void on_dump(int signal)
{
    int saved = errno;
    (void)signal;
    port_disturbed |= port_cpu_self() == NULL;
    rt_dump_asked();
    errno = saved;
}

int port_dump_start(int signal)
{
    struct sigaction act = {.sa_handler = on_dump, .sa_flags = SA_RESTART | SA_ONSTACK};
    RT_ASSERT(signal >= 1 && signal < _NSIG && signal != SIGKILL && signal != SIGSTOP);
    own_signal_alone(&act); /* none that would switch threads on that stack */
    report_own_handler((const void *)(uintptr_t)on_dump);
    return __sigaction(signal, &act, NULL) == 0 ? 0 : -errno;
}

/* Debuggers do. */
void port_say_calls(const struct thread *t)
{
    (void)t;
}

#ifdef PORT_ARCH_CALL_UNDER

void port_call_under(const struct port_arch_frame *frame, void (*fn)(void *), void *arg);
PORT_ARCH_CALL_UNDER(port_call_under);

struct walk {
    const void *own; /* this library begins here */
    uintptr_t pc;
};

/* The first frame outside of this library; and of the C library, if there is one. */
static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    uintptr_t pc = _Unwind_GetIP(context);
    Dl_info info;
    if (pc == 0 || dladdr((void *)(pc - 1), &info) == 0) {
        return _URC_END_OF_STACK;
    }
    if (info.dli_fbase == walk->own) {
        return _URC_NO_REASON;
    }
    walk->pc = pc - 1;
    return _URC_END_OF_STACK;
}

static void walk_from_here(void *arg)
{
    _Unwind_Backtrace(walk_frame, arg);
}

/* A place in a file: `address` as the file itself has it. */
struct place {
    char path[RT_PATH_MAX];
    uintptr_t address;
};

/* Those that have been said, for port_say_places. */
static struct {
    struct place of[PLACES_MAX];
    unsigned n;
} said;

static void place_note(const struct place *place)
{
    for (unsigned i = 0; i < said.n; i++) {
        if (said.of[i].address == place->address && strcmp(said.of[i].path, place->path) == 0) {
            return;
        }
    }
    if (said.n < PLACES_MAX) {
        said.of[said.n++] = *place;
    }
}

/* The dynamic linker knows the program by what it was called, from wherever that was. */
static void path_of(const struct link_map *map, char *path, size_t size)
{
    if (map->l_name[0] != '\0') {
        snprintf(path, size, "%s", map->l_name);
        return;
    }
    long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = '\0';
}

bool port_where(const struct thread *t, char *text, size_t size)
{
    Dl_info info;
    struct link_map *map;
    struct place place;
    struct walk walk = {NULL, 0};
    char name[128];
    if (!rt_thread_waits(t) || dladdr((void *)(uintptr_t)port_where, &info) == 0) {
        return false;
    }
    walk.own = info.dli_fbase;
    struct port_arch_frame frame = port_arch_frame_of(rt_thread_ctx(t));
    port_call_under(&frame, walk_from_here, &walk);
    if (walk.pc == 0 || dladdr1((void *)walk.pc, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) {
        return false;
    }
    path_of(map, place.path, sizeof(place.path));
    place.address = walk.pc - map->l_addr;
    place_note(&place);
    const char *slash = strrchr(place.path, '/'), *file = slash != NULL ? slash + 1 : place.path;
    uintptr_t from = (uintptr_t)info.dli_saddr - map->l_addr;
    const char *known =
        symbol_find(place.path, place.address, name, sizeof(name), &from) ? name : info.dli_sname;
    int n = known != NULL ? snprintf(text, size, "%s+%#lx (%s+%#lx)", known,
                                     (unsigned long)(place.address - from), file,
                                     (unsigned long)place.address)
                          : snprintf(text, size, "%s+%#lx", file, (unsigned long)place.address);
    return n > 0;
}

/* Copy the path as a word of a shell's command. False: it has control characters, or a quote, and
 * is not shown. */
static bool path_quote(const char *path, char *text, size_t size)
{
    bool plain = true;
    for (const char *c = path; *c != '\0'; c++) {
        bool safe = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || strchr("/._+-,:@", *c) != NULL;
        if ((unsigned char)*c < ' ' || *c == '\'' || *c == '\x7f') {
            return false;
        }
        plain &= safe;
    }
    snprintf(text, size, plain ? "%s" : "'%s'", path);
    return true;
}

/* A command for each file. */
void port_say_places(void)
{
    for (unsigned first = 0; first < said.n; first++) {
        const char *path = said.of[first].path;
        bool seen = false;
        for (unsigned i = 0; i < first; i++) {
            seen |= strcmp(said.of[i].path, path) == 0;
        }
        char text[2 * RT_PATH_MAX], quoted[RT_PATH_MAX + 2];
        if (seen || !path_quote(path, quoted, sizeof(quoted))) {
            continue;
        }
        int n = snprintf(text, sizeof(text), "pirn: lines: addr2line -Cfpie %s", quoted);
        for (unsigned i = first; i < said.n && n > 0 && (size_t)n < sizeof(text) - 24; i++) {
            if (strcmp(said.of[i].path, path) == 0) {
                n += snprintf(text + n, sizeof(text) - (size_t)n, " %#lx",
                              (unsigned long)said.of[i].address);
            }
        }
        text[n++] = '\n';
        port_write(text, (size_t)n);
    }
}

#else

bool port_where(const struct thread *t, char *text, size_t size)
{
    (void)t;
    (void)text;
    (void)size;
    return false;
}

void port_say_places(void) {}

#endif
