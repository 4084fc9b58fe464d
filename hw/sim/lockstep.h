/* SPDX-License-Identifier: MIT
 *
 * lockstep.h - checks the chip while it runs: the instruction-set simulator (iss.h) executes each
 * instruction that a hart retires, and a model of memory each request that a bank executes.
 *
 * The chip decides only what no specification decides: the order in which the banks execute
 * requests, when answers reach the cores, what devices answer, the time, and when an interrupt is
 * taken.
 * Everything else is computed here and compared, exactly, for any number of harts:
 *
 *   1. Memory is a sequence of requests, in the order in which banks execute them (on_memory). The
 *      model executes the same ones: loads, stores, atomics, reservations. The answer that leaves a
 *      bank must be the model's (on_answer), and an answer that changes memory goes to every core
 *      in one cycle, or, without coherence, to the core that asked.
 *   2. A store that a bank executes is the oldest one that its hart has retired and no bank has
 *      executed. An atomic instruction is executed by a bank exactly once before it retires, and
 *      after all stores of its hart are visible, as is a load that no cache answers.
 *   3. Each core has the lines that its data cache may hold: those that were answered to it, with
 *      its own stores merged, less those that others have changed or that it has flushed. A load
 *      that hits must find its line there, with the same bytes. How recent a line must be follows
 *      from the pipeline: a load that retires in cycle t has seen the answers that were on the
 *      core's port up to cycle t - 3, and no others (`visible`). One that has missed gets the bytes
 *      of its answer.
 *   4. A hart's own stores, from retirement until their answer is visible, come first: the youngest
 *      one that overlaps a load must have all its bytes.
 *   5. An instruction is one that memory has held at its address since the hart's last fence.i.
 *   6. The host (semihosting) has a number behind those of the harts. Its stores change memory like
 *      others, and it has no cache. An ebreak retires if and only if the host has served it, with
 *      the host's result (on_host).
 *   7. Hardware scheduler: a hart executes instructions only while it has a thread. A thread that
 *      starts or leaves has the registers that the simulator has. scheduler.h says which threads
 *      may start.
 *
 * A mismatch throws Mismatch.
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "iss.h"
#include "lines.h"
#include "memory.h"
#include "mismatch.h"
#include "scheduler.h"
#include "soc.h"

/* A request that a bank executes, and its answer. */
struct Message {
    soc::Request op;
    int hart;
    uint32_t funct5;
    uint32_t addr;
    uint32_t data;
    uint32_t mask;
};

class Lockstep
{
public:
    /* has_host: an ebreak waits for the host. */
    Lockstep(Memory memory, bool coherent, bool has_host);

    /* From the chip, see hw/rtl. */
    void on_cycle(uint64_t cycle);
    void on_retire(int hart, uint32_t pc, uint32_t instr, uint32_t value, uint32_t addr,
                   uint32_t data);
    void on_trap(int hart, uint32_t pc, uint32_t cause, uint32_t instr, uint32_t tval);
    void on_memory(int bank, const Message &message);
    void on_conditional(int bank, const Message &message, uint32_t outcome, uint32_t slot);
    void on_answer(int bank, uint32_t to_cores, const Message &message, const Line &data);
    /* From the host: it lets a halted hart go on. refused: its ebreak traps. */
    void on_host(int hart, bool refused, uint32_t value);

    /* From the hardware scheduler. A context was pushed to a queue of the core, has left the
       registers of a blocked thread, has arrived in the DTB, or starts a thread. */
    enum Event { pushed_lifo, pushed_fillq, evicted, arrived, started };
    void on_context(Event event, int hart, uint32_t at, const Scheduler::Words &words);
    Scheduler &scheduler() { return scheduler_; }

    /* Where each hart is, for programs that do not end. */
    std::string recent() const;

private:
    struct Store {
        uint64_t serial;
        uint32_t offset; /* of the word */
        uint32_t data;   /* in its lanes */
        uint32_t mask;
        bool executed = false;
    };
    struct Done { /* for the report */
        uint64_t cycle;
        uint32_t pc;
        uint32_t instr;
        uint32_t value;
        bool trapped;
    };
    struct Thread : iss::Outside {
        Thread(Lockstep &whole, int number)
            : whole(whole), number(number), hart(number, soc::ram_base)
        {
        }
        uint32_t load(uint32_t at, int size) override;
        void store(uint32_t at, int size, uint32_t data) override;
        uint32_t atomic(uint32_t funct5, uint32_t at, uint32_t data) override;
        void fence(uint32_t instr) override;
        void fence_i() override;
        void flush_line(uint32_t at) override;
        bool served(uint32_t &a0) override;
        bool spawn(uint32_t pc) override;
        void term() override;
        bool conditional(const Conditional &access, uint32_t &word) override;
        bool wait(bool full, uint32_t at, uint32_t word) override;
        void was_executed(uint32_t operation, uint32_t at, uint32_t data, bool has_data) const;
        bool spill(uint32_t at) override;
        bool fill(uint32_t at) override;
        void save(uint32_t at, const Scheduler::Words &context) override;
        bool give(uint32_t word) override;
        uint32_t take() override;
        uint32_t outside_csr(uint32_t number) override;
        bool moved(const char *what, uint32_t at, const Scheduler::Words &context);
        uint64_t last_cycle() const { return history.empty() ? 0 : history.back().cycle; }
        uint32_t loaded(uint32_t at, int size, uint32_t mask);

