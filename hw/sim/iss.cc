/* SPDX-License-Identifier: MIT
 *
 * iss.cc - executes instructions (The RISC-V Instruction Set Manual, volumes I and II).
 */
#include "iss.h"

#include "soc.h"

namespace iss
{

namespace
{

constexpr uint32_t causes_illegal = 2;
constexpr uint32_t enable_bits = 1U << 11 | 1U << 7 | 1U << 3;

uint32_t bits(uint32_t word, int high, int low)
{
    return word >> low & (2U << (high - low)) - 1;
}

int32_t sign(uint32_t value, int width)
{
    return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

uint32_t imm_i(uint32_t i)
{
    return static_cast<uint32_t>(sign(i >> 20, 12));
}

uint32_t imm_s(uint32_t i)
{
    return static_cast<uint32_t>(sign(bits(i, 31, 25) << 5 | bits(i, 11, 7), 12));
}

uint32_t imm_b(uint32_t i)
{
    uint32_t value =
        bits(i, 31, 31) << 12 | bits(i, 7, 7) << 11 | bits(i, 30, 25) << 5 | bits(i, 11, 8) << 1;
    return static_cast<uint32_t>(sign(value, 13));
}

uint32_t imm_j(uint32_t i)
{
    uint32_t value = bits(i, 31, 31) << 20 | bits(i, 19, 12) << 12 | bits(i, 20, 20) << 11 |
                     bits(i, 30, 21) << 1;
    return static_cast<uint32_t>(sign(value, 21));
}

uint32_t arithmetic(uint32_t func3, bool alternative, uint32_t a, uint32_t b)
{
    switch (func3) {
    case 0:
        return alternative ? a - b : a + b;
    case 1:
        return a << (b & 31);
    case 2:
        return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case 3:
        return a < b;
    case 4:
        return a ^ b;
    case 5:
        return alternative ? static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31))
                           : a >> (b & 31);
    case 6:
        return a | b;
    default:
        return a & b;
    }
}

uint32_t multiply(uint32_t func3, uint32_t a, uint32_t b)
{
    int64_t signed_a = static_cast<int32_t>(a);
    int64_t signed_b = static_cast<int32_t>(b);
    switch (func3) {
    case 0:
        return a * b;
    case 1:
        return static_cast<uint32_t>(signed_a * signed_b >> 32);
    case 2:
        return static_cast<uint32_t>(signed_a * static_cast<int64_t>(b) >> 32);
    default:
        return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
    }
}

uint32_t divide(uint32_t func3, uint32_t a, uint32_t b)
{
    bool is_signed = (func3 & 1) == 0;
    bool remainder = (func3 & 2) != 0;
    if (b == 0)
        return remainder ? a : ~0U;
    if (is_signed && a == 0x80000000 && b == ~0U)
        return remainder ? 0 : a;
    if (is_signed) {
        auto x = static_cast<int32_t>(a);
        auto y = static_cast<int32_t>(b);
        return static_cast<uint32_t>(remainder ? x % y : x / y);
    }
    return remainder ? a % b : a / b;
}

bool op_exists(uint32_t func7, uint32_t func3)
{
    return func7 == 0 || func7 == 1 || (func7 == 0x20 && (func3 == 0 || func3 == 5));
}

bool op_imm_exists(uint32_t func7, uint32_t func3)
{
    return (func3 != 1 || func7 == 0) && (func3 != 5 || func7 == 0 || func7 == 0x20);
}

bool atomic_exists(uint32_t instr)
{
    uint32_t funct5 = instr >> 27;
    if (bits(instr, 14, 12) != 2)
        return false;
    if (funct5 == 2)
        return bits(instr, 24, 20) == 0;
    return funct5 == 1 || funct5 == 3 || (funct5 & 3) == 0;
}

bool misaligned(uint32_t at, int size)
{
    return (at & static_cast<uint32_t>(size - 1)) != 0;
}

} // namespace

void Hart::trap(uint32_t cause, uint32_t tval)
{
    mepc_ = pc_ & ~3U;
    mcause_ = cause;
    mtval_ = tval;
    mpie_ = mie_;
    mie_ = false;
    pc_ = mtvec_;
}

bool Hart::interrupt(uint32_t cause)
{
    if (!mie_ || cause > 31 || (enabled_ >> cause & 1) == 0)
        return false;
    trap(0x80000000 | cause, 0);
    return true;
}

