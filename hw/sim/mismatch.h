/* SPDX-License-Identifier: MIT
 *
 * mismatch.h - what the checks of lockstep.h and scheduler.h throw, with a text of their own.
 */
#ifndef MISMATCH_H
#define MISMATCH_H

#include <stdexcept>
#include <string>

class Mismatch : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

/* As printf, up to 399 characters. */
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

#endif
