/* SPDX-License-Identifier: MIT */
/*
 * modules.c - libraries with thread-local variables, loaded and unloaded while threads exist: with
 * static TLS (initial-exec: in every thread's block at once) and with dynamic TLS (allocated when a
 * thread first uses it). Every thread finds the variables initialised, in each life, whatever
 * library had their address before.
 */
#include "../posix/check.h"

#include <dlfcn.h>

#define THREADS 12

struct module {
    void *handle;
    int *(*value)(void);
    char *(*room)(unsigned *size);
    int initial;
};

static struct module load(const char *name, int initial)
{
    struct module m = {.handle = dlopen(name, RTLD_NOW), .initial = initial};
    if (m.handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(1);
    }
    *(void **)&m.value = dlsym(m.handle, "module_value");
    *(void **)&m.room = dlsym(m.handle, "module_room");
    CHECK(m.value != NULL && m.room != NULL);
    return m;
}

static void is_new(const struct module *m)
{
    unsigned size;
    char *room = m->room(&size);
    CHECK_EQ(*m->value(), m->initial);
    for (unsigned i = 0; i < size; i++) {
        CHECK_EQ(room[i], 0);
    }
}

static void use(const struct module *m, int mark)
{
    unsigned size;
    char *room = m->room(&size);
    int *value = m->value();
    *value = mark;
    memset(room, mark, size);
    for (int i = 0; i < 5; i++) {
        sched_yield();
        CHECK(m->value() == value && *value == mark);
        CHECK(room[size / 2] == (char)mark);
    }
}

struct job {
    const struct module *module;
    int mark;
};

static void *finds_it_new(void *arg)
{
    struct job *job = arg;
    is_new(job->module);
    use(job->module, job->mark);
    return NULL;
}

static void threads_find_it_new(const struct module *m)
{
    for (int life = 0; life < 3; life++) {
        pthread_t t[THREADS];
        struct job job[THREADS];
        for (int i = 0; i < THREADS; i++) {
            job[i] = (struct job){m, 100 * (life + 1) + i};
            t[i] = start(finds_it_new, &job[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            join(t[i]);
        }
    }
}

/* Threads that exist before the library does, and use it when it is loaded. */
static const struct module *arrived;
static flag_t ready, waiting, left;

static void *waits_for_it(void *arg)
{
    flag_add(&waiting, 1);
    flag_wait(&ready, 1);
    is_new(arrived);
    use(arrived, (int)(long)arg);
    flag_add(&left, 1);
    flag_wait(&ready, 2);
    return NULL;
}

static void existing_threads_find_it_new(const char *name, int initial)
{
    pthread_t t[THREADS];
    flag_set(&ready, 0);
    flag_set(&waiting, 0);
    flag_set(&left, 0);
    for (long i = 0; i < THREADS; i++) {
        t[i] = start(waits_for_it, (void *)(i + 1));
    }
    flag_wait(&waiting, THREADS);
    struct module m = load(name, initial);
    arrived = &m;
    flag_set(&ready, 1);
    flag_wait(&left, THREADS);
    OK(dlclose(m.handle)); /* while they exist */
    flag_set(&ready, 2);
    for (int i = 0; i < THREADS; i++) {
        join(t[i]);
    }
}

static void test_module_is_new_in_each_thread(const char *name, int initial)
{
    struct module m = load(name, initial);
    is_new(&m);
    threads_find_it_new(&m);
    use(&m, 9);
    threads_find_it_new(&m);
    CHECK_EQ(*m.value(), 9);
    OK(dlclose(m.handle));
}

static void test_modules_loaded_one_after_the_other(void)
{
    for (int i = 0; i < 3; i++) {
        test_module_is_new_in_each_thread(MODULE_IE, 11);
        test_module_is_new_in_each_thread(MODULE_GD, 12);
        test_module_is_new_in_each_thread(MODULE_IE_2, 21);
        test_module_is_new_in_each_thread(MODULE_GD_2, 22);
    }
}

static void test_modules_loaded_while_threads_exist(void)
{
    for (int i = 0; i < 5; i++) {
        existing_threads_find_it_new(MODULE_IE, 11);
        existing_threads_find_it_new(MODULE_GD, 12);
        existing_threads_find_it_new(MODULE_IE_2, 21);
        existing_threads_find_it_new(MODULE_GD_2, 22);
    }
}

/* One thread loads and unloads while others are created, run and end all the time. */
static void *loads(void *arg)
{
    for (int i = 0; i < 200; i++) {
        bool second = i % 2 != 0;
        struct module m = load(second ? MODULE_IE_2 : MODULE_IE, second ? 21 : 11);
        struct module d = load(second ? MODULE_GD_2 : MODULE_GD, second ? 22 : 12);
        struct job jobs[2] = {{&m, i + 1}, {&d, i + 2}};
        pthread_t a = start(finds_it_new, &jobs[0]), b = start(finds_it_new, &jobs[1]);
        is_new(&m);
        use(&m, i);
        *m.value() = second ? 21 : 11; /* the loader's own block is not renewed */
        unsigned size;
        char *room = m.room(&size);
        memset(room, 0, size);
        join(a);
        join(b);
        OK(dlclose(m.handle));
        OK(dlclose(d.handle));
    }
    flag_set(&ready, 1);
    return arg;
}

static __thread int own = 5;

static void *short_life(void *arg)
{
    CHECK_EQ(own, 5);
    own = (int)(long)arg;
    sched_yield();
    CHECK_EQ(own, (int)(long)arg);
    return NULL;
}

static void test_threads_come_and_go_while_modules_do(void)
{
    flag_set(&ready, 0);
    pthread_t loader = start(loads, NULL);
    while (!flag_get(&ready)) {
        pthread_t t[4];
        for (long i = 0; i < 4; i++) {
            t[i] = start(short_life, (void *)i);
        }
        for (int i = 0; i < 4; i++) {
            join(t[i]);
        }
    }
    join(loader);
}

int main(void)
{
    RUN(test_modules_loaded_one_after_the_other);
    RUN(test_modules_loaded_while_threads_exist);
    RUN(test_threads_come_and_go_while_modules_do);
    return 0;
}
