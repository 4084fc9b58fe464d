/* SPDX-License-Identifier: MIT */
/*
 * port_files.h - files that the runtime writes and reads.
 *
 * PORT_FILES (port_env.h): true where there are files.
 */
#ifndef PIRN_PORT_FILES_H
#define PIRN_PORT_FILES_H

#include "port.h"

#include <errno.h>

/* The program's data in traces and profiles. */
struct port_program_facts {
    const char *program; /* its name */
    const char *machine; /* the instruction set, as tools call it */
    uint64_t pid;
    uint64_t unix_ns; /* the calendar now */
};

#if PORT_FILES
void port_program_facts(struct port_program_facts *facts);

/* Write a whole file, or nothing of it. Only its owner may access a new file. 0 or -errno. If the
 * name exists, -ELOOP: it is a symbolic link; -ENODEV: it is neither an ordinary file nor a folder.
 */
int port_file_write(const char *path, const char *text, size_t length);

/* Open the file; create it if it does not exist. No other process can claim it until this process
 * ends or executes another program. A descriptor, or -errno as port_file_write; -EBUSY: another
 * process has claimed it. */
int port_file_claim(const char *path);

/* The name of a file with %p replaced by the process id, %% by %. 0, -ENAMETOOLONG, -EINVAL:
 * another %. */
int port_name_expand(const char *from, char *to, size_t size);

/* A whole file of at most `max` bytes, with a final NUL, in a table of *size bytes, which the
 * caller gives back. NULL if it cannot be read. */
char *port_file_read(const char *path, size_t max, size_t *size);
#else
ALWAYS_INLINE void port_program_facts(struct port_program_facts *facts)
{
    *facts = (struct port_program_facts){.program = "", .machine = PORT_ARCH_NAME, .pid = 1};
}

ALWAYS_INLINE int port_file_write(const char *path, const char *text, size_t length)
{
    (void)path;
    (void)text;
    (void)length;
    return -ENOSYS;
}

ALWAYS_INLINE int port_file_claim(const char *path)
{
    (void)path;
    return -ENOSYS;
}

ALWAYS_INLINE int port_name_expand(const char *from, char *to, size_t size)
{
    (void)from;
    (void)to;
    (void)size;
    return -ENOSYS;
}

ALWAYS_INLINE char *port_file_read(const char *path, size_t max, size_t *size)
{
    (void)path;
    (void)max;
    (void)size;
    return NULL;
}
#endif

#endif
