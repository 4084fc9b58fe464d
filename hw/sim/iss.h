/* SPDX-License-Identifier: MIT
 *
 * iss.h - an instruction-set simulator: one hart of RV32IMA with Zicsr, Zifencei and the line
 * operations of Zicbom, in machine mode, with the control registers of hw/rtl/csr.sv. It has
 * been written from the RISC-V manuals, not from the RTL, so that one checks the other.
 * Custom-0 has the instructions of the hardware scheduler (docs/internals/chip.md).
 *
 * Memory, devices and what only the chip knows (time, pending interrupts) belong to `Outside`.
 */
#ifndef ISS_H
#define ISS_H

#include <array>
#include <cstdint>

namespace iss
{

class Outside
{
public:
    virtual ~Outside() = default;
    /* size bytes, not extended. */
    virtual uint32_t load(uint32_t at, int size) = 0;
    virtual void store(uint32_t at, int size, uint32_t data) = 0;
    /* funct5 of the instruction; the result is what rd gets. */
    virtual uint32_t atomic(uint32_t funct5, uint32_t at, uint32_t data) = 0;
    virtual void fence(uint32_t instr) = 0;
    virtual void fence_i() = 0;
    virtual void flush_line(uint32_t at) = 0;
    /* Has the host served this ebreak (semihosting), with the result a0? Otherwise it traps. */
    virtual bool served(uint32_t &a0) = 0;
    /* Instructions of the hardware scheduler. False: the RTU_LIFO, or the DTB, is full. */
    virtual bool spawn(uint32_t pc) = 0;
    virtual void term() = 0;
    struct Conditional {
        uint32_t operation; /* 0: takes when full, 1: reads when full, 2: stores when empty,
                               3: stores, full, 4: stores, empty */
        bool tries;         /* does not wait */
        bool kept;          /* the line is kept for the thread */
        uint32_t at;
        uint32_t data;
    };
    virtual bool conditional(const Conditional &access, uint32_t &word) = 0;
    /* Shall a word wait until the line is full, or empty? The result is whether it waits. */
    virtual bool wait(bool full, uint32_t at, uint32_t word) = 0;
    /* 64 bytes of memory; the result is whether a context was moved. */
    virtual bool spill(uint32_t at) = 0;
    virtual bool fill(uint32_t at) = 0;
    virtual void save(uint32_t at, const std::array<uint32_t, 16> &context) = 0;
    /* A word to a thread that begins; the result is whether the RTU_FILLQ had room. */
    virtual bool give(uint32_t word) = 0;
    virtual uint32_t take() = 0;
    /* A control register whose value the hart does not know. */
    virtual uint32_t outside_csr(uint32_t number) = 0;
};

/* The effect of an instruction. */
struct Effect {
    bool traps = false;
    uint32_t cause = 0;
    uint32_t tval = 0;
    uint32_t rd = 0; /* 0: none */
    uint32_t value = 0;
    bool accesses = false; /* memory or a device */
    uint32_t addr = 0;
    bool has_data = false; /* of a store or an atomic instruction */
    uint32_t data = 0;
};

class Hart
{
public:
    Hart(uint32_t number, uint32_t start) : pc_(start), number_(number) {}

    uint32_t pc() const { return pc_; }
    /* pc and x1 to x15. */
    std::array<uint32_t, 16> context(uint32_t pc) const;
    /* A thread of the hardware scheduler starts. */
    void start(const std::array<uint32_t, 16> &context);
    /* Executes instr at pc. fetched: there is memory at pc. */
    Effect step(uint32_t instr, bool fetched, Outside &outside);
    /* Takes an interrupt. False: it is not enabled. */
    bool interrupt(uint32_t cause);

private:
    struct Trap {
        uint32_t cause;
        uint32_t tval;
    };

    void execute(uint32_t instr, Outside &outside, Effect &effect);
    void branch(uint32_t instr);
    void load(uint32_t instr, Outside &outside, Effect &effect);
    void store(uint32_t instr, Outside &outside, Effect &effect);
    void atomic(uint32_t instr, Outside &outside, Effect &effect);
    void fence(uint32_t instr, Outside &outside);
    void system(uint32_t instr, Outside &outside, Effect &effect);
    void schedule(uint32_t instr, Outside &outside, Effect &effect);
    void conditional(uint32_t instr, Outside &outside, Effect &effect);
    void move(uint32_t instr, Outside &outside, Effect &effect);
    uint32_t read_csr(uint32_t number, uint32_t instr, Outside &outside) const;
    void write_csr(uint32_t number, uint32_t value);
    void jump(uint32_t to);
    void trap(uint32_t cause, uint32_t tval);

    uint32_t pc_;
    uint32_t next_ = 0;
    uint32_t number_;
    std::array<uint32_t, 32> x_{};
    bool mie_ = false;
    bool mpie_ = false;
    uint32_t enabled_ = 0;
    uint32_t mtvec_ = 0;
    uint32_t mscratch_ = 0;
    uint32_t mepc_ = 0;
    uint32_t mcause_ = 0;
    uint32_t mtval_ = 0;
    uint64_t instret_ = 0;
};

/* "lw x5, 8(x2)", nearly as a disassembler writes it. */
const char *describe(uint32_t instr, char *text, unsigned long bytes);

} // namespace iss

#endif
