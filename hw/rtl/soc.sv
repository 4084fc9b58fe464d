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

    soc_pkg::config_t cfg;
    assign cfg.latency = cfg_latency;
    assign cfg.coherent = cfg_coherent;
    assign cfg.pressure = cfg_pressure;
    assign cfg.seed = cfg_seed;

    always_ff @(posedge clk) cycle <= rst ? '0 : cycle + 64'd1;

    logic [C:0] req_valid, req_ready, rsp_valid;
    soc_pkg::req_t [C:0] req;
    soc_pkg::rsp_t [C:0] rsp;
    logic [31:0] a0[C], a1[C], pc[C];
    wire [4:0] host_core = host_hart / T;
    assign host_a0 = a0[host_core[2:0]];
    assign host_a1 = a1[host_core[2:0]];
    assign host_pc = pc[host_core[2:0]];
    assign req_valid[C] = host_req;
    assign host_ready = req_ready[C];
    assign host_done = rsp_valid[C];
    assign host_line = rsp[C].data;
    always_comb begin
        req[C] = '0;
        req[C].op = host_write ? soc_pkg::REQ_STORE : soc_pkg::REQ_LOAD;
        req[C].core = soc_pkg::CORE_BITS'(C);
        req[C].addr = host_addr;
        req[C].data = {96'b0, host_data};
        req[C].mask = host_mask;
    end
    logic [B:0] bank_valid, bank_ready, ans_valid, ans_ready;
    soc_pkg::req_t [B:0] bank_req;
    soc_pkg::rsp_t [B:0] ans;
    logic [C*T-1:0] irq_soft, irq_timer, irq_external;

    for (genvar c = 0; c < C; c++) begin : cores
        core core (
            .clk,
            .rst,
            .id(soc_pkg::CORE_BITS'(c)),
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
            .host_attached,
            .host_go(host_go && int'(host_core) == c),
            .host_thread(2'(host_hart % T)),
            .host_refuses,
            .host_value,
            .halted(halted[c*T+:T]),
            .host_a0(a0[c]),
            .host_a1(a1[c]),
            .host_pc(pc[c])
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
            .rsp_ready(ans_ready[b])
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
        .rx_valid,
        .rx,
        .rx_ready,
        .exits,
        .exit_word
    );
endmodule
