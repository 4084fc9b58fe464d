/* SPDX-License-Identifier: MIT
 *
 * A plugin of QEMU's (interface version 1) that counts the instructions of each core.
 *
 *   -plugin cores.so,out=FILE      FILE: the numbers, a core a line, when QEMU ends
 *
 * Each core's thread has its own counter. Debian has no package with QEMU's header, so the parts in
 * use are declared here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info;
enum { NO_REGISTERS }; /* QEMU_PLUGIN_CB_NO_REGS */

typedef void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void on_execution(unsigned core, void *data);
typedef void on_end(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, on_translation *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, on_execution *call,
                                          int registers, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, on_end *call, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                               char **argv);

enum { MOST_CORES = 64, CACHE_LINE = 64 };

static struct {
    uint64_t instructions;
} __attribute__((aligned(CACHE_LINE))) cores[MOST_CORES];
static char out[1024];

static void executed(unsigned core, void *instructions)
{
    cores[core % MOST_CORES].instructions += (uintptr_t)instructions;
}

/* Several blocks may be translated at the same time. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, NO_REGISTERS,
                                         (void *)qemu_plugin_tb_n_insns(block));
}

static void ended(qemu_plugin_id_t id, void *data)
{
    FILE *file = fopen(out, "w");

    (void)id;
    (void)data;
    if (file == NULL) {
        perror(out);
        return;
    }
    for (unsigned i = 0; i < MOST_CORES && cores[i].instructions; i++)
        fprintf(file, "%" PRIu64 "\n", cores[i].instructions);
    fclose(file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
        fprintf(stderr, "cores: out=FILE is wanted\n");
        return 1;
    }
    snprintf(out, sizeof out, "%s", argv[0] + 4);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
