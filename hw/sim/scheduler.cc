/* SPDX-License-Identifier: MIT
 *
 * scheduler.cc - the model of the hardware scheduler; see scheduler.h for the rules.
 */
#include "scheduler.h"

#include <algorithm>
#include <cinttypes>

#include "mismatch.h"

namespace
{

const char *const sources[] = {"RTU_LIFO", "RTU_LIFO, to be spilled,", "RTU_FILLQ", "the DTB",
                               "the recruiting thread"};

[[noreturn]] void fail(const std::string &text)
{
    throw Mismatch("scheduler: " + text + "\n");
}

} // namespace

void Scheduler::on_cycle(uint64_t cycle)
{
    for (Core &core : cores_)
        core.was_full = core.lifo_size == soc::scheduler;
    dtb_was_full_ = dtb_full();
    for (const auto &change : later_)
        change();
    later_.clear();
    for (Core &core : cores_) {
        core.lifo_size = core.lifo.size();
        core.fillq_size = core.fillq.size();
        if (core.lifo.empty())
            core.empty = cycle;
        if (core.fillq_size == soc::scheduler)
            core.fill_full = cycle;
    }
}

bool Scheduler::dtb_full() const
{
    return std::all_of(entries_.begin(), entries_.end(), [](const Entry &one) { return one.used; });
}

Scheduler::Entry *Scheduler::youngest(uint32_t line, bool full)
{
    Entry *found = nullptr;
    for (Entry &one : entries_) {
        if (one.used && !one.woken && one.line == line && one.needs_full == full &&
            (found == nullptr || one.order > found->order))
            found = &one;
    }
    return found;
}

Scheduler::Entry &Scheduler::entry(uint32_t slot)
{
    if (slot >= entries_.size())
        fail(format("the DTB has no entry %u", slot));
    return entries_[slot];
}

Scheduler::Outcome Scheduler::conditional(const Access &access, uint32_t slot, bool &wakes)
{
    uint32_t line = access.line;
    Line &state = lines_[line];
    Operation operation = access.operation;
    bool waits = operation == wait_full || operation == wait_empty;
    bool needs_full = operation != put_empty && operation != wait_empty;
    bool always = operation == fill || operation == empty;
    wakes = false;
    if (always || (state.full == needs_full && (!state.kept || access.woken))) {
        if (waits)
            return done;
        bool full = operation != take_full && operation != empty;
        Entry *waiting = youngest(line, full);
        wakes = waiting != nullptr;
        later_.emplace_back([this, line, full, waiting] {
            lines_[line] = {full, waiting != nullptr};
            if (waiting != nullptr)
                waiting->woken = true;
        });
        return done;
    }
    if (access.tries)
        return failed;
    if (soc::scheduler_stages == 1 ? dtb_full() : dtb_was_full_)
        return overflow;
    if (entry(slot).used)
        fail(format("entry %u of the DTB is given to two threads", slot));
    later_.emplace_back([this, slot, line, needs_full] {
        entries_[slot] = Entry{};
        entries_[slot].used = true;
        entries_[slot].line = line;
        entries_[slot].needs_full = needs_full;
        entries_[slot].order = ++order_;
    });
    return blocked;
}

void Scheduler::push_lifo(int core, const Words &words)
{
    later_.emplace_back([this, core, words] {
        cores_[core].lifo.push_back(words);
        if (cores_[core].lifo.size() > soc::scheduler)
            fail(format("core %d pushes to a full RTU_LIFO", core));
    });
}

void Scheduler::push_fillq(int core, const Words &words)
{
    if (cores_[core].fillq_size == soc::scheduler)
        fail(format("core %d pushes to a full RTU_FILLQ", core));
    later_.emplace_back([this, core, words] { cores_[core].fillq.push_back(words); });
}

void Scheduler::evict(uint32_t slot, const Words &words)
{
    Entry &one = entry(slot);
    if (!one.used || one.evicted)
        fail(format("a context leaves for entry %u of the DTB, which waits for none", slot));
    one.evicted = true;
    one.words = words;
}

void Scheduler::park(uint32_t slot, const Words &words)
{
    evict(slot, words);
    entry(slot).parked = true;
}

void Scheduler::arrive(uint32_t slot, const Words &words)
{
    Entry &one = entry(slot);
    if (!one.evicted || one.arrived || one.words != words)
        fail(format("a context arrives at entry %u of the DTB that was not sent there", slot));
    later_.emplace_back([&one] { one.arrived = true; });
}

void Scheduler::take(Source source, int core, uint32_t slot)
{
    Core &from = cores_[core];
    Words words{};
    bool right = false;
    bool parked = false;
    switch (source) {
    case lifo:
    case spill:
        right = from.lifo_size != 0 && !from.lifo.empty();
        if (right) {
            words = from.lifo.back();
            from.lifo.pop_back();
        }
        break;
    case fillq:
        right = from.fillq_size != 0 && !from.fillq.empty();
        if (right) {
            words = from.fillq.front();
            from.fillq.pop_front();
        }
        break;
    case dtb: {
        Entry &one = entry(slot);
        right = one.used && one.woken && one.arrived;
        words = one.words;
        parked = one.parked;
        later_.emplace_back([&one] { one.used = false; });
        break;
    }
    case recruiting:
        right = from.spilled && !from.recruiting && from.lifo_size < from.threshold &&
                from.fillq_size == 0;
        words[0] = recruit_pc_;
        later_.emplace_back([&from] { from.recruiting = true; });
        break;
    }
    if (!right)
        fail(format("core %d, entry %u: %s gives a thread that it does not have", core, slot,
                    sources[source]));
    if (source == spill)
        from.spilled_words = words;
    else
        taken_.push_back({source, core, parked, words});
}

Scheduler::Taken Scheduler::start(int core, bool woken, bool recruits, const Words &words)
{
    if (taken_.empty())
        fail(format("core %d gets a thread, and none has been taken", core));
    Taken expected = taken_.front();
    taken_.pop_front();
    if (woken != (expected.source == dtb && !expected.parked) ||
        recruits != (expected.source == recruiting))
        fail(format("core %d gets a thread of %s with the marks woken %d, recruits %d", core,
                    sources[expected.source], woken, recruits));
    if (recruits && expected.core != core)
        fail(format("core %d gets the recruiting thread of core %d", core, expected.core));
    for (size_t i = 0; i < words.size(); i++) {
        if (words[i] != expected.words[i])
            fail(format("core %d gets a thread of %s, word %zu: chip %#x, model %#x", core,
                        sources[expected.source], i, words[i], expected.words[i]));
    }
    return expected;
}

void Scheduler::recruit_end(int core)
{
    if (!cores_[core].recruiting)
        fail(format("the recruiting thread of core %d ends, and it has none", core));
    later_.emplace_back([this, core] { cores_[core].recruiting = false; });
}

void Scheduler::set_register(uint32_t at, uint32_t data)
{
    later_.emplace_back([this, at, data] {
        auto core = at / 0x40;
        if (at == 0x400)
            recruit_pc_ = data;
        else if (core < static_cast<uint32_t>(soc::cores) && at % 0x40 == 8)
            cores_[core].threshold = data & 0xffff;
        else if (core < static_cast<uint32_t>(soc::cores) && at % 0x40 == 12)
            cores_[core].spilled = (data & 1) != 0;
    });
}
