// SPDX-License-Identifier: MIT
//
// dtu.sv - the deferred thread unit: threads that wait for a line to be full, or empty, in the
// deferred thread buffer (DTB).
//
// At most one bank a cycle executes a conditional access, and reports it:
//   blocks   the line's state is not the one that the access needs. The thread gets the entry
//            `slot` from this cycle on; its context comes later (put).
//   changes  the line's state has become `state`. The thread that was the last to begin to wait for
//            it is woken, and `waits` tells the bank in the same cycle to keep the line for it.
// An entry is active, and the TSAU can take it, when it has been woken and its context has arrived,
// in any order. No wake-up is lost: the entry exists from the cycle in which the bank finds that
// the thread has to wait, so each later change of the line finds it.
//
// Entries that wait for the same line and state form a list, the youngest first. Only its head is
// compared with a change (`head`); each entry names the next one (`older`).
//
// Rules, which hw/formal proves:
//   1. An entry is free, reserved, or taken once; `slot` is free when `room`.
//   2. If an entry waits for (line, state), a change to (line, state) wakes one.
//   3. For each line and state at most one entry is head, and all that wait can be reached from it.
module dtu #(
    parameter int ENTRIES = 64,
    parameter int WIDTH = 512,
    parameter int LINE_BITS = 28,
    parameter int BITS = ENTRIES == 1 ? 1 : $clog2(ENTRIES)
) (
    input logic clk,
    input logic rst,
`ifdef FORMAL
    output logic [ENTRIES-1:0] probe_used,  // for hw/formal/wakeup.sv
    output logic [ENTRIES-1:0] probe_woken,
    output logic [ENTRIES-1:0] probe_arrived,
    output logic [ENTRIES-1:0] probe_wants,
    output logic [LINE_BITS*ENTRIES-1:0] probe_lines,
    output logic [WIDTH*ENTRIES-1:0] probe_contexts,
`endif
    // a conditional access
    input logic blocks,
    input logic changes,
    input logic [LINE_BITS-1:0] line,
    input logic state,  // that it waits for, or that the line has now
    output logic room,
    output logic [BITS-1:0] slot,
    output logic waits,
    // contexts of those that wait
    input logic put,
    input logic [BITS-1:0] put_slot,
    input logic [WIDTH-1:0] put_context,
    // TSAU
    output logic has,
    input logic take,
    output logic [BITS-1:0] taken,  // which entry a take in this cycle gets
    output logic [WIDTH-1:0] context_out,
    // for software
    output logic [15:0] count
);
    // a context is never taken in the cycle in which it arrives
    (* no_rw_check *) logic [WIDTH-1:0] contexts[ENTRIES];
    logic [ENTRIES-1:0] used, head, woken, arrived, chained, wants;
    logic [LINE_BITS*ENTRIES-1:0] lines;
    logic [BITS*ENTRIES-1:0] older;

    logic [ENTRIES-1:0] match, active, lowest_free, lowest_active;
    logic [BITS-1:0] matched, next;
    integer i;
    always_comb begin
        match = '0;
        for (i = 0; i < ENTRIES; i = i + 1) begin
            match[i] = head[i] && wants[i] == state && lines[i*LINE_BITS+:LINE_BITS] == line;
        end
    end
    assign active = woken & arrived;
    assign lowest_free = ~used & (used + 1'b1);
    assign lowest_active = active & (~active + 1'b1);
    assign room = used != '1;
    assign waits = match != 0;
    assign has = active != 0;
    for (genvar b = 0; b < BITS; b++) begin : encoders
        logic [ENTRIES-1:0] numbers, links;  // bit b of each entry's number, and of its `older`
        for (genvar e = 0; e < ENTRIES; e++) begin : entries
            assign numbers[e] = ((e >> b) & 1) != 0;
            assign links[e] = older[e*BITS+b];
        end
        assign slot[b] = (lowest_free & numbers) != 0;
        assign matched[b] = (match & numbers) != 0;
        assign next[b] = (match & links) != 0;
        assign taken[b] = (lowest_active & numbers) != 0;
    end

    always_ff @(posedge clk) begin
        if (put) contexts[put_slot] <= put_context;
        if (take) context_out <= contexts[taken];
        if (rst) begin
            used <= '0;
            head <= '0;
            woken <= '0;
            arrived <= '0;
            count <= '0;
        end else begin
            if (put) arrived[put_slot] <= 1'b1;
            // of one-hot entries, because a vector that is written at a number would be shifted
            if (blocks) begin
                for (i = 0; i < ENTRIES; i = i + 1) begin
                    if (match[i]) head[i] <= 1'b0;
                    if (lowest_free[i]) begin
                        used[i] <= 1'b1;
                        wants[i] <= state;
                        lines[i*LINE_BITS+:LINE_BITS] <= line;
                        head[i] <= 1'b1;
                        chained[i] <= waits;
                        older[i*BITS+:BITS] <= matched;
                    end
                end
            end
            if (changes && waits) begin
                for (i = 0; i < ENTRIES; i = i + 1) begin
                    if (match[i]) woken[i] <= 1'b1;
                    if (match[i]) head[i] <= 1'b0;
                end
                if ((match & chained) != 0) head[next] <= 1'b1;
            end
            if (take) begin
                for (i = 0; i < ENTRIES; i = i + 1) begin
                    if (lowest_active[i]) begin
                        used[i] <= 1'b0;
                        woken[i] <= 1'b0;
                        arrived[i] <= 1'b0;
                    end
                end
            end
            count <= count + 16'(blocks) - 16'(take);
        end
    end

`ifdef FORMAL
    assign probe_used = used;
    assign probe_woken = woken;
    assign probe_arrived = arrived;
    assign probe_wants = wants;
    assign probe_lines = lines;
    for (genvar e = 0; e < ENTRIES; e++) begin : probes
        assign probe_contexts[e*WIDTH+:WIDTH] = contexts[e];
    end
`endif
`ifndef SYNTHESIS
    // what banks, cores and the TSAU promise
    wire misused = blocks && changes || blocks && !room || take && !has
                   || put && (!used[put_slot] || arrived[put_slot]);
`ifdef FORMAL_DTU
    `include "dtu.svh"
`else
    always_ff @(posedge clk) if (!rst) assert (!misused);
`endif
    always_ff @(posedge clk) begin
        if (!rst) begin
            assert ((match & (match - 1'b1)) == 0);
            assert ((head & woken) == 0);
        end
    end
`endif
endmodule
