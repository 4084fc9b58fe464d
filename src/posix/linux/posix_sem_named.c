/* SPDX-License-Identifier: MIT */
/*
 * posix_sem_named.c - named semaphores: files in /dev/shm with the C library's names and layout, so
 * that programs with either library share them.
 *
 * A new semaphore is made in a file with another name and linked to its own name when it is
 * complete, so no program finds half of one. The process maps each semaphore once: opening it again
 * returns the same address, and the last close unmaps it. Device and inode identify a file, because
 * the name may meanwhile belong to another semaphore.
 *
 * Lock: `lock`, a runtime mutex: a thread that waits for it lets others run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../posix_sem.h"

#define FOLDER "/dev/shm/"
#define PREFIX "sem."
#define NAME_LONGEST (NAME_MAX - (sizeof(PREFIX) - 1))

struct path {
    char text[sizeof(FOLDER PREFIX) + NAME_MAX];
};

struct mapping {
    struct mapping *next;
    sem_t *sem;
    dev_t device;
    ino_t inode;
    unsigned opens;
};

static struct rt_mutex lock;
static struct mapping *mappings; /* (lock) */

/* 0, EINVAL (empty, or contains a slash), ENAMETOOLONG. */
static int path_of(struct path *path, const char *name)
{
    while (*name == '/') {
        name++;
    }
    if (*name == '\0' || strchr(name, '/') != NULL) {
        return EINVAL;
    }
    if (strlen(name) > NAME_LONGEST) {
        return ENAMETOOLONG;
    }
    snprintf(path->text, sizeof(path->text), "%s%s%s", FOLDER, PREFIX, name);
    return 0;
}

static struct mapping *mapping_find_locked(const struct stat *file)
{
    struct mapping *m = mappings;
    while (m != NULL && (m->device != file->st_dev || m->inode != file->st_ino)) {
        m = m->next;
    }
    return m;
}

/* Maps the semaphore in the open file. 0 or errno. */
static int map_locked(int fd, sem_t **out)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    if (file.st_size < (off_t)sizeof(sem_t)) {
        return EINVAL;
    }
    struct mapping *m = mapping_find_locked(&file);
    if (m == NULL) {
        m = malloc(sizeof(*m));
        if (m == NULL) {
            return ENOMEM;
        }
        void *at = mmap(NULL, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
            int error = errno;
            free(m);
            return error;
        }
        *m = (struct mapping){mappings, at, file.st_dev, file.st_ino, 0};
        mappings = m;
    }
    m->opens++;
    *out = m->sem;
    return 0;
}

static int map(int fd, sem_t **out)
{
    rt_mutex_lock_until(&lock, UINT64_MAX);
    int error = map_locked(fd, out);
    rt_mutex_unlock(&lock);
    return error;
}

/* System calls, because the names open and close may be ours, and are cancellation points. */
static int file_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void file_close(int fd)
{
    syscall(SYS_close, fd);
}

static int open_existing(const struct path *path, sem_t **out)
{
    int fd = file_open(path->text, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) {
        return errno == ELOOP ? EINVAL : errno;
    }
    int error = map(fd, out);
    file_close(fd);
    return error;
}

static int write_new(int fd, unsigned value)
{
    sem_t sem;
    memset(&sem, 0, sizeof(sem));
    shsem_init(&sem, value);
    ssize_t n = syscall(SYS_write, fd, &sem, sizeof(sem));
    return n == (ssize_t)sizeof(sem) ? 0 : n < 0 ? errno : ENOSPC;
}

/* Make it under an unused name, then link it. EEXIST: another process was faster. */
static int create(const struct path *path, mode_t mode, unsigned value, sem_t **out)
{
    static _Atomic(uint32_t) count;
    char other[64];
    snprintf(other, sizeof(other), FOLDER ".pirn-%u-%u", posix_process(), at_add_rlx(&count, 1u));
    int fd = file_open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return errno == EEXIST ? EAGAIN : errno;
    }
    int error = write_new(fd, value);
    if (error == 0 && link(other, path->text) != 0) {
        error = errno;
    }
    if (error == 0) {
        error = map(fd, out);
    }
    unlink(other);
    file_close(fd);
    return error;
}

static int open_or_create(const struct path *path, int flags, mode_t mode, unsigned value,
                          sem_t **out)
{
    for (;;) {
        if (!(flags & O_CREAT) || !(flags & O_EXCL)) {
            int error = open_existing(path, out);
            if (error != ENOENT || !(flags & O_CREAT)) {
                return error;
            }
        }
        if (value > SEM_VALUE_MAX) {
            return EINVAL;
        }
        int error = create(path, mode, value, out);
        if (error != EAGAIN && (error != EEXIST || (flags & O_EXCL))) {
            return error;
        }
    }
}

sem_t *posix_sem_vopen(const char *name, int flags, va_list args)
{
    struct path path;
    sem_t *sem = SEM_FAILED;
    mode_t mode = 0;
    unsigned value = 0;
    if (flags & O_CREAT) {
        mode = va_arg(args, mode_t);
        value = va_arg(args, unsigned);
    }
    int error = path_of(&path, name);
    if (error == 0) {
        error = open_or_create(&path, flags, mode, value, &sem);
    }
    if (error != 0) {
        errno = error;
        return SEM_FAILED;
    }
    return sem;
}

sem_t *pirn_posix_sem_open(const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    sem_t *sem = posix_sem_vopen(name, flags, args);
    va_end(args);
    return sem;
}

int pirn_posix_sem_close(sem_t *sem)
{
    struct mapping *gone = NULL;
    bool known = false;
    rt_mutex_lock_until(&lock, UINT64_MAX);
    for (struct mapping **at = &mappings; *at != NULL; at = &(*at)->next) {
        if ((*at)->sem == sem) {
            known = true;
            if (--(*at)->opens == 0) {
                gone = *at;
                *at = gone->next;
            }
            break;
        }
    }
    rt_mutex_unlock(&lock);
    if (gone != NULL) {
        munmap(gone->sem, sizeof(sem_t));
        free(gone);
    }
    return known ? 0 : posix_fail(EINVAL);
}

int pirn_posix_sem_unlink(const char *name)
{
    struct path path;
    int error = path_of(&path, name);
    if (error != 0) {
        return posix_fail(error == EINVAL ? ENOENT : error);
    }
    if (unlink(path.text) != 0) {
        return posix_fail(errno == EPERM ? EACCES : errno);
    }
    return 0;
}