Effect Hart::step(uint32_t instr, bool fetched, Outside &outside)
{
    Effect effect;
    next_ = pc_ + 4;
    try {
        if (!fetched)
            throw Trap{1, pc_};
        effect.rd = bits(instr, 11, 7);
        execute(instr, outside, effect);
        if (effect.rd != 0)
            x_[effect.rd] = effect.value;
        pc_ = next_;
        instret_++;
    } catch (const Trap &taken) {
        effect = Effect{};
        effect.traps = true;
        effect.cause = taken.cause;
        effect.tval = taken.tval;
        trap(taken.cause, taken.tval);
    }
    return effect;
}

void Hart::jump(uint32_t to)
{
    if ((to & 2) != 0)
        throw Trap{0, to};
    next_ = to;
}

void Hart::execute(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t func3 = bits(instr, 14, 12);
    uint32_t func7 = instr >> 25;
    uint32_t a = x_[bits(instr, 19, 15)];
    uint32_t b = x_[bits(instr, 24, 20)];
    switch (instr & 0x7f) {
    case 0x37: /* lui */
        effect.value = instr & 0xfffff000;
        return;
    case 0x17: /* auipc */
        effect.value = pc_ + (instr & 0xfffff000);
        return;
    case 0x6f: /* jal */
        effect.value = pc_ + 4;
        jump(pc_ + imm_j(instr));
        return;
    case 0x67: /* jalr */
        if (func3 != 0)
            break;
        effect.value = pc_ + 4;
        jump((a + imm_i(instr)) & ~1U);
        return;
    case 0x63:
        effect.rd = 0;
        branch(instr);
        return;
    case 0x03:
        load(instr, outside, effect);
        return;
    case 0x23:
        effect.rd = 0;
        store(instr, outside, effect);
        return;
    case 0x13:
        if (!op_imm_exists(func7, func3))
            break;
        effect.value = arithmetic(func3, func3 == 5 && func7 != 0, a, imm_i(instr));
        return;
    case 0x33:
        if (!op_exists(func7, func3))
            break;
        effect.value = func7 != 1  ? arithmetic(func3, func7 != 0, a, b)
                       : func3 < 4 ? multiply(func3, a, b)
                                   : divide(func3, a, b);
        return;
    case 0x2f:
        atomic(instr, outside, effect);
        return;
    case 0x0f:
        effect.rd = 0;
        fence(instr, outside);
        return;
    case 0x73:
        system(instr, outside, effect);
        return;
    case 0x0b:
        if (soc::scheduler == 0)
            break;
        schedule(instr, outside, effect);
        return;
    default:
        break;
    }
    throw Trap{causes_illegal, instr};
}

void Hart::branch(uint32_t instr)
{
    uint32_t a = x_[bits(instr, 19, 15)];
    uint32_t b = x_[bits(instr, 24, 20)];
    bool taken = false;
    switch (bits(instr, 14, 12)) {
    case 0:
        taken = a == b;
        break;
    case 1:
        taken = a != b;
        break;
    case 4:
        taken = static_cast<int32_t>(a) < static_cast<int32_t>(b);
        break;
    case 5:
        taken = static_cast<int32_t>(a) >= static_cast<int32_t>(b);
        break;
    case 6:
        taken = a < b;
        break;
    case 7:
        taken = a >= b;
        break;
    default:
        throw Trap{causes_illegal, instr};
    }
    if (taken)
        jump(pc_ + imm_b(instr));
}

void Hart::load(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t func3 = bits(instr, 14, 12);
    if (func3 == 3 || func3 > 5)
        throw Trap{causes_illegal, instr};
    int size = 1 << (func3 & 3);
    effect.accesses = true;
    effect.addr = x_[bits(instr, 19, 15)] + imm_i(instr);
    if (misaligned(effect.addr, size))
        throw Trap{4, effect.addr};
    if (!soc::in_ram(effect.addr) && !soc::in_device(effect.addr))
        throw Trap{5, effect.addr};
    uint32_t raw = outside.load(effect.addr, size);
    effect.value = func3 > 2 || size == 4 ? raw : static_cast<uint32_t>(sign(raw, size * 8));
}

