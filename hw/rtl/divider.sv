// SPDX-License-Identifier: MIT
//
// divider.sv - quotients and remainders as RV32M defines them, one bit a cycle. Each core has one.
module divider (
    input logic clk,
    input logic rst,
    input logic start,
    input logic [1:0] func,  // of the instruction: 0 div, 1 divu, 2 rem, 3 remu
    input logic [31:0] a,
    input logic [31:0] b,
    output logic busy,
    output logic done,
    output logic [31:0] result
);
    logic [5:0] left;
    logic [31:0] divisor, quotient, remainder;
    logic negative, wants_remainder;
    wire is_signed = !func[0];
    wire [32:0] part = {remainder, quotient[31]} - {1'b0, divisor};

    assign busy = left != 0;
    assign result = wants_remainder ? (negative ? -remainder : remainder)
                                    : (negative ? -quotient : quotient);

    always_ff @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            left <= '0;
        end else if (start) begin
            left <= 6'd33;
            wants_remainder <= func[1];
            divisor <= is_signed && b[31] ? -b : b;
            quotient <= is_signed && a[31] ? -a : a;
            remainder <= '0;
            // x / 0 = -1, and the remainder is x
`ifdef SOC_MUTANT_WRONG_DIVIDE
            negative <= is_signed && (func[1] ? b[31] : (a[31] ^ b[31]) && b != 0);
`else
            negative <= is_signed && (func[1] ? a[31] : (a[31] ^ b[31]) && b != 0);
`endif
        end else if (left > 6'd1) begin
            left <= left - 6'd1;
            quotient <= {quotient[30:0], ~part[32]};
            remainder <= part[32] ? {remainder[30:0], quotient[31]} : part[31:0];
        end else if (left == 6'd1) begin
            left <= '0;
            done <= 1'b1;
        end
    end
endmodule
