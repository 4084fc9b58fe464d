/* SPDX-License-Identifier: MIT
 *
 * image.h - the program: an ELF file whose segments become the first contents of memory.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

class BadImage : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

/* All of memory. Bytes that no segment sets are 0. Throws BadImage. */
std::vector<uint8_t> load_image(const std::string &path);

#endif
