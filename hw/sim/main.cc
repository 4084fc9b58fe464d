/* SPDX-License-Identifier: MIT
 *
 * main.cc - runs a program on the chip: loads it, drives clock and reset, carries the serial line
 * to stdout and from stdin, counts, and ends when the program writes to the exit device.
 *
 * A run depends on nothing but its options and its input, which is read as fast as the program
 * takes it: it repeats exactly unless the input comes from a terminal or a pipe.
 */
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "Vsoc.h"
#include "Vsoc__Dpi.h"
#include "counters.h"
#include "image.h"
#include "lockstep.h"
#include "options.h"
#include "semihost.h"
#include "wave.h"

namespace
{

/* Statuses of the simulator itself; those of programs are 0 to 255. All but 2 say on stderr why. */
constexpr int status_usage = 2;
constexpr int status_assertion = 122;
constexpr int status_mismatch = 123;
constexpr int status_cycles = 124;
constexpr int status_exit_word = 125;

constexpr uint64_t poll_cycles = 4096;

class AssertionFailed : public std::runtime_error
{
public:
    using std::runtime_error::runtime_error;
};

/* State for the functions that the chip calls. */
Memory memory;
std::unique_ptr<Lockstep> lockstep;

/* Bytes for the serial line: stdin, looked at now and then, so that it costs nothing. */
class Input
{
public:
    /* The next byte, or -1. */
    int peek(uint64_t cycle)
    {
        if (next_ == size_ && !ended_ && cycle % poll_cycles == 0)
            read_more();
        return next_ < size_ ? buffer_[next_] : -1;
    }

    void take() { next_++; }

    /* The next byte, waited for; -1: the end. */
    int next()
    {
        while (next_ == size_ && !ended_)
            read_more();
        return next_ < size_ ? buffer_[next_++] : -1;
    }

private:
    void read_more()
    {
        pollfd one{STDIN_FILENO, POLLIN, 0};
        if (poll(&one, 1, 0) <= 0)
            return;
        ssize_t got = ::read(STDIN_FILENO, buffer_, sizeof buffer_);
        ended_ = got <= 0;
        next_ = 0;
        size_ = got > 0 ? static_cast<size_t>(got) : 0;
    }

    unsigned char buffer_[4096];
    size_t next_ = 0;
    size_t size_ = 0;
    bool ended_ = false;
};

void note(const std::string &text)
{
    fflush(stdout);
    fprintf(stderr, "soc: %s\n", text.c_str());
}

/* The device of SiFive and QEMU: 0x5555 passes; 0x3333 fails with the status in the upper half. */
int status_of(uint32_t word)
{
    if (word == 0x5555)
        return 0;
    if ((word & 0xffff) == 0x3333 && word >> 16 <= 255)
        return static_cast<int>(word >> 16);
    char text[120];
    snprintf(text, sizeof text,
             "the program wrote %#x to the exit device (valid: 0x5555, or status << 16 | 0x3333 "
             "with a status up to 255)",
             word);
    note(text);
    return status_exit_word;
}

/* The words of `does`. Its type depends on its width. */
struct Words {
    explicit Words(const uint32_t &word) : first(&word) {}
    explicit Words(const uint8_t &word) : value(word), first(&value) {}
    explicit Words(const uint16_t &word) : value(word), first(&value) {}
    explicit Words(const uint64_t &word) : first(reinterpret_cast<const uint32_t *>(&word)) {}
    template <size_t N>
    explicit Words(const VlWide<N> &wide) : first(wide.data())
    {
    }
    uint32_t operator[](int i) const { return first[i]; }
    uint32_t value = 0;
    const uint32_t *first;
};

class Run
{
public:
    explicit Run(const Options &options)
        : options_(options), context_(context_for(options)),
          top_(std::make_unique<Vsoc>(context_.get(), "soc")),
          wave_(options.wave, options.wave_from, options.wave_to)
    {
        top_->cfg_latency = static_cast<uint16_t>(options.latency);
        top_->cfg_coherent = options.incoherent ? 0 : 1;
        top_->cfg_pressure = static_cast<uint8_t>(options.pressure);
        top_->cfg_seed = options.seed;
        top_->cfg_pause = pauses(options.intervals);
        top_->watch = options.lockstep ? 1 : 0;
        top_->host_attached = options.semihosting ? 1 : 0;
        top_->host_go = 0;
        top_->host_req = 0;
        if (options.semihosting)
            semihost_ = std::make_unique<Semihost>(chip(), options.words);
        wave_.open(*top_);
    }

    /* The status with which the simulator exits. */
    int run()
    {
        auto start = std::chrono::steady_clock::now();
        reset();
        int status = -1;
        while (status < 0) {
            status = step();
            if (status < 0 && semihost_ != nullptr && !semihost_->serve())
                status = semihost_->ended() ? semihost_->status() : status_;
        }
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return status;
    }

