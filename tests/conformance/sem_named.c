/* SPDX-License-Identifier: MIT */
/* sem_named.c - named semaphores: sem_open, sem_close, sem_unlink. */
#include "harness.h"

#include <fcntl.h>
#include <grp.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A name of this process alone. */
static const char *name(void)
{
    static char text[64];
    snprintf(text, sizeof(text), "/pirn-conformance-%d", (int)getpid());
    return text;
}

static sem_t *create(unsigned value)
{
    sem_unlink(name());
    sem_t *s = sem_open(name(), O_CREAT | O_EXCL, 0600, value);
    CHECK(s != SEM_FAILED);
    return s;
}

static int value_of(sem_t *s)
{
    int value = -1;
    OK(sem_getvalue(s, &value));
    return value;
}

#define OPEN_FAILS(expr, error)                                                                    \
    do {                                                                                           \
        set_errno(0);                                                                              \
        CHECK((expr) == SEM_FAILED);                                                               \
        CHECK_EQ(get_errno(), error);                                                              \
    } while (0)

CASE(open_creates_with_the_value)
{
    sem_t *s = create(3);
    CHECK_EQ(value_of(s), 3);
    OK(sem_wait(s));
    OK(sem_trywait(s));
    OK(sem_post(s));
    CHECK_EQ(value_of(s), 2);
    OK(sem_close(s));
    OK(sem_unlink(name()));
}

CASE(open_finds_the_one_that_exists)
{
    sem_t *s = create(1), *t = sem_open(name(), 0);
    CHECK(t != SEM_FAILED);
    OK(sem_post(t));
    CHECK_EQ(value_of(s), 2);
    sem_t *u = sem_open(name(), O_CREAT, 0600, 77); /* the value is not used */
    CHECK(u != SEM_FAILED);
    CHECK_EQ(value_of(u), 2);
    OK(sem_unlink(name()));
}

CASE(open_gives_the_same_address_for_the_same_name)
{
    sem_t *s = create(0);
    CHECK(sem_open(name(), 0) == s);
    OK(sem_close(s));
    OK(sem_post(s)); /* still open once */
    OK(sem_close(s));
    OK(sem_unlink(name()));
}

CASE(open_is_eexist_with_excl)
{
    sem_t *s = create(0);
    OPEN_FAILS(sem_open(name(), O_CREAT | O_EXCL, 0600, 0), EEXIST);
    OK(sem_close(s));
    OK(sem_unlink(name()));
}

CASE(open_is_enoent_when_there_is_none)
{
    sem_unlink(name());
    OPEN_FAILS(sem_open(name(), 0), ENOENT);
}