        Lockstep &whole;
        int number;
        iss::Hart hart;
        std::deque<Store> stores;
        bool answered = false; /* an instruction has its answer, and has not retired */
        Message answer{};
        uint32_t answer_word = 0;
        bool atomic_executed = false;
        Message executed{};
        enum { not_asked, serves, refuses } host = not_asked;
        uint32_t host_value = 0;
        /* Hardware scheduler: the state of the hart, and what its instruction has done so far. */
        bool absent = false; /* it has no thread */
        bool woken = false;  /* a line is kept for its thread */
        bool overflows = false;
        bool executed_woken = false; /* when its access was executed, a line was kept for it */
        int slot = -1;               /* its thread, or its word, goes to this entry of the DTB */
        bool parks = false;          /* its instruction is wait.full or wait.empty */
        bool parked = false;         /* and the word has arrived in the DTB */
        bool refused = false;        /* or the DTB was full */
        bool spawned = false;
        uint32_t spawned_pc = 0;
        bool filled = false;
        uint32_t given = 0;  /* x10 of the context that `give` has pushed */
        bool landed = false; /* a thread has come, whose x10 `take` gets */
        uint32_t landed_word = 0;
        uint32_t lines = 0; /* of a context that it has moved */
        uint32_t lines_at = 0;
        Scheduler::Words lines_words{};
        uint64_t since = 0;       /* of the last fence.i */
        uint32_t chip_value = 0;  /* of the instruction that retires */
        std::deque<Done> history; /* the last instructions */
    };
    struct Expected {
        Message message;
        Line data;
        bool writes;
        uint64_t serial; /* of a store */
        bool ends;       /* the instruction that waits for it can end */
    };
    struct Visible { /* a change of a core's lines, from a cycle on */
        uint64_t from;
        int core;
        enum { filled, merged, dropped, stored } kind;
        uint32_t offset;
        Line line;
        uint32_t data;
        uint32_t mask;
        int hart;
        uint64_t serial;
    };
    struct Old { /* a word of code before it was changed */
        uint64_t until;
        uint32_t word;
    };
    struct Olds {
        std::deque<Old> words;
        uint64_t forgotten = 0; /* older ones than this are not known any more */
    };

    static std::string text_of(const Done &done);
    [[noreturn]] void fail(const Thread &thread, const Done &now, const std::string &text) const;
    [[noreturn]] void fail_memory(const Message &message, const std::string &text) const;
    uint32_t word(uint32_t offset) const;
    void execute(const Message &message, Expected &expected);
    void change(uint32_t offset, uint32_t data, uint32_t mask);
    void move_line(Thread &thread, const Message &message);
    void check_leaving(Thread &thread, const Scheduler::Words &words, uint32_t pc) const;
    void start(Thread &thread, uint32_t marks, const Scheduler::Words &words);
    uint64_t match_store(Thread &thread, const Message &message);
    void deliver(uint32_t to_cores, const Expected &expected);
    void become_visible();
    void check_instruction(Thread &thread, const Done &now) const;
    void compare(Thread &thread, const Done &now, const iss::Effect &effect, uint32_t value,
                 uint32_t addr, uint32_t data) const;
    void record(Thread &thread, const Done &now);

    Memory memory_;
    bool coherent_;
    bool has_host_;
    Scheduler scheduler_;
    uint64_t cycle_ = 0;
    uint64_t serial_ = 0;
    const Done *now_ = nullptr; /* the retiring instruction, while the simulator executes it */
    std::vector<std::unique_ptr<Thread>> threads_; /* the last one is the host */
    std::array<bool, soc::harts + 1> reserved_{};
    std::array<uint32_t, soc::harts + 1> reserved_at_{};
    std::array<std::deque<Expected>, soc::banks> expected_;
    std::deque<Visible> visible_;
    std::array<Lines, soc::cores> lines_;
    std::vector<bool> code_; /* lines that were fetched */
    std::unordered_map<uint32_t, Olds> olds_;
};

#endif
