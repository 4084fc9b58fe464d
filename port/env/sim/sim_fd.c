/* SPDX-License-Identifier: MIT */
/*
 * sim_fd.c (simulator) - descriptors: numbers that mean files, and reports of them as Linux's epoll
 * makes them: a request is for a number and the file that it means then, and goes with the file.
 * Everything here runs without a scheduling point but for those at the beginning of calls.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "io.h"
#include "port_io.h"
#include "sim_internal.h"

#define COPIES_FROM 8

static bool is_open(int fd)
{
    return fd >= 0 && fd < SIM_FDS && sim.fds[fd].file != 0;
}

static struct sim_file *file_of(int fd)
{
    return &sim.files[sim.fds[fd].file];
}

static void release(unsigned file)
{
    if (file == 0 || --sim.files[file].numbers != 0) {
        return;
    }
    sim.files[file].id = 0;
    for (int fd = 0; fd < SIM_FDS; fd++) {
        if (sim.fds[fd].asked_of == file) {
            sim.fds[fd].asked_of = 0;
            sim.fds[fd].armed = 0;
        }
    }
}

static void mean(int fd, unsigned file)
{
    unsigned old = sim.fds[fd].file;
    sim.fds[fd].file = file;
    sim.files[file].numbers += file != 0;
    release(old);
}

static void open_new(int fd)
{
    unsigned file = 1;
    while (sim.files[file].numbers != 0) {
        if (++file == SIM_FILES) {
            sim_fail("too many files in the simulator");
        }
    }
    sim.files[file] = (struct sim_file){.id = ++sim.file_ids};
    mean(fd, file);
}

void sim_fds_reset(void)
{
    memset(sim.files, 0, sizeof(sim.files));
    memset(sim.fds, 0, sizeof(sim.fds));
    sim.file_ids = 0;
    for (int fd = 0; fd < COPIES_FROM; fd++) {
        open_new(fd);
    }
}

int port_io_arm(int fd, uint32_t events)
{
    if (!is_open(fd)) {
        return -EBADF;
    }
    struct sim_fd *f = &sim.fds[fd];
    bool known = f->asked_of == f->file;
    f->asked_of = f->file;
    f->armed = events;
    sim_device_call(100);
    return known ? 0 : 1;
}

int port_io_copy(int fd)
{
    int copy = COPIES_FROM;
    while (copy < SIM_FDS && is_open(copy)) {
        copy++;
    }
    if (!is_open(fd) || copy == SIM_FDS) {
        return -EBADF;
    }
    mean(copy, sim.fds[fd].file);
    sim.fds[fd].asked_of = 0;
    sim.fds[fd].armed = 0;
    return copy;
}

void port_io_drop(int fd)
{
    sim_point(47, (uint32_t)fd);
    sim.fds[fd].asked_of = 0;
    sim.fds[fd].armed = 0;
    mean(fd, 0);
    sim_point(47, (uint32_t)fd); /* its number may be in use again */
}

unsigned port_io_own(unsigned first)
{
    (void)first;
    return UINT_MAX;
}

void sim_fd_set(int fd, uint32_t events)
{
    sim_point(47, (uint32_t)fd);
    if (is_open(fd)) {
        file_of(fd)->state = events;
        sim_device_call(100);
        if (sim_kernel.changed != NULL) {
            sim_kernel.changed();
        }
    }
}

void sim_fd_renew(int fd)
{
    sim_point(49, (uint32_t)fd);
    open_new(fd);
}

void sim_fd_close(int fd)
{
    sim_point(49, (uint32_t)fd);
    mean(fd, 0);
}

void sim_fd_copy(int fd, int to)
{
    sim_point(49, (uint32_t)to);
    mean(to, sim.fds[fd].file);
}

uint32_t sim_fd_peek(int fd)
{
    return is_open(fd) ? file_of(fd)->state : 0;
}

uint32_t sim_fd_get(int fd)
{
    sim_point(48, (uint32_t)fd);
    return sim_fd_peek(fd);
}

int sim_fd_take(int fd)
{
    sim_point(48, (uint32_t)fd);
    if (!is_open(fd)) {
        return -EBADF;
    }
    struct sim_file *f = file_of(fd);
    if (f->state == 0) {
        return -EAGAIN;
    }
    f->state = 0;
    return f->id;
}

int sim_fd_id(int fd)
{
    return is_open(fd) ? file_of(fd)->id : 0;
}

/* Report what is armed and the case; sometimes what is not. */
/* Reports come by themselves. */
void port_io_attend(void) {}

void port_io_poll(void)
{
    for (int fd = 0; fd < SIM_FDS; fd++) {
        struct sim_fd *f = &sim.fds[fd];
        uint32_t events = sim.files[f->asked_of].state & f->armed;
        if (f->armed != 0 && events == 0 && sim_choose(32) == 0) {
            events = f->armed;
        }
        if (events != 0) {
            f->armed = 0;
            rt_io_ready(fd, events);
        }
    }
}

int port_io_block(int fd, uint32_t events, uint64_t deadline)
{
    while ((sim_fd_get(fd) & events) == 0) {
        if (sim.now >= deadline) {
            return -ETIMEDOUT;
        }
        port_relax(0);
    }
    return 0;
}

bool sim_fds_due(void)
{
    for (int fd = 0; fd < SIM_FDS; fd++) {
        if ((sim.files[sim.fds[fd].asked_of].state & sim.fds[fd].armed) != 0) {
            return true;
        }
    }
    return false;
}
