// SPDX-License-Identifier: MIT
//
// ram.sv - memory with one port to read and one to write, each once a cycle. A read of a word that is
// written in the same cycle gets the old value.
module ram #(
    parameter int WIDTH = 32,
    parameter int DEPTH = 64,
    parameter int LANES = 1  // parts of a word that can be written alone
) (
    input logic clk,
    input logic read,
    input logic [$clog2(DEPTH)-1:0] read_at,
    output logic [WIDTH-1:0] word,
    input logic [LANES-1:0] write,
    input logic [$clog2(DEPTH)-1:0] write_at,
    input logic [WIDTH-1:0] data
);
    localparam int LANE = WIDTH / LANES;
    logic [WIDTH-1:0] mem[DEPTH];

    always_ff @(posedge clk) begin
        if (read) word <= mem[read_at];
        if (write != 0) begin
            logic [WIDTH-1:0] merged;
            merged = mem[write_at];
            for (int i = 0; i < LANES; i++) begin
                if (write[i]) merged[i*LANE+:LANE] = data[i*LANE+:LANE];
            end
            mem[write_at] <= merged;
        end
    end
endmodule
