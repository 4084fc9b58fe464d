/* SPDX-License-Identifier: MIT
 *
 * options.cc - see options.h. The library for command lines takes long to compile. So this file
 * knows nothing of the chip, and all simulators share its object (tools/pirn_tools/chip/build.py).
 */
#include "options.h"

#include <CLI/CLI.hpp>

namespace
{

void check(const CLI::App &app, const Options &options, int cores)
{
    if (options.wave_from > options.wave_to)
        throw CLI::ValidationError("--wave-from", std::to_string(options.wave_from) +
                                                      " is after --wave-to " +
                                                      std::to_string(options.wave_to));
    if (options.wave.empty() && (app.count("--wave-from") + app.count("--wave-to")) != 0)
        throw CLI::ValidationError("--wave-from", "needs --wave FILE");
    if (!options.words.empty() && !options.semihosting)
        throw CLI::ValidationError("words", "reach the program by --semihosting");
    if (!options.intervals.empty() && options.intervals.size() != static_cast<size_t>(cores))
        throw CLI::ValidationError("--intervals", std::to_string(options.intervals.size()) +
                                                      " numbers (valid: one for each of the " +
                                                      std::to_string(cores) + " cores)");
    if (options.pressure != 0 && options.seed == 0)
        throw CLI::ValidationError("--pressure", "needs --seed: without it nothing is random");
}

void define(CLI::App &app, Options &options)
{
    app.add_option("image", options.image, "program, an ELF file")->required();
    app.add_option("words", options.words,
                   "command line of the program: variables, name, arguments");
    app.add_flag("--semihosting", options.semihosting,
                 "serve the program's semihosting calls: files, the command line");
    app.add_option("--latency", options.latency, "cycles of the second level")
        ->check(CLI::Range(4, 2047))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "of arbitration and pressure; 0: round-robin");
    app.add_option("--pressure", options.pressure,
                   "of 256 cycles, those in which no bank takes a request")
        ->check(CLI::Range(0, 255));
    app.add_option("--intervals", options.intervals,
                   "of each core: cycles from an instruction to the next, 1 to 16, by commas")
        ->delimiter(',')
        ->allow_extra_args(false) // else the "--" before the program would only end the list
        ->check(CLI::Range(1, 16));
    app.add_flag("--incoherent", options.incoherent, "caches do not see other cores' stores");
    app.add_flag("--lockstep", options.lockstep, "check each instruction with a simulator");
    app.add_flag("--randomize", options.randomize,
                 "registers without a reset value start at random, by seed");
    app.add_option("--cycles", options.cycles, "stop after so many, with status 124")
        ->check(CLI::PositiveNumber);
    app.add_option("--counters", options.counters, "write cycles by hart and cause as JSON");
    app.add_flag("--table", options.table, "print cycles by hart and cause");
    app.add_flag("--speed", options.speed, "print cycles a second");
    app.add_option("--wave", options.wave, "write a waveform (.fst or .vcd)");
    app.add_option("--wave-from", options.wave_from, "first cycle of the waveform");
    app.add_option("--wave-to", options.wave_to, "last cycle of the waveform");
}

} // namespace

std::optional<Options> read_options(int count, char **words, int cores)
{
    CLI::App app{"Runs a program on the chip."};
    Options options;
    define(app, options);
    try {
        app.parse(count, words);
    } catch (const CLI::CallForHelp &error) {
        app.exit(error);
        return {};
    }
    check(app, options, cores);
    return options;
}
