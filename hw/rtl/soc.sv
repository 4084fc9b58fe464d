// SPDX-License-Identifier: MIT
//
// soc.sv - the chip: cores, second level, devices.
module soc (
    input logic clk,
    input logic rst,
    // configuration; does not change after reset
    input logic [11:0] cfg_latency,
    input logic cfg_coherent,
    input logic [7:0] cfg_pressure,
    input logic [31:0] cfg_seed,
    input logic [31:0] cfg_pause,
    input logic watch,
    output logic tx_valid,
    output logic [7:0] tx,
    input logic rx_valid,
    input logic [7:0] rx,
    output logic rx_ready,
    // the host: halted harts, one of them at a time, and memory, one request at a time
    input logic host_attached,
    input logic [4:0] host_hart,
    input logic host_go,
    input logic host_refuses,
    input logic [31:0] host_value,
    output logic [soc_pkg::HARTS-1:0] halted,
    output logic [31:0] host_a0,
    output logic [31:0] host_a1,
    output logic [31:0] host_pc,
    input logic host_req,
    input logic host_write,
    input logic [31:0] host_addr,
    input logic [31:0] host_data,
    input logic [3:0] host_mask,
    output logic host_ready,
    output logic host_done,
    output logic [127:0] host_line,
    output logic exits,
    output logic [31:0] exit_word,
    output logic [63:0] cycle,
    output logic [soc_pkg::HARTS-1:0][3:0] does
);
    localparam int C = soc_pkg::CORES;
    localparam int T = soc_pkg::THREADS;
    localparam int B = soc_pkg::BANKS;

    always_ff @(posedge clk) cycle <= rst ? '0 : cycle + 64'd1;

    logic [C:0] req_valid, req_ready, rsp_valid;
    soc_pkg::req_t [C:0] req;
    soc_pkg::rsp_t [C:0] rsp;
    logic [31:0] a0[C], a1[C], pc[C];
    wire [4:0] host_core = host_hart / T;
    assign host_a0 = a0[host_core[2:0]];
    assign host_a1 = a1[host_core[2:0]];
    assign host_pc = pc[host_core[2:0]];

    // Inputs on which much depends are kept in registers first, so a simulator computes little when
    // one changes. A byte of the serial line stays with the host until the program has read it.
    soc_pkg::config_t cfg;
    logic attached;
    logic host_held;  // a request of the host
    soc_pkg::req_t host_kept;
    logic rx_seen, rx_taken;  // a byte of the serial line
    logic [7:0] rx_kept;
    assign host_ready = !host_held;
    always_ff @(posedge clk) begin
        cfg.latency <= cfg_latency;
        cfg.coherent <= cfg_coherent;
        cfg.pressure <= cfg_pressure;
        cfg.seed <= cfg_seed;
        cfg.pause <= cfg_pause;
        attached <= host_attached;
        rx_kept <= rx;
        if (rst) begin
            host_held <= 1'b0;
            rx_seen <= 1'b0;
            rx_ready <= 1'b0;
        end else begin
            rx_seen <= rx_valid && !rx_taken;
            rx_ready <= rx_seen && rx_taken;
            if (host_req && host_ready) begin
                host_held <= 1'b1;
                host_kept <= '0;
                host_kept.op <= host_write ? soc_pkg::REQ_STORE : soc_pkg::REQ_LOAD;
                host_kept.core <= soc_pkg::CORE_BITS'(C);
                host_kept.addr <= host_addr;
                host_kept.data[31:0] <= host_data;
                host_kept.mask <= host_mask;
            end else if (req_ready[C]) begin
                host_held <= 1'b0;
            end
        end
    end
    assign req_valid[C] = host_held;
    assign req[C] = host_kept;
    assign host_done = rsp_valid[C];
    assign host_line = rsp[C].data;
    logic [B:0] bank_valid, bank_ready, ans_valid, ans_ready;
    soc_pkg::req_t [B:0] bank_req;
    soc_pkg::rsp_t [B:0] ans;
    // hardware scheduler
    logic [B-1:0] cond_wants, cond_grant, cond_blocks, cond_changes, cond_state;
    logic [B*28-1:0] cond_line;
    logic cond_room, cond_waits;
    logic [15:0] cond_slot;
    logic [C-1:0] put, put_ready, lifo_wants, recruit_end, lifo_push, fill_push;
    logic [C-1:0] lifo_full, lifo_has, fill_full, assign_valid;
    logic [C*16-1:0] put_slot;
    logic [C*512-1:0] put_context, lifo_out;
    logic [C-1:0] put_word;
    logic [C*T-1:0] idle, takes;
    logic [1:0] assign_thread;
    logic assign_woken, assign_recruits;
    logic [511:0] assign_context;
    logic sched_write;
    logic [11:0] sched_at;
    logic [31:0] sched_data, sched_word;

    logic [C*T-1:0] irq_soft, irq_timer, irq_external;

    for (genvar c = 0; c < C; c++) begin : cores
        core core (
            .clk,
            .rst,
            .id(soc_pkg::CORE_BITS'(c)),
            .pause(cfg.pause[c*4+:4]),
            .cycle,
            .watch,
            .req_valid(req_valid[c]),
            .req(req[c]),
            .req_ready(req_ready[c]),
            .rsp_valid(rsp_valid[c]),
            .rsp(rsp[c]),
            .irq_soft(irq_soft[c*T+:T]),
            .irq_timer(irq_timer[c*T+:T]),
            .irq_external(irq_external[c*T+:T]),
            .does(does[c*T+:T]),
            .host_attached(attached),
            .host_go(host_go && int'(host_core) == c),
            .host_thread(2'(host_hart % T)),
            .host_refuses,
            .host_value,
            .halted(halted[c*T+:T]),
            .host_a0(a0[c]),
            .host_a1(a1[c]),
            .host_pc(pc[c]),
            .lifo_full(lifo_full[c]),
            .lifo_has(lifo_has[c]),
            .lifo_out(lifo_out[c*512+:512]),
            .lifo_push(lifo_push[c]),
            .lifo_wants(lifo_wants[c]),
            .fill_full(fill_full[c]),
            .fill_push(fill_push[c]),
            .context_out(put_context[c*512+:512]),
            .put(put[c]),
            .put_word(put_word[c]),
            .put_slot(put_slot[c*16+:16]),
            .put_ready(put_ready[c]),
            .recruit_end(recruit_end[c]),
            .idle(idle[c*T+:T]),
            .takes(takes[c*T+:T]),
            .assign_valid(assign_valid[c]),
            .assign_thread,
            .assign_woken,
            .assign_recruits,
            .assign_context
        );
    end

    crossbar crossbar (
        .clk,
        .rst,
        .cfg,
        .watch,
        .req_valid,
        .req,
        .req_ready,
        .bank_valid,
        .bank_req,
        .bank_ready,
        .ans_valid,
        .ans,
        .ans_ready,
        .rsp_valid,
        .rsp
    );

    for (genvar b = 0; b < B; b++) begin : banks
        bank bank (
            .clk,
            .rst,
            .cycle,
            .cfg,
            .index(3'(b)),
            .watch,
            .req_valid(bank_valid[b]),
            .req(bank_req[b]),
            .req_ready(bank_ready[b]),
            .rsp_valid(ans_valid[b]),
            .rsp(ans[b]),
            .rsp_ready(ans_ready[b]),
            .cond_wants(cond_wants[b]),
            .cond_grant(cond_grant[b]),
            .cond_blocks(cond_blocks[b]),
            .cond_changes(cond_changes[b]),
            .cond_state(cond_state[b]),
            .cond_line(cond_line[b*28+:28]),
            .cond_room,
            .cond_waits,
            .cond_slot
        );
    end

    devices devices (
        .clk,
        .rst,
        .cycle,
        .cfg,
        .req_valid(bank_valid[B]),
        .req(bank_req[B]),
        .req_ready(bank_ready[B]),
        .rsp_valid(ans_valid[B]),
        .rsp(ans[B]),
        .rsp_ready(ans_ready[B]),
        .irq_soft,
        .irq_timer,
        .irq_external,
        .tx_valid,
        .tx,
        .rx_valid(rx_seen),
        .rx(rx_kept),
        .rx_ready(rx_taken),
        .sched_write,
        .sched_at,
        .sched_data,
        .sched_word,
        .exits,
        .exit_word
    );

    if (soc_pkg::SCHEDULER != 0) begin : scheduled
        scheduler #(
            .CORES(C),
            .THREADS(T),
            .BANKS(B),
            .ENTRIES(soc_pkg::SCHEDULER),
            .STAGES(soc_pkg::SCHEDULER_STAGES)
        ) scheduler (
            .clk,
            .rst,
            .watch,
            .reg_write(sched_write),
            .reg_at(sched_at),
            .reg_data(sched_data),
            .reg_word(sched_word),
            .cond_wants,
            .cond_grant,
            .cond_blocks,
            .cond_changes,
            .cond_state,
            .cond_line,
            .cond_room,
            .cond_waits,
            .cond_slot,
            .put,
            .put_ready,
            .put_slot,
            .put_context,
            .put_word,
            .lifo_wants,
            .recruit_end,
            .lifo_push,
            .fill_push,
            .lifo_full,
            .lifo_has,
            .fill_full,
            .lifo_out,
            .idle,
            .takes,
            .assign_valid,
            .assign_thread,
            .assign_woken,
            .assign_recruits,
            .assign_context
        );
    end else begin : unscheduled
        assign cond_grant = '0;
        assign cond_room = 1'b0;
        assign cond_waits = 1'b0;
        assign cond_slot = '0;
        assign put_ready = '0;
        assign lifo_full = '1;
        assign lifo_has = '0;
        assign fill_full = '1;
        assign lifo_out = '0;
        assign assign_valid = '0;
        assign assign_thread = '0;
        assign assign_woken = 1'b0;
        assign assign_recruits = 1'b0;
        assign assign_context = '0;
        assign sched_word = '0;
    end
endmodule
