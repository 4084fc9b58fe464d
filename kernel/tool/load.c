/* SPDX-License-Identifier: MIT
 *
 * pirn-kernel load and unload.
 *
 * The scheduler stays loaded after the command: its links and maps are pinned in KERNEL_PINS. The
 * order is maps, tracepoints, scheduler; if a step fails, all that was done before is undone: links
 * are destroyed, pins removed, before the process ends.
 */
#include "tool.h"

#include "../ops.h"
#include "common/name.h"
#include "common/options.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* pirn.bpf.o, by the assembler (object.S). */
extern const char bpf_object_begin[], bpf_object_end[];

enum { LINKS = 3 };
#define PIN_SCHEDULER KERNEL_PINS "/scheduler"

/* Programs and the map that are attached, in this order, and their pins. */
static const struct {
    const char *program;
    const char *pin;
} attached[LINKS] = {
    {"saw_switch", KERNEL_PINS "/switches"},
    {"saw_exit", KERNEL_PINS "/exits"},
    {NULL, PIN_SCHEDULER}, /* the map pirn_ops */
};

static const struct {
    const char *map;
    const char *pin;
} pinned[] = {
    {"dependencies", KERNEL_DEPENDENCIES},
    {"counters", KERNEL_COUNTERS},
    {"events", KERNEL_EVENTS},
    {"control", KERNEL_CONTROL},
    {"end_of_scheduler", KERNEL_END},
};

struct load {
    struct kernel_settings settings;
    bool partial;
    uint32_t timeout_ms;
    bool verbose;
    struct bpf_object *object;
    struct bpf_link *links[LINKS];
    const char *step; /* what is being done, for the message */
};

#ifdef KERNEL_FAULTS
static const bool has_faults = true;
#else
static const bool has_faults = false;
#endif

static bool verbose_messages;

static int print_message(enum libbpf_print_level level, const char *format, va_list args)
{
    if (!verbose_messages || level == LIBBPF_DEBUG)
        return 0;
    return vfprintf(stderr, format, args);
}

/* ---- the command line ---- */

static void parse_load(struct load *load, int argc, char **argv)
{
    static const char *const rules[] = {"none", "old", "new", NULL};
    static const char *const switches[] = {"off", "on", NULL};
    static const char *const who[] = {"all", "asking", NULL};
    static const char *const faults[] = {"no",    "stall", "rename", "tail",
                                         "stale", "stay",  "first",  NULL};
    long rule = RULE_NEW, infer = 0, threads = 0, fault = 0;
    long late = 2000, slice = 20000, timeout = 10000;
    const struct option_spec options[] = {
        option_choice("rule", &rule, rules, "where consumers go: none, old or new"),
        option_choice("infer", &infer, switches, "learn producers that nobody declared"),
        option_choice("threads", &threads, who, "all, or those of policy SCHED_EXT (asking)"),
        option_number("late", &late, 0, 1000000,
                      "microseconds after which an idle CPU may take a placed consumer"),
        option_number("slice", &slice, 100, 1000000, "microseconds of a thread's slice"),
        option_number("timeout", &timeout, 500, 30000,
                      "milliseconds a ready thread may wait before the kernel ends the scheduler"),
        option_flag("verbose", &load->verbose, "print the loader's messages"),
        has_faults ? option_choice("misbehave", &fault, faults, "a fault, for tests")
                   : (struct option_spec){0},
        {0},
    };
    struct option_page page = {.summary = "Loads the scheduler. It stays until pirn-kernel unload.",
                               .options = options};

    options_parse(argc, argv, &page);
    load->settings = (struct kernel_settings){.rule = (uint32_t)rule,
                                              .infer = (uint32_t)infer,
                                              .fault = (uint32_t)fault,
                                              .late_ns = (uint64_t)late * 1000,
                                              .slice_ns = (uint64_t)slice * 1000};
    load->partial = threads == 1;
    load->timeout_ms = (uint32_t)timeout;
}

/* ---- load ---- */

/* Makes the folder of the pins, which is the lock, and removes what an ended scheduler left. */
static void require_nothing_loaded(void)
{
    struct kernel_end end;
    char name[64];

    loaded_scheduler(name, sizeof name);
    if (name[0] != '\0' && is_ours(name))
        app_die("the scheduler is loaded already; run first: pirn-kernel unload");
    if (name[0] != '\0')
        app_die("another sched_ext scheduler is loaded: %s; end that first", name);
    if (scheduler_ended(&end))
        print_end(stderr, &end);
    remove_pins();
    if (mkdir(KERNEL_PINS, 0700) != 0)
        app_die("%s: %s", KERNEL_PINS,
                errno == EEXIST ? "another process is loading the scheduler" : strerror(errno));
}

static void set_cpus(struct load *load)
{
    int cpus = libbpf_num_possible_cpus();

    if (cpus <= 0 || cpus > KERNEL_CPUS)
        app_die("%d CPUs; the scheduler has room for %d", cpus, KERNEL_CPUS);
    load->settings.cpus = cpus;
}

