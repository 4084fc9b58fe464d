/* SPDX-License-Identifier: MIT
 *
 * The output file (see output.h). One thread writes.
 */
#include "output.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *unfinished; /* its name */
static FILE *file;

static void remove_unfinished(void)
{
    if (unfinished)
        unlink(unfinished);
}

FILE *input_open(const char *path)
{
    FILE *input = fopen(path, "rb");

    if (input == NULL)
        app_die("cannot open '%.96s': %s", path, strerror(errno));
    return input;
}

void output_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);

    if (fd < 0 && errno == EEXIST)
        app_die("'%.96s' is there already, and is not overwritten; give another OUTPUT", path);
    if (fd < 0)
        app_die("cannot make '%.96s': %s", path, strerror(errno));
    unfinished = path;
    if (atexit(remove_unfinished) != 0)
        app_die("atexit: no room");
    file = fdopen(fd, "wb");
    if (file == NULL)
        app_die("fdopen: %s", strerror(errno));
}

void output_write(const void *data, size_t size)
{
    if (fwrite(data, 1, size, file) != size)
        app_die("cannot write '%.96s': %s", unfinished, strerror(errno));
}

void output_close(void)
{
    if (fclose(file) != 0)
        app_die("cannot write '%.96s': %s", unfinished, strerror(errno));
    unfinished = NULL;
}
