// SPDX-License-Identifier: MIT
//
// csr.sv - the control and status registers of one hardware thread, machine mode only (RISC-V
// Privileged Architecture 1.12, chapter 3). Reads and writes are those of the instruction in X.
//
// The counters of cycles and instructions can be written. An instruction that writes the latter is
// not counted: the next one reads what was written.
module csr (
    input logic clk,
    input logic rst,
    input logic [31:0] hart,
    input logic [63:0] cycle,
    input logic retires,
    input logic in_m,  // an older instruction of this thread is in M; a read in X counts it
    input logic irq_soft,
    input logic irq_timer,
    input logic irq_external,
    // access
    input logic [11:0] at,
    output logic [31:0] word,
    output logic exists,
    input logic write,
    input logic [31:0] data,
    // traps
    output logic wakes,  // an interrupt that is enabled is pending
    output logic interrupt,
    output logic [3:0] interrupt_cause,
    input logic trap,
    input logic [31:0] trap_cause,
    input logic [31:0] trap_pc,
    input logic [31:0] trap_value,
    input logic mret,
    output logic [31:0] vector,
    output logic [31:0] epc
);
    logic mie_bit, mpie_bit;
    logic [2:0] enabled;  // external, timer, soft
    logic [29:0] mtvec;
    logic [31:0] mscratch, mcause, mtval;
    logic [29:0] mepc;
    logic [63:0] instret, cycle_base;
    wire [2:0] pending = {irq_external, irq_timer, irq_soft};
    wire [2:0] due = pending & enabled;
    wire [63:0] instret_now = instret + 64'(in_m);
    wire [63:0] mcycle = cycle + cycle_base;
    // a word of a counter is written
    wire high = at[7];
    wire [63:0] counter = at[1] ? instret_now : mcycle;
    wire [63:0] counter_new = high ? {data, counter[31:0]} : {counter[63:32], data};

    assign wakes = due != 0;
    assign interrupt = mie_bit && due != 0;
    assign interrupt_cause = due[2] ? 4'd11 : due[0] ? 4'd3 : 4'd7;
    assign vector = {mtvec, 2'b00};
    assign epc = {mepc, 2'b00};

    always_comb begin
        exists = 1'b1;
        word = '0;
        case (at)
            12'h300: word = {19'b0, 2'b11, 3'b0, mpie_bit, 3'b0, mie_bit, 3'b0};
            12'h301: word = 32'h4000_1101;  // RV32IMA
            12'h304: word = {20'b0, enabled[2], 3'b0, enabled[1], 3'b0, enabled[0], 3'b0};
            12'h305: word = vector;
            12'h310: ;  // mstatush
            12'h320: ;  // mcountinhibit
            12'h340: word = mscratch;
            12'h341: word = epc;
            12'h342: word = mcause;
            12'h343: word = mtval;
            12'h344: word = {20'b0, pending[2], 3'b0, pending[1], 3'b0, pending[0], 3'b0};
            12'hb00, 12'hc00: word = mcycle[31:0];
            12'hb80, 12'hc80: word = mcycle[63:32];
            12'hc01: word = cycle[31:0];
            12'hc81: word = cycle[63:32];
            12'hb02, 12'hc02: word = instret_now[31:0];
            12'hb82, 12'hc82: word = instret_now[63:32];
            12'hf11, 12'hf12, 12'hf13, 12'hf15: ;
            12'hf14: word = hart;
            default: exists = 1'b0;
        endcase
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            mie_bit <= 1'b0;
            mpie_bit <= 1'b0;
            enabled <= '0;
            mtvec <= '0;
            mscratch <= '0;
            mcause <= '0;
            mtval <= '0;
            mepc <= '0;
            instret <= '0;
            cycle_base <= '0;
        end else begin
            instret <= instret + 64'(retires);
            if (trap) begin
                mpie_bit <= mie_bit;
                mie_bit <= 1'b0;
                mepc <= trap_pc[31:2];
                mcause <= trap_cause;
                mtval <= trap_value;
            end else if (mret) begin
                mie_bit <= mpie_bit;
                mpie_bit <= 1'b1;
            end else if (write) begin
                case (at)
                    12'h300: {mpie_bit, mie_bit} <= {data[7], data[3]};
                    12'h304: enabled <= {data[11], data[7], data[3]};
                    12'h305: mtvec <= data[31:2];
                    12'h340: mscratch <= data;
                    12'h341: mepc <= data[31:2];
                    12'h342: mcause <= data;
                    12'h343: mtval <= data;
                    12'hb00, 12'hb80: cycle_base <= counter_new - cycle - 64'd1;
                    12'hb02, 12'hb82: instret <= counter_new - 64'd1;  // its own end adds one
                    default: ;  // writes to read-only fields are ignored
                endcase
            end
        end
    end
endmodule
