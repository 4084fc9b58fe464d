/* SPDX-License-Identifier: MIT
 *
 * lockstep.cc - the model of memory, and the comparison; see lockstep.h for the rules.
 */
#include "lockstep.h"

#include <cinttypes>
#include <cstring>
#include <span>

namespace
{

/* Cycles from an answer's way through the crossbar until a load that retires has seen it: a cycle
   to the core's port, and three from there (cache.sv: taken, written, looked up, in M). */
constexpr uint64_t answer_visible = 4;
/* The same for a line that an instruction in M drops: it takes the place of an answer. */
constexpr uint64_t drop_visible = 3;
constexpr size_t history_length = 20;
constexpr size_t olds_length = 64;
constexpr size_t stores_length = 4;

uint32_t mask_of(uint32_t at, int size)
{
    return ((1U << size) - 1) << (at & 3);
}

uint32_t part(uint32_t word, uint32_t at, int size)
{
    uint32_t shifted = word >> (at & 3) * 8;
    return size == 4 ? shifted : shifted & ((1U << size * 8) - 1);
}

uint32_t amo_result(uint32_t funct5, uint32_t old, uint32_t operand)
{
    auto a = static_cast<int32_t>(old);
    auto b = static_cast<int32_t>(operand);
    switch (funct5) {
    case 0x00:
        return old + operand;
    case 0x01:
        return operand;
    case 0x04:
        return old ^ operand;
    case 0x08:
        return old | operand;
    case 0x0c:
        return old & operand;
    case 0x10:
        return a < b ? old : operand;
    case 0x14:
        return a > b ? old : operand;
    case 0x18:
        return old < operand ? old : operand;
    default:
        return old > operand ? old : operand;
    }
}

} // namespace

/* --- services for instructions: memory, fences, registers that only the chip knows */

uint32_t Lockstep::Thread::loaded(uint32_t at, int size, uint32_t mask)
{
    uint32_t offset = soc::offset(at);
    if (answered) {
        answered = false;
        bool right = answer.op == soc::load || answer.op == soc::read;
        if (!right || (answer.addr & ~soc::alias_bit) != (at & ~soc::alias_bit))
            whole.fail(*this, *whole.now_,
                       format("has the answer to request %d of %#x", answer.op, answer.addr));
        return answer_word;
    }
    if (!soc::in_ram(at) || (at & soc::alias_bit) != 0)
        whole.fail(*this, *whole.now_, format("load of %#x has asked nothing", at));
    for (auto store = stores.rbegin(); store != stores.rend(); ++store) {
        if (store->offset != (offset & ~3U) || (store->mask & mask) == 0)
            continue;
        if ((mask & ~store->mask) != 0)
            whole.fail(*this, *whole.now_,
                       format("load of %d bytes at %#x does not wait for a store of some of them",
                              size, at));
        return store->data;
    }
    const Line *line = whole.lines_[number / soc::threads].find(offset);
    if (line == nullptr)
        whole.fail(*this, *whole.now_,
                   format("load of %#x hits a line that the cache must not have any more", at));
    return word_in(*line, offset);
}

uint32_t Lockstep::Thread::load(uint32_t at, int size)
{
    return part(loaded(at, size, mask_of(at, size)), at, size);
}

void Lockstep::Thread::store(uint32_t at, int size, uint32_t data)
{
    uint32_t lanes = data << (at & 3) * 8;
    if (!soc::in_ram(at)) {
        if (!answered || answer.op != soc::write || answer.addr != at)
            whole.fail(*this, *whole.now_, format("store to device %#x was not made", at));
        answered = false;
        return;
    }
    if (stores.size() == stores_length + 2)
        whole.fail(*this, *whole.now_, "more stores under way than the buffer holds");
    stores.push_back({whole.serial_++, soc::offset(at) & ~3U, lanes, mask_of(at, size)});
}

