/* SPDX-License-Identifier: MIT
 *
 * describe.cc - instructions as text, for reports of mismatches.
 */
#include <cstdint>
#include <cstdio>

#include "iss.h"

namespace iss
{

namespace
{

const char *const branches[] = {"beq", "bne", "?", "?", "blt", "bge", "bltu", "bgeu"};
const char *const loads[] = {"lb", "lh", "lw", "?", "lbu", "lhu", "?", "?"};
const char *const stores[] = {"sb", "sh", "sw", "?", "?", "?", "?", "?"};
const char *const plain[] = {"add", "sll", "slt", "sltu", "xor", "srl", "or", "and"};
const char *const products[] = {"mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"};
const char *const csrs[] = {"?", "csrrw", "csrrs", "csrrc", "?", "csrrwi", "csrrsi", "csrrci"};
const char *const amos[] = {"amoadd", "amoxor", "amoor",   "amoand",
                            "amomin", "amomax", "amominu", "amomaxu"};

struct Fields {
    explicit Fields(uint32_t i)
        : rd(i >> 7 & 31), func3(i >> 12 & 7), rs1(i >> 15 & 31), rs2(i >> 20 & 31), func7(i >> 25),
          imm_i(static_cast<int32_t>(i) >> 20),
          imm_s((static_cast<int32_t>(i) >> 25) * 32 + static_cast<int32_t>(rd))
    {
    }
    uint32_t rd, func3, rs1, rs2, func7;
    int32_t imm_i, imm_s;
};

int imm_b(uint32_t i)
{
    uint32_t value = (i >> 7 & 1) << 11 | (i >> 25 & 63) << 5 | (i >> 8 & 15) << 1;
    return static_cast<int>(value) - ((i >> 31) != 0 ? 4096 : 0);
}

int imm_j(uint32_t i)
{
    uint32_t value = (i >> 12 & 255) << 12 | (i >> 20 & 1) << 11 | (i >> 21 & 1023) << 1;
    return static_cast<int>(value) - ((i >> 31) != 0 ? 1 << 20 : 0);
}

void memory_or_system(uint32_t i, const Fields &f, char *text, unsigned long bytes)
{
    uint32_t funct5 = i >> 27;
    if ((i & 0x7f) == 0x2f) {
        const char *name = funct5 == 1   ? "amoswap"
                           : funct5 == 2 ? "lr"
                           : funct5 == 3 ? "sc"
                                         : amos[funct5 >> 2];
        snprintf(text, bytes, "%s.w x%u, x%u, (x%u)", name, f.rd, f.rs2, f.rs1);
    } else if ((i & 0x7f) == 0x0f) {
        snprintf(text, bytes,
                 f.func3 == 0   ? "fence %#x"
                 : f.func3 == 1 ? "fence.i"
                                : "cbo (x%u)",
                 f.func3 == 0 ? i >> 20 & 255 : f.rs1);
    } else if (f.func3 == 0) {
        const char *name = i == 0x73         ? "ecall"
                           : i == 0x100073   ? "ebreak"
                           : i == 0x30200073 ? "mret"
                           : i == 0x10500073 ? "wfi"
                                             : "?";
        snprintf(text, bytes, "%s", name);
    } else {
        snprintf(text, bytes, "%s x%u, %#x, %s%u", csrs[f.func3], f.rd, i >> 20,
                 f.func3 > 4 ? "" : "x", f.rs1);
    }
}

void arithmetic(uint32_t i, const Fields &f, char *text, unsigned long bytes)
{
    if ((i & 0x7f) == 0x33) {
        const char *name = f.func7 == 1   ? products[f.func3]
                           : f.func7 == 0 ? plain[f.func3]
                           : f.func3 == 0 ? "sub"
                                          : "sra";
        snprintf(text, bytes, "%s x%u, x%u, x%u", name, f.rd, f.rs1, f.rs2);
    } else if ((f.func3 & 3) == 1) {
        snprintf(text, bytes, "%si x%u, x%u, %u", f.func7 != 0 ? "sra" : plain[f.func3], f.rd,
                 f.rs1, f.rs2);
    } else {
        snprintf(text, bytes, "%si x%u, x%u, %d", plain[f.func3], f.rd, f.rs1, f.imm_i);
    }
}

void schedule(const Fields &f, char *text, unsigned long bytes)
{
    static const char *const cond_loads[] = {"ld.cfe", "ld.cff"};
    static const char *const cond_stores[] = {"st.cfe", "st.full", "st.empty"};
    bool tries = (f.func7 & 4) != 0;
    const char *suffix = !tries ? "" : (f.func7 & 8) != 0 ? ".try.kept" : ".try";
    uint32_t which = tries ? f.func7 & ~0xcU : f.func7;
    if (f.func3 == 0)
        snprintf(text, bytes, "spawn x%u", f.rs1);
    else if (f.func3 == 1)
        snprintf(text, bytes, "term");
    else if (f.func3 == 2)
        snprintf(text, bytes, "%s%s x%u, (x%u)", which > 1 ? "?" : cond_loads[which], suffix, f.rd,
                 f.rs1);
    else if (f.func3 == 3 && (f.func7 & ~1U) == 0x10)
        snprintf(text, bytes, "%s x%u, (x%u), x%u", f.func7 == 0x10 ? "wait.full" : "wait.empty",
                 f.rd, f.rs1, f.rs2);
    else if (f.func3 == 3)
        snprintf(text, bytes, "%s%s x%u, x%u, (x%u)", which > 2 ? "?" : cond_stores[which], suffix,
                 f.rd, f.rs2, f.rs1);
    else if (f.func3 == 6)
        snprintf(text, bytes, "save (x%u)", f.rs1);
    else if (f.func3 == 7 && f.func7 == 0)
        snprintf(text, bytes, "take x%u", f.rd);
    else if (f.func3 == 7)
        snprintf(text, bytes, "%s x%u, x%u",
                 f.func7 == 1   ? "take.for"
                 : f.func7 == 2 ? "give"
                                : "?",
                 f.rd, f.rs1);
    else
        snprintf(text, bytes, "%s x%u, (x%u)", f.func3 == 4 ? "spill" : "fill", f.rd, f.rs1);
}

} // namespace

const char *describe(uint32_t i, char *text, unsigned long bytes)
{
    Fields f(i);
    switch (i & 0x7f) {
    case 0x37:
    case 0x17:
        snprintf(text, bytes, "%s x%u, %#x", (i & 0x20) != 0 ? "lui" : "auipc", f.rd, i >> 12);
        break;
    case 0x6f:
        snprintf(text, bytes, "jal x%u, %+d", f.rd, imm_j(i));
        break;
    case 0x67:
        snprintf(text, bytes, "jalr x%u, %d(x%u)", f.rd, f.imm_i, f.rs1);
        break;
    case 0x63:
        snprintf(text, bytes, "%s x%u, x%u, %+d", branches[f.func3], f.rs1, f.rs2, imm_b(i));
        break;
    case 0x03:
        snprintf(text, bytes, "%s x%u, %d(x%u)", loads[f.func3], f.rd, f.imm_i, f.rs1);
        break;
    case 0x23:
        snprintf(text, bytes, "%s x%u, %d(x%u)", stores[f.func3], f.rs2, f.imm_s, f.rs1);
        break;
    case 0x13:
    case 0x33:
        arithmetic(i, f, text, bytes);
        break;
    case 0x2f:
    case 0x0f:
    case 0x73:
        memory_or_system(i, f, text, bytes);
        break;
    case 0x0b:
        schedule(f, text, bytes);
        break;
    default:
        snprintf(text, bytes, "%08x", i);
        break;
    }
    return text;
}

} // namespace iss
