/* SPDX-License-Identifier: MIT */
/*
 * board.c (malta-p5600) - QEMU's Malta board with P5600s: coherence manager, power controller and
 * interrupt controller of the CPUs, each CPU's own timer, 16550 UART behind two i8259. With one CPU
 * the machine has none of the former three: they read as zero, and the i8259 are wired to the CPU.
 *
 * The clock is the interrupt controller's counter, of which QEMU has 32 bits; with one CPU that
 * one's own. `halves` counts its halves: a reader that finds the counter in the other half than
 * `halves` says takes the next number, which is the same for all readers. A CPU has to look in each
 * half: no timer is set for later than MOST. The timer is the CPU's own, which compares for
 * equality with a count that began with the CPU.
 */
#include "board.h"
#include "arch_bare.h"
#include "bare.h"
#include "mmio.h"

#define UNCACHED(physical) (0xa0000000u + (physical))

/* Coherence manager. */
#define MANAGER UNCACHED(0x1fbf8000u)
#define MANAGER_GIC (MANAGER + 0x80u)
#define MANAGER_POWER (MANAGER + 0x88u)
#define MANAGER_CONFIG (MANAGER + 0x2010u)
#define MANAGER_OTHER (MANAGER + 0x2018u)
#define MANAGER_RESET (MANAGER + 0x2020u)
#define MANAGER_OTHER_RESET (MANAGER + 0x4020u)
#define MANAGER_ENABLE 1u
#define MANAGER_CPUS 0x3ffu /* but one */

#define POWER_AT 0x1bde0000u
#define POWER_RUN (UNCACHED(POWER_AT) + 0x2028u)

/* Interrupt controller. */
#define GIC_AT 0x1bdc0000u
#define GIC UNCACHED(GIC_AT)
#define GIC_WORD(line) (4u * ((line) / 32u))
#define GIC_POLARITY(line) (GIC + 0x100u + GIC_WORD(line))
#define GIC_TRIGGER(line) (GIC + 0x180u + GIC_WORD(line))
#define GIC_COUNTER (GIC + 0x10u)
#define GIC_EDGE (GIC + 0x280u)
#define GIC_UNMASK(line) (GIC + 0x380u + GIC_WORD(line))
#define GIC_PIN(line) (GIC + 0x500u + 4u * (line))
#define GIC_CPU(line) (GIC + 0x2000u + 0x20u * (line))
#define GIC_OTHER (GIC + 0x8080u)
#define GIC_OTHER_COMPARE (GIC + 0xc0a0u)
#define GIC_TO_PIN 0x80000000u
#define GIC_RAISE 0x80000000u
#define GIC_FIRST_PIN 2u /* its number as an interrupt of the CPU */
#define IPI_LINE(hart) (40u + (hart))
#define DEVICE_LINE 3u

#define ISA UNCACHED(0x18000000u)
#define I8259_FIRST (ISA + 0x20u)
#define I8259_SECOND (ISA + 0xa0u)
#define I8259_INIT 0x11u
#define I8259_AUTO_END 3u
#define I8259_POLL 0x0cu
#define I8259_PENDING 0x80u
#define SOURCES 16u
#define SECOND_SOURCE 2u
#define UART_SOURCE 4u

#define UART (ISA + 0x3f8u)
#define UART_DATA (UART + 0u)
#define UART_INTERRUPTS (UART + 1u)
#define UART_MODEM (UART + 4u)
#define UART_STATUS (UART + 5u)
#define UART_HAS_DATA 1u
#define UART_HAS_ROOM 0x20u
#define UART_ON_DATA 1u
#define UART_INTERRUPTS_OUT 8u

/* CP0 registers. */
#define COUNT() ARCH_CP0_READ(9, 0)
#define COUNT_HZ 166666667u /* 6 ns */
#define GIC_COUNTER_HZ 100000000u
#define MOST (1u << 30)
#define NUMBER() (ARCH_CP0_READ(15, 1) & 0x3ffu)

static bool has_gic;

