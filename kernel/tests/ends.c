/* SPDX-License-Identifier: MIT
 *
 * Threads that end while the table of dependencies is changed, which the scheduler notes without
 * the table's lock. Each end is played at every place between the calls that the change makes.
 */
#include "check.h"
#include "memory.h"

#include "../table/maps.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONSUMER = 1, ANOTHER = 5, ADDED = 4, THREADS = 5, ENDING = 2, STEPS = 2, AT_MOST = 64 };

/* Of a thread that ends: before which call of the store each of the two steps comes. */
static struct end {
    uint32_t tid;
    int at[STEPS];
    int done;
} ends[ENDING];
static int calls;

static void play_until(int call)
{
    for (int i = 0; i < ENDING; i++) {
        while (ends[i].done < STEPS && ends[i].at[ends[i].done] <= call) {
            if (ends[i].done++ == 0)
                table_begin_end(ends[i].tid);
            else
                table_forget(ends[i].tid);
        }
    }
}

static void play(void)
{
    play_until(calls++);
}

/* The table of the tests: the consumer 1 has producers 2 and 3, and 5 has 1 and 3. */
static void begin(void)
{
    memset(&table, 0, sizeof table);
    CHECK_EQUAL(0, deps_add(&store, CONSUMER, 2));
    CHECK_EQUAL(0, deps_add(&store, CONSUMER, 3));
    CHECK_EQUAL(0, deps_add(&store, ANOTHER, CONSUMER));
    CHECK_EQUAL(0, deps_add(&store, ANOTHER, 3));
    table.before_call = play;
    calls = 0;
}

static bool declared(uint32_t consumer, uint32_t producer)
{
    uint32_t i = table_find(consumer);

    for (uint32_t k = 0; i < table.number && k < table.producers[i].count; k++) {
        if (table.producers[i].tid[k] == producer)
            return true;
    }
    return false;
}

/* What is declared is what was before, with the change, among threads that live. */
static void check_declared(uint32_t consumer, uint32_t producer, bool wanted)
{
    bool both_live = !table.ended[consumer] && !table.ended[producer];

    CHECK_EQUAL(wanted && both_live, declared(consumer, producer));
}

static int add(void)
{
    return deps_add(&store, CONSUMER, ADDED);
}

static int delete (void)
{
    return deps_delete(&store, CONSUMER, 2);
}

/* One interleaving. Returns the number of calls, for the caller to know when it has tried all. */
static int run(int (*change)(void), bool adds)
{
    int error, made;

    begin();
    for (int i = 0; i < ENDING; i++)
        ends[i].done = 0;
    error = change();
    made = calls;
    if (error == -ESRCH) /* the caller knows that one has ended */
        CHECK_EQUAL(true, table.ended[CONSUMER] || table.ended[ADDED]);
    else if (error == -ENOENT)
        CHECK_EQUAL(true, !adds && (table.ended[CONSUMER] || table.ended[2]));
    else
        CHECK_EQUAL(0, error);
    play_until(AT_MOST);
    check_declared(CONSUMER, 2, adds || error != 0);
    check_declared(CONSUMER, 3, true);
    check_declared(CONSUMER, ADDED, adds && error == 0);
    check_declared(ANOTHER, CONSUMER, true);
    check_declared(ANOTHER, 3, true);
    for (uint32_t i = 0; i < table.number; i++)
        CHECK_EQUAL(false, table.ended[table.consumers[i]]);
    return made;
}

/* All places of the two steps of the thread ends[i]; then of the next one. */
static long run_all(int (*change)(void), bool adds, int i)
{
    static int most; /* calls of a change so far: later steps are all alike */
    struct end *end = &ends[i];
    long runs = 0;

    if (i == 0)
        most = 1;
    if (i == ENDING) {
        int made = run(change, adds);

        most = made > most ? made : most;
        return 1;
    }
    for (end->tid = 1; end->tid <= THREADS; end->tid++) {
        for (end->at[0] = 0; end->at[0] <= most; end->at[0]++) {
            for (end->at[1] = end->at[0]; end->at[1] <= most; end->at[1]++)
                runs += run_all(change, adds, i + 1);
        }
    }
    return runs;
}

static void test_table_forgets_threads_when_they_end_during_an_add(void)
{
    CHECK_EQUAL(true, run_all(add, true, 0) > 10000);
}

static void test_table_forgets_threads_when_they_end_during_a_delete(void)
{
    CHECK_EQUAL(true, run_all(delete, false, 0) > 10000);
}

/* ---- the scheduler's change of a list ---- */

enum { ROUNDS = 200 };

static struct kernel_producers list;
static pthread_barrier_t barrier;

static void *forget_own(void *number)
{
    uint32_t tid = (uint32_t)(uintptr_t)number;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        kernel_forget(&list, tid);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test_list_loses_both_when_two_threads_end_at_the_same_time(void)
{
    pthread_t threads[2];

    pthread_barrier_init(&barrier, NULL, 3);
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQUAL(0, pthread_create(&threads[i], NULL, forget_own, (void *)(i + 1)));
    for (int i = 0; i < ROUNDS; i++) {
        list = (struct kernel_producers){.count = 3, .tid = {1, 3, 2}};
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        deps_compact(&list);
        CHECK_EQUAL(1, list.count);
        CHECK_EQUAL(3, list.tid[0]);
    }
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(0, pthread_join(threads[i], NULL));
    pthread_barrier_destroy(&barrier);
}

/* ---- which threads live ---- */

static void *give_number(void *tid)
{
    *(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void test_thread_lives_when_it_is_not_the_first_of_its_process(void)
{
    pthread_t thread;
    uint32_t tid;

    pthread_barrier_init(&barrier, NULL, 2);
    CHECK_EQUAL(0, pthread_create(&thread, NULL, give_number, &tid));
    pthread_barrier_wait(&barrier);
    CHECK_EQUAL(true, thread_lives((uint32_t)getpid()));
    CHECK_EQUAL(true, thread_lives(tid));
    pthread_barrier_wait(&barrier);
    CHECK_EQUAL(0, pthread_join(thread, NULL));
    pthread_barrier_destroy(&barrier);
}

static void test_thread_does_not_live_when_it_is_a_zombie_or_gone(void)
{
    siginfo_t info;
    pid_t child = fork();

    CHECK_EQUAL(true, child >= 0);
    if (child == 0)
        _exit(0);
    CHECK_EQUAL(0, waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    CHECK_EQUAL(0, kill(child, 0)); /* the kernel still knows the number */
    CHECK_EQUAL(false, thread_lives((uint32_t)child));
    CHECK_EQUAL(child, waitpid(child, NULL, 0));
    CHECK_EQUAL(false, thread_lives((uint32_t)child));
    CHECK_EQUAL(false, thread_lives(0));
    CHECK_EQUAL(false, thread_lives(UINT32_MAX));
}

int main(void)
{
    void (*const tests[])(void) = {
        test_table_forgets_threads_when_they_end_during_an_add,
        test_table_forgets_threads_when_they_end_during_a_delete,
        test_list_loses_both_when_two_threads_end_at_the_same_time,
        test_thread_lives_when_it_is_not_the_first_of_its_process,
        test_thread_does_not_live_when_it_is_a_zombie_or_gone,
    };

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tests[i]();
    printf("%zu tests passed\n", sizeof tests / sizeof tests[0]);
    return EXIT_SUCCESS;
}
