// SPDX-License-Identifier: MIT
//
// core.sv - an in-order core with 1 to 4 hardware threads. Four stages, an instruction a cycle:
//
//   F  choose a thread that can run, in turn, and look its instruction up in the cache
//   D  decode, and read registers; jumps and backward branches are predicted to be taken
//   X  compute; branches, traps, interrupts and control registers take effect here
//   M  get the answer of the data cache and the store buffer; write registers
//
// The pipeline does not wait for slow operations. If an instruction cannot end in M, it sends a
// request, and M drops it together with the younger instructions of its thread. The thread is
// switched off (`run`) until the answer comes. Then it executes the instruction again, which finds
// the answer in registers of the thread (`answer`, or `fetched` for instructions). So it ends,
// whatever the caches have lost meanwhile. The only stall is one cycle, if an instruction uses the
// result of a load or of a multiplication at once.
//
// Rules:
//   1. A thread has at most one request under way, besides its stores.
//   2. An instruction changes only `pc` before all older ones of its thread are sure to end. If M
//      drops an older one, it has no effect in X (x_ok).
//   3. A thread that has an answer takes no interrupt before it has used it, because its request has
//      had an effect already (a device was read, memory was changed).
//   4. A load sees, in this order: the thread's own stores, this core's data cache, the second level.
//      A store reaches the data cache with its answer, when all cores see it. So no thread sees
//      another thread's store before every core can.
//   5. An ebreak that the host serves (semihosting) waits for the host as for a device, and writes the
//      host's result to a0. Younger instructions start again after it.
//   6. fence.i drops the instruction cache, but not lines that are under way to it. They are not too
//      old: fence.i waits for the answers of the thread's stores, and a bank's answers come in order.
//   7. Hardware scheduler: a thread that starts takes four cycles of the pipeline, in which M writes
//      its registers. A thread that leaves is switched off until context_unit.sv has read them.
//   8. A woken thread takes no interrupt before its conditional access: a line is kept for it.
//   9. A recruiting thread that leaves its hardware thread, because it ends or blocks, is not the
//      recruiting thread any more: the RTU may ask for another.
//  10. A slow core (`pause`) issues an instruction only every so many cycles; whatever has been issued
//      proceeds as in a fast one. So a wait for memory takes as long, and a wrong prediction costs less.
//
// Length: the stages of one pipeline, which share most of their signals.
module core
    import decode_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic [soc_pkg::CORE_BITS-1:0] id,
    input logic [3:0] pause,  // cycles after an instruction is issued in which none is
    input logic [63:0] cycle,
    input logic watch,
    output logic req_valid,
    output soc_pkg::req_t req,
    input logic req_ready,
    input logic rsp_valid,
    input soc_pkg::rsp_t rsp,
    input logic [soc_pkg::THREADS-1:0] irq_soft,
    input logic [soc_pkg::THREADS-1:0] irq_timer,
    input logic [soc_pkg::THREADS-1:0] irq_external,
    output logic [soc_pkg::THREADS-1:0][3:0] does,
    // the host, which serves semihosting calls of halted threads
    input logic host_attached,
    input logic host_go,
    input logic [1:0] host_thread,
    input logic host_refuses,
    input logic [31:0] host_value,
    output logic [soc_pkg::THREADS-1:0] halted,
    output logic [31:0] host_a0,
    output logic [31:0] host_a1,
    output logic [31:0] host_pc,
    // hardware scheduler: contexts that leave (context_unit.sv), and threads that come
    input logic lifo_full,
    input logic lifo_has,
    input logic [511:0] lifo_out,
    output logic lifo_push,
    output logic lifo_wants,
    input logic fill_full,
    output logic fill_push,
    output logic [511:0] context_out,
    output logic put,
    output logic put_word,
    output logic [15:0] put_slot,
    input logic put_ready,
    output logic recruit_end,
    output logic [soc_pkg::THREADS-1:0] idle,
    output logic [soc_pkg::THREADS-1:0] takes,  // waits in `take`: it gets a new thread's x10
    input logic assign_valid,
    input logic [1:0] assign_thread,
    input logic assign_woken,
    input logic assign_recruits,
    input logic [511:0] assign_context
);
    localparam int T = soc_pkg::THREADS;
    localparam int TB = soc_pkg::THREAD_BITS;
    typedef logic [TB-1:0] thread_t;

    // --- state of the threads
    logic [T-1:0] run;
    logic [3:0] reason[T];
    logic [31:0] pc[T];
    logic [T-1:0] answer_valid, fetched_valid;
    logic [31:0] answer[T], fetched[T];
    logic [31:0] regs[T*32];
    logic [T-1:0] pend_valid;
    soc_pkg::req_t pend[T];
    // the line of a thread's last load-reserved, until a store-conditional (see bank.sv)
    logic [T-1:0] linked;
    logic [29:4] link[T];
    logic [T-1:0] refused;  // the host has refused this ebreak: it traps
    // hardware scheduler
    logic [T-1:0] woken;  // the line that its conditional access needs is kept for it
    logic [T-1:0] overflows;  // the DTB was full: the access traps
    logic [T-1:0] recruits;  // it is the recruiting thread
    logic [T-1:0] evicts;  // its context has to go to the DTB
    logic [15:0] evict_slot[T];
    logic [T-1:0] parks;  // it executes wait.full or wait.empty: not it waits, but this word
    logic [31:0] park_word[T];
    logic land_valid, land_woken, land_recruits;
    logic [1:0] land_thread;
    logic [511:0] land_context;
    logic [2:0] land_sent, land_done;  // quarters on their way, and written
    logic [T-1:0] patient;  // its `take` waits without a limit
    logic [15:0] patience[T];  // cycles that its `take` waits at most
    logic [2:0] refuses[T];  // cycles since a thread in `take` has got an interrupt, or has waited
                             // long enough

    function automatic logic in_ram(input logic [31:0] at);
        in_ram = at[31] && (at & 32'h3fff_ffff) < soc_pkg::RAM_BYTES;
    endfunction
    function automatic logic is_device(input logic [31:0] at);
        is_device = at[31:3] == soc_pkg::EXIT_BASE[31:3]
                    || at[31:16] == soc_pkg::CLINT_BASE[31:16]
                    || at[31:24] == soc_pkg::PLIC_BASE[31:24]
                    || at[31:8] == soc_pkg::UART_BASE[31:8]
                    || at[31:16] == soc_pkg::LOCKS_BASE[31:16]
                    || at[31:16] == soc_pkg::SCHEDULER_BASE[31:16]
                    || at[31:16] == soc_pkg::CHIP_BASE[31:16];
    endfunction

    // --- F
    thread_t last, f_t;
    logic f_valid, d_stall;
    logic [3:0] paused;  // cycles that are left of the pause
    wire f_lands = land_valid && !takes[land_thread] && !land_sent[2] && !d_stall;
    logic d_lands, x_lands, m_lands;
    always_comb begin
        f_valid = 1'b0;
        f_t = '0;
        for (int i = T; i >= 1; i--) begin
            automatic int t = (int'(last) + i) % T;
            if (run[t] && !d_stall && !f_lands && paused == 0) begin
                f_valid = 1'b1;
                f_t = thread_t'(t);
            end
        end
    end
    wire [31:0] f_pc = pc[f_t];

    // --- D
    logic d_valid, i_hit;
    thread_t d_t;
    logic [31:0] d_pc;
    logic [127:0] i_line;
    logic x_valid, x_redirect, m_drop;
    thread_t x_t, m_t;
    decoded_t x_dec;
    logic [31:0] x_instr;
    wire [31:0] d_instr = fetched_valid[d_t] ? fetched[d_t] : i_line[d_pc[3:2]*32+:32];
    wire d_fault = !in_ram(d_pc);
    wire d_here = i_hit || fetched_valid[d_t] || d_fault;
    decoded_t d_dec;
    assign d_dec = decode(d_instr);
    wire d_killed = (x_redirect && x_t == d_t) || (m_drop && m_t == d_t);
    wire d_older = x_valid && x_t == d_t;
`ifdef SOC_MUTANT_NO_HAZARD
    wire d_hazard = 1'b0;
`else
    wire d_hazard = d_older && x_dec.late && x_dec.writes
                    && ((d_dec.uses_rs1 && x_instr[11:7] == d_instr[19:15])
                        || (d_dec.uses_rs2 && x_instr[11:7] == d_instr[24:20]));
`endif
    assign d_stall = d_valid && d_here && !d_killed && d_hazard;
    wire d_miss = d_valid && !d_here && !d_killed;
    wire d_goes = d_valid && d_here && !d_killed && !d_stall;
    wire d_predicts = d_goes && !d_fault && (d_dec.jal || d_dec.branch && d_dec.imm[31]);
    wire [31:0] d_target = d_pc + d_dec.imm;

    logic m_writes;
    logic [4:0] m_rd;
    logic [31:0] m_result, m_instr;
    function automatic logic [31:0] operand(input logic [4:0] r);
        operand = r == 0 ? '0 : m_writes && m_t == d_t && m_rd == r ? m_result
                          : regs[{d_t, r}];
    endfunction

    // --- X
    logic x_fault;
    logic [31:0] x_pc, x_rs1, x_rs2, x_next;
    logic m_valid, m_early;
    logic [31:0] m_value;
`ifdef SOC_MUTANT_NO_BYPASS
    wire x_bypass1 = 1'b0;
`else
    wire x_bypass1 = m_early && m_t == x_t && m_instr[11:7] == x_instr[19:15];
`endif
    wire x_bypass2 = m_early && m_t == x_t && m_instr[11:7] == x_instr[24:20];
    wire [31:0] x_a = x_bypass1 ? m_value : x_rs1;
    wire [31:0] x_b = x_bypass2 ? m_value : x_rs2;
    wire x_ok = x_valid && !(m_drop && m_t == x_t);
    wire [31:0] x_alu = alu(x_dec.alu_plain ? 3'd0 : x_dec.func3, x_dec.alu_alt,
                            x_dec.op_a_pc ? x_pc : x_dec.op_a_zero ? 32'd0 : x_a,
                            x_dec.op_b_imm ? x_dec.imm : x_b);
    wire x_atomic = x_dec.amo || x_dec.lr || x_dec.sc || x_dec.cond;
    wire [31:0] x_addr = x_a + (x_dec.load || x_dec.store ? x_dec.imm : 32'd0);
    wire x_jumps = x_dec.jal || x_dec.jalr || x_dec.branch && taken(x_dec.func3, x_a, x_b);
    wire [31:0] x_target = x_dec.jalr ? (x_a + x_dec.imm) & ~32'd1 : x_pc + x_dec.imm;
    wire [31:0] x_after = x_jumps ? x_target : x_pc + 32'd4;
    wire [1:0] x_size = x_atomic ? 2'd2 : x_dec.func3[1:0];
    wire x_moves = x_dec.spill || x_dec.fill || x_dec.save;
    wire x_access = x_dec.load || x_dec.store || x_atomic || x_moves;
    wire x_misaligned = x_access && ((x_addr[0] && x_size != 0) || (x_addr[1] && x_size[1])
                                     || x_moves && x_addr[5:0] != 0);
    wire x_device = is_device(x_addr);
    wire x_nothing = (x_access || x_dec.flush_line) && !in_ram(x_addr)
                     && !(x_device && !x_atomic && !x_moves);

    // control registers, one set a thread
    logic [T-1:0] csr_wakes, csr_interrupt;
    logic [T-1:0] csr_exists;
    logic [31:0] csr_word[T], csr_vector[T], csr_epc[T];
    logic [3:0] csr_cause[T];
    logic [T-1:0] retires;
    wire csr_writes = x_dec.csr && (x_dec.func3[1:0] == 2'b01 || x_instr[19:15] != 0);
    wire [31:0] csr_arg = x_dec.func3[2] ? {27'b0, x_instr[19:15]} : x_a;
    wire [31:0] csr_old = csr_word[x_t];
    wire [31:0] csr_new = x_dec.func3[1:0] == 2'b01 ? csr_arg
                          : x_dec.func3[0] ? csr_old & ~csr_arg : csr_old | csr_arg;
    wire csr_bad = x_dec.csr && (!csr_exists[x_t] || csr_writes && x_instr[31:30] == 2'b11);

    logic x_exception;
    logic [4:0] x_cause;
    logic [31:0] x_tval;
    always_comb begin
        x_exception = 1'b1;
        x_cause = 5'd0;
        x_tval = '0;
        if (x_fault) begin
            x_cause = 5'd1;
            x_tval = x_pc;
        end else if (x_dec.illegal || csr_bad) begin
            x_cause = 5'd2;
            x_tval = x_instr;
        end else if (x_dec.ecall) begin
            x_cause = 5'd11;
        end else if (x_dec.ebreak && (!host_attached || refused[x_t])) begin
            x_cause = 5'd3;
            x_tval = x_pc;
        end else if (x_jumps && x_target[1]) begin
            x_tval = x_target;
        end else if (x_misaligned) begin
            x_cause = x_dec.load || x_dec.lr ? 5'd4 : 5'd6;
            x_tval = x_addr;
        end else if (x_nothing) begin
            x_cause = x_dec.load || x_dec.lr ? 5'd5 : 5'd7;
            x_tval = x_addr;
`ifdef SOC_MUTANT_SPAWN_TRAPS
        end else if (x_dec.spawn && lifo_full) begin
`else
        end else if (x_dec.spawn && lifo_full && !answer_valid[x_t]) begin
`endif
            x_cause = 5'd24;
        end else if (x_dec.cond && overflows[x_t]) begin
            x_cause = 5'd25;
            x_tval = x_addr;
        end else begin
            x_exception = 1'b0;
        end
    end
`ifdef SOC_MUTANT_INTERRUPT_WITH_ANSWER
    wire x_interrupt = csr_interrupt[x_t];
`else
    wire x_interrupt = csr_interrupt[x_t] && !answer_valid[x_t] && !woken[x_t];
`endif
    wire x_trap = x_ok && (x_interrupt || x_exception);
    wire x_does = x_ok && !x_trap;  // takes effect
    wire x_ends = x_does && x_dec.term;
    wire x_sleeps = x_does && x_dec.wfi && !csr_wakes[x_t] || x_ends;
    wire x_wrong = x_after != x_next;
    assign x_redirect = x_trap || x_does && (x_dec.mret || x_sleeps || x_wrong);
    wire [31:0] x_goto = x_trap ? csr_vector[x_t] : x_dec.mret ? csr_epc[x_t] : x_after;

    for (genvar t = 0; t < T; t++) begin : thread
        wire x_here = x_t == thread_t'(t);
        csr csr (
            .clk,
            .rst,
            .hart(32'(id) * T + t),
            .cycle,
            .retires(retires[t]),
            .in_m(m_valid && m_t == thread_t'(t)),
            .irq_soft(irq_soft[t]),
            .irq_timer(irq_timer[t]),
            .irq_external(irq_external[t]),
            .at(x_instr[31:20]),
            .word(csr_word[t]),
            .exists(csr_exists[t]),
            .write(x_does && x_here && csr_writes),
            .data(csr_new),
            .wakes(csr_wakes[t]),
            .interrupt(csr_interrupt[t]),
            .interrupt_cause(csr_cause[t]),
            .trap(x_trap && x_here),
            .trap_cause(x_interrupt ? {1'b1, 27'b0, csr_cause[x_t]} : {27'b0, x_cause}),
            .trap_pc(x_pc),
            .trap_value(x_interrupt ? 32'd0 : x_tval),
            .mret(x_does && x_here && x_dec.mret),
            .vector(csr_vector[t]),
            .epc(csr_epc[t])
        );
    end

    // --- M
    decoded_t m_dec;
    logic [31:0] m_pc, m_addr, m_data;
    logic [63:0] m_product;
    logic m_device, m_trap;
    logic [31:0] m_cause, m_tval;
    logic d_hit;
    logic [127:0] d_line;
    logic [T-1:0] sb_full, sb_empty, sb_covers, sb_overlaps;
    logic [31:0] sb_word[T];
    wire m_atomic = m_dec.amo || m_dec.lr || m_dec.sc || m_dec.cond;
    wire m_moves = m_dec.spawn || m_dec.spill || m_dec.fill || m_dec.save || m_dec.give;
    wire m_lock = m_device && m_addr[31:16] == soc_pkg::LOCKS_BASE[31:16];
    wire m_cached = !m_device && !m_addr[30];
    wire m_has = answer_valid[m_t];
    wire m_tries = !m_dec.waits && m_instr[27];  // of a conditional access
    wire m_linked = linked[m_t] && link[m_t] == m_addr[29:4];
    wire [3:0] m_mask = m_dec.func3[1] ? 4'b1111
                        : m_dec.func3[0] ? 4'b0011 << m_addr[1:0] : 4'b0001 << m_addr[1:0];

    logic ctx_idle, m_starts, m_takes;
    logic m_done, m_asks, m_divides, m_puts, m_flushes, m_drops_line, m_halts;
    logic [3:0] m_reason, m_op;
    logic div_busy, div_done;
    wire drop_ready = !rsp_valid;
    always_comb begin
        m_done = m_valid;
        m_asks = 1'b0;
        m_divides = 1'b0;
        m_puts = 1'b0;
        m_flushes = 1'b0;
        m_drops_line = 1'b0;
        m_halts = 1'b0;
        m_starts = 1'b0;
        m_takes = 1'b0;
        m_reason = soc_pkg::DOES_PIPE;  // try again at once
        m_op = soc_pkg::REQ_LOAD;
        if (m_valid && !m_has) begin
            if (m_dec.load && m_cached) begin
                if (sb_overlaps[m_t]) begin
                    m_done = sb_covers[m_t];
                    m_reason = soc_pkg::DOES_FENCE;
                end else begin
                    m_done = d_hit;
                    m_asks = !d_hit;
                    m_reason = soc_pkg::DOES_LOAD;
                end
            end else if (m_dec.store && !m_device) begin
                m_done = !sb_full[m_t];
                m_puts = m_done;
                m_reason = soc_pkg::DOES_STORE;
            end else if (m_dec.load || m_dec.store || m_atomic) begin
                m_done = 1'b0;
`ifdef SOC_MUTANT_ATOMIC_PASSES
                m_asks = 1'b1;
`else
                m_asks = sb_empty[m_t];
`endif
                m_reason = !m_asks ? soc_pkg::DOES_FENCE
                           : m_dec.cond ? soc_pkg::DOES_COND
                           : m_atomic ? soc_pkg::DOES_ATOMIC
                           : m_lock ? soc_pkg::DOES_LOCK
                           : m_device ? soc_pkg::DOES_DEVICE : soc_pkg::DOES_LOAD;
                m_op = m_dec.amo ? soc_pkg::REQ_AMO : m_dec.lr ? soc_pkg::REQ_LR
                       : m_dec.sc ? soc_pkg::REQ_SC : m_dec.cond ? soc_pkg::REQ_COND
                       : m_dec.store ? soc_pkg::REQ_WRITE : soc_pkg::REQ_READ;
            end else if (m_dec.fence || m_dec.fence_i || m_dec.flush_line) begin
`ifdef SOC_MUTANT_FENCE_PASSES
                m_done = sb_empty[m_t] || m_dec.fence;
`else
                m_done = sb_empty[m_t] || m_dec.fence && !m_instr[24] && !m_instr[26];
`endif
                m_reason = soc_pkg::DOES_FENCE;
                if (m_done && m_dec.flush_line) begin
                    m_done = drop_ready;
                    m_drops_line = drop_ready;
                    m_reason = soc_pkg::DOES_PIPE;
                end
                m_flushes = m_done && m_dec.fence_i;
            end else if (m_dec.ebreak) begin
                m_done = 1'b0;
                m_halts = sb_empty[m_t];
                m_reason = m_halts ? soc_pkg::DOES_DEVICE : soc_pkg::DOES_FENCE;
            end else if (m_moves) begin
                // its stores first: threads see what their creator has stored
                m_done = 1'b0;
                m_starts = sb_empty[m_t] && ctx_idle && evicts == 0;
                m_reason = !sb_empty[m_t] ? soc_pkg::DOES_FENCE
                           : m_starts ? soc_pkg::DOES_CONTEXT : soc_pkg::DOES_PIPE;
            end else if (m_dec.take) begin
                m_done = 1'b0;
                m_takes = 1'b1;
                m_reason = soc_pkg::DOES_OFF;
            end else if (m_dec.div) begin
                m_done = 1'b0;
                m_divides = !div_busy && !div_done;
                m_reason = m_divides ? soc_pkg::DOES_DIVIDE : soc_pkg::DOES_PIPE;
            end
        end
    end
    wire m_uses = m_valid && m_has;  // only an instruction that has sent a request has an answer
    wire m_restarts = m_flushes || m_done && m_dec.ebreak;
    assign m_drop = m_valid && !m_done || m_restarts;

    wire [31:0] m_word = m_has ? answer[m_t] : sb_covers[m_t] ? sb_word[m_t]
                                             : d_line[m_addr[3:2]*32+:32];
    wire [31:0] m_shifted = m_word >> {m_addr[1:0], 3'b000};
    wire [31:0] m_loaded = m_dec.func3[1] ? m_word
        : m_dec.func3[0] ? {{16{m_shifted[15] && !m_dec.func3[2]}}, m_shifted[15:0]}
                         : {{24{m_shifted[7] && !m_dec.func3[2]}}, m_shifted[7:0]};
    assign m_result = m_dec.load ? m_loaded
                      : m_dec.mul ? (m_dec.func3[1:0] == 0 ? m_product[31:0] : m_product[63:32])
                      : m_atomic || m_dec.div || m_dec.ebreak || m_moves || m_dec.take
                      ? answer[m_t] : m_value;
    assign m_writes = m_done && (m_dec.writes || m_dec.ebreak);
    assign m_rd = m_dec.ebreak ? 5'd10 : m_instr[11:7];
    assign m_early = m_valid && m_dec.writes && !m_dec.late;

    always_comb begin
        for (int t = 0; t < T; t++) begin
            retires[t] = m_done && m_t == thread_t'(t);
            does[t] = retires[t] ? soc_pkg::DOES_RETIRE
                      : run[t] ? soc_pkg::DOES_PIPE : reason[t];
        end
    end

    thread_t host_t;
    assign host_t = thread_t'(host_thread);
    assign host_a0 = regs[{host_t, 5'd10}];
    assign host_a1 = regs[{host_t, 5'd11}];
    assign host_pc = pc[host_t];

    // which conditional access
    wire [2:0] m_cond = m_dec.waits
        ? (m_instr[25] ? soc_pkg::COND_WAIT_EMPTY : soc_pkg::COND_WAIT_FULL)
        : m_instr[13:12] == 2'd2
        ? (m_instr[25] ? soc_pkg::COND_READ : soc_pkg::COND_TAKE)
        : m_instr[26] ? soc_pkg::COND_EMPTY : m_instr[25] ? soc_pkg::COND_FILL : soc_pkg::COND_PUT;

    // --- parts
    wire mine = rsp_valid && rsp.core == id;
    wire rsp_fetch = mine && rsp.op == soc_pkg::REQ_FETCH;
    wire rsp_load = mine && rsp.op == soc_pkg::REQ_LOAD;
    wire rsp_store = mine && rsp.op == soc_pkg::REQ_STORE;
    wire rsp_context = soc_pkg::SCHEDULER != 0 && mine
                       && (rsp.op == soc_pkg::REQ_PUT_LINE || rsp.op == soc_pkg::REQ_GET_LINE);
    wire rsp_cond = soc_pkg::SCHEDULER != 0 && mine
                    && (rsp.cond == soc_pkg::COND_BLOCKED || rsp.cond == soc_pkg::COND_OVERFLOW);
    wire rsp_blocked = rsp_cond && rsp.cond == soc_pkg::COND_BLOCKED;
    wire rsp_answer = mine && !rsp_fetch && !rsp_store && !rsp_context && !rsp_cond;
    thread_t rsp_t;
    assign rsp_t = rsp.thread;

    cache #(
        .SETS(soc_pkg::ICACHE_SETS)
    ) icache (
        .clk,
        .rst,
`ifdef SOC_MUTANT_FLUSH_NOTHING
        .flush(1'b0),
`else
        .flush(m_flushes),
`endif
        .look(!d_stall),
        .look_at(f_pc),
        .hit(i_hit),
        .line(i_line),
        .fill(rsp_fetch),
        .merge(1'b0),
        .drop(1'b0),
        .at(rsp.addr),
        .data(rsp.data),
        .mask(4'b0)
    );
    cache #(
        .SETS(soc_pkg::DCACHE_SETS)
    ) dcache (
        .clk,
        .rst,
        .flush(1'b0),
        .look(1'b1),
        .look_at(x_addr),
        .hit(d_hit),
        .line(d_line),
        .fill(rsp_load),
        .merge(rsp_store),
`ifdef SOC_MUTANT_NO_DROP
        .drop(m_drops_line),
`else
        .drop(m_drops_line || rsp_valid && rsp.writes && !rsp_store),
`endif
        .at(m_drops_line ? m_addr & ~soc_pkg::ALIAS_BIT : rsp.addr),
        .data(rsp.data),
        .mask(rsp.mask)
    );
    logic [31:0] div_result;
    thread_t div_t;
    divider divider (
        .clk,
        .rst,
        .start(m_divides),
        .func(m_dec.func3[1:0]),
        .a(m_addr),
        .b(m_data),
        .busy(div_busy),
        .done(div_done),
        .result(div_result)
    );

    // contexts: those of blocked threads first
    logic evicting;  // context_unit.sv moves such a one
    logic ctx_start, ctx_read_done, ctx_done, ctx_answer, ctx_send, ctx_send_write, ctx_sent;
    logic [2:0] ctx_op;
    logic [1:0] ctx_thread, ctx_read_thread, ctx_read_beat, ctx_beat, evict_thread, ctx_thread_q;
    logic [31:0] ctx_send_at;
    logic [127:0] ctx_words, ctx_send_data;
    always_comb begin
        evict_thread = '0;
        for (int t = 0; t < T; t++) if (evicts[t]) evict_thread = 2'(t);
        ctx_words = '0;
        for (int w = 0; w < 4; w++) begin
            ctx_words[w*32+:32] = regs[{thread_t'(ctx_read_thread), 1'b0, ctx_read_beat, 2'(w)}];
        end
    end
    assign ctx_start = evicts != 0 || m_starts;
    assign ctx_op = evicts != 0 ? (parks[evict_thread] ? 3'd6 : 3'd1) : m_dec.spawn ? 3'd0 : m_dec.save ? 3'd2
                    : m_dec.spill ? 3'd3 : m_dec.fill ? 3'd4 : 3'd5;
    assign ctx_thread = evicts != 0 ? evict_thread : m_t;
    if (soc_pkg::SCHEDULER != 0) begin : contexts
        context_unit context_unit (
            .clk,
            .rst,
            .idle(ctx_idle),
            .start(ctx_start),
            .op(ctx_op),
            .thread(ctx_thread),
            .pc(evicts != 0 ? pc[evict_thread] : m_dec.spawn ? m_addr : csr_epc[m_t]),
            .at(evicts != 0 ? park_word[evict_thread] : m_addr),
            .slot(evict_slot[evict_thread]),
            .read_thread(ctx_read_thread),
            .read_beat(ctx_read_beat),
            .read_words(ctx_words),
            .read_done(ctx_read_done),
            .done(ctx_done),
            .done_thread(ctx_thread_q),
            .done_answer(ctx_answer),
            .lifo_push,
            .lifo_wants,
            .lifo_has,
            .lifo_out,
            .fill_push,
            .fill_full,
            .context_out,
            .put,
            .put_word,
            .put_slot,
            .put_ready,
            .send(ctx_send),
            .send_write(ctx_send_write),
            .send_at(ctx_send_at),
            .send_data(ctx_send_data),
            .send_beat(ctx_beat),
            .sent(ctx_sent),
            .answered(rsp_context),
            .answered_beat(rsp.tag),
            .answered_data(rsp.data)
        );
    end else begin : no_contexts
        assign ctx_idle = 1'b1;
        assign {ctx_read_thread, ctx_read_beat, ctx_read_done, ctx_thread_q} = '0;
        assign {ctx_done, ctx_answer, ctx_send, ctx_send_write, ctx_beat} = '0;
        assign {ctx_send_at, ctx_send_data} = '0;
        assign {lifo_push, lifo_wants, fill_push, put, put_word, put_slot, context_out} = '0;
    end
    always_comb begin
        for (int t = 0; t < T; t++) begin
            idle[t] = !run[t] && reason[t] == soc_pkg::DOES_OFF && !land_valid && refuses[t] == 0;
        end
    end
`ifdef SOC_MUTANT_RECRUITS_STAYS
    assign recruit_end = x_ends && recruits[x_t];
`else
    assign recruit_end = x_ends && recruits[x_t] || rsp_blocked && recruits[rsp_t];
`endif

    // one source a cycle sends a request: the context, a thread that waits, or a store buffer
    logic [T-1:0] sb_send, sb_sent, pend_sent;
    soc_pkg::req_t sb_req[T];
    for (genvar t = 0; t < T; t++) begin : stores
        store_buffer buffer (
            .clk,
            .rst,
            .put(m_puts && m_t == thread_t'(t)),
            .put_at(m_addr & ~soc_pkg::ALIAS_BIT),
            .put_data(m_data << {m_addr[1:0], 3'b000}),
            .put_mask(m_mask),
            .full(sb_full[t]),
            .empty(sb_empty[t]),
            .look_at(m_addr),
            .look_mask(m_mask),
            .covers(sb_covers[t]),
            .overlaps(sb_overlaps[t]),
            .word(sb_word[t]),
            .send(sb_send[t]),
            .send_at(sb_req[t].addr),
            .send_data(sb_req[t].data[31:0]),
            .send_mask(sb_req[t].mask),
            .send_tag(sb_req[t].tag),
            .sent(sb_sent[t]),
            .answered(rsp_store && rsp_t == thread_t'(t)),
            .answered_tag(rsp.tag)
        );
        assign sb_req[t].op = soc_pkg::REQ_STORE;
        assign sb_req[t].core = id;
        assign sb_req[t].thread = thread_t'(t);
        assign sb_req[t].func = '0;
        if (soc_pkg::DATA_BITS > 32) assign sb_req[t].data[soc_pkg::DATA_BITS-1:32] = '0;
    end
    logic [2:0] turn, source;
    logic waits, picks;
    soc_pkg::req_t picked;
    always_comb begin
        waits = 1'b0;
        source = '0;
        for (int i = 2 * T - 1; i >= 0; i--) begin
            automatic int s = (int'(turn) + i) % (2 * T);
            if (s < T ? pend_valid[s] : sb_send[s-T]) begin
                waits = 1'b1;
                source = 3'(s);
            end
        end
    end
    always_comb begin
        picks = (ctx_send || waits) && (!req_valid || req_ready);
        picked = '0;
        sb_sent = '0;
        pend_sent = '0;
        ctx_sent = picks && ctx_send;
        if (ctx_send) begin
            picked.op = ctx_send_write ? soc_pkg::REQ_PUT_LINE : soc_pkg::REQ_GET_LINE;
            picked.core = id;
            picked.thread = ctx_thread_q;
            picked.tag = ctx_beat;
            picked.addr = ctx_send_at;
            picked.data = soc_pkg::DATA_BITS'(ctx_send_data);
        end else if (int'(source) < T) begin
            picked = pend[source[TB-1:0]];
            pend_sent[source[TB-1:0]] = picks;
        end else begin
            picked = sb_req[int'(source)-T];
            sb_sent[int'(source)-T] = picks;
        end
    end

    // --- registers
    always_ff @(posedge clk) begin
        if (rst) begin
            run <= '1;
            for (int t = 0; t < T; t++) begin
                pc[t] <= soc_pkg::RAM_BASE;
                reason[t] <= soc_pkg::DOES_PIPE;
            end
            answer_valid <= '0;
            fetched_valid <= '0;
            pend_valid <= '0;
            linked <= '0;
            last <= '0;
            paused <= '0;
            d_valid <= 1'b0;
            x_valid <= 1'b0;
            m_valid <= 1'b0;
            m_trap <= 1'b0;
            req_valid <= 1'b0;
            turn <= '0;
            halted <= '0;
            refused <= '0;
            woken <= '0;
            overflows <= '0;
            recruits <= '0;
            takes <= '0;
            evicts <= '0;
            land_valid <= 1'b0;
            d_lands <= 1'b0;
            x_lands <= 1'b0;
            m_lands <= 1'b0;
            for (int t = 0; t < T; t++) refuses[t] <= '0;
        end else begin
            // F
            d_lands <= d_stall ? d_lands : f_lands;
            if (f_lands) land_sent <= land_sent + 3'd1;
            paused <= f_valid ? pause : paused != 0 ? paused - 4'd1 : '0;
            d_valid <= d_stall || f_valid && !(m_drop && m_t == f_t) && !(x_redirect && x_t == f_t)
                       && !((d_predicts || d_miss) && d_t == f_t);
            if (f_valid) begin
                last <= f_t;
                pc[f_t] <= f_pc + 32'd4;
            end
            if (!d_stall) begin
                d_t <= f_t;
                d_pc <= f_pc;
            end

            // D
            x_lands <= d_lands && !d_stall;
            x_valid <= d_goes;
            x_t <= d_t;
            x_pc <= d_pc;
            x_instr <= d_instr;
            x_dec <= d_dec;
            x_fault <= d_fault;
            x_rs1 <= operand(d_instr[19:15]);
            x_rs2 <= operand(d_instr[24:20]);
            x_next <= d_predicts ? d_target : d_pc + 32'd4;
            if (d_goes) fetched_valid[d_t] <= 1'b0;
            if (d_predicts) pc[d_t] <= d_target;
            if (d_miss) begin
                pc[d_t] <= d_pc;
                if (!d_older) begin  // else an older one may still send a request: try again
                    run[d_t] <= 1'b0;
                    reason[d_t] <= soc_pkg::DOES_FETCH;
                    pend_valid[d_t] <= 1'b1;
                    pend[d_t] <= '{op: soc_pkg::REQ_FETCH, core: id, thread: d_t, addr: d_pc,
                                   default: '0};
                end
            end

            // X
            m_lands <= x_lands;
            m_valid <= x_does;
            m_trap <= x_trap;
            m_cause <= x_interrupt ? {1'b1, 27'b0, csr_cause[x_t]} : {27'b0, x_cause};
            m_tval <= x_tval;
            m_t <= x_t;
            m_pc <= x_pc;
            m_instr <= x_instr;
            m_dec <= x_dec;
            m_value <= x_dec.jal || x_dec.jalr ? x_pc + 32'd4 : x_dec.csr ? csr_old : x_alu;
            m_addr <= x_dec.div ? x_a : x_addr;
            m_data <= x_b;
            m_device <= x_device;
            m_product <= {{32{x_a[31] && x_dec.func3[1:0] != 2'd3}}, x_a}
                         * {{32{x_b[31] && !x_dec.func3[1]}}, x_b};
            if (x_redirect) pc[x_t] <= x_goto;
            if (x_sleeps) begin
                run[x_t] <= 1'b0;
                reason[x_t] <= x_ends ? soc_pkg::DOES_OFF : soc_pkg::DOES_WFI;
            end
            if (x_ends) recruits[x_t] <= 1'b0;
            if (x_trap) begin
                overflows[x_t] <= 1'b0;
`ifndef SOC_MUTANT_WOKEN_STAYS
                woken[x_t] <= 1'b0;
`endif
            end

            if (x_trap) refused[x_t] <= 1'b0;

            // M
            if (m_writes) regs[{m_t, m_rd}] <= m_result;
            if (m_halts) halted[m_t] <= 1'b1;
            if (m_uses) answer_valid[m_t] <= 1'b0;
            if (m_uses && m_dec.cond) woken[m_t] <= 1'b0;
            if (m_takes) begin
                takes[m_t] <= 1'b1;
                patient[m_t] <= !m_instr[25];
                patience[m_t] <= m_addr[31:16] != 0 ? '1 : m_addr[15:0];
            end
            if (m_drop) begin
                pc[m_t] <= m_restarts ? m_pc + 32'd4 : m_pc;
                if (!m_restarts && m_reason != soc_pkg::DOES_PIPE) begin
                    run[m_t] <= 1'b0;
                    reason[m_t] <= m_reason;
                end
            end
            if (m_asks) begin
                pend_valid[m_t] <= 1'b1;
                pend[m_t] <= '{op: m_op, core: id, thread: m_t, tag: '0,
                               func: m_dec.cond ? {m_tries, woken[m_t] || m_tries && m_instr[28], m_cond}
                                     : m_instr[31:27],
                               addr: m_addr,
                               data: soc_pkg::DATA_BITS'(m_data << {m_addr[1:0], 3'b000}),
                               mask: m_dec.sc ? {4{m_linked}} : m_atomic ? 4'b1111 : m_mask};
                if (m_dec.lr || m_dec.sc) begin
                    linked[m_t] <= m_dec.lr;
                    link[m_t] <= m_addr[29:4];
                end
            end
            if (m_asks && m_dec.cond) parks[m_t] <= m_dec.waits;
            if (m_asks && m_dec.waits) park_word[m_t] <= m_data;
            if (m_divides) div_t <= m_t;

            // requests
            for (int t = 0; t < T; t++) if (pend_sent[t]) pend_valid[t] <= 1'b0;
            if (!req_valid || req_ready) begin
                req_valid <= picks;
                req <= picked;
                turn <= turn == 3'(2 * T - 1) ? '0 : turn + 3'd1;
            end

            // threads that wait for no answer
            for (int t = 0; t < T; t++) begin
                if (!run[t]) begin
                    if (reason[t] == soc_pkg::DOES_STORE && !sb_full[t]) run[t] <= 1'b1;
                    if (reason[t] == soc_pkg::DOES_FENCE && sb_empty[t]) run[t] <= 1'b1;
                    if (reason[t] == soc_pkg::DOES_WFI && csr_wakes[t]) run[t] <= 1'b1;
                end
            end
            if (rsp_fetch) begin
                run[rsp_t] <= 1'b1;
                fetched_valid[rsp_t] <= 1'b1;
                fetched[rsp_t] <= rsp.data[rsp.addr[3:2]*32+:32];
            end
            if (rsp_answer) begin
                run[rsp_t] <= 1'b1;
                answer_valid[rsp_t] <= 1'b1;
                answer[rsp_t] <= rsp_load ? rsp.data[rsp.addr[3:2]*32+:32] : rsp.data[31:0];
            end
            if (host_go) begin
                halted[host_t] <= 1'b0;
                run[host_t] <= 1'b1;
                if (host_refuses) begin
                    refused[host_t] <= 1'b1;
                end else begin
                    answer_valid[host_t] <= 1'b1;
                    answer[host_t] <= host_value;
                end
            end

            // contexts that leave
            if (rsp_cond) begin
                reason[rsp_t] <= soc_pkg::DOES_CONTEXT;
                woken[rsp_t] <= 1'b0;
                if (rsp_blocked) begin
                    if (!parks[rsp_t]) recruits[rsp_t] <= 1'b0;  // rule 9
                    evicts[rsp_t] <= 1'b1;
                    evict_slot[rsp_t] <= rsp.data[15:0];
                end else begin
                    if (parks[rsp_t]) begin
                        answer_valid[rsp_t] <= 1'b1;
                        answer[rsp_t] <= '0;
                    end else begin
                        overflows[rsp_t] <= 1'b1;
                    end
                    run[rsp_t] <= 1'b1;
                end
            end
            if (ctx_idle && evicts != 0) begin
                evicts[evict_thread] <= 1'b0;
                evicting <= !parks[evict_thread];
            end else if (ctx_read_done) begin
                evicting <= 1'b0;
                if (evicting) reason[ctx_thread_q] <= soc_pkg::DOES_OFF;
            end
            if (ctx_done) begin
                run[ctx_thread_q] <= 1'b1;
                answer_valid[ctx_thread_q] <= 1'b1;
                answer[ctx_thread_q] <= 32'(ctx_answer);
            end

            // threads that come
            if (assign_valid) begin
                land_valid <= 1'b1;
                land_thread <= assign_thread;
                land_woken <= assign_woken;
                land_recruits <= assign_recruits;
                land_context <= assign_context;
                land_sent <= '0;
                land_done <= '0;
            end
            if (land_valid && takes[land_thread]) begin
                land_valid <= 1'b0;
                takes[land_thread] <= 1'b0;
                run[land_thread] <= 1'b1;
                answer_valid[land_thread] <= 1'b1;
                answer[land_thread] <= land_context[10*32+:32];
            end
            if (m_lands) begin
                for (int w = 0; w < 4; w++) begin
                    regs[{thread_t'(land_thread), 1'b0, land_done[1:0], 2'(w)}]
                        <= land_context[land_done[1:0]*128+w*32+:32];
                end
                land_done <= land_done + 3'd1;
                if (land_done == 3'd3) begin
                    land_valid <= 1'b0;
                    run[land_thread] <= 1'b1;
                    pc[land_thread] <= {land_context[31:2], 2'b00};
`ifndef SOC_MUTANT_LINK_STAYS
                    linked[land_thread] <= 1'b0;
`endif
                    woken[land_thread] <= land_woken;
                    recruits[land_thread] <= land_recruits;
                end
            end
            // An interrupt ends `take`, with 0; the end of its time ends `take.for`. The TSAU is told
            // that the thread is not idle, and seven cycles later, when an assignment that was under
            // way has arrived, the thread runs.
            for (int t = 0; t < T; t++) begin
                if (takes[t] && patience[t] != 0) patience[t] <= patience[t] - 16'd1;
                refuses[t] <= takes[t] && !run[t]
                              && (patient[t] ? csr_wakes[t] : patience[t] == 0)
                              ? (refuses[t] == 3'd7 ? 3'd7 : refuses[t] + 3'd1) : 3'd0;
                if (refuses[t] == 3'd7 && takes[t] && !land_valid) begin
                    takes[t] <= 1'b0;
                    run[t] <= 1'b1;
                    answer_valid[t] <= 1'b1;
                    answer[t] <= '0;
                end
            end
            if (div_done) begin
                run[div_t] <= 1'b1;
                answer_valid[div_t] <= 1'b1;
                answer[div_t] <= div_result;
            end
        end
    end

`ifdef VERILATOR
    import "DPI-C" function void soc_retire(input int hart, input int pc, input int instr,
                                            input int value, input int addr, input int data);
    import "DPI-C" function void soc_trap(input int hart, input int pc, input int cause,
                                          input int instr, input int tval);
    wire [31:0] m_hart = 32'(id) * T + 32'(m_t);
    always_ff @(posedge clk) begin
        if (!rst && watch) begin
            if (m_done) begin
                soc_retire(m_hart, m_pc, m_instr, m_result,
                           m_dec.load || m_dec.store || m_atomic ? m_addr : 0, m_data);
            end
            if (m_trap) soc_trap(m_hart, m_pc, m_cause, m_instr, m_tval);
        end
    end
    // a context has been pushed, has left registers, has reached the DTB, or starts
    import "DPI-C" function void soc_context(input int event_kind, input int hart, input int at,
                                             input bit [511:0] words);
    wire [31:0] ctx_hart = 32'(id) * T + 32'(ctx_thread_q);
    always_ff @(posedge clk) begin
        if (soc_pkg::SCHEDULER != 0 && !rst && watch) begin
            if (lifo_push) soc_context(0, ctx_hart, 0, context_out);
            if (fill_push) soc_context(1, ctx_hart, 0, context_out);
            if (ctx_read_done && evicting) soc_context(2, ctx_hart, 32'(put_slot), context_out);
            if (put && put_ready) soc_context(3, ctx_hart, 32'(put_slot), context_out);
            if (assign_valid) begin
                soc_context(4, 32'(id) * T + 32'(assign_thread),
                            {30'b0, assign_recruits, assign_woken}, assign_context);
            end
        end
    end
`endif
`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst) begin
            for (int t = 0; t < T; t++) begin
                assert (!(run[t] && pend_valid[t]));  // rule 1
            end
            if (rsp_fetch || rsp_answer) assert (!run[rsp_t] && !pend_valid[rsp_t]);
            if (rsp_fetch) assert (reason[rsp_t] == soc_pkg::DOES_FETCH);
            assert (!(m_uses && !(m_dec.load || m_dec.store || m_atomic || m_dec.div || m_moves
                                  || m_dec.take || m_dec.ebreak)));
            if (host_go) assert (halted[host_t] && !run[host_t]);  // rule 5
            assert (!(m_lands && m_valid));  // rule 7
            assert (!(assign_valid && (land_valid || run[assign_thread])));
            assert (!(assign_valid && takes[assign_thread] && (assign_woken || assign_recruits)));
            assert (!(m_drops_line && rsp_valid));
        end
    end
`endif
endmodule