uint32_t Lockstep::Thread::atomic(uint32_t funct5, uint32_t at, uint32_t data)
{
    if (!answered || !atomic_executed)
        whole.fail(*this, *whole.now_, "retires without having been executed by a bank");
    soc::Request op = funct5 == 2 ? soc::lr : funct5 == 3 ? soc::sc : soc::amo;
    if (executed.op != op || (executed.addr & ~soc::alias_bit) != (at & ~soc::alias_bit) ||
        executed.funct5 != funct5 || (op != soc::lr && executed.data != data))
        whole.fail(*this, *whole.now_,
                   format("was executed as operation %d, funct5 %#x, of %#x with %#x", executed.op,
                          executed.funct5, executed.addr, executed.data));
    answered = false;
    atomic_executed = false;
    return answer_word;
}

void Lockstep::Thread::fence(uint32_t instr)
{
    bool after_stores = (instr >> 24 & 1) != 0 || (instr >> 26 & 1) != 0;
    if (after_stores && !stores.empty())
        whole.fail(*this, *whole.now_,
                   format("does not wait for %zu stores that others may not see", stores.size()));
}

void Lockstep::Thread::fence_i()
{
    if (!stores.empty())
        whole.fail(*this, *whole.now_,
                   format("does not wait for %zu stores that fetches may not see", stores.size()));
    since = whole.cycle_;
}

void Lockstep::Thread::flush_line(uint32_t at)
{
    if (!stores.empty())
        whole.fail(*this, *whole.now_, format("does not wait for %zu stores", stores.size()));
    Visible change{};
    change.from = whole.cycle_ + drop_visible;
    change.core = number / soc::threads;
    change.kind = Visible::dropped;
    change.offset = soc::offset(at);
    if (soc::in_ram(at))
        whole.visible_.push_back(change);
}

bool Lockstep::Thread::served(uint32_t &a0)
{
    if (!whole.has_host_)
        return false;
    if (host == not_asked)
        whole.fail(*this, *whole.now_, "does not wait for the host");
    bool serves_it = host == serves;
    host = not_asked;
    a0 = host_value;
    return serves_it;
}

uint32_t Lockstep::Thread::outside_csr(uint32_t)
{
    return chip_value;
}

/* --- memory */

Lockstep::Lockstep(Memory memory, bool coherent, bool has_host)
    : memory_(std::move(memory)), coherent_(coherent), has_host_(has_host),
      code_(soc::ram_bytes / soc::line_bytes)
{
    for (int i = 0; i <= soc::harts; i++)
        threads_.push_back(std::make_unique<Thread>(*this, i));
}

uint32_t Lockstep::word(uint32_t offset) const
{
    uint32_t value = 0;
    memcpy(&value, memory_.data() + (offset & ~3U), 4);
    return value;
}

