/* SPDX-License-Identifier: MIT */
/*
 * new.cpp - memory of C++ programs is the C library's. Without exceptions operator new has no way
 * to say that there is none: it ends the program; with std::nothrow it returns a null pointer.
 */
#include "cxx.h"

#include <malloc.h>
#include <stdlib.h>

namespace
{

void *get(size_t size, size_t alignment)
{
    size += size == 0;
    return alignment <= alignof(max_align_t) ? malloc(size) : memalign(alignment, size);
}

void *get_or_end(size_t size, size_t alignment = 1)
{
    void *memory = get(size, alignment);
    if (memory == nullptr) {
        pirn::detail::fail("operator new: no memory");
    }
    return memory;
}

} // namespace

namespace std
{
enum class align_val_t : size_t {};
}

void *operator new(size_t size)
{
    return get_or_end(size);
}
void *operator new[](size_t size)
{
    return get_or_end(size);
}
void *operator new(size_t size, const std::nothrow_t &) noexcept
{
    return get(size, 1);
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept
{
    return get(size, 1);
}
void *operator new(size_t size, std::align_val_t alignment)
{
    return get_or_end(size, static_cast<size_t>(alignment));
}
void *operator new[](size_t size, std::align_val_t alignment)
{
    return get_or_end(size, static_cast<size_t>(alignment));
}

void operator delete(void *memory) noexcept
{
    free(memory);
}
void operator delete[](void *memory) noexcept
{
    free(memory);
}
void operator delete(void *memory, size_t) noexcept
{
    free(memory);
}
void operator delete[](void *memory, size_t) noexcept
{
    free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept
{
    free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept
{
    free(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept
{
    free(memory);
}
void operator delete[](void *memory, size_t, std::align_val_t) noexcept
{
    free(memory);
}
