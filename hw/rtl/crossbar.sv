// SPDX-License-Identifier: MIT
//
// crossbar.sv - the ways between cores and banks. The last "bank" is the devices. The last "core" is
// the host, which has no cache.
//
// Each bank gets at most one request a cycle: from the cores in turn, or at random if there is a
// seed. Each core gets at most one answer a cycle, and must take it.
//
// Coherence: an answer to a request that has changed memory goes to all cores in the same cycle. So
// when one core has seen a change, all have: no cache has an older line any more, and later answers
// are of later memory. Nothing else is needed. If the caches need not be coherent (cfg.coherent is
// 0), only the core that has stored gets the answer.
module crossbar (
    input logic clk,
    input logic rst,
    input soc_pkg::config_t cfg,
    input logic watch,
    // from the cores
    input logic [soc_pkg::CORES:0] req_valid,
    input soc_pkg::req_t [soc_pkg::CORES:0] req,
    output logic [soc_pkg::CORES:0] req_ready,
    // to the banks
    output logic [soc_pkg::BANKS:0] bank_valid,
    output soc_pkg::req_t [soc_pkg::BANKS:0] bank_req,
    input logic [soc_pkg::BANKS:0] bank_ready,
    // from the banks
    input logic [soc_pkg::BANKS:0] ans_valid,
    input soc_pkg::rsp_t [soc_pkg::BANKS:0] ans,
    output logic [soc_pkg::BANKS:0] ans_ready,
    // to the cores
    output logic [soc_pkg::CORES:0] rsp_valid,
    output soc_pkg::rsp_t [soc_pkg::CORES:0] rsp
);
    localparam int C = soc_pkg::CORES + 1;
    localparam int B = soc_pkg::BANKS;
    localparam int BANK_BITS = $clog2(B);
    localparam logic [C-1:0] CACHES = {1'b0, {(C - 1) {1'b1}}};

    logic [31:0] chance;
    random random (
        .clk,
        .rst,
        .seed(cfg.seed),
        .number(chance)
    );

    logic [3:0] first_core[B+1];  // whose turn it is
    logic [3:0] first_bank;
    wire pressed = cfg.seed != 0 && cfg.pressure > chance[31:24];

    // where a request goes
    logic [3:0] target[C];
    for (genvar c = 0; c < C; c++) begin : targets
        if (B == 1) assign target[c] = req[c].addr[31] ? 4'd0 : 4'd1;
        else assign target[c] = req[c].addr[31] ? 4'(req[c].addr[4+:BANK_BITS]) : 4'(B);
    end

    logic [3:0] winner[B+1];
    always_comb begin
        req_ready = '0;
        for (int b = 0; b <= B; b++) begin
            bank_valid[b] = 1'b0;
            winner[b] = '0;
            for (int i = C - 1; i >= 0; i--) begin
                automatic int c = int'(first_core[b]) + i;
                if (c >= C) c -= C;
                if (req_valid[c] && int'(target[c]) == b && !pressed) begin
                    bank_valid[b] = 1'b1;
                    winner[b] = 4'(c);
                end
            end
            bank_req[b] = req[winner[b]];
            if (bank_valid[b] && bank_ready[b]) req_ready[winner[b]] = 1'b1;
        end
    end

    // to which cores an answer goes
    logic [C-1:0] goes[B+1];
    for (genvar b = 0; b <= B; b++) begin : audience
`ifdef SOC_MUTANT_ANSWER_TO_ONE
        assign goes[b] = C'(1) << ans[b].core;
`else
        assign goes[b] = (ans[b].writes && cfg.coherent ? CACHES : '0) | C'(1) << ans[b].core;
`endif
    end
    logic [C-1:0] busy;
    logic [3:0] sender[C];
    logic [C-1:0] gets;
    always_comb begin
        busy = '0;
        ans_ready = '0;
        gets = '0;
        for (int c = 0; c < C; c++) sender[c] = '0;
        for (int i = 0; i <= B; i++) begin
            automatic int b = int'(first_bank) + i;
            if (b > B) b -= B + 1;
            if (ans_valid[b] && (busy & goes[b]) == 0) begin
                ans_ready[b] = 1'b1;
                busy |= goes[b];
                gets |= goes[b];
                for (int c = 0; c < C; c++) if (goes[b][c]) sender[c] = 4'(b);
            end
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            for (int b = 0; b <= B; b++) first_core[b] <= '0;
            first_bank <= '0;
            rsp_valid <= '0;
        end else begin
            for (int b = 0; b <= B; b++) begin
                if (cfg.seed != 0) begin
                    first_core[b] <= 4'(int'((chance >> b) & 32'hff) % C);
                end else if (bank_valid[b] && bank_ready[b]) begin
                    first_core[b] <= 4'((int'(winner[b]) + 1) % C);
                end
            end
            // each bank is the first again and again, so an answer to all cores gets its cycle
            first_bank <= first_bank == 4'(B) ? '0 : first_bank + 4'd1;
            rsp_valid <= gets;
            for (int c = 0; c < C; c++) if (gets[c]) rsp[c] <= ans[sender[c]];
        end
    end

`ifdef VERILATOR
    import "DPI-C" function void soc_answer(input int bank, input int cores, input int hart,
                                            input int op, input int at, input int d0, input int d1,
                                            input int d2, input int d3);
    always_ff @(posedge clk) begin
        if (!rst && watch) begin
            for (int b = 0; b <= B; b++) begin
                if (ans_ready[b]) begin
                    soc_answer(b, 32'(goes[b]),
                               32'(ans[b].core) * soc_pkg::THREADS + 32'(ans[b].thread),
                               32'(ans[b].op), ans[b].addr, ans[b].data[31:0], ans[b].data[63:32],
                               ans[b].data[95:64], ans[b].data[127:96]);
                end
            end
        end
    end
`endif
endmodule