static int open_object(struct load *load)
{
    size_t size = (size_t)(bpf_object_end - bpf_object_begin);
    struct sched_ext_ops *ops;
    struct bpf_map *settings;

    load->step = "the BPF object cannot be read";
    load->object = bpf_object__open_mem(bpf_object_begin, size, NULL);
    if (load->object == NULL)
        return -errno;
    settings = bpf_object__find_map_by_name(load->object, ".rodata.settings");
    ops = bpf_map__initial_value(bpf_object__find_map_by_name(load->object, "pirn_ops"), &size);
    if (settings == NULL || ops == NULL)
        return -ENOENT;
    ops->timeout_ms = load->timeout_ms;
    if (load->settings.fault == FAULT_RENAME)
        snprintf(ops->name, sizeof ops->name, "other");
    if (load->partial)
        ops->flags |= OPS_SWITCH_PARTIAL;
    return bpf_map__set_initial_value(settings, &load->settings, sizeof load->settings);
}

static int load_object(struct load *load)
{
    load->step = "the kernel does not take the BPF programs (--verbose says why)";
    return bpf_object__load(load->object);
}

static int pin_maps(struct load *load)
{
    load->step = "the maps cannot be pinned";
    for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(load->object, pinned[i].map);
        int error = map == NULL ? -ENOENT : bpf_map__pin(map, pinned[i].pin);

        if (error != 0)
            return error;
    }
    return 0;
}

static struct bpf_link *attach(struct load *load, const char *program)
{
    if (program != NULL) {
        load->step = "the tracepoints cannot be attached";
        return bpf_program__attach(bpf_object__find_program_by_name(load->object, program));
    }
    load->step = "the kernel does not take the scheduler";
    return bpf_map__attach_struct_ops(bpf_object__find_map_by_name(load->object, "pirn_ops"));
}

static int attach_all(struct load *load)
{
    for (int i = 0; i < LINKS; i++) {
        int error;

        load->links[i] = attach(load, attached[i].program);
        if (load->links[i] == NULL)
            return -errno;
        error = bpf_link__pin(load->links[i], attached[i].pin);
        if (error != 0)
            return error;
    }
    return 0;
}

/* Pinned links and maps stay. */
static void close_all(struct load *load)
{
    for (int i = LINKS - 1; i >= 0; i--) {
        if (load->links[i] != NULL)
            bpf_link__destroy(load->links[i]);
    }
    bpf_object__close(load->object);
}

static void __attribute__((noreturn)) undo(struct load *load, int error)
{
    for (int i = LINKS - 1; i >= 0; i--) {
        if (load->links[i] != NULL)
            (void)bpf_link__unpin(load->links[i]);
    }
    close_all(load);
    remove_pins();
    if (error == -EBUSY)
        app_die("another sched_ext scheduler has been loaded meanwhile; end that first");
    app_die("%s: %s", load->step,
            error == -EPERM ? "no privileges (root, CAP_BPF, CAP_PERFMON)" : strerror(-error));
    abort();
}

/* Only one process loads or unloads at a time. The lock ends with the process. */
static void lock_loading(void)
{
    int folder = open(KERNEL_BPFFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0 || flock(folder, LOCK_EX) != 0)
        app_die("%s: %s", KERNEL_BPFFS, strerror(errno));
}

int command_load(int argc, char **argv)
{
    int (*const steps[])(struct load *) = {open_object, load_object, pin_maps, attach_all};
    struct load load = {.step = ""};

    parse_load(&load, argc, argv);
    require_sched_ext();
    require_privileges();
    require_bpffs();
    verbose_messages = load.verbose;
    libbpf_set_print(print_message);
    set_cpus(&load);
    lock_loading();
    require_nothing_loaded();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int error = steps[i](&load);

        if (error != 0)
            undo(&load, error);
    }
    close_all(&load);
    return EXIT_SUCCESS;
}

/* ---- unload ---- */

int command_unload(int argc, char **argv)
{
    struct option_page page = {.summary = "Unloads the scheduler, if it is loaded."};
    struct kernel_end end;
    struct bpf_link *link;
    int error;

    options_parse(argc, argv, &page);
    require_sched_ext();
    require_privileges();
    require_bpffs();
    libbpf_set_print(print_message);
    lock_loading();
    link = bpf_link__open(PIN_SCHEDULER);
    if (link == NULL && errno == ENOENT) {
        remove_pins();
        app_die("the scheduler is not loaded");
    }
    if (link == NULL)
        app_die("%s: %s", PIN_SCHEDULER, strerror(errno));
    if (scheduler_ended(&end))
        print_end(stdout, &end);
    error = bpf_link__detach(link); /* returns when all threads have left */
    if (error != 0 && error != -ENOLINK && error != -EINVAL)
        fprintf(stderr, "%s: %s\n", app_name(), strerror(-error));
    remove_pins();
    bpf_link__destroy(link);
    return EXIT_SUCCESS;
}
