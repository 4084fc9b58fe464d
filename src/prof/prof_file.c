/* SPDX-License-Identifier: MIT */
/*
 * prof_file.c - begins, ends and writes a profile: docs/internals/profile-format.md. Functions may
 * be active, and samples may come, while the file is written. The file then contains the counts at
 * the time they were read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "options.h"
#include "port_files.h"
#include "port_options.h"
#include "port_prof.h"
#include "runtime.h"
#include "sample.h"
#include "text.h"
#include "tree.h"
#include "waits.h"

bool prof_on;

struct prof_options prof_options;

static struct {
    bool open, ended, child;
    uint64_t pid, start_ns, start_unix_ns;
} prof;

/* ---- the text ---- */

static const char *const roots[] = {
    [PROF_MAIN] = "main",       [PROF_USER] = "user",     [PROF_IDLE] = "idle",
    [PROF_FOREIGN] = "foreign", [PROF_OTHERS] = "others", [PROF_REST] = "rest"};
static const char *const kinds[] = {
    [PROF_ROOT] = "root", [PROF_CALL] = "call", [PROF_FRAME] = "frame"};

static void say_meta(struct text *out)
{
    struct port_program_facts facts;
    const char *sched = port_option("sched");
    port_program_facts(&facts);
    text_add(out, "meta\tversion\t%s\n", RT_VERSION);
    text_add(out, "meta\tprogram\t");
    text_add_name(out, facts.program);
    text_add(out, "\n");
    text_add(out, "meta\tpid\t%llu\n", (unsigned long long)facts.pid);
    text_add(out, "meta\tmachine\t%s\n", facts.machine);
    text_add(out, "meta\tsched\t%s\n",
             sched != NULL              ? sched
             : rt_policy_name() != NULL ? rt_policy_name()
                                        : "");
    text_add(out, "meta\tcpus\t%u\n", rt.ncpu != 0 ? rt.ncpu : 1);
    text_add(out, "meta\trate\t%" PRIu32 "\n", prof_options.rate);
    text_add(out, "meta\tclock\t%s\n", prof_options.wall ? "wall" : "cpu");
    text_add(out, "meta\tframes\t%d\n", prof_options.frames);
    text_add(out, "meta\twaits\t%" PRIu32 "\n", prof_options.waits ? prof_options.wait_ns : 0);
    text_add(out, "meta\tstart_unix_ns\t%llu\n", (unsigned long long)prof.start_unix_ns);
    text_add(out, "meta\telapsed_ns\t%llu\n", (unsigned long long)(port_now() - prof.start_ns));
    text_add(out, "meta\tnodes\t%" PRIu32 "\n", tree.limit);
    text_add(out, "meta\tplaces\t%" PRIu32 "\n", sample.mask + 1);
}

static void say_counts(struct text *out)
{
    text_add(out, "count\tlost_calls\t%llu\n", (unsigned long long)at_load_rlx(&tree.lost));
    text_add(out, "count\tlost_samples\t%llu\n", (unsigned long long)at_load_rlx(&sample.lost));
    text_add(out, "count\tlost_waits\t%llu\n", (unsigned long long)at_load_rlx(&waits.lost));
    text_add(out, "count\tunmatched\t%llu\n", (unsigned long long)at_load_rlx(&tree.unmatched));
    text_add(out, "count\tskipped\t%llu\n", (unsigned long long)at_load_rlx(&tree.left));
}

static void say_map(void *arg, const struct port_code *code)
{
    struct text *out = arg;
    text_add(out, "map\t0x%llx\t0x%llx\t0x%llx\t%s\n", (unsigned long long)code->start,
             (unsigned long long)code->end, (unsigned long long)code->offset, code->path);
}

static void say_thread(struct text *out, const struct prof_node *root, uint32_t at)
{
    uint32_t index, generation;
    enum prof_root kind = tree_root(root, &index, &generation);
    unsigned long long threads = kind == PROF_OTHERS ? at_load_rlx(&root->calls) : 1;
    text_add(out, "thread\t%" PRIu32 "\t%s\t%" PRIu32 "\t%" PRIu32 "\t%llu\t", at, roots[kind],
             index, generation, threads);
    text_add_name(out, root->entry != PROF_NO_ENTRY ? tree.entries[root->entry].name : "");
    text_add(out, "\n");
}

/* all: the number of look-ups. Those that found their node at once have no count of their own. */
static void say_distances(struct text *out, uint64_t all)
{
    uint64_t later = 0;
    for (unsigned d = 1; d < TREE_DISTANCES; d++) {
        later += at_load_rlx(&tree.distance[d]);
    }
    text_add(out, "distance\t0\t%llu\n", (unsigned long long)(all > later ? all - later : 0));
    for (unsigned d = 1; d < TREE_DISTANCES; d++) {
        text_add(out, "distance\t%u\t%llu\n", d,
                 (unsigned long long)at_load_rlx(&tree.distance[d]));
    }
}

