/* SPDX-License-Identifier: MIT
 *
 * scheduler.h - a model of the hardware scheduler: its queues, the DTB, and the Full/Empty states
 * of all lines. lockstep.h checks the chip's scheduler with it.
 *
 * The chip decides when a thread is taken from a queue, which source has its turn, and which entry
 * of the DTB a thread gets. The model computes all else, and throws Mismatch if the chip differs:
 *
 *   1. A thread is taken only from a queue that has it: the youngest of an RTU_LIFO, the oldest of
 *      an RTU_FILLQ, of the DTB one that has been woken and whose context has arrived. It is
 *      started once, with the same context, in the order in which threads are taken.
 *   2. A conditional access succeeds if and only if the line's state allows it. Otherwise it fails,
 *      if it only tries; or the thread, or the word that has to wait, gets a free entry of the DTB,
 *      or an overflow if there is none. A DTU of two stages has looked for one a cycle earlier.
 *   3. A change of a line's state wakes the thread that was the last to begin to wait for the new
 *      state, and keeps the line for it.
 *   4. A recruiting thread starts only if the rule of rtu.sv asks for one, on its own core.
 *
 * All parts of the chip see the state from before the cycle, in which they act at the same time. So
 * changes wait in `later_` for the next cycle, except that a taken thread leaves its queue at once.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "soc.h"

class Scheduler
{
public:
    using Words = std::array<uint32_t, 16>; /* word 0 is the program counter */

    enum Source { lifo, spill, fillq, dtb, recruiting };
    enum Outcome { done, blocked, overflow, failed };
    enum Operation { take_full, read_full, put_empty, fill, empty, wait_full, wait_empty };
    struct Access {
        Operation operation;
        bool woken; /* the line is kept for the thread */
        bool tries; /* does not wait */
        uint32_t line;
    };

    Scheduler() : entries_(soc::scheduler) {}

    void on_cycle(uint64_t cycle);
    /* A bank executes a conditional access. slot: the entry that the chip gives it if it blocks.
       wakes: it wakes a thread. */
    Outcome conditional(const Access &access, uint32_t slot, bool &wakes);
    void push_lifo(int core, const Words &words);
    void push_fillq(int core, const Words &words);
    /* A blocked thread's context has left its registers, and has reached its entry. */
    void evict(uint32_t slot, const Words &words);
    /* A word is on its way to its entry. */
    void park(uint32_t slot, const Words &words);
    void arrive(uint32_t slot, const Words &words);
    void take(Source source, int core, uint32_t slot);
    /* A thread, or a word, that has been taken comes to a core. */
    struct Taken {
        Source source;
        int core;
        bool parked; /* a word that has waited */
        Words words;
    };
    Taken start(int core, bool woken, bool recruits, const Words &words);
    void recruit_end(int core);
    void set_register(uint32_t at, uint32_t data);

    /* In the cycle before this one. */
    bool lifo_was_full(int core) const { return cores_[core].was_full; }
    /* At some time since a cycle. */
    bool lifo_empty_since(int core, uint64_t cycle) const { return cores_[core].empty >= cycle; }
    bool fillq_full_since(int core, uint64_t cycle) const
    {
        return cores_[core].fill_full >= cycle;
    }
    /* The last context that was taken to be spilled. */
    const Words &spilled(int core) const { return cores_[core].spilled_words; }

private:
    struct Core {
        std::vector<Words> lifo;
        std::deque<Words> fillq;
        size_t lifo_size = 0; /* before this cycle */
        size_t fillq_size = 0;
        bool was_full = false;
        uint64_t empty = 0; /* the last cycle in which it was so */
        uint64_t fill_full = 0;
        Words spilled_words{};
        uint32_t threshold = 0;
        bool spilled = false;
        bool recruiting = false;
    };
    struct Entry {
        bool used = false;
        bool evicted = false; /* `words` is set */
        bool arrived = false;
        bool woken = false;
        bool needs_full = false;
        bool parked = false;
        uint32_t line = 0;
        uint64_t order = 0;
        Words words{};
    };
    struct Line {
        bool full = false;
        bool kept = false;
    };

    bool dtb_full() const;
    Entry *youngest(uint32_t line, bool full);
    Entry &entry(uint32_t slot);

    std::vector<std::function<void()>> later_;
    std::array<Core, soc::cores> cores_;
    std::vector<Entry> entries_;
    bool dtb_was_full_ = false; /* in the cycle before this one */
    std::unordered_map<uint32_t, Line> lines_;
    std::deque<Taken> taken_;
    uint64_t order_ = 0;
    uint32_t recruit_pc_ = 0;
};

#endif