    uint64_t cycle() const { return top_->cycle; }
    double seconds() const { return seconds_; }
    const Counters &counters() const { return counters_; }
    void close() { wave_.close(); }

private:
    /* Cycles in which a core issues nothing after an instruction: four bits for each core. */
    static uint32_t pauses(const std::vector<unsigned> &intervals)
    {
        uint32_t word = 0;
        for (size_t i = 0; i < intervals.size(); i++)
            word |= (intervals[i] - 1) << (4 * i);
        return word;
    }

    static std::unique_ptr<VerilatedContext> context_for(const Options &options)
    {
        auto context = std::make_unique<VerilatedContext>();
        context->fatalOnError(true);
        if (options.randomize) {
            context->randReset(2);
            context->randSeed(static_cast<int>(options.seed | 1));
        }
        if (!options.wave.empty())
            context->traceEverOn(true);
        return context;
    }

    void edge(int clk)
    {
        top_->clk = static_cast<uint8_t>(clk);
        top_->eval();
    }

    void clock()
    {
        edge(1);
        wave_.dump(2 * time_);
        edge(0);
        wave_.dump(2 * time_ + 1);
        time_++;
    }

    /* Not in the waveform, whose time begins with the cycle after it. */
    void reset()
    {
        top_->rst = 1;
        top_->rx_valid = 0;
        for (int i = 0; i < 4; i++) {
            edge(1);
            edge(0);
        }
        top_->rst = 0;
        top_->eval();
    }

    /* A cycle of what the host does; false: the run has ended. */
    bool host_step()
    {
        status_ = step();
        return status_ < 0;
    }

    /* A request of the host, and its answer, which is on the port for a cycle. */
    bool host_request(bool writes, uint32_t at, uint32_t data, uint32_t mask, uint32_t *line)
    {
        top_->host_write = writes ? 1 : 0;
        top_->host_addr = at;
        top_->host_data = data;
        top_->host_mask = static_cast<uint8_t>(mask);
        top_->host_req = 1;
        for (bool taken = false; !taken;) {
            taken = top_->host_ready != 0;
            if (!host_step())
                return false;
        }
        top_->host_req = 0;
        while (top_->host_done == 0) {
            if (!host_step())
                return false;
        }
        for (int i = 0; line != nullptr && i < 4; i++)
            line[i] = top_->host_line[i];
        return true;
    }

    Chip chip()
    {
        Chip chip;
        chip.halted = [this] {
            uint32_t halted = Words(top_->halted)[0];
            return halted == 0 ? -1 : __builtin_ctz(halted);
        };
        chip.registers = [this](int hart, uint32_t &a0, uint32_t &a1, uint32_t &pc) {
            top_->host_hart = static_cast<uint8_t>(hart);
            top_->eval();
            a0 = top_->host_a0;
            a1 = top_->host_a1;
            pc = top_->host_pc;
        };
        chip.read = [this](uint32_t at, uint32_t *line) {
            return host_request(false, at, 0, 0, line);
        };
        chip.write = [this](uint32_t at, uint32_t data, uint32_t mask) {
            return host_request(true, at, data, mask, nullptr);
        };
        chip.resume = [this](int hart, bool refused, uint32_t value) {
            top_->host_hart = static_cast<uint8_t>(hart);
            top_->host_refuses = refused ? 1 : 0;
            top_->host_value = value;
            top_->host_go = 1;
            if (lockstep != nullptr)
                lockstep->on_host(hart, refused, value);
            bool goes_on = host_step();
            top_->host_go = 0;
            return goes_on;
        };
        chip.cycle = [this] { return top_->cycle; };
        chip.put = [](char c) {
            if (putchar(c) == '\n')
                fflush(stdout);
        };
        chip.get = [this] { return input_.next(); };
        return chip;
    }

    int step()
    {
        counters_.count(Words(top_->does));
        if (top_->tx_valid != 0 && putchar(top_->tx) == '\n')
            fflush(stdout);
        if (top_->exits != 0)
            return status_of(top_->exit_word);
        if (top_->cycle == options_.cycles) {
            note("the program has not ended after " + std::to_string(options_.cycles) +
                 " cycles (--cycles)");
            if (lockstep != nullptr)
                note(lockstep->recent());
            return status_cycles;
        }
        if (top_->rx_ready != 0)
            input_.take();
        int byte = input_.peek(top_->cycle);
        top_->rx_valid = byte >= 0 ? 1 : 0;
        top_->rx = static_cast<uint8_t>(byte);
        if (lockstep != nullptr)
            lockstep->on_cycle(top_->cycle);
        clock();
        return -1;
    }

