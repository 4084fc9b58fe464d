// SPDX-License-Identifier: MIT
//
// scheduler.sv - what the cores share of the hardware scheduler: TSAU, DTU, and the registers. In
// each cycle at most one bank executes a conditional access, and at most one core gives the DTU a
// context: the first that asks, banks in turn. With STAGES 2, TSAU and DTU need a cycle more for a
// thread and for an access: the bank is chosen in the first cycle of an access, and granted in the
// second one. Until then it goes on asking.
//
// Registers: for each core 0x40 bytes: contexts in LIFO; in FILLQ; threshold; whether memory holds
// contexts. From 0x400: program counter of the recruiting thread; threads in the DTB; then counters
// of assignments, blocked threads, wake-ups and recruiting threads; entries of each queue; ready
// threads: contexts in all LIFOs and FILLQs, and those in the DTB that have been woken.
module scheduler #(
    parameter int CORES = 8,
    parameter int THREADS = 4,
    parameter int BANKS = 4,
    parameter int ENTRIES = 64,
    parameter int STAGES = 1  // 1, 2
) (
    input logic clk,
    input logic rst,
    input logic watch,
    // registers
    input logic reg_write,
    input logic [11:0] reg_at,
    input logic [31:0] reg_data,
    output logic [31:0] reg_word,
    // conditional accesses
    input logic [BANKS-1:0] cond_wants,
    output logic [BANKS-1:0] cond_grant,
    input logic [BANKS-1:0] cond_blocks,
    input logic [BANKS-1:0] cond_changes,
    input logic [BANKS-1:0] cond_state,
    input logic [BANKS*28-1:0] cond_line,
    output logic cond_room,
    output logic cond_waits,
    output logic [15:0] cond_slot,
    // cores
    input logic [CORES-1:0] put,
    output logic [CORES-1:0] put_ready,
    input logic [CORES*16-1:0] put_slot,
    input logic [CORES*512-1:0] put_context,
    input logic [CORES-1:0] put_word,
    input logic [CORES-1:0] lifo_wants,
    input logic [CORES-1:0] recruit_end,
    input logic [CORES-1:0] lifo_push,
    input logic [CORES-1:0] fill_push,
    output logic [CORES-1:0] lifo_full,
    output logic [CORES-1:0] lifo_has,
    output logic [CORES-1:0] fill_full,
    output logic [CORES*512-1:0] lifo_out,
    input logic [CORES*THREADS-1:0] idle,
    input logic [CORES*THREADS-1:0] takes,
    output logic [CORES-1:0] assign_valid,
    output logic [1:0] assign_thread,
    output logic assign_woken,
    output logic assign_recruits,
    output logic [511:0] assign_context
);
    localparam int SLOT_BITS = ENTRIES == 1 ? 1 : $clog2(ENTRIES);
    logic [CORES*16-1:0] threshold, lifo_count, fill_count;
    logic [CORES-1:0] spilled;
    logic [31:0] recruit_pc;
    logic [CORES-1:0] recruit, recruit_take, lifo_take, fill_has, fill_take;
    logic [CORES*512-1:0] fill_out;
    logic dtb_has, dtb_word, dtb_take;
    logic [511:0] dtb_out;
    logic [15:0] dtb_count, dtb_ready;
    logic [31:0] assignments, blocked, wakes, recruits;

    for (genvar c = 0; c < CORES; c++) begin : cores
        rtu #(
            .ENTRIES(ENTRIES)
        ) rtu (
            .clk,
            .rst,
            .lifo_push(lifo_push[c]),
            .lifo_in(put_context[c*512+:512]),
            .lifo_full(lifo_full[c]),
            .lifo_has(lifo_has[c]),
            .lifo_take(lifo_take[c] || lifo_wants[c]),
            .lifo_out(lifo_out[c*512+:512]),
            .fill_push(fill_push[c]),
            .fill_in(put_context[c*512+:512]),
            .fill_full(fill_full[c]),
            .fill_has(fill_has[c]),
            .fill_take(fill_take[c]),
            .fill_out(fill_out[c*512+:512]),
            .threshold(threshold[c*16+:16]),
            .spilled(spilled[c]),
            .recruit(recruit[c]),
            .recruit_take(recruit_take[c]),
            .recruit_end(recruit_end[c]),
            .lifo_count(lifo_count[c*16+:16]),
            .fill_count(fill_count[c*16+:16])
        );
    end

    tsau #(
        .CORES(CORES),
        .THREADS(THREADS),
        .STAGES(STAGES)
    ) tsau (
        .clk,
        .rst,
        .recruit,
        .lifo_has(lifo_has & ~lifo_wants),
        .fill_has,
        .dtb_has,
        .dtb_word,
        .recruit_take,
        .lifo_take,
        .fill_take,
        .dtb_take,
        .lifo_out,
        .fill_out,
        .dtb_out,
        .recruit_pc,
        .idle,
        .takes,
        .assign_valid,
        .assign_thread,
        .assign_woken,
        .assign_recruits,
        .assign_context
    );

    // the first bank from the one after the last one on, and the first core
    logic [BANKS-1:0] bank_later;  // banks after the last one
    wire [BANKS-1:0] later_wants = cond_wants & bank_later;
    wire [BANKS-1:0] bank_wants = later_wants != 0 ? later_wants : cond_wants;
    wire [BANKS-1:0] chosen = bank_wants & (~bank_wants + 1'b1);
    if (STAGES == 1) begin : at_once
        assign cond_grant = chosen;
    end else begin : registered
        always_ff @(posedge clk) cond_grant <= rst || cond_grant != 0 ? '0 : chosen;
    end
    always_ff @(posedge clk) begin
        if (rst) bank_later <= '0;
        else if (cond_grant != 0) bank_later <= ~(cond_grant | (cond_grant - 1'b1));
    end
    assign put_ready = put & (~put + 1'b1);
    logic [27:0] line;
    logic state;
    logic [15:0] slot_in;
    logic [511:0] context_in;
    logic word_in;
    logic [SLOT_BITS-1:0] slot, dtb_taken;
    integer b, k;
    always_comb begin
        line = '0;
        state = 1'b0;
        for (b = 0; b < BANKS; b = b + 1) begin
            if (chosen[b]) begin
                line = cond_line[b*28+:28];
                state = cond_state[b];
            end
        end
        slot_in = '0;
        context_in = put_context[511:0];
        word_in = 1'b0;
        for (k = 0; k < CORES; k = k + 1) begin
            if (put_ready[k]) begin
                slot_in = put_slot[k*16+:16];
                context_in = put_context[k*512+:512];
                word_in = put_word[k];
            end
        end
    end
    wire blocks = (cond_grant & cond_blocks) != 0;
    wire changes = (cond_grant & cond_changes) != 0;
    assign cond_slot = 16'(slot);
    dtu #(
        .ENTRIES(ENTRIES),
        .STAGES(STAGES)
    ) dtu (
        .clk,
        .rst,
        .blocks,
        .changes,
        .line,
        .state,
        .room(cond_room),
        .slot,
        .waits(cond_waits),
        .put(put_ready != 0),
        .put_slot(slot_in[SLOT_BITS-1:0]),
        .put_context(context_in),
        .put_word(word_in),
        .has(dtb_has),
        .word(dtb_word),
        .take(dtb_take),
        .taken(dtb_taken),
        .context_out(dtb_out),
        .count(dtb_count),
        .ready(dtb_ready)
    );

    logic [31:0] ready;
    integer r;
    always_comb begin
        ready = 32'(dtb_ready);
        for (r = 0; r < CORES; r = r + 1) begin
            ready = ready + 32'(lifo_count[r*16+:16]) + 32'(fill_count[r*16+:16]);
        end
    end

    wire in_core = !reg_at[10] && 32'(reg_at[9:6]) < CORES;
    always_comb begin
        reg_word = '0;
        if (in_core) begin
            case (reg_at[5:2])
                4'd0: reg_word = 32'(lifo_count[reg_at[9:6]*16+:16]);
                4'd1: reg_word = 32'(fill_count[reg_at[9:6]*16+:16]);
                4'd2: reg_word = 32'(threshold[reg_at[9:6]*16+:16]);
                4'd3: reg_word = 32'(spilled[reg_at[9:6]]);
                default: ;
            endcase
        end else begin
            case (reg_at[5:2])
                4'd0: reg_word = recruit_pc;
                4'd1: reg_word = 32'(dtb_count);
                4'd2: reg_word = assignments;
                4'd3: reg_word = blocked;
                4'd4: reg_word = wakes;
                4'd5: reg_word = recruits;
                4'd6: reg_word = ENTRIES;
                4'd7: reg_word = ready;
                default: ;
            endcase
        end
    end
    always_ff @(posedge clk) begin
        if (rst) begin
            threshold <= '0;
            spilled <= '0;
            recruit_pc <= '0;
            assignments <= '0;
            blocked <= '0;
            wakes <= '0;
            recruits <= '0;
        end else begin
            if (reg_write && in_core && reg_at[5:2] == 4'd2) begin
                threshold[reg_at[9:6]*16+:16] <= reg_data[15:0];
            end
            if (reg_write && in_core && reg_at[5:2] == 4'd3) spilled[reg_at[9:6]] <= reg_data[0];
            if (reg_write && reg_at[10] && reg_at[5:2] == 4'd0) recruit_pc <= reg_data;
            assignments <= assignments + 32'(assign_valid != 0);
            blocked <= blocked + 32'(blocks);
            wakes <= wakes + 32'(changes && cond_waits);
            recruits <= recruits + 32'(recruit_take != 0);
        end
    end

`ifndef SYNTHESIS
    // Only what wants, and only one. With two stages never in two cycles in a row: formal/wakeup.sv
    // assumes it.
    logic granted;
    always_ff @(posedge clk) begin
        granted <= !rst && cond_grant != 0;
        if (!rst) assert ((cond_grant & ~cond_wants) == 0 && $onehot0(cond_grant));
        if (!rst && STAGES == 2) assert (!granted || cond_grant == 0);
    end
`endif
`ifdef VERILATOR
    import "DPI-C" function void soc_take(input int source, input int core, input int slot);
    import "DPI-C" function void soc_recruit_end(input int core);
    import "DPI-C" function void soc_scheduler_register(input int at, input int data);
    always_ff @(posedge clk) begin
        if (!rst && watch) begin
            for (int i = 0; i < CORES; i++) begin
                if (lifo_take[i]) soc_take(0, i, 0);
                if (lifo_wants[i]) soc_take(1, i, 0);  // to be spilled
                if (fill_take[i]) soc_take(2, i, 0);
                if (recruit_take[i]) soc_take(4, i, 0);
                if (recruit_end[i]) soc_recruit_end(i);
            end
            if (dtb_take) soc_take(3, 0, 32'(dtb_taken));
            if (reg_write) soc_scheduler_register(32'(reg_at), reg_data);
        end
    end
`endif
endmodule