void Hart::store(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t func3 = bits(instr, 14, 12);
    if (func3 > 2)
        throw Trap{causes_illegal, instr};
    int size = 1 << func3;
    effect.accesses = true;
    effect.addr = x_[bits(instr, 19, 15)] + imm_s(instr);
    effect.has_data = true;
    effect.data = x_[bits(instr, 24, 20)];
    if (misaligned(effect.addr, size))
        throw Trap{6, effect.addr};
    if (!soc::in_ram(effect.addr) && !soc::in_device(effect.addr))
        throw Trap{7, effect.addr};
    outside.store(effect.addr, size, effect.data);
}

void Hart::atomic(uint32_t instr, Outside &outside, Effect &effect)
{
    if (!atomic_exists(instr))
        throw Trap{causes_illegal, instr};
    uint32_t funct5 = instr >> 27;
    bool is_lr = funct5 == 2;
    effect.accesses = true;
    effect.addr = x_[bits(instr, 19, 15)];
    effect.has_data = !is_lr;
    effect.data = is_lr ? 0 : x_[bits(instr, 24, 20)];
    if (misaligned(effect.addr, 4))
        throw Trap{is_lr ? 4U : 6U, effect.addr};
    if (!soc::in_ram(effect.addr))
        throw Trap{is_lr ? 5U : 7U, effect.addr};
    effect.value = outside.atomic(funct5, effect.addr, effect.data);
}

void Hart::fence(uint32_t instr, Outside &outside)
{
    uint32_t func3 = bits(instr, 14, 12);
    if (func3 == 0) {
        outside.fence(instr);
    } else if (func3 == 1) {
        outside.fence_i();
    } else if (func3 == 2 && instr >> 20 <= 2 && bits(instr, 11, 7) == 0) {
        uint32_t at = x_[bits(instr, 19, 15)];
        if (!soc::in_ram(at) && !soc::in_device(at))
            throw Trap{7, at};
        outside.flush_line(at);
    } else {
        throw Trap{causes_illegal, instr};
    }
}

void Hart::system(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t func3 = bits(instr, 14, 12);
    uint32_t field = bits(instr, 19, 15);
    uint32_t number = instr >> 20;
    if ((func3 & 3) == 0) {
        effect.rd = 0;
        if (instr == 0x00000073)
            throw Trap{11, 0};
        if (instr == 0x00100073) {
            if (!outside.served(effect.value))
                throw Trap{3, pc_};
            effect.rd = 10;
            return;
        }
        if (instr == 0x30200073) {
            mie_ = mpie_;
            mpie_ = true;
            next_ = mepc_;
        } else if (instr != 0x10500073) { /* wfi: how long it lasts is the chip's matter */
            throw Trap{causes_illegal, instr};
        }
        return;
    }
    uint32_t argument = (func3 & 4) != 0 ? field : x_[field];
    bool writes = (func3 & 3) == 1 || field != 0;
    uint32_t old = read_csr(number, instr, outside);
    if (writes && number >> 10 == 3)
        throw Trap{causes_illegal, instr};
    effect.value = old;
    if (writes) {
        uint32_t changed = (func3 & 3) == 1   ? argument
                           : (func3 & 3) == 2 ? old | argument
                                              : old & ~argument;
        write_csr(number, changed);
    }
}

std::array<uint32_t, 16> Hart::context(uint32_t pc) const
{
    std::array<uint32_t, 16> words{pc};
    for (uint32_t i = 1; i < words.size(); i++)
        words[i] = x_[i];
    return words;
}

void Hart::start(const std::array<uint32_t, 16> &context)
{
    pc_ = context[0] & ~3U;
    for (uint32_t i = 1; i < context.size(); i++)
        x_[i] = context[i];
}

void Hart::schedule(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t a = x_[bits(instr, 19, 15)];
    switch (bits(instr, 14, 12)) {
    case 0:
        effect.rd = 0;
        if (!outside.spawn(a))
            throw Trap{24, 0};
        return;
    case 1:
        effect.rd = 0;
        outside.term();
        return;
    case 2:
    case 3:
        conditional(instr, outside, effect);
        return;
    case 7:
        if (instr >> 25 > 2)
            throw Trap{causes_illegal, instr};
        if (instr >> 25 == 2)
            effect.value = outside.give(a) ? 1 : 0;
        else
            effect.value = outside.take();
        return;
    default:
        move(instr, outside, effect);
        return;
    }
}

