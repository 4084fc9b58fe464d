/* SPDX-License-Identifier: MIT
 *
 * options.h - the simulator's command line.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct Options {
    std::string image;
    std::vector<std::string> words;
    bool semihosting = false;
    unsigned latency = 32;
    unsigned pressure = 0;
    uint32_t seed = 0;
    std::vector<unsigned> intervals;
    bool incoherent = false;
    bool lockstep = false;
    bool table = false;
    bool speed = false;
    bool randomize = false;
    uint64_t cycles = UINT64_MAX;
    std::string counters;
    std::string wave;
    uint64_t wave_from = 0;
    uint64_t wave_to = UINT64_MAX;
};

/* Nothing if it has printed help. Throws std::exception for a command line that is not valid for a
 * chip with so many cores. */
std::optional<Options> read_options(int count, char **words, int cores);

#endif
