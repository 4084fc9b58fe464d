// SPDX-License-Identifier: MIT
//
// store_buffer.sv - the stores of one hardware thread, from the instruction to the answer of the
// second level. From the answer on every hart sees the store; the thread's own loads see it before.
// A load takes its value from the youngest entry with any of its bytes, if that has all of them;
// else it waits until the buffer is empty.
//
// An entry stays for two cycles after its answer. From then on a look-up in the data cache sees the
// change (cache.sv).
module store_buffer (
    input logic clk,
    input logic rst,
    // a new entry
    input logic put,
    input logic [31:0] put_at,
    input logic [31:0] put_data,
    input logic [3:0] put_mask,
    output logic full,
    output logic empty,
    // a load looks for its bytes
    input logic [31:0] look_at,
    input logic [3:0] look_mask,
    output logic covers,
    output logic overlaps,
    output logic [31:0] word,
    // to the second level, oldest first
    output logic send,
    output logic [31:0] send_at,
    output logic [31:0] send_data,
    output logic [3:0] send_mask,
    output logic [1:0] send_tag,
    input logic sent,
    // an answer
    input logic answered,
    input logic [1:0] answered_tag
);
    localparam int N = soc_pkg::STORES;
    logic [N-1:0] valid;
    logic [31:0] at[N], data[N];
    logic [3:0] mask[N];
    logic [1:0] tail, head;  // where the next one goes; the next to be sent
    logic [2:0] unsent;
    logic free_q, free_qq;
    logic [1:0] free_tag_q, free_tag_qq;

    assign full = valid[tail];
    assign empty = valid == 0;
    assign send = unsent != 0;
    assign send_at = at[head];
    assign send_data = data[head];
    assign send_mask = mask[head];
    assign send_tag = head;

    always_comb begin
        covers = 1'b0;
        overlaps = 1'b0;
        word = '0;
        for (int i = 0; i < N; i++) begin  // the youngest comes last, and counts
            logic [1:0] e;
            e = tail + 2'(i);
            if (valid[e] && at[e][31:2] == look_at[31:2] && (mask[e] & look_mask) != 0) begin
`ifdef SOC_MUTANT_NO_FORWARDING
                overlaps = 1'b0;
`else
                overlaps = 1'b1;
`endif
`ifdef SOC_MUTANT_PARTIAL_FORWARDING
                covers = 1'b1;
`else
                covers = overlaps && (look_mask & ~mask[e]) == 0;
`endif
                word = data[e];
            end
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            valid <= '0;
            tail <= '0;
            head <= '0;
            unsent <= '0;
            free_q <= 1'b0;
            free_qq <= 1'b0;
        end else begin
            if (put) begin
                valid[tail] <= 1'b1;
                at[tail] <= put_at;
                data[tail] <= put_data;
                mask[tail] <= put_mask;
                tail <= tail + 2'd1;
            end
            if (sent) head <= head + 2'd1;
            unsent <= unsent + 3'(put) - 3'(sent);
            free_q <= answered;
            free_tag_q <= answered_tag;
            free_qq <= free_q;
            free_tag_qq <= free_tag_q;
`ifdef SOC_MUTANT_DROP_EARLY
            if (answered) valid[answered_tag] <= 1'b0;
`else
            if (free_qq) valid[free_tag_qq] <= 1'b0;
`endif
        end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst) begin
            assert (!(put && full));
            assert (!(sent && unsent == 0));
            assert (!(answered && !valid[answered_tag]));
        end
    end
`endif
endmodule