void Hart::conditional(uint32_t instr, Outside &outside, Effect &effect)
{
    bool stores = bits(instr, 14, 12) == 3;
    uint32_t kind = instr >> 25;
    bool waits = stores && (kind == 0x10 || kind == 0x11);
    bool tries = (kind & 4) != 0;
    bool kept = (kind & 0xc) == 0xc;
    uint32_t plain = tries ? kind & ~0xcU : kind;
    if (!waits && plain > (stores ? (tries ? 0U : 2U) : 1U))
        throw Trap{causes_illegal, instr};
    if (stores && kind == 0)
        effect.rd = 0;
    effect.accesses = true;
    effect.addr = x_[bits(instr, 19, 15)];
    effect.has_data = stores;
    effect.data = stores ? x_[bits(instr, 24, 20)] : 0;
    if (misaligned(effect.addr, 4))
        throw Trap{6, effect.addr};
    if (!soc::in_ram(effect.addr))
        throw Trap{7, effect.addr};
    if (waits)
        effect.value = outside.wait(kind == 0x10, effect.addr, effect.data) ? 1 : 0;
    else if (!outside.conditional(
                 {stores ? plain + 2 : plain, tries, kept, effect.addr, effect.data}, effect.value))
        throw Trap{25, effect.addr};
}

void Hart::move(uint32_t instr, Outside &outside, Effect &effect)
{
    uint32_t at = x_[bits(instr, 19, 15)];
    if (misaligned(at, 64))
        throw Trap{6, at};
    if (!soc::in_ram(at))
        throw Trap{7, at};
    switch (bits(instr, 14, 12)) {
    case 4:
        effect.value = outside.spill(at) ? 1 : 0;
        break;
    case 5:
        effect.value = outside.fill(at) ? 1 : 0;
        break;
    default:
        effect.rd = 0;
        outside.save(at, context(mepc_));
        break;
    }
}

uint32_t Hart::read_csr(uint32_t number, uint32_t instr, Outside &outside) const
{
    switch (number) {
    case 0x300: /* mstatus: MPP is always M */
        return 3U << 11 | (mpie_ ? 1U << 7 : 0) | (mie_ ? 1U << 3 : 0);
    case 0x301: /* misa */
        return 1U << 30 | 1U << ('I' - 'A') | 1U << ('M' - 'A') | 1U << ('A' - 'A');
    case 0x304:
        return enabled_;
    case 0x305:
        return mtvec_;
    case 0x340:
        return mscratch_;
    case 0x341:
        return mepc_;
    case 0x342:
        return mcause_;
    case 0x343:
        return mtval_;
    case 0x344: /* mip */
    case 0xb00: /* cycles and time */
    case 0xb80:
    case 0xc00:
    case 0xc80:
    case 0xc01:
    case 0xc81:
        return outside.outside_csr(number);
    case 0xb02:
    case 0xc02:
        return static_cast<uint32_t>(instret_);
    case 0xb82:
    case 0xc82:
        return static_cast<uint32_t>(instret_ >> 32);
    case 0xf14:
        return number_;
    case 0x310: /* mstatush */
    case 0x320: /* mcountinhibit */
    case 0xf11: /* vendor, architecture, implementation, configuration */
    case 0xf12:
    case 0xf13:
    case 0xf15:
        return 0;
    default:
        throw Trap{causes_illegal, instr};
    }
}

void Hart::write_csr(uint32_t number, uint32_t value)
{
    switch (number) {
    case 0x300:
        mie_ = (value >> 3 & 1) != 0;
        mpie_ = (value >> 7 & 1) != 0;
        break;
    case 0x304:
        enabled_ = value & enable_bits;
        break;
    case 0x305:
        mtvec_ = value & ~3U;
        break;
    case 0x340:
        mscratch_ = value;
        break;
    case 0x341:
        mepc_ = value & ~3U;
        break;
    case 0x342:
        mcause_ = value;
        break;
    case 0x343:
        mtval_ = value;
        break;
    case 0xb02: /* the instruction that writes is not counted */
        instret_ = (instret_ >> 32 << 32 | value) - 1;
        break;
    case 0xb82:
        instret_ = (static_cast<uint64_t>(value) << 32 | static_cast<uint32_t>(instret_)) - 1;
        break;
    default: /* mcycle is the chip's matter; writes to read-only fields are ignored */
        break;
    }
}

} // namespace iss
