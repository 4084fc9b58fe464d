/* SPDX-License-Identifier: MIT */
/*
 * semihost.h (bare) - calls of the machine that runs the program, as Arm's semihosting
 * specification numbers them and others have taken over: arch_semihost(operation, arguments).
 */
#ifndef PIRN_ENV_BARE_SEMIHOST_H
#define PIRN_ENV_BARE_SEMIHOST_H

#include <stddef.h>

enum semihost_operation {
    SEMIHOST_OPEN = 0x01,   /* struct semihost_open: a handle, or -1 */
    SEMIHOST_CLOSE = 0x02,  /* the handle: 0 or -1 */
    SEMIHOST_WRITE = 0x05,  /* struct semihost_transfer: bytes not written */
    SEMIHOST_READ = 0x06,   /* the same: bytes not read */
    SEMIHOST_SEEK = 0x0a,   /* handle, position from the beginning: 0 or negative */
    SEMIHOST_LENGTH = 0x0c, /* the handle: bytes of the file, or -1 */
    SEMIHOST_REMOVE = 0x0e, /* struct semihost_name: 0 or an error's number */
    SEMIHOST_RENAME = 0x0f, /* two of them */
    SEMIHOST_TIME = 0x11,   /* seconds since 1970 */
    SEMIHOST_ERRNO = 0x13,  /* of the last operation */
    SEMIHOST_LINE = 0x15,   /* struct semihost_line: 0 or -1 */
    SEMIHOST_EXIT = 0x20,   /* struct semihost_exit: ends the machine */
};

enum semihost_mode {
    SEMIHOST_READ_ONLY = 1, /* "rb" */
    SEMIHOST_READ_WRITE = 3,
    SEMIHOST_WRITE_NEW = 5,
    SEMIHOST_READ_WRITE_NEW = 7,
    SEMIHOST_APPEND = 9,
};

struct semihost_open {
    const char *path;
    unsigned long mode;
    unsigned long length;
};

struct semihost_name {
    const char *path;
    unsigned long length;
};

struct semihost_transfer {
    unsigned long handle;
    void *memory;
    unsigned long length;
};

#define SEMIHOST_EXITED 0x20026u /* of the program's own accord */

struct semihost_exit {
    unsigned long reason;
    unsigned long status;
};

struct semihost_line {
    char *text;
    unsigned long size;
};

#endif