    const Options &options_;
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vsoc> top_;
    Wave wave_;
    Input input_;
    Counters counters_;
    std::unique_ptr<Semihost> semihost_;
    int status_ = -1;
    uint64_t time_ = 0;
    double seconds_ = 0;
};

uint8_t *line_at(int at)
{
    return memory.data() +
           soc::offset(static_cast<uint32_t>(at)) / soc::line_bytes * soc::line_bytes;
}

bool write_counters(const Run &run, const std::string &path)
{
    FILE *file = fopen(path.c_str(), "w");
    if (file != nullptr) {
        run.counters().write_json(file, run.cycle());
        if (fclose(file) == 0)
            return true;
    }
    note(path + ": " + strerror(errno));
    return false;
}

int report(Run &run, const Options &options, int status)
{
    fflush(stdout);
    run.close();
    if (options.table)
        run.counters().write_table(stderr, run.cycle());
    if (options.speed) {
        fprintf(stderr, "soc: %" PRIu64 " cycles in %.2f s, %.0f kHz\n", run.cycle(), run.seconds(),
                static_cast<double>(run.cycle()) / run.seconds() / 1e3);
    }
    if (!options.counters.empty() && !write_counters(run, options.counters))
        return 1;
    return status;
}

int simulate(const Options &options)
{
    Run run(options);
    int status = 0;
    try {
        status = run.run();
    } catch (const Mismatch &error) {
        note(std::string("lockstep: ") + error.what());
        status = status_mismatch;
    } catch (const AssertionFailed &error) {
        note(error.what() + (" in cycle " + std::to_string(run.cycle())));
        status = status_assertion;
    }
    return report(run, options, status);
}

} // namespace

/* --- functions that the chip calls */

void soc_read_line(int at, svBitVecVal *words)
{
    memcpy(words, line_at(at), soc::line_bytes);
}

void soc_write_line(int at, const svBitVecVal *words, int mask)
{
    const auto *bytes = reinterpret_cast<const uint8_t *>(words);
    for (uint32_t i = 0; i < soc::line_bytes; i++) {
        if ((mask >> i & 1) != 0)
            line_at(at)[i] = bytes[i];
    }
}

void soc_retire(int hart, int pc, int instr, int value, int addr, int data)
{
    lockstep->on_retire(hart, static_cast<uint32_t>(pc), static_cast<uint32_t>(instr),
                        static_cast<uint32_t>(value), static_cast<uint32_t>(addr),
                        static_cast<uint32_t>(data));
}

void soc_trap(int hart, int pc, int cause, int instr, int tval)
{
    lockstep->on_trap(hart, static_cast<uint32_t>(pc), static_cast<uint32_t>(cause),
                      static_cast<uint32_t>(instr), static_cast<uint32_t>(tval));
}

void soc_memory(int bank, int hart, int op, int func, int at, int data, int mask)
{
    lockstep->on_memory(bank, {static_cast<soc::Request>(op), hart, static_cast<uint32_t>(func),
                               static_cast<uint32_t>(at), static_cast<uint32_t>(data),
                               static_cast<uint32_t>(mask)});
}

void soc_answer(int bank, int cores, int hart, int op, int at, int d0, int d1, int d2, int d3)
{
    const int words[4] = {d0, d1, d2, d3};
    Line line;
    memcpy(line.data(), words, sizeof words);
    lockstep->on_answer(bank, static_cast<uint32_t>(cores),
                        {static_cast<soc::Request>(op), hart, 0, static_cast<uint32_t>(at), 0, 0},
                        line);
}

void soc_conditional(int bank, int hart, int func, int at, int data, int outcome, int slot)
{
    lockstep->on_conditional(bank,
                             {soc::conditional, hart, static_cast<uint32_t>(func),
                              static_cast<uint32_t>(at), static_cast<uint32_t>(data), 15},
                             static_cast<uint32_t>(outcome), static_cast<uint32_t>(slot));
}

void soc_context(int event_kind, int hart, int at, const svBitVecVal *words)
{
    Scheduler::Words context;
    memcpy(context.data(), words, sizeof context);
    lockstep->on_context(static_cast<Lockstep::Event>(event_kind), hart, static_cast<uint32_t>(at),
                         context);
}

void soc_take(int source, int core, int slot)
{
    lockstep->scheduler().take(static_cast<Scheduler::Source>(source), core,
                               static_cast<uint32_t>(slot));
}

void soc_recruit_end(int core)
{
    lockstep->scheduler().recruit_end(core);
}

void soc_scheduler_register(int at, int data)
{
    lockstep->scheduler().set_register(static_cast<uint32_t>(at), static_cast<uint32_t>(data));
}

/* An assertion of the RTL has failed. */
void vl_stop(const char *file, int line, const char *where) VL_MT_UNSAFE
{
    throw AssertionFailed(std::string(file) + ":" + std::to_string(line) + ": assertion failed (" +
                          where + ")");
}

int main(int count, char **words)
{
    try {
        std::optional<Options> options = read_options(count, words, soc::cores);
        if (!options)
            return 0;
        check_wave(options->wave);
        memory = load_image(options->image);
        if (options->lockstep) {
            lockstep = std::make_unique<Lockstep>(load_image(options->image), !options->incoherent,
                                                  options->semihosting);
        }
        return simulate(*options);
    } catch (const std::exception &error) {
        note(error.what());
        return status_usage;
    }
}
