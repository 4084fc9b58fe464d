/* SPDX-License-Identifier: MIT
 *
 * lockstep_scheduler.cc - the part of the comparison that concerns the hardware scheduler: its
 * instructions, and the contexts that leave and enter registers.
 */
#include "lockstep.h"

#include <cstring>

/* --- instructions, when they retire or trap: what has the chip done for them? */

bool Lockstep::Thread::spawn(uint32_t pc)
{
    if (!spawned)
        return false;
    if (spawned_pc != pc)
        whole.fail(*this, *whole.now_, format("has spawned a thread at %#x", spawned_pc));
    spawned = false;
    return true;
}

void Lockstep::Thread::term()
{
    absent = true;
}

/* Has a bank executed its request as this one? */
void Lockstep::Thread::was_executed(uint32_t operation, uint32_t at, uint32_t data,
                                    bool has_data) const
{
    if (executed.op != soc::conditional || (executed.funct5 & 7) != operation ||
        (executed.addr & ~soc::alias_bit) != (at & ~soc::alias_bit) ||
        (has_data && executed.data != data))
        whole.fail(*this, *whole.now_,
                   format("was executed as request %d, operation %u, of %#x with %#x", executed.op,
                          executed.funct5 & 7, executed.addr, executed.data));
}

bool Lockstep::Thread::conditional(const Conditional &access, uint32_t &word)
{
    if (overflows)
        return false;
    if (!answered || !atomic_executed)
        whole.fail(*this, *whole.now_, "retires without having been executed by a bank");
    was_executed(access.operation, access.at, access.data, access.operation >= 2);
    bool tried = (executed.funct5 >> 4 & 1) != 0;
    bool woke = (executed.funct5 >> 3 & 1) != 0;
    if (tried != access.tries || woke != (access.kept || executed_woken))
        whole.fail(*this, *whole.now_,
                   format("was executed as one that tries: %d, for which the "
                          "line is kept: %d",
                          tried, woke));
    answered = false;
    atomic_executed = false;
    word = answer_word;
    return true;
}

bool Lockstep::Thread::wait(bool full, uint32_t at, uint32_t word)
{
    was_executed(full ? Scheduler::wait_full : Scheduler::wait_empty, at, word, true);
    bool waits = parked;
    if (!parked && !refused && !(answered && atomic_executed))
        whole.fail(*this, *whole.now_, "retires without having been executed by a bank");
    answered = false;
    atomic_executed = false;
    parks = parked = refused = false;
    return waits;
}

bool Lockstep::Thread::moved(const char *what, uint32_t at, const Scheduler::Words &context)
{
    if (lines == 0)
        return false;
    if (lines != 15 || lines_at != soc::offset(at) || lines_words != context)
        whole.fail(*this, *whole.now_,
                   format("%s: lines %#x of a context at %#x were moved, word 0 is %#x and must be "
                          "%#x",
                          what, lines, lines_at | soc::ram_base, lines_words[0], context[0]));
    lines = 0;
    return true;
}

bool Lockstep::Thread::spill(uint32_t at)
{
    int core = number / soc::threads;
    if (moved("spill", at, whole.scheduler_.spilled(core)))
        return true;
    if (!whole.scheduler_.lifo_empty_since(core, last_cycle()))
        whole.fail(*this, *whole.now_, "moves nothing, and the RTU_LIFO has never been empty");
    return false;
}

bool Lockstep::Thread::fill(uint32_t at)
{
    int core = number / soc::threads;
    bool was_filled = filled;
    filled = false;
    if (moved("fill", at, lines_words) != was_filled)
        whole.fail(*this, *whole.now_, "has read a context, and has not pushed it");
    if (!was_filled && !whole.scheduler_.fillq_full_since(core, last_cycle()))
        whole.fail(*this, *whole.now_, "moves nothing, and the RTU_FILLQ has never been full");
    return was_filled;
}

void Lockstep::Thread::save(uint32_t at, const Scheduler::Words &context)
{
    if (!moved("save", at, context))
        whole.fail(*this, *whole.now_, "retires, and has stored nothing");
}

bool Lockstep::Thread::give(uint32_t word)
{
    int core = number / soc::threads;
    bool was_filled = filled;
    filled = false;
    if (was_filled && given != word)
        whole.fail(*this, *whole.now_, format("has pushed %#x", given));
    if (!was_filled && !whole.scheduler_.fillq_full_since(core, last_cycle()))
        whole.fail(*this, *whole.now_, "pushes nothing, and the RTU_FILLQ has never been full");
    return was_filled;
}

uint32_t Lockstep::Thread::take()
{
    if (!landed)
        return 0; /* an interrupt has ended it; or, take.for, the end of its time */
    landed = false;
    return landed_word;
}

/* --- memory */