void Lockstep::change(uint32_t offset, uint32_t data, uint32_t mask)
{
    if (code_[line_of(offset)]) {
        Olds &olds = olds_[offset & ~3U];
        olds.words.push_back({cycle_, word(offset)});
        if (olds.words.size() > olds_length) {
            olds.forgotten = olds.words.front().until;
            olds.words.pop_front();
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        if ((mask >> i & 1) != 0)
            memory_[(offset & ~3U) + i] = static_cast<uint8_t>(data >> i * 8);
    }
    for (int h = 0; h < soc::harts; h++) {
        if (line_of(reserved_at_[h]) == line_of(offset))
            reserved_[h] = false;
    }
}

uint64_t Lockstep::match_store(Thread &thread, const Message &message)
{
    for (Store &store : thread.stores) {
        if (store.executed)
            continue;
        store.executed = true;
        if (store.offset == (soc::offset(message.addr) & ~3U) && store.data == message.data &&
            store.mask == message.mask)
            return store.serial;
        fail_memory(message, format("the hart's next store is of %#x at %#x, lanes %#x", store.data,
                                    store.offset | soc::ram_base, store.mask));
    }
    fail_memory(message, "the hart has no such store");
}

void Lockstep::execute(const Message &message, Expected &expected)
{
    expected.ends = message.op != soc::put_line && message.op != soc::get_line;
    Thread &thread = *threads_[message.hart];
    uint32_t offset = soc::offset(message.addr);
    uint32_t old = word(offset);
    uint32_t answer = old;
    bool &reserved = reserved_[message.hart];
    switch (message.op) {
    case soc::store:
        if (message.hart != soc::harts)
            expected.serial = match_store(thread, message);
        change(offset, message.data, message.mask);
        answer = message.data;
        expected.writes = true;
        break;
    case soc::amo:
        change(offset, amo_result(message.funct5, old, message.data), 15);
        expected.writes = true;
        break;
    case soc::lr:
        reserved = true;
        reserved_at_[message.hart] = offset;
        break;
    case soc::sc:
        expected.writes = reserved && line_of(reserved_at_[message.hart]) == line_of(offset);
        reserved = false;
        if (expected.writes)
            change(offset, message.data, 15);
        answer = expected.writes ? 0 : 1;
        break;
    case soc::fetch:
        code_[line_of(offset)] = true;
        break;
    case soc::put_line:
        change(offset, message.data, 15);
        answer = message.data;
        expected.writes = true;
        break;
    case soc::write:
        fail_memory(message, "banks get no such request");
    default:
        break;
    }
    if (message.op != soc::store && message.op != soc::load && message.op != soc::fetch &&
        !thread.stores.empty())
        fail_memory(message, format("does not wait for %zu stores", thread.stores.size()));
    if (message.op == soc::amo || message.op == soc::lr || message.op == soc::sc) {
        if (thread.atomic_executed)
            fail_memory(message, "the hart's instruction has been executed before");
        thread.atomic_executed = true;
        thread.executed = message;
    }
    if (message.op == soc::load || message.op == soc::fetch || message.op == soc::get_line) {
        memcpy(expected.data.data(), memory_.data() + line_of(offset) * soc::line_bytes,
               soc::line_bytes);
    } else {
        expected.data = {};
        memcpy(expected.data.data(), &answer, 4);
    }
}

void Lockstep::on_memory(int bank, const Message &message)
{
    Expected expected{};
    expected.message = message;
    execute(message, expected);
    if (message.op == soc::put_line || message.op == soc::get_line)
        move_line(*threads_[message.hart], message);
    if (message.op != soc::put_line || (message.addr & 12) == 12) /* words come one by one */
        expected_[bank].push_back(expected);
}

void Lockstep::on_answer(int bank, uint32_t to_cores, const Message &message, const Line &data)
{
    if (bank == soc::banks) {
        Expected device{};
        device.message = message;
        device.data = data;
        device.ends = true;
        deliver(to_cores, device);
        return;
    }
    if (expected_[bank].empty())
        fail_memory(message, format("answered by bank %d, which has executed no request", bank));
    Expected expected = expected_[bank].front();
    expected_[bank].pop_front();
    const Message &asked = expected.message;
    if (asked.op != message.op || asked.hart != message.hart ||
        (asked.addr & ~soc::alias_bit & ~(asked.op == soc::put_line ? 12U : 0U)) != message.addr)
        fail_memory(message, format("answered by bank %d instead of request %d of hart %d, of %#x",
                                    bank, asked.op, asked.hart, asked.addr));
    bool is_line =
        message.op == soc::load || message.op == soc::fetch || message.op == soc::get_line;
    size_t bytes = message.op == soc::put_line ? 0 : is_line ? soc::line_bytes : 4;
    if (memcmp(expected.data.data(), data.data(), bytes) != 0) {
        std::string text = "the answer has words";
        for (uint32_t i = 0; i < bytes; i += 4)
            text += format(" %08x", word_in(data, i));
        text += ", memory";
        for (uint32_t i = 0; i < bytes; i += 4)
            text += format(" %08x", word_in(expected.data, i));
        fail_memory(message, text);
    }
    uint32_t one = 1U << message.hart / soc::threads;
    uint32_t all = expected.writes && coherent_ ? one | ((1U << soc::cores) - 1) : one;
    if (to_cores != all)
        fail_memory(message, format("goes to cores %#x, and must go to %#x", to_cores, all));
    deliver(to_cores, expected);
}

void Lockstep::deliver(uint32_t to_cores, const Expected &expected)
{
    const Message &message = expected.message;
    Thread &thread = *threads_[message.hart];
    int own = message.hart / soc::threads;
    bool host = message.hart == soc::harts;
    if (!host && message.op != soc::fetch && message.op != soc::store && expected.ends) {
        if (thread.answered)
            fail_memory(message, "the hart has an answer already");
        thread.answered = true;
        thread.answer = message;
        thread.answer_word = message.op == soc::load ? word_in(expected.data, message.addr)
                                                     : word_in(expected.data, 0);
    }
    Visible change{};
    change.from = cycle_ + answer_visible;
    change.offset = soc::offset(message.addr);
    change.hart = message.hart;
    change.data = message.data;
    change.mask = message.mask;
    change.serial = expected.serial;
    if (!host && message.op == soc::store) {
        change.kind = Visible::stored; /* leaves the buffer; the caches follow */
        visible_.push_back(change);
    }
    for (int core = 0; core < soc::cores; core++) {
        if ((to_cores >> core & 1) == 0)
            continue;
        change.core = core;
        if (message.op == soc::load) {
            change.kind = Visible::filled;
            change.line = expected.data;
        } else if (message.op == soc::store && core == own) {
            change.kind = Visible::merged;
        } else if (expected.writes) {
            change.kind = Visible::dropped;
        } else {
            continue;
        }
        visible_.push_back(change);
    }
}

void Lockstep::become_visible()
{
    /* Drops by instructions are one cycle faster than answers, so the queue is nearly in order. */
    for (auto change = visible_.begin(); change != visible_.end();) {
        if (change->from > cycle_) {
            if (change->from > cycle_ + 1)
                break;
            ++change;
            continue;
        }
        Lines &lines = lines_[change->core];
        switch (change->kind) {
        case Visible::filled:
            lines.fill(change->offset, change->line);
            break;
        case Visible::merged:
            lines.merge(change->offset, change->data, change->mask);
            break;
        case Visible::dropped:
            lines.drop(change->offset);
            break;
        case Visible::stored:
            std::erase_if(threads_[change->hart]->stores,
                          [&](const Store &store) { return store.serial == change->serial; });
            break;
        }
        change = visible_.erase(change);
    }
}

void Lockstep::on_cycle(uint64_t cycle)
{
    cycle_ = cycle;
    if (soc::scheduler != 0)
        scheduler_.on_cycle(cycle);
    if (!visible_.empty())
        become_visible();
}

/* --- instructions */

void Lockstep::check_instruction(Thread &thread, const Done &now) const
{
    uint32_t offset = soc::offset(now.pc) & ~3U;
    if (word(offset) == now.instr)
        return;
    auto found = olds_.find(offset);
    if (found != olds_.end()) {
        const Olds &olds = found->second;
        if (olds.forgotten > thread.since)
            return;
        for (const Old &old : olds.words) {
            if (old.until >= thread.since && old.word == now.instr)
                return;
        }
    }
    fail(thread, now,
         format("the instruction is %08x; memory has %08x, and has had nothing else since fence.i",
                now.instr, word(offset)));
}

void Lockstep::compare(Thread &thread, const Done &now, const iss::Effect &effect, uint32_t value,
                       uint32_t addr, uint32_t data) const
{
    if (effect.traps)
        fail(thread, now,
             format("the chip retires it, the simulator traps with cause %u, value %#x",
                    effect.cause, effect.tval));
    if (effect.rd != 0 && effect.value != value)
        fail(thread, now, format("x%u: chip %#x, simulator %#x", effect.rd, value, effect.value));
    if (effect.accesses && effect.addr != addr)
        fail(thread, now, format("address: chip %#x, simulator %#x", addr, effect.addr));
    if (effect.has_data && effect.data != data)
        fail(thread, now, format("data: chip %#x, simulator %#x", data, effect.data));
}

void Lockstep::record(Thread &thread, const Done &now)
{
    thread.history.push_back(now);
    if (thread.history.size() > history_length)
        thread.history.pop_front();
}

void Lockstep::on_retire(int hart, uint32_t pc, uint32_t instr, uint32_t value, uint32_t addr,
                         uint32_t data)
{
    Thread &thread = *threads_[hart];
    Done now{cycle_, pc, instr, value, false};
    if (thread.absent)
        fail(thread, now, "retires, and the hart has no thread");
    if (thread.hart.pc() != pc)
        fail(thread, now, format("pc: chip %#x, simulator %#x", pc, thread.hart.pc()));
    now_ = &now;
    thread.chip_value = value;
    if (soc::in_ram(pc))
        check_instruction(thread, now);
    iss::Effect effect = thread.hart.step(instr, soc::in_ram(pc), thread);
    compare(thread, now, effect, value, addr, data);
    if (thread.answered)
        fail(thread, now, "retires, and the answer to its request is not used");
    if (thread.spawned || thread.filled || thread.landed || thread.lines != 0 || thread.overflows ||
        thread.slot >= 0 || thread.parked || thread.refused)
        fail(thread, now, "retires, and the scheduler has done something else for it");
    record(thread, now);
}

void Lockstep::on_host(int hart, bool refused, uint32_t value)
{
    threads_[hart]->host = refused ? Thread::refuses : Thread::serves;
    threads_[hart]->host_value = value;
}

void Lockstep::on_trap(int hart, uint32_t pc, uint32_t cause, uint32_t instr, uint32_t tval)
{
    Thread &thread = *threads_[hart];
    Done now{cycle_, pc, instr, cause, true};
    now_ = &now;
    if (thread.hart.pc() != pc)
        fail(thread, now, format("pc: chip %#x, simulator %#x", pc, thread.hart.pc()));
    if (thread.answered || thread.atomic_executed || thread.spawned || thread.filled ||
        thread.landed || thread.lines != 0 || thread.slot >= 0 || thread.parked || thread.refused ||
        thread.absent)
        fail(thread, now, "traps, and its request has been executed");
    if (cause == 24 && !scheduler_.lifo_was_full(hart / soc::threads))
        fail(thread, now, "the RTU_LIFO is not full");
    if (cause >> 31 != 0) {
        if (thread.woken)
            fail(thread, now, "takes an interrupt while a line is kept for it");
        if (!thread.hart.interrupt(cause & 31))
            fail(thread, now, format("takes interrupt %u, which is not enabled", cause & 31));
    } else {
        if (soc::in_ram(pc))
            check_instruction(thread, now);
        iss::Effect effect = thread.hart.step(instr, soc::in_ram(pc), thread);
        if (!effect.traps || effect.cause != cause || effect.tval != tval)
            fail(thread, now,
                 format("the chip traps with cause %u, value %#x; the simulator %s %u, value %#x",
                        cause, tval, effect.traps ? "with cause" : "does not:", effect.cause,
                        effect.tval));
    }
    thread.woken = false;
    thread.overflows = false;
    record(thread, now);
}

/* --- reports */

std::string Lockstep::text_of(const Done &done)
{
    char shown[80];
    return format("  %10" PRIu64 "  %08x  %-32s %s%08x\n", done.cycle, done.pc,
                  iss::describe(done.instr, shown, sizeof shown), done.trapped ? "traps: " : "",
                  done.value);
}

std::string Lockstep::recent() const
{
    std::string all = "the last instruction of each hart (cycle, pc, instruction, value):\n";
    for (const auto &thread : std::span(threads_).first(soc::harts))
        all += thread->history.empty() ? "  none\n" : text_of(thread->history.back());
    return all;
}

void Lockstep::fail(const Thread &thread, const Done &now, const std::string &text) const
{
    char shown[80];
    std::string all = format("hart %d, cycle %" PRIu64 ", pc %08x: %s: ", thread.number, cycle_,
                             now.pc, iss::describe(now.instr, shown, sizeof shown));
    all += text + "\n  its last instructions (cycle, pc, instruction, value):\n";
    for (const Done &done : thread.history)
        all += text_of(done);
    throw Mismatch(all);
}

void Lockstep::fail_memory(const Message &message, const std::string &text) const
{
    static const char *const names[] = {"fetch", "load", "read", "store",    "write",      "atomic",
                                        "lr",    "sc",   "put",  "get line", "conditional"};
    const Thread &thread = *threads_[message.hart];
    uint32_t last = thread.history.empty() ? 0 : thread.history.back().pc;
    throw Mismatch(format("hart %d, cycle %" PRIu64 ", after pc %08x: %s at %#x, data %#x, lanes "
                          "%#x: ",
                          message.hart, cycle_, last, names[message.op], message.addr, message.data,
                          message.mask) +
                   text + "\n");
}
