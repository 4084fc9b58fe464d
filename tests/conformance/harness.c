/* SPDX-License-Identifier: MIT */
/* harness.c - see harness.h. */
#include "harness.h"
#include "common/options.h"

#include <sys/mman.h>
#include <sys/wait.h>

#ifdef ON_PIRN
#include <pirn/pthread_np.h>
#endif

enum { PASSED = 0, FAILED = 1, UNSUPPORTED = 77 };

static struct conformance_case *first, **last = &first;
static const struct conformance_case *current;

void case_add(struct conformance_case *c)
{
    *last = c;
    last = &c->next;
}

/* Bypasses stdio's buffers: the case may have left them in any state. */
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

/* Each case has a process. */
void flag_changes(flag_t *f)
{
    (void)f;
}

void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

static void run(void)
{
    if (current->run != NULL) {
        current->run();
    } else {
        current->run_with(current->row);
    }
    say_passed();
}

enum { CASES_MAX = 2000 };

/* The names, and how many there are. */
static size_t case_names(const char **names)
{
    size_t n = 0;
    for (const struct conformance_case *c = first; c != NULL && n < CASES_MAX; c = c->next) {
        names[n++] = c->name;
    }
    return n;
}

int main(int argc, char **argv)
{
    static const char *names[CASES_MAX];
    const char *wanted = NULL;
    bool list = false;
    const struct option_spec options[] = {
        option_flag("list", &list, "print the names of the cases"),
        option_text("case", "NAME", &wanted, "run this case"),
        {0}};
    const struct option_page page = {.summary = "Cases of the conformance suite.",
                                     .options = options};
    options_parse(argc, argv, &page);
    size_t n = case_names(names);
    if (list == (wanted != NULL)) {
        options_refuse("give either --list or --case");
    }
    for (size_t i = 0; list && i < n; i++) {
        puts(names[i]);
    }
    if (wanted != NULL) {
        size_t chosen = operand_choice("--case", wanted, names, n, sizeof(names[0]));
        for (current = first; chosen != 0; chosen--) {
            current = current->next;
        }
        run();
    }
    return PASSED;
}
