/* SPDX-License-Identifier: MIT */
/*
 * linux_cfi_table.c (Linux) - finds and reads call frame information (.eh_frame: LSB Core 5.0,
 * section 10.6; DWARF 5, section 6.4). For linux_cfi.c, where the rules are that hold here, too:
 * no lock, no memory, no call but module_at.
 *
 * An entry is for one piece of code. Its instructions, behind those of the common part that it
 * names, build the table's row for an address. An unknown instruction, or one that runs past the
 * entry's end, makes the row bad.
 */
#include "linux_cfi_table.h"
#include "linux_modules.h"

#ifdef CFI_TABLES

#include <string.h>

uint8_t cfi_byte(struct cfi_reader *r)
{
    if (r->at >= r->end) {
        r->bad = true;
        return 0;
    }
    return *r->at++;
}

static uint64_t read_bytes(struct cfi_reader *r, size_t n)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < n) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, n);
    r->at += n;
    return value;
}

uint64_t cfi_unsigned(struct cfi_reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = cfi_byte(r);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

int64_t cfi_signed(struct cfi_reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = cfi_byte(r);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    return (int64_t)(shift < 64 && byte & 0x40 ? value | ~(uint64_t)0 << shift : value);
}

/* DW_EH_PE: size in the low bits, then what it is relative to. */
enum { PE_PTR = 0x00, PE_UDATA4 = 0x03, PE_SDATA4 = 0x0b, PE_PCREL = 0x10, PE_OMIT = 0xff };

static uintptr_t read_pointer(struct cfi_reader *r, uint8_t encoding)
{
    uintptr_t base = (encoding & 0x70) == PE_PCREL ? (uintptr_t)r->at : 0;
    switch (encoding & 0x0f) {
    case PE_UDATA4:
        return base + (uint32_t)read_bytes(r, 4);
    case PE_SDATA4:
        return base + (uintptr_t)(intptr_t)(int32_t)read_bytes(r, 4);
    case PE_PTR:
        return base + (uintptr_t)read_bytes(r, sizeof(uintptr_t));
    default:
        r->bad = true;
        return 0;
    }
}

/* An entry or common part that begins at `at`, behind its length. */
static struct cfi_reader entry_reader(const uint8_t *at)
{
    uint32_t length;
    memcpy(&length, at, 4);
    return (struct cfi_reader){at + 4, at + 4 + length, length == 0 || length == UINT32_MAX};
}

/* The letters behind `z` say what the augmentation data are. */
static void read_augmentation(struct cfi_entry *e, struct cfi_reader *r, const char *letters,
                              uint8_t *encoding)
{
    uint64_t size = cfi_unsigned(r);
    if (size > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return;
    }
    const uint8_t *behind = r->at + size;
    for (letters++; *letters != '\0' && !r->bad; letters++) {
        if (*letters == 'R') {
            *encoding = cfi_byte(r);
        } else if (*letters == 'L') {
            cfi_byte(r);
        } else if (*letters == 'P') {
            uint8_t personality = cfi_byte(r);
            read_pointer(r, personality & 0x7f);
        } else if (*letters == 'S') {
            e->signal = true;
        }
    }
    r->at = behind;
}

static bool read_common(struct cfi_entry *e, const uint8_t *at, uint8_t *encoding, bool *augmented)
{
    struct cfi_reader r = entry_reader(at);
    uint32_t id = (uint32_t)read_bytes(&r, 4);
    uint8_t version = cfi_byte(&r);
    const char *letters = (const char *)r.at;
    while (cfi_byte(&r) != 0) {
    }
    if (r.bad || id != 0 || (version != 1 && version != 3) ||
        (letters[0] != 'z' && letters[0] != '\0')) {
        return false;
    }
    e->code_factor = cfi_unsigned(&r);
    e->data_factor = cfi_signed(&r);
    e->result = version == 1 ? cfi_byte(&r) : (uint32_t)cfi_unsigned(&r);
    e->signal = false;
    *encoding = PE_PTR;
    *augmented = letters[0] == 'z';
    if (*augmented) {
        read_augmentation(e, &r, letters, encoding);
    }
    e->common = r;
    return !r.bad && e->result < CFI_REGISTERS;
}

/* The entry at `at` is for `pc`. */
static bool read_entry(struct cfi_entry *e, const uint8_t *at, uintptr_t pc)
{
    uint8_t encoding;
    bool augmented;
    struct cfi_reader r = entry_reader(at);
    const uint8_t *here = r.at;
    uint32_t back = (uint32_t)read_bytes(&r, 4);
    if (r.bad || back == 0 || !read_common(e, here - back, &encoding, &augmented)) {
        return false;
    }
    e->begin = read_pointer(&r, encoding);
    uintptr_t size = read_pointer(&r, encoding & 0x0f);
    if (augmented) {
        uint64_t skipped = cfi_unsigned(&r);
        r.bad |= skipped > (uint64_t)(r.end - r.at);
        r.at += r.bad ? 0 : skipped;
    }
    e->own = r;
    e->end = e->begin + size;
    return !r.bad && pc - e->begin < size;
}

/* .eh_frame_hdr: four bytes, two pointers, and a sorted table of (first address, entry), both
 * relative to its beginning. */
struct search_row {
    int32_t begin, entry;
};

bool cfi_find(struct cfi_entry *e, uintptr_t pc)
{
    struct module module;
    if (!module_at(pc, &module) || module.frames == NULL) {
        return false;
    }
    const uint8_t *head = module.frames;
    const struct search_row *rows = (const void *)(head + 12);
    if (head[0] != 1 || head[1] != (PE_PCREL | PE_SDATA4) || head[2] != PE_UDATA4 ||
        head[3] != (0x30 | PE_SDATA4)) {
        return false;
    }
    uint32_t low = 0, high;
    memcpy(&high, head + 8, 4);
    while (low < high) { /* the last one that begins at or below pc */
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)head + (uintptr_t)(intptr_t)rows[middle].begin <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low != 0 && read_entry(e, head + rows[low - 1].entry, pc);
}

/* The instructions of a row's table. */

static void set_rule(struct cfi_machine *m, uint64_t reg, int kind, int64_t value)
{
    m->bad |= value != (int32_t)value;
    if (reg < CFI_REGISTERS) {
        m->row.of[reg] = (struct cfi_rule){kind, (int32_t)value};
    }
}

static void set_cfa(struct cfi_machine *m, int kind, uint64_t value, int64_t offset)
{
    m->bad |= offset != (int32_t)offset || (kind == CFI_REGISTER && value >= CFI_REGISTERS);
    m->row.cfa = (struct cfi_rule){kind, (int32_t)value};
    m->row.offset = (int32_t)offset;
}

/* An expression is a length and as many bytes. */
static int64_t skip_expression(struct cfi_machine *m, struct cfi_reader *r)
{
    int64_t at = r->at - m->base;
    uint64_t size = cfi_unsigned(r);
    if (size > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return 0;
    }
    r->at += size;
    return at;
}

static void keep(struct cfi_machine *m)
{
    if (m->nkept == CFI_STATES) {
        m->bad = true;
    } else {
        m->kept[m->nkept++] = m->row;
    }
}

static void restore(struct cfi_machine *m)
{
    if (m->nkept == 0) {
        m->bad = true;
    } else {
        m->row = m->kept[--m->nkept];
    }
}

/* Instructions of DW_CFA whose operands are not in the first byte: on the CFA. */
static bool run_cfa(struct cfi_machine *m, struct cfi_reader *r, uint8_t code)
{
    const int64_t factor = m->entry->data_factor;
    const uint64_t reg = (uint64_t)m->row.cfa.value;
    const int kind = m->row.cfa.kind;
    uint64_t other;
    switch (code) {
    case 0x0c: /* def_cfa */
        other = cfi_unsigned(r);
        set_cfa(m, CFI_REGISTER, other, (int64_t)cfi_unsigned(r));
        return true;
    case 0x0d: /* def_cfa_register */
        set_cfa(m, CFI_REGISTER, cfi_unsigned(r), m->row.offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        set_cfa(m, kind, reg, (int64_t)cfi_unsigned(r));
        return true;
    case 0x0f: /* def_cfa_expression */
        set_cfa(m, CFI_IS, (uint64_t)skip_expression(m, r), 0);
        return true;
    case 0x12: /* def_cfa_sf */
        other = cfi_unsigned(r);
        set_cfa(m, CFI_REGISTER, other, cfi_signed(r) * factor);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        set_cfa(m, kind, reg, cfi_signed(r) * factor);
        return true;
    default:
        return false;
    }
}

/* On the register that they name. */
static bool run_register(struct cfi_machine *m, struct cfi_reader *r, uint8_t code)
{
    if (code < 0x05 || code > 0x16 || code == 0x0a || code == 0x0b) {
        return false;
    }
    const int64_t factor = m->entry->data_factor;
    uint64_t reg = cfi_unsigned(r);
    switch (code) {
    case 0x05: /* offset_extended, _sf */
        set_rule(m, reg, CFI_OFFSET, (int64_t)cfi_unsigned(r) * factor);
        break;
    case 0x11:
        set_rule(m, reg, CFI_OFFSET, cfi_signed(r) * factor);
        break;
    case 0x06: /* restore_extended */
        if (reg < CFI_REGISTERS) {
            m->row.of[reg] = m->first.of[reg];
        }
        break;
    case 0x07: /* undefined */
        set_rule(m, reg, CFI_UNDEFINED, 0);
        break;
    case 0x08: /* same_value */
        set_rule(m, reg, CFI_SAME, 0);
        break;
    case 0x09: /* register */
        set_rule(m, reg, CFI_REGISTER, (int64_t)cfi_unsigned(r));
        break;
    case 0x14: /* val_offset, _sf */
        set_rule(m, reg, CFI_VALUE, (int64_t)cfi_unsigned(r) * factor);
        break;
    case 0x15:
        set_rule(m, reg, CFI_VALUE, cfi_signed(r) * factor);
        break;
    default: /* expression, val_expression */
        set_rule(m, reg, code == 0x10 ? CFI_AT : CFI_IS, skip_expression(m, r));
        break;
    }
    return true;
}

static void run_long(struct cfi_machine *m, struct cfi_reader *r, uint8_t code)
{
    if (run_cfa(m, r, code) || run_register(m, r, code)) {
        return;
    }
    switch (code) {
    case 0x00: /* nop */
        break;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        m->place += read_bytes(r, (size_t)1 << (code - 2)) * m->entry->code_factor;
        break;
    case 0x0a: /* remember_state */
        keep(m);
        break;
    case 0x0b: /* restore_state */
        restore(m);
        break;
    case 0x2d: /* AARCH64_negate_ra_state: whether the return address is signed is not needed */
        break;
    case 0x2e: /* GNU_args_size */
        cfi_unsigned(r);
        break;
    default:
        m->bad = true;
    }
}

/* Up to the row of pc. */
static void run(struct cfi_machine *m, struct cfi_reader r, uintptr_t pc)
{
    while (r.at < r.end && !r.bad && !m->bad) {
        uint8_t code = cfi_byte(&r), low = code & 0x3f;
        if (code >> 6 == 1) { /* advance_loc */
            m->place += low * m->entry->code_factor;
        } else if (code >> 6 == 2) { /* offset */
            set_rule(m, low, CFI_OFFSET, (int64_t)cfi_unsigned(&r) * m->entry->data_factor);
        } else if (code >> 6 == 3 && low < CFI_REGISTERS) { /* restore */
            m->row.of[low] = m->first.of[low];
        } else if (code >> 6 == 0) {
            run_long(m, &r, code);
        }
        if (m->place > pc) {
            return;
        }
    }
    m->bad |= r.bad;
}

bool cfi_row_of(struct cfi_machine *m, const struct cfi_entry *e, uintptr_t pc)
{
    memset(&m->row, 0, sizeof(m->row)); /* CFI_SAME */
    m->entry = e;
    m->base = e->own.end;
    m->nkept = 0;
    m->place = e->begin;
    m->bad = false;
    run(m, e->common, UINTPTR_MAX);
    m->first = m->row;
    run(m, e->own, pc);
    return !m->bad;
}

#endif
