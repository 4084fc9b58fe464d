/* SPDX-License-Identifier: MIT */
/*
 * cxx.cpp - the support that C++ compilers need on a board (port/board/cxx, port/board/image.ld):
 * objects that are made before main and destroyed at the end, static variables of functions that
 * several threads reach at once, virtual functions, memory, thread_local. Prints "done", then the
 * output of destructors; an argument chooses a case that ends the program.
 */
#include "../cpp/freestanding.hpp"
#include "common/options.h"

#include <pirn/static.h>
#include <string.h>

/* ---- before main, and at the end ---- */

static unsigned destroyed; /* of the many */

struct report {
    const char *name;
    explicit report(const char *n) : name(n) {}
    ~report() { printf("%s ends after %u\n", name, destroyed); }
};

static void at_exit()
{
    printf("atexit\n");
}

static report first("first"); /* its destructor comes last */

/* A constructor may use threads: the runtime starts with it. */
struct early {
    unsigned seen = 0;
    early()
    {
        CHECK(atexit(at_exit) == 0);
        pirn::thread([this] { seen = 7; }).join();
    }
};
static early before_main;
static report second("second");

struct later {
    unsigned value;
    later() : value(before_main.seen + 1) {}
};
static later after_early;

/* More destructors than the C library's table can hold. */
template <unsigned n>
struct many {
    static unsigned build()
    {
        static struct one {
            unsigned value = n;
            ~one() { destroyed++; }
        } object;
        return object.value + many<n - 1>::build();
    }
};
template <>
struct many<0> {
    static unsigned build() { return 0; }
};

static void *answer(void *arg)
{
    return arg;
}
static int question;
PIRN_THREAD_DEFINE(answerer, 64u << 10, answer, &question);

static void test_static_objects_are_made_in_order_before_main()
{
    void *answered = nullptr;
    CHECK(pirn_static_join(&answerer, &answered) == 0 && answered == &question);
    CHECK(before_main.seen == 7 && after_early.value == 8);
    CHECK(many<50>::build() == 1275);
}

/* ---- static variables of functions ---- */

static unsigned made, made_inner;

struct slow {
    unsigned value;
    explicit slow(unsigned v) : value(0)
    {
        for (unsigned i = 0; i < 20; i++) {
            pirn::this_thread::yield();
        }
        pirn::this_thread::sleep_for(2 * millisecond);
        __atomic_fetch_add(&made, 1u, __ATOMIC_RELAXED);
        value = v;
    }
};

static slow &inner()
{
    static slow object((made_inner++, 5u));
    return object;
}

static slow &outer()
{
    static slow object(inner().value + 1);
    return object;
}

static slow &other()
{
    static slow object(9);
    return object;
}

static void test_local_static_is_made_once_when_threads_meet()
{
    unsigned wrong = 0;
    pirn::latch ready(8);
    in_threads<8>([&](unsigned me) {
        ready.arrive_and_wait();
        const bool ok = me % 2 == 0 ? outer().value == 6 && inner().value == 5 : other().value == 9;
        __atomic_fetch_add(&wrong, !ok, __ATOMIC_RELAXED);
    });
    CHECK(wrong == 0 && made == 3 && made_inner == 1);
}

/* ---- virtual functions, and memory ---- */

struct shape {
    static int alive;
    shape() { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    virtual ~shape() { __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED); }
    virtual unsigned area() const = 0;
};
int shape::alive;

struct square : shape {
    unsigned side;
    explicit square(unsigned s) : side(s) {}
    unsigned area() const override { return side * side; }
};

struct tile : square {
    using square::square;
    unsigned area() const override { return square::area() + 1; }
};

struct alignas(256) wide {
    unsigned char bytes[256];
};

static void test_objects_come_and_go_in_several_threads()
{
    unsigned sum = 0;
    in_threads<4>([&](unsigned) {
        for (unsigned i = 0; i < 100; i++) {
            shape *shapes[] = {new square(i), new tile(i)};
            __atomic_fetch_add(&sum, shapes[1]->area() - shapes[0]->area(), __ATOMIC_RELAXED);
            delete shapes[0];
            auto *tiles = new tile[3]{tile(1), tile(2), tile(3)};
            pirn::this_thread::yield();
            __atomic_fetch_add(&sum, tiles[2].area(), __ATOMIC_RELAXED);
            delete[] tiles;
            delete shapes[1];
        }
    });
    CHECK(sum == 4 * 100 * 11 && shape::alive == 0);
}

constexpr size_t huge = SIZE_MAX / 4;

static void test_memory_is_aligned_and_refused()
{
    auto *one = new wide, *several = new wide[3];
    CHECK(reinterpret_cast<uintptr_t>(one) % 256 == 0);
    CHECK(reinterpret_cast<uintptr_t>(several) % 256 == 0);
    delete one;
    delete[] several;
    volatile size_t size = huge;
    CHECK(new (std::nothrow) char[size] == nullptr);
    alignas(square) unsigned char room[sizeof(square)];
    shape *placed = new (room) square(4);
    CHECK(placed->area() == 16);
    placed->~shape();
}

/* ---- thread_local ---- */

static unsigned numbers;

struct numbered {
    unsigned number, count = 0;
    numbered() : number(__atomic_add_fetch(&numbers, 1u, __ATOMIC_RELAXED)) {}
};
static thread_local numbered mine;

static void test_thread_local_object_is_the_threads()
{
    unsigned counts = 0, set = 0;
    in_threads<4>([&](unsigned) {
        for (unsigned i = 0; i < 50; i++) {
            mine.count++;
            pirn::this_thread::yield();
        }
        __atomic_fetch_add(&counts, mine.count == 50, __ATOMIC_RELAXED);
        __atomic_fetch_or(&set, 1u << mine.number, __ATOMIC_RELAXED);
    });
    CHECK(counts == 4 && set == 0x1e && mine.number == 5);
}

/* ---- ends ---- */

struct unfinished {
    unfinished() { use(); }
    virtual ~unfinished() = default;
    __attribute__((noinline)) void use() { work(); }
    virtual void work() = 0;
};
struct finished : unfinished {
    void work() override {}
};

static void end_pure()
{
    finished object;
}

static void end_memory()
{
    volatile size_t size = huge;
    char *volatile memory = new char[size]; /* without volatile the compiler would omit it */
    delete[] memory;
}

static const struct {
    const char *name;
    void (*run)();
} ends[] = {{"pure", end_pure}, {"memory", end_memory}};

static void end(const char *how)
{
    ends[OPERAND_CHOICE("END", how, ends)].run();
    printf("it did not end: %s\n", how);
    exit(1);
}

int main(int argc, char **argv)
{
    const option_page page = {"What the language asks of a board.", "[END]", nullptr};
    const char *how = options_parse(argc, argv, &page)[0];
    if (how != nullptr) {
        end(how);
    }
    test_static_objects_are_made_in_order_before_main();
    test_local_static_is_made_once_when_threads_meet();
    test_objects_come_and_go_in_several_threads();
    test_memory_is_aligned_and_refused();
    test_thread_local_object_is_the_threads();
    puts("done");
    return 0;
}