CASE(open_is_einval_above_the_maximum)
{
    sem_unlink(name());
    OPEN_FAILS(sem_open(name(), O_CREAT, 0600, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    OPEN_FAILS(sem_open(name(), 0), ENOENT); /* and nothing was made */
}

CASE(open_is_einval_for_names_that_are_none)
{
    OPEN_FAILS(sem_open("/", O_CREAT, 0600, 0), EINVAL);
    OPEN_FAILS(sem_open("", O_CREAT, 0600, 0), EINVAL);
}

CASE(open_is_enametoolong)
{
    char text[NAME_MAX + 20];
    memset(text, 'x', sizeof(text));
    text[0] = '/';
    text[sizeof(text) - 1] = '\0';
    set_errno(0);
    CHECK(sem_open(text, O_CREAT, 0600, 0) == SEM_FAILED);
    CHECK(get_errno() == ENAMETOOLONG || get_errno() == EINVAL);
}

/* POSIX allows this error: no such semaphore can exist. */
CASE(unlink_is_enametoolong_or_enoent)
{
    char text[NAME_MAX + 20];
    memset(text, 'x', sizeof(text));
    text[0] = '/';
    text[sizeof(text) - 1] = '\0';
    set_errno(0);
    CHECK_EQ(sem_unlink(text), -1);
    CHECK(get_errno() == ENAMETOOLONG || get_errno() == ENOENT);
}

CASE(open_is_emfile_without_descriptors)
{
    NOT_SANITIZED("the sanitizer opens files at the end");
    struct rlimit limit = {3, 3};
    sem_unlink(name());
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    OPEN_FAILS(sem_open(name(), O_CREAT, 0600, 0), EMFILE);
}

static void drop_privileges(void)
{
    if (geteuid() == 0) {
        OK(setgroups(0, NULL));
        OK(setgid(65534));
        OK(setuid(65534));
    }
}

static char kept[64];

CASE(open_is_eacces_without_permission)
{
    if (geteuid() != 0) {
        case_unsupported("needs two users: run as root");
    }
    sem_t *s = create(0);
    strcpy(kept, name());
    pid_t child = fork();
    if (child == 0) {
        drop_privileges();
        OPEN_FAILS(sem_open(kept, 0), EACCES);
        _exit(0);
    }
    child_ends_well(child);
    OK(sem_close(s));
    OK(sem_unlink(kept));
}

CASE(unlink_is_eacces_without_permission)
{
    if (geteuid() != 0) {
        case_unsupported("needs two users: run as root");
    }
    sem_t *s = create(0);
    strcpy(kept, name());
    pid_t child = fork();
    if (child == 0) {
        drop_privileges();
        set_errno(0);
        CHECK_EQ(sem_unlink(kept), -1);
        CHECK_EQ(get_errno(), EACCES);
        _exit(0);
    }
    child_ends_well(child);
    OK(sem_close(s));
    OK(sem_unlink(kept));
}

CASE(unlink_is_enoent_when_there_is_none)
{
    sem_unlink(name());
    FAILS(sem_unlink(name()), ENOENT);
}

CASE(unlink_leaves_it_to_those_that_have_it_open)
{
    sem_t *s = create(1);
    OK(sem_unlink(name()));
    OPEN_FAILS(sem_open(name(), 0), ENOENT);
    OK(sem_wait(s));
    OK(sem_post(s));
    sem_t *t = sem_open(name(), O_CREAT | O_EXCL, 0600, 5); /* another one */
    CHECK(t != SEM_FAILED);
    CHECK_EQ(value_of(t), 5);
    CHECK_EQ(value_of(s), 1);
    OK(sem_close(s));
    OK(sem_close(t));
    OK(sem_unlink(name()));
}

CASE(value_stays_when_nobody_has_it_open)
{
    sem_t *s = create(1);
    OK(sem_post(s));
    OK(sem_close(s));
    s = sem_open(name(), 0);
    CHECK(s != SEM_FAILED);
    CHECK_EQ(value_of(s), 2);
    OK(sem_unlink(name()));
}

CASE(close_is_einval_for_others)
{
    sem_t own;
    OK(sem_init(&own, 0, 0));
    FAILS(sem_close(&own), EINVAL);
}

static flag_t waiting;

static void *waits(void *s)
{
    flag_add(&waiting, 1);
    OK(sem_wait(s));
    return NULL;
}

CASE(threads_wait_on_it)
{
    sem_t *s = create(0);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = start(waits, s);
    }
    flag_wait(&waiting, 4);
    give_way();
    for (int i = 0; i < 4; i++) {
        OK(sem_post(s));
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    struct timespec at = after_ms(CLOCK_REALTIME, 5);
    FAILS(sem_timedwait(s, &at), ETIMEDOUT);
    OK(sem_unlink(name()));
}

CASE(processes_share_it)
{
    sem_t *s = create(0), *back;
    strcpy(kept, name());
    char other[80];
    snprintf(other, sizeof(other), "%s-back", kept);
    sem_unlink(other);
    pid_t child = fork();
    if (child == 0) {
        sem_t *there = sem_open(kept, 0), *answer = sem_open(other, O_CREAT, 0600, 0);
        CHECK(there != SEM_FAILED && answer != SEM_FAILED);
        OK(sem_wait(there));
        OK(sem_post(answer));
        _exit(0);
    }
    back = sem_open(other, O_CREAT, 0600, 0);
    CHECK(back != SEM_FAILED);
    OK(sem_post(s));
    OK(sem_wait(back));
    child_ends_well(child);
    OK(sem_unlink(kept));
    OK(sem_unlink(other));
}

CASE(open_takes_the_mode_less_the_umask)
{
    char path[96];
    struct stat st;
    umask(022);
    sem_unlink(name());
    CHECK(sem_open(name(), O_CREAT | O_EXCL, 0666, 0) != SEM_FAILED);
    snprintf(path, sizeof(path), "/dev/shm/sem.%s", name() + 1); /* Linux keeps them there */
    OK(stat(path, &st));
    CHECK_EQ(st.st_mode & 0777, 0644);
    OK(sem_unlink(name()));
}

CASE(open_is_einval_for_what_is_no_semaphore)
{
    char path[96];
    snprintf(path, sizeof(path), "/dev/shm/sem.%s", name() + 1);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0);
    errno = 0;
    CHECK(sem_open(name(), 0) == SEM_FAILED);
    CHECK_EQ(errno, EINVAL);
    OK(unlink(path));
}

static flag_t passed;

static void *opens_often(void *unlinks)
{
    for (int i = 0; i < 50; i++) {
        sem_t *s = sem_open(kept, O_CREAT, 0600, 1);
        CHECK(s != SEM_FAILED);
        OK(sem_wait(s));
        flag_add(&passed, 1);
        OK(sem_post(s));
        if (unlinks != NULL && i % 5 == 0) {
            sem_unlink(kept);
        }
        OK(sem_close(s));
    }
    return NULL;
}

CASE(opening_races_with_unlinking)
{
    pthread_t t[4];
    strcpy(kept, name());
    sem_unlink(kept);
    for (int i = 0; i < 4; i++) {
        t[i] = start(opens_often, i == 0 ? &passed : NULL);
    }
    for (int i = 0; i < 4; i++) {
        join(t[i]);
    }
    CHECK_EQ(flag_get(&passed), 200);
    sem_unlink(kept);
}
