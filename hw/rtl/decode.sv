// SPDX-License-Identifier: MIT
//
// decode.sv - decodes instructions: RV32IMA, Zicsr, Zifencei, and cbo.inval, cbo.clean and cbo.flush
// of Zicbom, in machine mode; custom-0 has the instructions of the hardware scheduler.
package decode_pkg;
    typedef struct packed {
        logic illegal;
        logic uses_rs1;
        logic uses_rs2;
        logic writes;  // rd, which is not x0
        logic late;  // the result is there in M, not in X
        logic op_a_pc;
        logic op_a_zero;
        logic op_b_imm;
        logic [31:0] imm;
        logic [2:0] func3;
        logic alu_plain;  // add, whatever func3 says
        logic alu_alt;  // subtract, shift right with sign
        logic jal, jalr, branch;
        logic load, store;
        logic mul, div;
        logic amo, lr, sc;
        logic csr;
        logic fence, fence_i, flush_line;
        logic ecall, ebreak, mret, wfi;
        logic spawn, term, cond, waits, spill, fill, save, give, take;  // of the hardware scheduler
    } decoded_t;

    function automatic decoded_t decode(input logic [31:0] i);
        decoded_t d;
        logic [31:0] imm_i, imm_s, imm_b, imm_u, imm_j;
        imm_i = {{20{i[31]}}, i[31:20]};
        imm_s = {{20{i[31]}}, i[31:25], i[11:7]};
        imm_b = {{20{i[31]}}, i[7], i[30:25], i[11:8], 1'b0};
        imm_u = {i[31:12], 12'b0};
        imm_j = {{12{i[31]}}, i[19:12], i[20], i[30:21], 1'b0};
        d = '0;
        d.func3 = i[14:12];
        d.imm = imm_i;
        d.illegal = i[1:0] != 2'b11;
        case (i[6:2])
            5'b01101: begin  // lui
                d.writes = 1'b1;
                d.op_a_zero = 1'b1;
                d.op_b_imm = 1'b1;
                d.imm = imm_u;
                d.alu_plain = 1'b1;
            end
            5'b00101: begin  // auipc
                d.writes = 1'b1;
                d.op_a_pc = 1'b1;
                d.op_b_imm = 1'b1;
                d.imm = imm_u;
                d.alu_plain = 1'b1;
            end
            5'b11011: begin
                d.jal = 1'b1;
                d.writes = 1'b1;
                d.imm = imm_j;
            end
            5'b11001: begin
                d.jalr = 1'b1;
                d.writes = 1'b1;
                d.uses_rs1 = 1'b1;
                d.illegal |= i[14:12] != 0;
            end
            5'b11000: begin
                d.branch = 1'b1;
                d.uses_rs1 = 1'b1;
                d.uses_rs2 = 1'b1;
                d.imm = imm_b;
                d.illegal |= i[14:13] == 2'b01;
            end
            5'b00000: begin
                d.load = 1'b1;
                d.late = 1'b1;
                d.writes = 1'b1;
                d.uses_rs1 = 1'b1;
                d.illegal |= i[13:12] == 2'b11 || i[14:12] == 3'b110;
            end
            5'b01000: begin
                d.store = 1'b1;
                d.uses_rs1 = 1'b1;
                d.uses_rs2 = 1'b1;
                d.imm = imm_s;
                d.illegal |= i[14] || i[13:12] == 2'b11;
            end
            5'b00100: begin
                d.writes = 1'b1;
                d.uses_rs1 = 1'b1;
                d.op_b_imm = 1'b1;
                d.alu_alt = i[14:12] == 3'b101 && i[30];
                d.illegal |= i[14:12] == 3'b001 && i[31:25] != 0
                             || i[14:12] == 3'b101 && (i[31:25] & 7'b1011111) != 0;
            end
            5'b01100: begin
                d.writes = 1'b1;
                d.uses_rs1 = 1'b1;
                d.uses_rs2 = 1'b1;
                d.alu_alt = i[30];
                d.mul = i[25] && !i[14];
                d.div = i[25] && i[14];
                d.late = i[25];
                d.illegal |= (i[31:25] & 7'b1011110) != 0 || i[30] && i[25]
                             || i[30] && i[14:12] != 3'b000 && i[14:12] != 3'b101;
            end
            5'b01011: begin
                d.writes = 1'b1;
                d.late = 1'b1;
                d.uses_rs1 = 1'b1;
                d.uses_rs2 = i[31:27] != 5'b00010;
                d.lr = i[31:27] == 5'b00010;
                d.sc = i[31:27] == 5'b00011;
                d.amo = !d.lr && !d.sc;
                d.illegal |= i[14:12] != 3'b010 || d.lr && i[24:20] != 0
                             || d.amo && (i[31:27] & 5'b00011) != 0 && i[31:27] != 5'b00001;
            end
            5'b00011: begin
                d.fence = i[14:12] == 3'b000;
                d.fence_i = i[14:12] == 3'b001;
                // cbo.inval, cbo.clean (no line is newer than memory), cbo.flush
                d.flush_line = i[14:12] == 3'b010 && i[31:20] <= 12'd2 && i[11:7] == 0;
                d.uses_rs1 = d.flush_line;
                d.illegal |= !d.fence && !d.fence_i && !d.flush_line;
            end
            5'b11100: begin
                d.csr = i[13:12] != 2'b00;
                d.writes = d.csr;
                d.uses_rs1 = d.csr && !i[14];
                d.ecall = i == 32'h00000073;
                d.ebreak = i == 32'h00100073;
                d.mret = i == 32'h30200073;
                d.wfi = i == 32'h10500073;
                d.illegal |= !d.csr && !d.ecall && !d.ebreak && !d.mret && !d.wfi;
            end
            5'b00010: if (soc_pkg::SCHEDULER != 0) begin  // custom-0
                d.uses_rs1 = i[14:12] != 3'd1 && (i[14:12] != 3'd7 || i[31:25] != 0);
                d.uses_rs2 = i[14:12] == 3'd3;
                case (i[14:12])
                    3'd0: d.spawn = 1'b1;
                    3'd1: d.term = 1'b1;
                    3'd2: begin
                        d.cond = 1'b1;
                        d.writes = 1'b1;
                        d.illegal |= i[31:29] != 0 || i[28] && !i[27] || i[26];
                    end
                    3'd3: begin
                        d.cond = 1'b1;
                        d.writes = i[31:25] != 0;
                        d.waits = i[29];
                        d.illegal |= i[29] ? (i[31:26] != 6'b001000)
                                     : i[27] ? i[31:29] != 0 || i[26:25] != 0 : i[31:25] > 7'd2;
                    end
                    3'd4: d.spill = 1'b1;
                    3'd5: d.fill = 1'b1;
                    3'd6: d.save = 1'b1;
                    3'd7: begin
                        d.give = i[31:25] == 7'd2;
                        d.take = !d.give;
                        d.illegal |= i[31:25] > 7'd2;
                    end
                endcase
                d.writes |= d.spill || d.fill || d.give || d.take;
                d.late = d.writes;
            end else begin
                d.illegal = 1'b1;
            end
            default: d.illegal = 1'b1;
        endcase
        if (i[11:7] == 5'd0) d.writes = 1'b0;
        decode = d;
    endfunction

    function automatic logic [31:0] alu(input logic [2:0] f, input logic alt, input logic [31:0] a,
                                        input logic [31:0] b);
        case (f)
            3'd0: alu = alt ? a - b : a + b;
            3'd1: alu = a << b[4:0];
            3'd2: alu = {31'b0, $signed(a) < $signed(b)};
            3'd3: alu = {31'b0, a < b};
            3'd4: alu = a ^ b;
            3'd5: alu = alt ? $unsigned($signed(a) >>> b[4:0]) : a >> b[4:0];
            3'd6: alu = a | b;
            3'd7: alu = a & b;
        endcase
    endfunction

    function automatic logic taken(input logic [2:0] f, input logic [31:0] a, input logic [31:0] b);
        case (f[2:1])
            2'd0: taken = (a == b) ^ f[0];
            2'd2: taken = ($signed(a) < $signed(b)) ^ f[0];
            default: taken = (a < b) ^ f[0];
        endcase
    endfunction
endpackage
