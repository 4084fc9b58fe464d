/* SPDX-License-Identifier: MIT
 *
 * wave.h - the waveform file. Verilator writes the format that the simulator was built for.
 */
#ifndef WAVE_H
#define WAVE_H

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "verilated.h"

#if VM_TRACE_FST
#include "verilated_fst_c.h"
using WaveFile = VerilatedFstC;
constexpr const char *wave_suffix = ".fst";
#elif VM_TRACE
#include "verilated_vcd_c.h"
using WaveFile = VerilatedVcdC;
constexpr const char *wave_suffix = ".vcd";
#else
constexpr const char *wave_suffix = "";

/* Stands for a file in a simulator without waveforms, which opens none. */
class WaveFile
{
public:
    void open(const char *) {}
    void dump(uint64_t) {}
    void close() {}
};
#endif

/* Throws when this simulator cannot write path. */
inline void check_wave(const std::string &path)
{
    std::string suffix = wave_suffix;
    if (path.empty() || (!suffix.empty() && path.ends_with(suffix)))
        return;
    throw std::runtime_error(path + ": this simulator writes " +
                             (suffix.empty() ? "no waveforms" : "waveforms that end in " + suffix) +
                             "; pirn chip run builds one that does (.fst, .vcd)");
}

class Wave
{
public:
    Wave(std::string path, uint64_t from, uint64_t to)
        : path_(std::move(path)), from_(2 * from),
          to_(to > UINT64_MAX / 2 ? UINT64_MAX : 2 * to + 1)
    {
    }

    template <typename Top>
    void open([[maybe_unused]] Top &top)
    {
        if (path_.empty())
            return;
        file_ = std::make_unique<WaveFile>();
#if VM_TRACE
        top.trace(file_.get(), 99);
        file_->open(path_.c_str());
        if (!file_->isOpen())
            throw std::runtime_error(path_ + ": cannot be written");
#endif
    }

    /* time: half cycles */
    void dump(uint64_t time)
    {
        if (file_ != nullptr && time >= from_ && time <= to_)
            file_->dump(time);
    }

    void close()
    {
        if (file_ != nullptr)
            file_->close();
    }

private:
    std::string path_;
    uint64_t from_;
    uint64_t to_;
    std::unique_ptr<WaveFile> file_;
};

#endif
