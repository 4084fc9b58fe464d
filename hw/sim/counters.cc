/* SPDX-License-Identifier: MIT
 *
 * counters.cc - counters as JSON and as a table.
 */
#include "counters.h"

#include <cinttypes>

namespace
{

const char *const names[Counters::causes] = {"retire", "pipe",    "fetch", "load",   "atomic",
                                             "device", "store",   "fence", "divide", "wfi",
                                             "off",    "context", "cond",  "lock"};

} // namespace

void Counters::write_json(FILE *file, uint64_t cycles) const
{
    fprintf(file,
            "{\n  \"cores\": %d,\n  \"threads\": %d,\n  \"cycles\": %" PRIu64 ",\n  \"harts\": [",
            soc::cores, soc::threads, cycles);
    for (int h = 0; h < soc::harts; h++) {
        fprintf(file, "%s\n    {", h == 0 ? "" : ",");
        for (int c = 0; c < causes; c++)
            fprintf(file, "%s\"%s\": %" PRIu64, c == 0 ? "" : ", ", names[c], table_[h][c]);
        fprintf(file, "}");
    }
    fprintf(file, "\n  ]\n}\n");
}

void Counters::write_table(FILE *file, uint64_t cycles) const
{
    fprintf(file, "%" PRIu64 " cycles; of 1000 cycles of each hart:\n%4s", cycles, "hart");
    for (const char *name : names)
        fprintf(file, " %7s", name);
    fprintf(file, " %12s\n", "instructions");
    for (int h = 0; h < soc::harts; h++) {
        fprintf(file, "%4d", h);
        for (int c = 0; c < causes; c++)
            fprintf(file, " %7.1f",
                    cycles == 0
                        ? 0.0
                        : 1000.0 * static_cast<double>(table_[h][c]) / static_cast<double>(cycles));
        fprintf(file, " %12" PRIu64 "\n", table_[h][0]);
    }
}
