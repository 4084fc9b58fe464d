// SPDX-License-Identifier: MIT
//
// random.sv - a pseudo-random number each cycle (xorshift, 32 bits). A seed of 0 counts as 1.
module random (
    input logic clk,
    input logic rst,
    input logic [31:0] seed,
    output logic [31:0] number
);
    wire [31:0] a = number ^ number << 13;
    wire [31:0] b = a ^ a >> 17;
    always_ff @(posedge clk) number <= rst ? (seed == 0 ? 32'd1 : seed) : b ^ b << 5;
endmodule
