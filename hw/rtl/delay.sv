// SPDX-License-Identifier: MIT
//
// delay.sv - the queue of a bank's answers. They leave in order, each at least `latency` cycles after
// its request came.
module delay (
    input logic clk,
    input logic rst,
    input logic [31:0] now,
    input logic [11:0] latency,
    input logic put,
    input logic [31:0] came,
    input soc_pkg::rsp_t put_rsp,
    output logic room,  // for the answer to one more request
    output logic rsp_valid,
    output soc_pkg::rsp_t rsp,
    input logic rsp_ready
);
    localparam int DEPTH = soc_pkg::QUEUE;
    localparam int BITS = $clog2(DEPTH);
    localparam int UNDER_WAY = 3;  // requests that a bank has accepted, and not answered yet
    logic [$bits(rsp)-1:0] entry[DEPTH];  // yosys 0.23 has no arrays of structures
    logic [31:0] due[DEPTH];
    logic [BITS-1:0] head, tail;
    logic [BITS:0] count;

    // the difference of two times, because the time wraps
    wire [31:0] late = now - due[head];
    assign rsp_valid = count != 0 && !late[31];
    assign rsp = entry[head];
    assign room = count + (BITS + 1)'(UNDER_WAY) < (BITS + 1)'(DEPTH);

    always_ff @(posedge clk) begin
        if (rst) begin
            head <= '0;
            tail <= '0;
            count <= '0;
        end else begin
            if (put) begin
                entry[tail] <= put_rsp;
                due[tail] <= came + 32'(latency);
                tail <= tail + 1'b1;
            end
            if (rsp_valid && rsp_ready) head <= head + 1'b1;
            count <= count + (BITS + 1)'(put) - (BITS + 1)'(rsp_valid && rsp_ready);
        end
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk) if (!rst) assert (!(put && count == (BITS + 1)'(DEPTH)));
`endif
endmodule