/* Of devices, with the lock of the functions board_irq_.... */
static struct {
    uint16_t enabled;          /* a bit for each source */
    uint8_t priority[SOURCES]; /* of each */
    uint8_t from[BARE_CORES];  /* the lowest that interrupts each core's handler */
} devices;

unsigned board_core_count(void)
{
    return (get32(MANAGER_CONFIG) & MANAGER_CPUS) + 1;
}

/* The next one: each call is for one more. */
void board_cores_wake(void)
{
    static unsigned next = 1;
    put32(MANAGER_OTHER, next);
    put32(MANAGER_OTHER_RESET, (uint32_t)arch_reset_page());
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(carrier) memory before the device */
    put32(POWER_RUN, 1u << next++);
}

/* One that begins is to start. */
void board_core_wait(void)
{
    port_cpu_relax();
}

static void line_to(unsigned line, unsigned hart, unsigned interrupt)
{
    put32(GIC_PIN(line), GIC_TO_PIN | (interrupt - GIC_FIRST_PIN));
    put32(GIC_CPU(line), 1u << hart);
}

/* The first core, too, handles its debug exceptions here: calls of the machine that runs the
 * program, if there is none (start.S). */
static void first_begin(void)
{
    put32(MANAGER_POWER, POWER_AT | MANAGER_ENABLE);
    put32(MANAGER_GIC, GIC_AT | MANAGER_ENABLE);
    has_gic = get32(MANAGER_GIC) != 0;
    put32(MANAGER_RESET, (uint32_t)arch_reset_page());
}

void board_core_begin(void)
{
    unsigned hart = (unsigned)arch_core()->hart, line = IPI_LINE(hart);
    static bool begun;
    if (!begun) {
        begun = true;
        first_begin();
    }
    board_timer_set(UINT64_MAX);
    line_to(line, hart, ARCH_LINE_IPI);
    put32(GIC_TRIGGER(line), get32(GIC_TRIGGER(line)) | 1u << line % 32);
    put32(GIC_UNMASK(line), 1u << line % 32);
}

/* To itself: by software, as the machine with one CPU has no other way. */
void board_ipi(unsigned hart)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(permit) memory before the device */
    if (hart == NUMBER()) {
        ARCH_CP0_WRITE(13, 0, ARCH_CAUSE(ARCH_LINE_SELF));
    } else {
        put32(GIC_EDGE, GIC_RAISE | IPI_LINE(hart));
    }
}

void board_ipi_taken(void)
{
    ARCH_CP0_WRITE(13, 0, 0);
    put32(GIC_EDGE, IPI_LINE(NUMBER()));
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* ORDER(permit) the device before memory */
}

/* The controller compares its counter with a timer for each CPU, even if nobody has set it. Where
 * counted time stands still meanwhile (-icount), QEMU 7.2 hangs on a timer that equals the counter.
 * So the timers are set to values that have just passed, in each half of the counter; at reset they
 * are at its end. */
static void comparisons_put_off(uint32_t now)
{
    for (unsigned hart = 0; hart < board_core_count(); hart++) {
        put32(GIC_OTHER, hart);
        put32(GIC_OTHER_COMPARE, now - 1);
    }
}

uint64_t board_clock(void)
{
    static uint32_t halves;
    uint32_t seen = __atomic_load_n(&halves, __ATOMIC_ACQUIRE); /* ORDER(clock) */
    uint32_t now = has_gic ? get32(GIC_COUNTER) : COUNT(), before = seen;
    if (now >> 31 != (seen & 1)) {
        seen++;
        if (__atomic_compare_exchange_n(&halves, &before, seen, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED) && /* ORDER(clock) */
            has_gic) {
            comparisons_put_off(now);
        }
    }
    return (uint64_t)(seen >> 1) << 32 | now;
}

uint32_t board_clock_hz(void)
{
    return has_gic ? GIC_COUNTER_HZ : COUNT_HZ;
}

/* An early interrupt does no harm: the runtime sets the timer again. A time that is over before it
 * is set would only come after the counter has wrapped. */
