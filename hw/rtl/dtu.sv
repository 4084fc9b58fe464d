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
// A word of software can wait in place of a context (wait.full, wait.empty); the entry is marked.
// An entry is active, and the TSAU can take it, when it has been woken and its context has arrived,
// in any order. No wake-up is lost: the entry exists from the cycle in which the bank finds that
// the thread has to wait, so each later change of the line finds it.
//
// Entries that wait for the same line and state form a list, the youngest first. Only its head is
// compared with a change (`head`); each entry names the next one (`older`).
//
// With STAGES 2 an access takes two cycles. In the first one the line is compared with all heads,
// and a free entry is looked for; both results are registered, with the line and the state. In the
// second one the bank reports the access, and the results are used. Accesses do not overlap, so no
// result is forwarded to the next access. What else happens in between does no harm:
//   - A take frees an entry: it had been woken, so it was no head, and it was not free. If all
//     entries were in use, the access still finds none free, and overflows as a cycle earlier.
//   - A context arrives: neither comparison nor search looks at that.
// The head moves a cycle later: the entry that becomes head is registered (`promoted`) and compared
// as one from the next cycle on, the first in which another access can be. The entry that the TSAU
// gets is registered, too (`offer`), and offered until it is taken.
//
// Rules, which hw/formal proves:
//   1. An entry is free, reserved, or taken once; `slot` is free when `room`.
//   2. If an entry waits for (line, state), a change to (line, state) wakes one.
//   3. For each line and state at most one entry is head, and all that wait can be reached from it.
module dtu #(
    parameter int ENTRIES = 64,
    parameter int WIDTH = 512,
    parameter int LINE_BITS = 28,
    parameter int STAGES = 1,  // cycles of an access
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
    // a conditional access; with STAGES 2, `line` and `state` come a cycle earlier
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
    input logic put_word,  // it is a word
    // TSAU
    output logic has,
    output logic word,  // a take in this cycle gets one
    input logic take,
    output logic [BITS-1:0] taken,  // which entry a take in this cycle gets
    output logic [WIDTH-1:0] context_out,
    // for software
    output logic [15:0] count,
    output logic [15:0] ready  // that have been woken
);
    // a context is never taken in the cycle in which it arrives
    (* no_rw_check *) logic [WIDTH-1:0] contexts[ENTRIES];
    logic [ENTRIES-1:0] used, head, woken, arrived, chained, wants, words;
    logic [LINE_BITS*ENTRIES-1:0] lines;
    logic [BITS*ENTRIES-1:0] older;

    // what is compared and looked for
    logic [ENTRIES-1:0] heads, match, lowest_free, rest, lowest_active;
    // what an access and the TSAU get of it: at once, or in the next cycle
    logic [ENTRIES-1:0] found, free, offer;
    logic [LINE_BITS-1:0] of_line;
    logic of_state;
    // the entry that becomes head
    logic [BITS-1:0] matched, next, promoted;
    logic promotes;
    integer i;
    always_comb begin
        match = '0;
        for (i = 0; i < ENTRIES; i = i + 1) begin
            match[i] = heads[i] && wants[i] == state && lines[i*LINE_BITS+:LINE_BITS] == line;
        end
    end
    assign lowest_free = ~used & (used + 1'b1);
    assign lowest_active = rest & (~rest + 1'b1);
    wire moves = changes && (found & chained) != 0;
    if (STAGES == 1) begin : at_once
        assign heads = head;
        assign found = match;
        assign free = lowest_free;
        assign of_line = line;
        assign of_state = state;
        assign promotes = moves;
        assign promoted = next;
        assign rest = woken & arrived;
        assign offer = lowest_active;
    end else begin : registered
        for (genvar e = 0; e < ENTRIES; e++) begin : entries
            assign heads[e] = head[e] || promotes && promoted == e;
        end
        assign rest = woken & arrived & ~offer;
        always_ff @(posedge clk) begin
            found <= match;
            free <= lowest_free;
            of_line <= line;
            of_state <= state;
            promotes <= moves && !rst;
            promoted <= next;
            if (rst) offer <= '0;
            else if (take || !has) offer <= lowest_active;
        end
    end
    assign room = free != 0;
    assign waits = found != 0;
    assign has = offer != 0;
    assign word = (offer & words) != 0;
    for (genvar b = 0; b < BITS; b++) begin : encoders
        logic [ENTRIES-1:0] numbers, links;  // bit b of each entry's number, and of its `older`
        for (genvar e = 0; e < ENTRIES; e++) begin : entries
            assign numbers[e] = ((e >> b) & 1) != 0;
            assign links[e] = older[e*BITS+b];
        end
        assign slot[b] = (free & numbers) != 0;
        assign matched[b] = (found & numbers) != 0;
        assign next[b] = (found & links) != 0;
        assign taken[b] = (offer & numbers) != 0;
    end

    always_ff @(posedge clk) begin
        if (put) contexts[put_slot] <= put_context;
        if (put) words[put_slot] <= put_word;
        if (take) context_out <= contexts[taken];
        if (rst) begin
            used <= '0;
            head <= '0;
            woken <= '0;
            arrived <= '0;
            count <= '0;
            ready <= '0;
        end else begin
            if (put) arrived[put_slot] <= 1'b1;
            // of one-hot entries, because a vector that is written at a number would be shifted
            for (i = 0; i < ENTRIES; i = i + 1) begin
                if (promotes && promoted == i) head[i] <= 1'b1;
                if (found[i] && (blocks || changes)) head[i] <= 1'b0;
                if (found[i] && changes) woken[i] <= 1'b1;
                if (free[i] && blocks) begin
                    used[i] <= 1'b1;
                    wants[i] <= of_state;
                    lines[i*LINE_BITS+:LINE_BITS] <= of_line;
                    head[i] <= 1'b1;
                    chained[i] <= waits;
                    older[i*BITS+:BITS] <= matched;
                end
                if (offer[i] && take) begin
                    used[i] <= 1'b0;
                    woken[i] <= 1'b0;
                    arrived[i] <= 1'b0;
                end
            end
            count <= count + 16'(blocks) - 16'(take);
            ready <= ready + 16'(changes && waits) - 16'(take);
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
    logic busy;  // with STAGES 2: too early for an access
    always_ff @(posedge clk) busy <= STAGES == 2 && (rst || blocks || changes);
    wire misused = blocks && changes || blocks && !room || take && !has
                   || put && (!used[put_slot] || arrived[put_slot])
                   || busy && (blocks || changes);
`ifdef FORMAL_DTU
    `include "dtu.svh"
`else
    always_ff @(posedge clk) if (!rst) assert (!misused);
`endif
    always_ff @(posedge clk) begin
        if (!rst) begin
            assert ((match & (match - 1'b1)) == 0);
            assert ((heads & woken) == 0);
        end
    end
`endif
endmodule
