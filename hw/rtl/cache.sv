// SPDX-License-Identifier: MIT
//
// cache.sv - a first-level cache of instructions or data: WAYS ways, lines of 16 bytes, written
// through. It looks an address up in one cycle, and has the line in the next.
//
// All changes come as answers of the second level, in the order of its changes. A line is filled. A
// word that this core has stored is merged into its line, if the cache has it. A line that another
// core has changed is dropped. So each line in the cache is as the second level had it when it sent
// the last answer.
//
// The cache takes an answer in one cycle, changes its arrays at the end of the next, and later
// look-ups see the change. A look-up reads `valid` together with tags and data, so all that it sees
// is of the same cycle.
module cache #(
    parameter int SETS = 128
) (
    input logic clk,
    input logic rst,
    input logic flush,
    // look up
    input logic look,
    input logic [31:0] look_at,
    output logic hit,
    output logic [127:0] line,
    // answers
    input logic fill,
    input logic merge,
    input logic drop,
    input logic [31:0] at,
    input logic [127:0] data,
    input logic [3:0] mask
);
    localparam int WAYS = soc_pkg::WAYS;
    localparam int SET_BITS = $clog2(SETS);
    localparam int TAG_BITS = 32 - 4 - SET_BITS;

    logic [SETS-1:0] valid[WAYS];
    logic [WAYS-1:0] hits;
    logic [127:0] lines[WAYS];

    // second cycle of a look-up
    logic [WAYS-1:0] seen;
    logic [TAG_BITS-1:0] look_tag;
    // second cycle of an answer
    logic fill_q, merge_q, drop_q;
    logic [31:0] at_q;
    logic [127:0] data_q;
    logic [3:0] mask_q;
    logic [WAYS-1:0] has;
    logic [WAYS-1:0] had_q;  // the way was filled in the cycle before, and its tag is read a cycle late
    logic had_fill_q;
    logic [31:0] had_at_q;
    logic victim;

    wire [SET_BITS-1:0] look_set = look_at[4+:SET_BITS];
    wire [SET_BITS-1:0] set = at[4+:SET_BITS];
    wire [SET_BITS-1:0] set_q = at_q[4+:SET_BITS];
    wire [TAG_BITS-1:0] tag_q = at_q[31-:TAG_BITS];
    wire same_set = had_fill_q && had_at_q[4+:SET_BITS] == set_q;
    wire same_line = same_set && had_at_q[31-:TAG_BITS] == tag_q;

    for (genvar w = 0; w < WAYS; w++) begin : way
        logic [TAG_BITS-1:0] tag, own;
        // A line that the cache has already is filled in its place, so no two ways have the same one.
        wire fills = fill_q && (has != 0 ? has[w] : victim == w[0]);
        wire merges = merge_q && has[w];

        ram #(
            .WIDTH(TAG_BITS),
            .DEPTH(SETS)
        ) tags (
            .clk,
            .read(look),
            .read_at(look_set),
            .word(tag),
            .write(fills),
            .write_at(set_q),
            .data(tag_q)
        );
        ram #(
            .WIDTH(TAG_BITS),
            .DEPTH(SETS)
        ) answer_tags (
            .clk,
            .read(fill | merge | drop),
            .read_at(set),
            .word(own),
            .write(fills),
            .write_at(set_q),
            .data(tag_q)
        );
        ram #(
            .WIDTH(128),
            .DEPTH(SETS),
            .LANES(16)
        ) words (
            .clk,
            .read(look),
            .read_at(look_set),
            .word(lines[w]),
            .write(fills ? 16'hffff : merges ? 16'(mask_q) << {at_q[3:2], 2'b00} : 16'h0),
            .write_at(set_q),
            .data(merge_q ? {4{data_q[31:0]}} : data_q)
        );

        assign hits[w] = seen[w] && tag == look_tag;
        // the fill of the cycle before has changed this way's tag
        assign has[w] = valid[w][set_q] && (same_set && had_q[w] ? same_line : own == tag_q);

        always_ff @(posedge clk) begin
            if (rst || flush) begin
                valid[w] <= '0;
            end else if (fills) begin
                valid[w][set_q] <= 1'b1;
            end else if (drop_q && has[w]) begin
                valid[w][set_q] <= 1'b0;
            end
            if (look) seen[w] <= valid[w][look_set];
            had_q[w] <= fills;
        end
    end

    always_comb begin
        line = '0;
        for (int w = 0; w < WAYS; w++) if (hits[w]) line |= lines[w];
    end
    assign hit = hits != 0;

    always_ff @(posedge clk) begin
        if (look) look_tag <= look_at[31-:TAG_BITS];
        fill_q <= fill && !rst && !flush;
        merge_q <= merge && !rst;
        drop_q <= drop && !rst;
        at_q <= at;
        data_q <= data;
        mask_q <= mask;
        had_fill_q <= fill_q;
        had_at_q <= at_q;
        victim <= rst ? 1'b0 : victim ^ fill_q;
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst && look) assert ($countones(hits & {WAYS{1'b1}}) <= 1 || rst);
    end
`endif
endmodule
