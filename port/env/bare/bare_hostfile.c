/* SPDX-License-Identifier: MIT */
/*
 * bare_hostfile.c (bare) - whole files of the machine that runs the program, for the runtime
 * itself.
 */
#include "bare.h"
#include "port_files.h"
#include "semihost.h"

#include <errno.h>
#include <string.h>

static int host_open(const char *path, enum semihost_mode mode)
{
    struct semihost_open open = {path, mode, strlen(path)};
    return (int)arch_semihost(SEMIHOST_OPEN, &open);
}

static bool host_write(int file, const void *at, size_t size)
{
    struct semihost_transfer write = {(unsigned long)file, (void *)(uintptr_t)at, size};
    return arch_semihost(SEMIHOST_WRITE, &write) == 0;
}

/* 0, or -EIO if the file is not `whole` or cannot be closed. */
static int host_close(int file, bool whole)
{
    unsigned long close = (unsigned long)file;
    whole = arch_semihost(SEMIHOST_CLOSE, &close) == 0 && whole;
    return whole ? 0 : -EIO;
}

int bare_file_write(const char *path, const void *(*part)(unsigned i, size_t *size))
{
    int file = host_open(path, SEMIHOST_WRITE_NEW);
    if (file < 0) {
        return -EACCES;
    }
    bool whole = true;
    const void *at;
    size_t size;
    for (unsigned i = 0; whole && (at = part(i, &size)) != NULL; i++) {
        whole = host_write(file, at, size);
    }
    return host_close(file, whole);
}

int port_file_write(const char *path, const char *text, size_t length)
{
    int file = host_open(path, SEMIHOST_WRITE_NEW);
    if (file < 0) {
        return -EACCES;
    }
    return host_close(file, host_write(file, text, length));
}

/* From an open file; NULL: it is too large, there is no room, or it cannot be read. */
static char *host_read(unsigned long file, size_t max, size_t *size)
{
    long length = arch_semihost(SEMIHOST_LENGTH, &file);
    if (length < 0 || (size_t)length > max) {
        return NULL;
    }
    char *text = port_table_alloc(*size = (size_t)length + 1);
    struct semihost_transfer read = {file, text, (unsigned long)length};
    if (text != NULL && arch_semihost(SEMIHOST_READ, &read) != 0) {
        port_table_free(text, *size);
        return NULL;
    }
    return text;
}

char *port_file_read(const char *path, size_t max, size_t *size)
{
    int file = host_open(path, SEMIHOST_READ_ONLY);
    if (file < 0) {
        return NULL;
    }
    unsigned long handle = (unsigned long)file;
    char *text = host_read(handle, max, size);
    arch_semihost(SEMIHOST_CLOSE, &handle);
    return text;
}

/* There is one process. */
int port_file_claim(const char *path)
{
    (void)path;
    return 0;
}

int port_name_expand(const char *from, char *to, size_t size)
{
    if (strlen(from) >= size) {
        return -ENAMETOOLONG;
    }
    strcpy(to, from);
    return 0;
}