void board_timer_set(uint64_t at)
{
    uint64_t now = board_clock(), left = at > now ? at - now : 0;
    uint32_t step = left < MOST ? (uint32_t)left : MOST, compare;
    step += has_gic ? step / 3 * 2 : 0;
    do {
        step += 100;
        compare = COUNT() + step;
        ARCH_CP0_WRITE(11, 0, compare);
    } while ((int32_t)(COUNT() - compare) >= 0);
}

void board_console_put(char c)
{
    while (!(get8(UART_STATUS) & UART_HAS_ROOM)) {
    }
    put8(UART_DATA, (uint8_t)c);
}

int board_console_get(void)
{
    return get8(UART_STATUS) & UART_HAS_DATA ? get8(UART_DATA) : -1;
}

void board_console_listen(void)
{
    put8(UART_MODEM, UART_INTERRUPTS_OUT);
    put8(UART_INTERRUPTS, UART_ON_DATA);
}

unsigned board_console_source(void)
{
    return UART_SOURCE;
}

/*
 * Sources: the lines of the two i8259, 0 to 15, which have one line of the interrupt controller:
 * all interrupt the same core. They keep edges until somebody asks which they are, the first one
 * those of the second, too. Their own priorities cannot be chosen, so those that must wait for a
 * handler are masked while it runs: their edges are kept, too.
 */

static void i8259_begin(uintptr_t chip, uint8_t cascade)
{
    put8(chip, I8259_INIT);
    put8(chip + 1, 0);
    put8(chip + 1, cascade);
    put8(chip + 1, I8259_AUTO_END);
    put8(chip + 1, 0xff);
}

/* -1: none. */
static int i8259_ask(uintptr_t chip)
{
    put8(chip, I8259_POLL);
    uint8_t answer = get8(chip);
    return answer & I8259_PENDING ? answer & 7 : -1;
}

static void devices_begin(void)
{
    static bool begun;
    if (!begun) {
        begun = true;
        i8259_begin(I8259_FIRST, 1u << SECOND_SOURCE);
        i8259_begin(I8259_SECOND, SECOND_SOURCE);
        put32(GIC_POLARITY(DEVICE_LINE), get32(GIC_POLARITY(DEVICE_LINE)) | 1u << DEVICE_LINE);
        put32(GIC_UNMASK(DEVICE_LINE), 1u << DEVICE_LINE);
    }
}

/* The line may move while a handler is under way: those of all cores count. */
static void devices_mask(void)
{
    unsigned open = devices.enabled, from = 0;
    for (unsigned i = 0; i < BARE_CORES; i++) {
        from = devices.from[i] > from ? devices.from[i] : from;
    }
    for (unsigned source = 0; source < SOURCES; source++) {
        if (devices.priority[source] < from) {
            open &= ~(1u << source);
        }
    }
    open |= 1u << SECOND_SOURCE;
    put8(I8259_FIRST + 1, (uint8_t)~open);
    put8(I8259_SECOND + 1, (uint8_t)(~open >> 8));
}

bool board_irq_has(unsigned source, unsigned hart, unsigned priority)
{
    (void)hart;
    (void)priority;
    return source < SOURCES && source != SECOND_SOURCE;
}

void board_irq_enable(unsigned source, unsigned hart, unsigned priority)
{
    devices_begin();
    line_to(DEVICE_LINE, hart, ARCH_LINE_DEVICE);
    devices.enabled |= (uint16_t)(1u << source);
    devices.priority[source] = (uint8_t)priority;
    devices_mask();
}

void board_irq_disable(unsigned source, unsigned hart)
{
    (void)hart;
    devices_begin();
    devices.enabled &= (uint16_t) ~(1u << source);
    devices_mask();
}

void board_irq_admit(unsigned from)
{
    devices.from[arch_core() - bare_cores] = (uint8_t)from;
    devices_mask();
}

/* The edge is taken before the device is asked: what comes later makes another one. */
void board_on_device(void)
{
    int source = i8259_ask(I8259_FIRST);
    if (source == SECOND_SOURCE) {
        source = i8259_ask(I8259_SECOND);
        source = source >= 0 ? source + 8 : -1;
    }
    if (source >= 0) {
        bare_on_device((unsigned)source);
    }
}