/* The state gives the order in which nodes were made. No child is older than its parent. */
static void say_nodes(struct text *out)
{
    uint64_t calls_made = 0;
    for (uint32_t i = 1; i <= tree.mask; i++) {
        const struct prof_node *n = &tree.nodes[i];
        uint32_t state = at_load_acq(&n->state); /* ORDER(prof-node) */
        if (state < NODE_MADE) {
            continue;
        }
        unsigned id = state - NODE_MADE + 1;
        unsigned parent =
            n->parent != 0 ? at_load_rlx(&tree.nodes[n->parent].state) - NODE_MADE + 1 : 0;
        uintptr_t calls = n->kind == PROF_FRAME ? 0 : at_load_rlx(&n->calls);
        text_add(out, "node\t%u\t%u\t%s\t0x%llx\t0x%llx\t%llu\n", id, parent, kinds[n->kind],
                 (unsigned long long)n->fn,
                 (unsigned long long)(n->kind == PROF_ROOT ? 0 : n->site),
                 (unsigned long long)calls);
        calls_made += n->kind == PROF_CALL ? calls : 0;
        if (n->kind == PROF_ROOT) {
            say_thread(out, n, id);
        }
    }
    say_distances(out, calls_made);
}

static void say_samples(struct text *out)
{
    for (uint32_t i = 0; i <= sample.mask; i++) {
        const struct prof_place *p = &sample.places[i];
        if (at_load_acq(&p->state) < NODE_MADE) { /* ORDER(prof-node) */
            continue;
        }
        unsigned node = at_load_rlx(&tree.nodes[p->node].state) - NODE_MADE + 1;
        text_add(out, "sample\t%d\t%u\t0x%llx\t%llu\n", p->cpu == RT_NO_CPU ? -1 : (int)p->cpu,
                 node, (unsigned long long)p->pc, (unsigned long long)at_load_rlx(&p->count));
    }
}

static void say_wait(struct text *out, const struct prof_wait *w)
{
    static const char *const wait_kinds[] = {
        [PROF_WAITED] = "waited", [PROF_RELEASED] = "released"};
    const struct prof_wait_key *key = &w->key;
    unsigned node = at_load_rlx(&tree.nodes[key->node].state) - NODE_MADE + 1;
    text_add(out, "wait\t%s\t%s\t0x%llx\t%u\t0x%llx\t%llu\t%llu\t%llu\t%llu\n",
             wait_kinds[key->kind], waits_reason_name(key->reason), (unsigned long long)key->object,
             node, (unsigned long long)key->pc, (unsigned long long)at_load_rlx(&w->count),
             (unsigned long long)at_load_rlx(&w->waited),
             (unsigned long long)at_load_rlx(&w->ready),
             (unsigned long long)at_load_rlx(&w->longest));
}

static void say_waits(struct text *out)
{
    for (uint32_t i = 0; waits.places != NULL && i <= waits.mask; i++) {
        if (at_load_acq(&waits.places[i].state) >= NODE_MADE) { /* ORDER(prof-node) */
            say_wait(out, &waits.places[i]);
        }
    }
}

/* In the last line, how many there are before it; 0 while `out` only counts. */
static void say_end(struct text *out)
{
    unsigned long lines = 0;
    size_t used = out->used < out->size ? out->used : 0;
    for (size_t i = 0; i < used; i++) {
        lines += out->buffer[i] == '\n';
    }
    text_add(out, "end\t%lu\n", lines);
}

static void say_all(struct text *out)
{
    text_add(out, "pirn-profile\t1\n");
    say_meta(out);
    say_counts(out);
    port_code_each(say_map, out);
    say_nodes(out);
    say_samples(out);
    say_waits(out);
    say_end(out);
}

/* Room for nodes and samples that come between counting the bytes and writing them. */
#define SLACK (64u << 10)

static int write_to(const char *path)
{
    struct text text = {NULL, 0, 0};
    say_all(&text);
    size_t room = text.used + text.used / 4 + SLACK;
    text = (struct text){port_table_alloc(room), room, 0};
    if (text.buffer == NULL) {
        return -ENOMEM;
    }
    say_all(&text);
    int error = text.used < room ? port_file_write(path, text.buffer, text.used) : -EAGAIN;
    port_table_free(text.buffer, room);
    return error;
}

int prof_write(const char *path)
{
    return prof.open ? write_to(path) : -ENOENT;
}