void Lockstep::on_conditional(int bank, const Message &message, uint32_t outcome, uint32_t slot)
{
    Thread &thread = *threads_[message.hart];
    uint32_t offset = soc::offset(message.addr);
    uint32_t operation = message.funct5 & 7;
    bool woken = (message.funct5 >> 3 & 1) != 0;
    if (!thread.stores.empty())
        fail_memory(message, format("does not wait for %zu stores", thread.stores.size()));
    bool tries = (message.funct5 >> 4 & 1) != 0;
    if (thread.absent || thread.atomic_executed || thread.slot >= 0 || thread.overflows ||
        thread.parked || thread.refused)
        fail_memory(message, "the hart's instruction has been executed before");
    if (operation > Scheduler::wait_empty ||
        (tries ? !woken && thread.woken : woken != thread.woken))
        fail_memory(message, format("operation %u is marked as woken: %d", operation, woken));
    bool waits = operation >= Scheduler::wait_full;
    bool wakes = false;
    auto right = scheduler_.conditional(
        {static_cast<Scheduler::Operation>(operation), woken, tries, offset / soc::line_bytes},
        slot, wakes);
    if (right != static_cast<Scheduler::Outcome>(outcome))
        fail_memory(message, format("operation %u has outcome %u, and must have %d", operation,
                                    outcome, right));
    thread.executed_woken = thread.woken;
    thread.woken = false;
    thread.executed = message;
    thread.parks = waits;
    Expected expected{};
    expected.message = message;
    uint32_t answer = slot;
    if (right == Scheduler::failed)
        answer = 0;
    else if (right == Scheduler::done && operation <= Scheduler::read_full)
        answer = word(offset);
    else if (right == Scheduler::done)
        answer = operation == Scheduler::put_empty || wakes ? 1 : 0;
    if (right == Scheduler::done || right == Scheduler::failed) {
        expected.ends = true;
        thread.atomic_executed = true;
        expected.writes = right == Scheduler::done && operation >= 2 && !waits;
        if (expected.writes)
            change(offset, message.data, 15);
    } else if (right == Scheduler::blocked) {
        thread.slot = static_cast<int>(slot);
    } else {
        (waits ? thread.refused : thread.overflows) = true;
    }
    memcpy(expected.data.data(), &answer, 4);
    expected_[bank].push_back(expected);
}

/* A line, or a word of one, of a context that spill, save or fill moves. */
void Lockstep::move_line(Thread &thread, const Message &message)
{
    uint32_t offset = soc::offset(message.addr);
    uint32_t line = offset >> 4 & 3;
    uint32_t words = message.op == soc::get_line ? 4 : 1;
    if (thread.lines == 0)
        thread.lines_at = offset & ~63U;
    if (thread.lines_at != (offset & ~63U))
        fail_memory(message, format("the hart moves a context at %#x", thread.lines_at));
    if (words == 4 && (thread.lines >> line & 1) != 0)
        fail_memory(message, "the hart has moved this line");
    thread.lines |= 1U << line;
    for (uint32_t i = 0; i < words; i++)
        thread.lines_words[(offset >> 2 & 15) + i] = word(offset + i * 4);
}

/* --- contexts */

void Lockstep::check_leaving(Thread &thread, const Scheduler::Words &words, uint32_t pc) const
{
    Done now{cycle_, thread.hart.pc(), word(soc::offset(thread.hart.pc())), 0, false};
    if (thread.absent)
        fail(thread, now, "gives a context, and the hart has no thread");
    Scheduler::Words right = thread.hart.context(pc);
    for (uint32_t i = 0; i < right.size(); i++) {
        if (words[i] != right[i])
            fail(thread, now,
                 format("word %u of its context: chip %#x, simulator %#x", i, words[i], right[i]));
    }
}

void Lockstep::start(Thread &thread, uint32_t marks, const Scheduler::Words &words)
{
    bool woken = (marks & 1) != 0;
    int core = thread.number / soc::threads;
    Scheduler::Taken taken = scheduler_.start(core, woken, (marks & 2) != 0, words);
    if (thread.absent) {
        thread.absent = false;
        thread.hart.start(words);
        thread.woken = woken;
        reserved_[thread.number] = false;
        return;
    }
    Done now{cycle_, thread.hart.pc(), word(soc::offset(thread.hart.pc())), 0, false};
    if ((now.instr & 0xfc00707f) != 0x700b || thread.landed) /* take, take.for */
        fail(thread, now, "the hart gets a thread, and has one");
    if (taken.source != Scheduler::lifo && taken.source != Scheduler::fillq && !taken.parked)
        fail(thread, now, "take gets a thread that is not new");
    thread.landed = true;
    thread.landed_word = words[10];
}

void Lockstep::on_context(Event event, int hart, uint32_t at, const Scheduler::Words &words)
{
    Thread &thread = *threads_[hart];
    int core = hart / soc::threads;
    Done now{cycle_, thread.hart.pc(), word(soc::offset(thread.hart.pc())), 0, false};
    switch (event) {
    case pushed_lifo:
        check_leaving(thread, words, words[0]);
        if (thread.spawned)
            fail(thread, now, "has spawned a thread twice");
        thread.spawned = true;
        thread.spawned_pc = words[0];
        scheduler_.push_lifo(core, words);
        break;
    case pushed_fillq:
        if ((now.instr & 0xfe00707f) == 0x0400700b) { /* give */
            Scheduler::Words right{};
            right[10] = thread.given = words[10];
            if (words != right || thread.filled)
                fail(thread, now, "gives more than a word");
        } else if (thread.lines != 15 || thread.lines_words != words || thread.filled) {
            fail(thread, now,
                 format("pushes a context that it has not read, word 0 is %#x", words[0]));
        }
        thread.filled = true;
        scheduler_.push_fillq(core, words);
        break;
    case evicted:
        check_leaving(thread, words, thread.hart.pc());
        if (thread.slot != static_cast<int>(at))
            fail(thread, now, format("leaves for entry %u of the DTB", at));
        scheduler_.evict(at, words);
        thread.slot = -1;
        thread.absent = true;
        break;
    case arrived:
        if (thread.parks && thread.slot == static_cast<int>(at)) {
            Scheduler::Words right{};
            right[10] = thread.executed.data;
            if (words != right)
                fail(thread, now, "lets more wait than a word");
            scheduler_.park(at, words);
            thread.slot = -1;
            thread.parked = true;
        }
        scheduler_.arrive(at, words);
        break;
    case started:
        start(thread, at, words);
        break;
    }
}
