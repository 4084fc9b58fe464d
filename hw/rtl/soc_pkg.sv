// SPDX-License-Identifier: MIT
//
// soc_pkg.sv - parameters of the chip, and the messages between its parts.
//
// A configuration is a set of macros (SOC_CORES=2 ...), which tools/pirn_tools/chip/config.py checks;
// without a macro the value below counts. What config_t has needs no new build: these are inputs of
// the top module.
`ifndef SOC_CORES
`define SOC_CORES 1
`endif
`ifndef SOC_THREADS
`define SOC_THREADS 1
`endif
`ifndef SOC_BANKS
`define SOC_BANKS 4
`endif
`ifndef SOC_RAM_KIB
`define SOC_RAM_KIB 131072
`endif
`ifndef SOC_ICACHE_SETS
`define SOC_ICACHE_SETS 256
`endif
`ifndef SOC_DCACHE_SETS
`define SOC_DCACHE_SETS 128
`endif
`ifndef SOC_QUEUE
`define SOC_QUEUE 64
`endif
`ifndef SOC_SCHEDULER
`define SOC_SCHEDULER 0
`endif
`ifndef SOC_SCHEDULER_STAGES
`define SOC_SCHEDULER_STAGES 1
`endif

package soc_pkg;
    parameter int CORES = `SOC_CORES;  // 1...8
    parameter int THREADS = `SOC_THREADS;  // hardware threads of a core, 1...4
    parameter int HARTS = CORES * THREADS;
    parameter int BANKS = `SOC_BANKS;  // of the second level: 1, 2, 4, 8
    parameter int RAM_BYTES = `SOC_RAM_KIB * 1024;
    parameter int WAYS = 2;  // of the first-level caches
    parameter int ICACHE_SETS = `SOC_ICACHE_SETS;
    parameter int DCACHE_SETS = `SOC_DCACHE_SETS;
    parameter int QUEUE = `SOC_QUEUE;  // answers that a bank can hold
    // Contexts in each of RTU_LIFO, RTU_FILLQ and DTB; 0: the chip has no scheduler.
    parameter int SCHEDULER = `SOC_SCHEDULER;
    // Cycles in which its TSAU chooses a thread, and its DTU executes an access: 1, 2.
    parameter int SCHEDULER_STAGES = `SOC_SCHEDULER_STAGES;
    parameter int STORES = 4;  // of a thread, on their way to the second level

    parameter int CORE_BITS = 4;  // a number more than there are cores: the host
    parameter int THREAD_BITS = 2;
    parameter int TAG_BITS = 2;
    parameter int DATA_BITS = SCHEDULER != 0 ? 128 : 32;  // of requests: a context's lines, or words

    // Requests of a core to the second level or to a device. A line has 16 bytes.
    parameter logic [3:0] REQ_FETCH = 4'd0;  // a line for the instruction cache
    parameter logic [3:0] REQ_LOAD = 4'd1;  // a line for the data cache
    parameter logic [3:0] REQ_READ = 4'd2;  // a word that is not cached
    parameter logic [3:0] REQ_STORE = 4'd3;  // of a store buffer
    parameter logic [3:0] REQ_WRITE = 4'd4;  // a device's register: the thread waits for the answer
    parameter logic [3:0] REQ_AMO = 4'd5;  // func: funct5 of the instruction
    parameter logic [3:0] REQ_LR = 4'd6;
    parameter logic [3:0] REQ_SC = 4'd7;
    parameter logic [3:0] REQ_PUT_LINE = 4'd8;  // a line of a context; tag: which of its four
    parameter logic [3:0] REQ_GET_LINE = 4'd9;
    parameter logic [3:0] REQ_COND = 4'd10;  // a conditional access; func: one of COND_*

    // Conditional accesses depend on the line's state: full or empty. COND_WOKEN marks those of a
    // thread that the DTU has woken; the line is kept for it. Those with COND_TRY do not wait.
    parameter logic [2:0] COND_TAKE = 3'd0;  // load when full, makes it empty (ld.cfe)
    parameter logic [2:0] COND_READ = 3'd1;  // load when full (ld.cff)
    parameter logic [2:0] COND_PUT = 3'd2;  // store when empty, makes it full (st.cfe)
    parameter logic [2:0] COND_FILL = 3'd3;  // store, makes it full (st.full)
    parameter logic [2:0] COND_EMPTY = 3'd4;  // store, makes it empty (st.empty)
    parameter logic [2:0] COND_WAIT_FULL = 3'd5;  // a word waits until full (wait.full)
    parameter logic [2:0] COND_WAIT_EMPTY = 3'd6;  // until empty (wait.empty)
    parameter int COND_WOKEN = 3;  // bits of func
    parameter int COND_TRY = 4;
    // outcomes, in the answer
    parameter logic [1:0] COND_DONE = 2'd0;
    parameter logic [1:0] COND_BLOCKED = 2'd1;  // the answer's word is the thread's entry of the DTB
    parameter logic [1:0] COND_OVERFLOW = 2'd2;  // the DTB is full
    parameter logic [1:0] COND_FAILED = 2'd3;  // the wrong state, and COND_TRY

    typedef struct packed {
        logic [3:0] op;
        logic [CORE_BITS-1:0] core;
        logic [THREAD_BITS-1:0] thread;
        logic [TAG_BITS-1:0] tag;  // of REQ_STORE: which entry of the store buffer
        logic [4:0] func;
        logic [3:0] mask;
        logic [31:0] addr;
        logic [DATA_BITS-1:0] data;  // a word is the lowest
    } req_t;

    // Answers. Those to stores and atomics go to every core, in the same cycle: see crossbar.sv.
    typedef struct packed {
        logic [3:0] op;
        logic [CORE_BITS-1:0] core;
        logic [THREAD_BITS-1:0] thread;
        logic [TAG_BITS-1:0] tag;
        logic [1:0] cond;  // of REQ_COND
        logic writes;  // memory has changed: caches of other cores lose the line
        logic [3:0] mask;
        logic [31:0] addr;
        logic [127:0] data;  // words of an answer, and of a store, are the lowest
    } rsp_t;

    // The activity of a hardware thread in a cycle, for the counters of the harness.
    parameter logic [3:0] DOES_RETIRE = 4'd0;  // an instruction ends
    parameter logic [3:0] DOES_PIPE = 4'd1;  // is in the pipeline, or another thread is
    parameter logic [3:0] DOES_FETCH = 4'd2;  // waits for instructions
    parameter logic [3:0] DOES_LOAD = 4'd3;  // waits for data
    parameter logic [3:0] DOES_ATOMIC = 4'd4;  // for an atomic instruction
    parameter logic [3:0] DOES_DEVICE = 4'd5;  // for a device
    parameter logic [3:0] DOES_STORE = 4'd6;  // for room in its store buffer
    parameter logic [3:0] DOES_FENCE = 4'd7;  // for its stores to be seen by all
    parameter logic [3:0] DOES_DIVIDE = 4'd8;
    parameter logic [3:0] DOES_WFI = 4'd9;  // sleeps
    // of the hardware scheduler
    parameter logic [3:0] DOES_OFF = 4'd10;  // has no thread, or waits in `take` for one
    parameter logic [3:0] DOES_CONTEXT = 4'd11;  // a context is moved
    parameter logic [3:0] DOES_COND = 4'd12;  // waits for a conditional access
    parameter logic [3:0] DOES_LOCK = 4'd13;  // for the device of test-and-set locks

    // The memory map is that of QEMU's machine "virt", where that has the device.
    parameter logic [31:0] RAM_BASE = 32'h8000_0000;
    parameter logic [31:0] ALIAS_BIT = 32'h4000_0000;  // of addresses of memory: not cached
    parameter logic [31:0] EXIT_BASE = 32'h0010_0000;
    parameter logic [31:0] CLINT_BASE = 32'h0200_0000;
    parameter logic [31:0] PLIC_BASE = 32'h0c00_0000;
    parameter logic [31:0] UART_BASE = 32'h1000_0000;
    parameter logic [31:0] LOCKS_BASE = 32'h1200_0000;
    parameter logic [31:0] SCHEDULER_BASE = 32'h1300_0000;
    parameter logic [31:0] CHIP_BASE = 32'h1400_0000;
    parameter int LOCKS = 256;

    typedef struct packed {
        logic [11:0] latency;  // of the second level and devices, cycles from request to answer
        logic coherent;
        logic [7:0] pressure;  // of 256 cycles, those in which no bank takes a request
        logic [31:0] seed;  // of arbitration; 0: round-robin
        // four bits of each core: cycles after it has issued an instruction in which it issues none
        logic [31:0] pause;
    } config_t;
endpackage
