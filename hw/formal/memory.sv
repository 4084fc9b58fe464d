// SPDX-License-Identifier: MIT
//
// memory.sv - the memory of a bank as it is synthesized. In simulation the harness keeps the memory,
// so no simulation has executed these lines of bank.sv. The solver chooses one byte of the bank's
// memory, the requests, and when answers are taken.
//
// Proved for the cycles of the bounded check: once a store or a swap has written the byte, each read (of a line, of a word, by an atomic
// instruction) gets what the last one before it has written, whatever other requests come between,
// whatever other bytes they write, and however many are under way. The order is that in which the
// bank accepts requests. Answers come in that order, one for each request.
//
// The environment promises what core.sv and crossbar.sv do: addresses of this bank and within the
// memory, words that are aligned.
module memory (
    input logic clk,
    input logic rst
);
    localparam int BANK_BITS = $clog2(soc_pkg::BANKS);
    localparam logic [2:0] INDEX = 3'd1;
    localparam int LINE_BITS = $clog2(soc_pkg::RAM_BYTES / 16 / soc_pkg::BANKS);
    localparam logic [4:0] SWAP = 5'b00001;

    // --- what the solver chooses: in each cycle, and at reset
    (* anyseq *) logic req_valid, rsp_ready, mark;
    (* anyseq *) soc_pkg::req_t req;
    (* anyseq *) logic [LINE_BITS+3:0] any_byte;
    (* anyseq *) logic [1:0] any_latency;
    logic [LINE_BITS+3:0] of_bank;
    logic [1:0] latency;
    wire [31:0] watched = 32'({of_bank[4+:LINE_BITS], INDEX[BANK_BITS-1:0], of_bank[3:0]});

    logic [63:0] cycle;
    logic req_ready, rsp_valid;
    soc_pkg::rsp_t rsp;
    soc_pkg::config_t cfg;
    always_comb begin
        cfg = '0;
        cfg.latency = 12'(latency);
    end
    bank bank (
        .clk,
        .rst,
        .cycle,
        .cfg,
        .index(INDEX),
        .watch(1'b0),
        .req_valid,
        .req,
        .req_ready,
        .rsp_valid,
        .rsp,
        .rsp_ready,
        .cond_wants(),
        .cond_grant(1'b0),
        .cond_blocks(),
        .cond_changes(),
        .cond_state(),
        .cond_line(),
        .cond_room(1'b0),
        .cond_waits(1'b0),
        .cond_slot(16'd0)
    );

    // --- the environment
    wire lines = req.op == soc_pkg::REQ_FETCH || req.op == soc_pkg::REQ_LOAD;
    wire amo = req.op == soc_pkg::REQ_AMO;
    wire words = req.op == soc_pkg::REQ_READ || req.op == soc_pkg::REQ_LR || amo;
    wire stores = req.op == soc_pkg::REQ_STORE || req.op == soc_pkg::REQ_WRITE;
    logic started = 1'b0;
    always_ff @(posedge clk) started <= 1'b1;
    always_comb begin
        assume (rst == !started);
        assume (req.addr < soc_pkg::RAM_BYTES && req.addr[4+:BANK_BITS] == INDEX[BANK_BITS-1:0]);
        assume (req.addr[1:0] == 0 && req.core < soc_pkg::CORES && req.thread < soc_pkg::THREADS);
        assume (lines || words || stores || req.op == soc_pkg::REQ_SC);
        assume (!amo || req.mask == '1);
    end
    wire accepted = req_valid && req_ready, answered = rsp_valid && rsp_ready;

    // --- what the byte is, after all requests that have been accepted
    wire here = req.addr[31:2] == watched[31:2];  // of a word
    wire writes = here && (stores && req.mask[watched[1:0]] || amo && req.func == SWAP);
    wire hides = here && (amo && req.func != SWAP || req.op == soc_pkg::REQ_SC && req.mask != 0);
    logic known;
    logic [7:0] byte_now;

    // --- one read, at any time, and its answer
    logic marked, of_line;
    logic [7:0] due;  // what it must get
    logic [3:0] under_way, before;  // answers to come: all, before that of the read
    wire reads = lines && req.addr[31:4] == watched[31:4] || words && here;
    wire ends = marked && answered && before == 0;
    wire [6:0] at = of_line ? {watched[3:0], 3'b000} : {2'b00, watched[1:0], 3'b000};

    always_ff @(posedge clk) begin
        if (rst) begin
            cycle <= '0;
            {known, marked, under_way} <= '0;
            of_bank <= any_byte;
            latency <= any_latency;
        end else begin
            cycle <= cycle + 1'b1;
            under_way <= under_way + 4'(accepted) - 4'(answered);
            if (accepted && (writes || hides)) known <= writes;
            if (accepted && writes) byte_now <= req.data[watched[1:0]*8+:8];
            if (accepted && mark && !marked && reads && known) begin
                marked <= 1'b1;
                of_line <= lines;
                due <= byte_now;
                before <= under_way - 4'(answered);
            end else if (marked && answered) begin
                before <= before - 1'b1;
                if (ends) marked <= 1'b0;
            end
        end
    end

    always_ff @(posedge clk) begin
        if (!rst) begin
            if (ends) assert (rsp.data[at+:8] == due);
            if (answered) assert (under_way != 0);
            cover (ends && of_line && due == 8'ha5);
            cover (ends && !of_line && under_way > 2);
            cover (ends && !of_line && rsp.op == soc_pkg::REQ_AMO && due != 0);
        end
    end
endmodule
