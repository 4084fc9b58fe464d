// SPDX-License-Identifier: MIT
//
// bank.sv - a bank of the second level, which holds all memory (in simulation: hw/sim/memory.h). It
// executes one request a cycle, or an atomic one in two cycles. The order in which it executes
// requests is the order of memory. Answers leave in the same order, each `latency` cycles after its
// request came. While QUEUE answers wait, the bank accepts no requests.
//
// Load-reserved reserves a line for its hart. A change of the line ends the reservation, and so does
// a store-conditional of that hart. Banks do not know each other's reservations, so a hart may have
// one in each bank. Therefore the core remembers the last one; it sends a store-conditional to any
// other line with mask 0, and that fails.
//
// A conditional access looks at its line's Full/Empty state and changes it, in its second cycle or
// later: in each cycle only one bank may (cond_grant), because in that very cycle the DTU looks for a
// thread that waits, or gets one more.
module bank (
    input logic clk,
    input logic rst,
    input logic [63:0] cycle,
    input soc_pkg::config_t cfg,
    input logic [2:0] index,
    input logic watch,
    input logic req_valid,
    input soc_pkg::req_t req,
    output logic req_ready,
    output logic rsp_valid,
    output soc_pkg::rsp_t rsp,
    input logic rsp_ready,
    // a conditional access, in the cycle in which it is granted: what the DTU has to do
    output logic cond_wants,
    input logic cond_grant,
    output logic cond_blocks,
    output logic cond_changes,
    output logic cond_state,
    output logic [27:0] cond_line,
    input logic cond_room,
    input logic cond_waits,
    input logic [15:0] cond_slot
);
    localparam int LINES = soc_pkg::RAM_BYTES / 16 / soc_pkg::BANKS;
    localparam int LINE_BITS = $clog2(LINES);
    localparam int BANK_BITS = $clog2(soc_pkg::BANKS);
    localparam int HARTS = soc_pkg::HARTS;

    // first cycle: the request is known; memory is read, or written by a store
    logic r_valid, r_second;
    soc_pkg::req_t r;
    wire r_cond = soc_pkg::SCHEDULER != 0 && r.op == soc_pkg::REQ_COND;
    wire r_atomic = r.op == soc_pkg::REQ_AMO || r.op == soc_pkg::REQ_SC || r_cond;
    wire last = r_valid && (!r_atomic || r_second && (!r_cond || cond_grant));
    wire [LINE_BITS-1:0] line = r.addr[4+BANK_BITS+:LINE_BITS];
`ifdef VERILATOR
    // The simulator keeps the memory (hw/sim/memory.h).
    import "DPI-C" function void soc_read_line(input int at, output bit [127:0] words);
    import "DPI-C" function void soc_write_line(input int at, input bit [127:0] words,
                                                input int mask);
`else
    logic [127:0] mem[LINES];
