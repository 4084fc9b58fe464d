/* SPDX-License-Identifier: MIT
 *
 * pirn-kernel add, delete, list.
 */
#include "tool.h"

#include "../table/maps.h"
#include "common/name.h"
#include "common/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((noreturn))
refuse_change(int error, const char *consumer, const char *producer)
{
    switch (error) {
    case -EINVAL:
        app_die("'%s' cannot be a producer of itself", consumer);
        break;
    case -ELOOP:
        app_die("a circle: '%s' depends on '%s' already, directly or through others", producer,
                consumer);
        break;
    case -ENOSPC:
        app_die("'%s' has %d producers, or %d threads have some: there is no room for more",
                consumer, KERNEL_PRODUCERS, KERNEL_CONSUMERS);
        break;
    case -ENOENT:
        app_die("'%s' does not depend on '%s'", consumer, producer);
        break;
    case -ENOSYS:
        app_die("the scheduler is not loaded; run: pirn-kernel load");
        break;
    default:
        app_die("'%s', '%s': %s", consumer, producer, strerror(-error));
    }
    abort();
}

static int change(int argc, char **argv, const char *summary, int (*in_table)(uint32_t, uint32_t))
{
    struct option_page page = {.summary = summary, .operand = "CONSUMER PRODUCER"};
    char **operands = options_parse(argc, argv, &page);
    uint32_t consumer, producer;
    int error;

    require_privileges();
    close(require_map(KERNEL_DEPENDENCIES));
    consumer = operand_thread(operands[0]);
    producer = operand_thread(operands[1]);
    error = in_table(consumer, producer);
    if (error != 0)
        refuse_change(error, operands[0], operands[1]);
    return EXIT_SUCCESS;
}

int command_add(int argc, char **argv)
{
    return change(argc, argv, "Declares that a thread waits for what another one makes.",
                  table_add);
}

int command_delete(int argc, char **argv)
{
    return change(argc, argv, "Deletes a declared dependency.", table_delete);
}

static void print_thread(uint32_t tid)
{
    char name[KERNEL_COMM + 2];

    thread_name(tid, name, sizeof name);
    printf(" %u (%s)", tid, name);
}

int command_list(int argc, char **argv)
{
    struct option_page page = {.summary = "Lists the declared dependencies: consumer < producers."};
    uint32_t consumer, *previous = NULL;
    int map;

    options_parse(argc, argv, &page);
    require_privileges();
    map = require_map(KERNEL_DEPENDENCIES);
    while (map_next(map, previous, &consumer) == 0) {
        struct kernel_producers producers;

        previous = &consumer;
        if (map_get(map, &consumer, &producers) != 0 || producers.count > KERNEL_PRODUCERS)
            continue;
        deps_compact(&producers);
        if (producers.count == 0)
            continue;
        print_thread(consumer);
        printf(" <");
        for (uint32_t i = 0; i < producers.count; i++)
            print_thread(producers.tid[i]);
        putchar('\n');
    }
    close(map);
    return EXIT_SUCCESS;
}
