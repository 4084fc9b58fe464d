/* SPDX-License-Identifier: MIT
 *
 * image.h - the program: an ELF file whose segments become the first contents of memory.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <stdexcept>
#include <string>

#include "memory.h"

class BadImage : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

/* All of memory, in which the bytes that no segment sets are 0. Throws BadImage. */
Memory load_image(const std::string &path);

#endif