static void file_error(const char *doing, int error)
{
    char text[RT_PATH_MAX + 256];
    int n = snprintf(text, sizeof(text), "pirn: option prof=\"%s\": cannot %s the file: %s\n",
                     prof_options.path, doing, text_file_error(error));
    port_write(text, (size_t)n);
}

/* ---- beginning and end ---- */

/* Opens the file at the beginning, so that a file that cannot be written is reported now, and a
 * program that crashes leaves no older profile behind. false: another process writes the file. */
static bool file_begin(void)
{
    static const char text[] = "pirn-profile\t1\nnote\tthe program runs, or ended in a way that "
                               "writes no profile\n";
    char name[2 * RT_PATH_MAX];
    int error = port_name_expand(prof_options.path, name, sizeof(name));
    if (error == 0) {
        error = port_file_claim(name);
    }
    if (error >= 0) {
        error = port_file_write(name, text, sizeof(text) - 1);
    }
    if (error == -EBUSY) {
        static const char busy[] = "pirn: option prof: another process writes its profile there: "
                                   "this one writes none (%p in the name stands for the process "
                                   "id)\n";
        port_write(busy, sizeof(busy) - 1);
        return false;
    }
    if (error != 0) {
        file_error("make", error);
        port_exit_now(2);
    }
    return true;
}

static void samples_begin(void)
{
    const char *why = "";
#ifdef PORT_ARCH_FRAME_NONE
    if (prof_options.frames) {
        static const char none[] =
            "pirn: option profframes=\"1\": functions' frames are no chain on "
            "this architecture; valid here: 0\n";
        port_write(none, sizeof(none) - 1);
        port_exit_now(2);
    }
#endif
    if (prof_options.rate == 0 ||
        port_prof_start(prof_options.rate, prof_options.wall, &why) == 0) {
        return;
    }
    char text[256];
    int n =
        snprintf(text, sizeof(text), "pirn: option profrate=\"%" PRIu32 "\": %s; valid here: 0\n",
                 prof_options.rate, why);
    port_write(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    port_exit_now(2);
}

void prof_start(void)
{
    struct port_program_facts facts;
    if (prof_options.path[0] == '\0' || prof.open ||
        (prof.child && strstr(prof_options.path, "%p") == NULL)) {
        return;
    }
    if (!file_begin()) {
        prof_options.path[0] = '\0';
        return;
    }
    uint32_t places = 1024;
    while (places < prof_options.nodes) {
        places *= 2;
    }
    if (tree_make(prof_options.nodes, prof_options.threads) != 0 ||
        sample_make(places, prof_options.frames) != 0 ||
        (prof_options.waits && waits_make(places / 4, prof_options.wait_ns) != 0)) {
        file_error("have memory for", -ENOMEM);
        port_exit_now(1);
    }
    port_program_facts(&facts);
    prof.start_ns = port_now();
    prof.start_unix_ns = facts.unix_ns;
    prof.pid = facts.pid;
    prof.open = true;
    __atomic_store_n(&prof_on, true, __ATOMIC_RELAXED);
    waits_set_on(true);
    samples_begin();
}

int prof_set_on(bool on)
{
    if (!prof.open) {
        return -ENOENT;
    }
    if (on && !prof_is_on()) {
        tree_restart();
    }
    __atomic_store_n(&prof_on, on, __ATOMIC_RELAXED);
    waits_set_on(on);
    return 0;
}

void prof_end(void)
{
    char name[2 * RT_PATH_MAX];
    struct port_program_facts facts;
    if (!prof.open || prof.ended) {
        return;
    }
    port_program_facts(&facts);
    if (facts.pid != prof.pid) {
        return; /* a child of vfork */
    }
    prof.ended = true;
    waits_set_on(false);
    __atomic_store_n(&prof_on, false, __ATOMIC_RELAXED);
    int error = port_name_expand(prof_options.path, name, sizeof(name));
    if (error == 0) {
        error = write_to(name);
    }
    if (error != 0) {
        file_error("write", error);
    }
}

void prof_forget(void)
{
    if (prof.open) {
        prof_on = false;
        prof.open = prof.ended = false;
        waits_drop();
        tree_drop();
        sample_drop();
    }
}

void prof_forked(void)
{
    prof_forget();
    prof.child = true;
    prof_start();
}

void prof_program_begins(void)
{
    options_load_of("prof");
    prof_start();
}

void prof_adopt(struct thread *t)
{
    if (prof_is_on()) {
        tree_adopt(t);
    }
}

void prof_rename(const struct thread *t)
{
    if (prof_is_on()) {
        tree_rename(t);
    }
}