`endif
    logic [127:0] read_q;
    logic [31:0] reserved_at[HARTS];
    logic [HARTS-1:0] reserved;
    wire [31:0] hart = 32'(r.core) * soc_pkg::THREADS + 32'(r.thread);
    wire [31:0] old = read_q[r.addr[3:2]*32+:32];
    wire [31:0] arg = r.data[31:0];

    // Full/Empty
    wire [2:0] cond_op = r.func[2:0];
    wire cond_hit, cond_sets;
    wire cond_try = r.func[soc_pkg::COND_TRY];
    wire [1:0] cond_outcome = cond_hit ? soc_pkg::COND_DONE
                              : cond_try ? soc_pkg::COND_FAILED
                              : cond_room ? soc_pkg::COND_BLOCKED : soc_pkg::COND_OVERFLOW;
    // the answer's word
    logic [31:0] cond_word;
    always_comb begin
        case (cond_op)
            soc_pkg::COND_TAKE, soc_pkg::COND_READ: cond_word = old;
            soc_pkg::COND_PUT: cond_word = 32'd1;
            soc_pkg::COND_FILL, soc_pkg::COND_EMPTY: cond_word = 32'(cond_waits);
            default: cond_word = '0;
        endcase
        if (!cond_hit) cond_word = cond_try ? '0 : 32'(cond_slot);
    end
    assign cond_wants = r_valid && r_cond && r_second;
    assign cond_blocks = cond_wants && !cond_hit && !cond_try && cond_room;
    assign cond_changes = cond_wants && cond_sets;
    assign cond_line = r.addr[31:4];
    wire cond_stores = last && r_cond && cond_sets && cond_op >= soc_pkg::COND_PUT;

    if (soc_pkg::SCHEDULER != 0) begin : states
        full_empty #(
            .LINES(LINES)
        ) full_empty (
            .clk,
            .look(r_valid && !r_second),
            .line,
            .op(cond_op),
            .woken(r.func[soc_pkg::COND_WOKEN]),
            .hit(cond_hit),
            .changes(cond_sets),
            .state(cond_state),
            .apply(cond_grant),
            .waits(cond_waits)
        );
    end else begin : no_states
        assign {cond_hit, cond_sets, cond_state} = '0;
    end

    // the answer, in the cycle after the request's last one
    logic a_valid;
    soc_pkg::req_t a;
    logic a_writes;
    logic [1:0] a_cond;
    logic [31:0] a_word;
    logic [31:0] a_time;
    logic room;

    assign req_ready = room && (!r_valid || last);

    logic [31:0] amo_new;
    always_comb begin
        case (r.func)
            5'b00000: amo_new = old + arg;
            5'b00001: amo_new = arg;
            5'b00100: amo_new = old ^ arg;
            5'b01000: amo_new = old | arg;
            5'b01100: amo_new = old & arg;
            5'b10000: amo_new = $signed(old) < $signed(arg) ? old : arg;
            5'b10100: amo_new = $signed(old) > $signed(arg) ? old : arg;
            5'b11000: amo_new = old < arg ? old : arg;
            default: amo_new = old > arg ? old : arg;
        endcase
    end
    wire sc_ok = r.mask != 0 && reserved[hart] && reserved_at[hart][31:4] == r.addr[31:4];
    wire put_line = soc_pkg::SCHEDULER != 0 && r.op == soc_pkg::REQ_PUT_LINE;
    wire changes = last && (r.op == soc_pkg::REQ_STORE || r.op == soc_pkg::REQ_WRITE
                            || r.op == soc_pkg::REQ_AMO || r.op == soc_pkg::REQ_SC && sc_ok
                            || put_line || cond_stores);
    wire [31:0] new_word = r.op == soc_pkg::REQ_AMO ? amo_new : arg;
    wire [127:0] new_line = put_line ? 128'(r.data) : {4{new_word}};
    wire [15:0] new_mask = !changes ? '0 : put_line ? '1 : 16'(r.mask) << {r.addr[3:2], 2'b00};

    always_ff @(posedge clk) begin
`ifdef VERILATOR
        // Before reset r_valid may be 1, and the address anything.
        if (!rst && r_valid && !r_second) begin
            bit [127:0] words;
            soc_read_line(r.addr, words);
            read_q <= words;
        end
        if (!rst && changes) soc_write_line(r.addr, new_line, 32'(new_mask));
`else
        if (r_valid && !r_second) read_q <= mem[line];
        if (changes) begin
            for (int i = 0; i < 16; i++) begin
                if (new_mask[i]) mem[line][i*8+:8] <= new_line[i*8+:8];
            end
        end
`endif
        if (rst) begin
            r_valid <= 1'b0;
            r_second <= 1'b0;
            reserved <= '0;
            a_valid <= 1'b0;
        end else begin
            if (req_valid && req_ready) begin
                r_valid <= 1'b1;
                r <= req;
                r.addr <= req.addr & ~soc_pkg::ALIAS_BIT;
                a_time <= cycle[31:0];
            end else if (last) begin
                r_valid <= 1'b0;
            end
            r_second <= r_valid && r_atomic && !last;
            if (changes) begin
                for (int h = 0; h < HARTS; h++) begin
`ifdef SOC_MUTANT_RESERVATION_STAYS
                    if (32'(h) == hart && reserved_at[h][31:4] == r.addr[31:4])
                        reserved[h] <= 1'b0;
`else
                    if (reserved_at[h][31:4] == r.addr[31:4]) reserved[h] <= 1'b0;
`endif
                end
            end
            if (last && r.op == soc_pkg::REQ_SC) reserved[hart] <= 1'b0;
            if (last && r.op == soc_pkg::REQ_LR) begin
                reserved[hart] <= 1'b1;
                reserved_at[hart] <= r.addr;
            end
            a_valid <= last;
            a <= r;
            a_writes <= changes;
            a_cond <= cond_outcome;
            a_word <= r.op == soc_pkg::REQ_AMO ? old : r.op == soc_pkg::REQ_SC ? {31'b0, !sc_ok}
                      : r_cond ? cond_word : arg;
        end
    end

    // --- answers on their way
    soc_pkg::rsp_t made;
    always_comb begin
        made = '0;
        made.op = a.op;
        made.core = a.core;
        made.thread = a.thread;
        made.tag = a.tag;
        if (soc_pkg::SCHEDULER != 0 && a.op == soc_pkg::REQ_COND) made.cond = a_cond;
        made.writes = a_writes;
        made.addr = a.addr;
        made.mask = a.mask;
        case (a.op)
            soc_pkg::REQ_FETCH, soc_pkg::REQ_LOAD, soc_pkg::REQ_GET_LINE: made.data = read_q;
            soc_pkg::REQ_READ, soc_pkg::REQ_LR: made.data = {96'b0, read_q[a.addr[3:2]*32+:32]};
            default: made.data = {96'b0, a_word};
        endcase
    end
    logic [31:0] came_q;
    always_ff @(posedge clk) came_q <= a_time;
    delay delay (
        .clk,
        .rst,
        .now(cycle[31:0]),
        .latency(cfg.latency),
        .put(a_valid),
        .came(came_q),
        .put_rsp(made),
        .room,
        .rsp_valid,
        .rsp,
        .rsp_ready
    );

`ifdef VERILATOR
    import "DPI-C" function void soc_memory(input int bank, input int hart, input int op,
                                            input int func, input int at, input int data,
                                            input int mask);
    import "DPI-C" function void soc_conditional(input int bank, input int hart, input int func,
                                                 input int at, input int data, input int outcome,
                                                 input int slot);
    always_ff @(posedge clk) begin
        if (!rst && watch && last && put_line) begin
            for (int w = 0; w < 4; w++) begin
                soc_memory(32'(index), hart, 32'(r.op), 0, {r.addr[31:4], 4'(w * 4)},
                           new_line[w*32+:32], 32'hf);
            end
        end else if (!rst && watch && last && r_cond) begin
            soc_conditional(32'(index), hart, 32'(r.func), r.addr, arg, 32'(cond_outcome),
                            32'(cond_slot));
        end else if (!rst && watch && last) begin
            soc_memory(32'(index), hart, 32'(r.op), 32'(r.func), r.addr, arg, 32'(r.mask));
        end
    end
`endif
`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst && r_valid) assert (r.addr[4+:3] % soc_pkg::BANKS == 32'(index));
    end
`endif
endmodule
