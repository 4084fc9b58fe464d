/* SPDX-License-Identifier: MIT */
/*
 * san.h - tell AddressSanitizer and ThreadSanitizer about user-level stacks and switches; nothing
 * without them.
 *
 * A switch orders memory for ThreadSanitizer: threads that follow each other on one worker are
 * ordered by program order. Accesses from different workers must be ordered by our own atomics, and
 * are checked.
 */
#ifndef PIRN_PORT_SAN_H
#define PIRN_PORT_SAN_H

#include "compiler.h"

struct san_thread {
    void *fiber;      /* TSan */
    void *fake_stack; /* ASan */
    const void *low;  /* ASan; NULL until the thread was seen running: its own kernel stack */
    size_t size;
};

#if defined(PIRN_TSAN)

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

ALWAYS_INLINE void san_create(struct san_thread *s, const void *low, size_t size)
{
    (void)low;
    (void)size;
    s->fiber = __tsan_create_fiber(0);
}

ALWAYS_INLINE void san_destroy(struct san_thread *s)
{
    if (s->fiber != NULL) {
        __tsan_destroy_fiber(s->fiber);
        s->fiber = NULL;
    }
}

ALWAYS_INLINE void san_switch(struct san_thread *from, struct san_thread *to, bool exits)
{
    (void)exits;
    if (from->fiber == NULL) {
        from->fiber = __tsan_get_current_fiber();
    }
    __tsan_switch_to_fiber(to->fiber, 0);
}

ALWAYS_INLINE void san_switched(struct san_thread *self)
{
    (void)self;
}

#elif defined(PIRN_ASAN)

void __sanitizer_start_switch_fiber(void **fake_stack, const void *low, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **low, size_t *size);
void __asan_unpoison_memory_region(void const volatile *low, size_t size);

/* Bounds of the kernel thread's own stack. */
void san_own_stack(struct san_thread *s);

ALWAYS_INLINE void san_create(struct san_thread *s, const void *low, size_t size)
{
    s->fake_stack = NULL;
    s->low = low;
    s->size = size;
    __asan_unpoison_memory_region(low, size);
}

/* The frames that the thread never returned to have marks around their variables. */
ALWAYS_INLINE void san_destroy(struct san_thread *s)
{
    __asan_unpoison_memory_region(s->low, s->size);
}

ALWAYS_INLINE void san_switch(struct san_thread *from, struct san_thread *to, bool exits)
{
    if (from->low == NULL) {
        san_own_stack(from);
    }
    __sanitizer_start_switch_fiber(exits ? NULL : &from->fake_stack, to->low, to->size);
}

ALWAYS_INLINE void san_switched(struct san_thread *self)
{
    __sanitizer_finish_switch_fiber(self->fake_stack, NULL, NULL);
}

#else

ALWAYS_INLINE void san_create(struct san_thread *s, const void *low, size_t size)
{
    (void)s;
    (void)low;
    (void)size;
}
ALWAYS_INLINE void san_destroy(struct san_thread *s)
{
    (void)s;
}
ALWAYS_INLINE void san_switch(struct san_thread *from, struct san_thread *to, bool exits)
{
    (void)from;
    (void)to;
    (void)exits;
}
ALWAYS_INLINE void san_switched(struct san_thread *self)
{
    (void)self;
}

#endif

#endif
