// SPDX-License-Identifier: MIT
//
// rtu.sv - the runnable thread unit of a core: threads that are ready, as contexts of 512 bits. New
// threads go to a stack (RTU_LIFO), those that come back from memory to a queue (RTU_FILLQ). The
// TSAU takes from both.
//
// The RTU asks for a recruiting thread if the LIFO has fewer than `threshold` threads, FILLQ has
// none, and memory has some (`spilled`, which software sets and clears). There is only one at a
// time (`recruiting`): the next one has to wait until the core reports its end.
//
// Rules, which hw/formal proves:
//   1. Each context that was pushed is taken at most once, and nothing else is taken.
//   2. `full` and `has` describe the queues as a push and a take in this cycle find them.
//   3. If a push and a take of the LIFO come in the same cycle, the older context is taken.
module rtu #(
    parameter int ENTRIES = 64,
    parameter int WIDTH = 512,
    parameter int COUNT = $clog2(ENTRIES + 1)
) (
    input logic clk,
    input logic rst,
    // RTU_LIFO
    input logic lifo_push,
    input logic [WIDTH-1:0] lifo_in,
    output logic lifo_full,
    output logic lifo_has,
    input logic lifo_take,  // by the TSAU, or to be spilled: the context is there in the next cycle
    output logic [WIDTH-1:0] lifo_out,
    // RTU_FILLQ
    input logic fill_push,
    input logic [WIDTH-1:0] fill_in,
    output logic fill_full,
    output logic fill_has,
    input logic fill_take,
    output logic [WIDTH-1:0] fill_out,
    // recruiting thread
    input logic [15:0] threshold,
    input logic spilled,
    output logic recruit,
    input logic recruit_take,
    input logic recruit_end,
    // for software
    output logic [15:0] lifo_count,
    output logic [15:0] fill_count
);
    localparam int BITS = ENTRIES == 1 ? 1 : $clog2(ENTRIES);
    localparam logic [COUNT-1:0] ALL = COUNT'(ENTRIES);
    logic [WIDTH-1:0] lifo[ENTRIES];
    // no_rw_check: a push and a take of the FILLQ never meet in one entry, because it is full then
    (* no_rw_check *) logic [WIDTH-1:0] fillq[ENTRIES];
    logic [COUNT-1:0] height, length;
    logic [BITS-1:0] first, last;
    logic recruiting;

    wire [BITS-1:0] top = height[BITS-1:0] - 1'b1;
    wire [BITS-1:0] put_at = lifo_take ? top : height[BITS-1:0];
    assign lifo_full = height == ALL;
    assign lifo_has = height != 0;
    assign fill_full = length == ALL;
    assign fill_has = length != 0;
    assign lifo_count = 16'(height);
    assign fill_count = 16'(length);
    assign recruit = spilled && !recruiting && lifo_count < threshold && !fill_has;

    always_ff @(posedge clk) begin
        if (lifo_take) lifo_out <= lifo[top];
        if (lifo_push) lifo[put_at] <= lifo_in;
        if (fill_take) fill_out <= fillq[first];
        if (fill_push) fillq[last] <= fill_in;
        if (rst) begin
            height <= '0;
            length <= '0;
            first <= '0;
            last <= '0;
            recruiting <= 1'b0;
        end else begin
            if (lifo_push && !lifo_take) height <= height + 1'b1;
            if (!lifo_push && lifo_take) height <= height - 1'b1;
            if (fill_push && !fill_take) length <= length + 1'b1;
            if (!fill_push && fill_take) length <= length - 1'b1;
            if (fill_take) first <= first == BITS'(ENTRIES - 1) ? '0 : first + 1'b1;
            if (fill_push) last <= last == BITS'(ENTRIES - 1) ? '0 : last + 1'b1;
            if (recruit_take) recruiting <= 1'b1;
            else if (recruit_end) recruiting <= 1'b0;
        end
    end

`ifndef SYNTHESIS
    // what the TSAU, the core and software promise
    wire misused = lifo_push && lifo_full && !lifo_take || lifo_take && !lifo_has
                   || fill_push && fill_full || fill_take && !fill_has || recruit_take && !recruit;
`ifdef FORMAL_RTU
    `include "rtu.svh"
`else
    always_ff @(posedge clk) if (!rst) assert (!misused);
`endif
`endif
endmodule
