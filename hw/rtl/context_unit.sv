// SPDX-License-Identifier: MIT
//
// context_unit.sv - moves contexts of threads: x1 to x15 and the program counter (word 0), 64
// bytes. One for a core, one context at a time, four words a cycle:
//
//   SPAWN   registers of the thread that executes `spawn`       -> RTU_LIFO
//   EVICT   registers of a thread that waits for a line         -> DTB
//   SAVE    registers of a thread, and the counter of its trap  -> memory
//   SPILL   RTU_LIFO                                            -> memory
//   FILL    memory                                              -> RTU_FILLQ
//   HAND    one word, as x10; the other words are 0             -> RTU_FILLQ
//   PARK    the same                                            -> DTB
//
// The thread is switched off meanwhile, so its registers stay as they are. The result of SPILL,
// FILL, HAND and PARK is whether a context was moved.
module context_unit (
    input logic clk,
    input logic rst,
    // what to do; taken in a cycle in which `idle`
    output logic idle,
    input logic start,
    input logic [2:0] op,
    input logic [1:0] thread,
    input logic [31:0] pc,  // word 0 of the context
    input logic [31:0] at,  // in memory; of HAND and PARK the word
    input logic [15:0] slot,
    // registers
    output logic [1:0] read_thread,
    output logic [1:0] read_beat,
    input logic [127:0] read_words,
    // the registers have been read, or all has been done
    output logic read_done,
    output logic done,
    output logic [1:0] done_thread,
    output logic done_answer,
    // RTU
    output logic lifo_push,
    output logic lifo_wants,  // a context, in this cycle: the TSAU does not get it
    input logic lifo_has,
    input logic [511:0] lifo_out,
    output logic fill_push,
    input logic fill_full,
    output logic [511:0] context_out,
    // DTU
    output logic put,
    output logic put_word,  // no thread's context, but a word
    output logic [15:0] put_slot,
    input logic put_ready,
    // second level
    output logic send,
    output logic send_write,
    output logic [31:0] send_at,
    output logic [127:0] send_data,
    output logic [1:0] send_beat,
    input logic sent,
    input logic answered,
    input logic [1:0] answered_beat,
    input logic [127:0] answered_data
);
    localparam logic [2:0] SPAWN = 3'd0, EVICT = 3'd1, SAVE = 3'd2, SPILL = 3'd3, FILL = 3'd4,
                           HAND = 3'd5, PARK = 3'd6;
    localparam logic [2:0] IDLE = 3'd0, READ = 3'd1, GIVE = 3'd2, TAKE = 3'd3, TOOK = 3'd4,
                           MEMORY = 3'd5, LAST = 3'd6;
    logic [2:0] state, what;
    logic [1:0] beat;
    logic [2:0] to_send, to_come;
    logic [511:0] words;
    logic [31:0] pc_q, at_q;

    assign idle = state == IDLE;
    assign read_thread = done_thread;
    assign read_beat = beat;
    assign context_out = words;
    assign lifo_push = state == GIVE && what == SPAWN;
    assign put_word = what == PARK;
    assign put = state == GIVE && (what == EVICT || put_word);
    assign fill_push = state == GIVE && (what == FILL || what == HAND);
    assign lifo_wants = state == TAKE && lifo_has;
    assign send = state == MEMORY && to_send != 0;
    assign send_write = what != FILL;
    assign send_beat = 2'(3'd4 - to_send);
    assign send_at = {at_q[31:6], send_beat, 4'b0};
    assign send_data = words[send_beat*128+:128];
    assign done = state == LAST;

    always_ff @(posedge clk) begin
        read_done <= 1'b0;
        if (rst) begin
            state <= IDLE;
        end else begin
            case (state)
                IDLE: begin
                    what <= op;
                    done_thread <= thread;
                    pc_q <= pc;
                    at_q <= at;
                    put_slot <= slot;
                    beat <= '0;
                    to_send <= 3'd4;
                    to_come <= 3'd4;
                    done_answer <= 1'b0;
                    if (start) begin
                        state <= op == SPILL ? TAKE
                                 : op == HAND ? (fill_full ? LAST : GIVE)
                                 : op == PARK ? GIVE
                                 : op != FILL ? READ : fill_full ? LAST : MEMORY;
                        if (op == HAND || op == PARK) words <= {160'b0, at, 320'b0};
                    end
                end
                READ: begin
                    words[beat*128+:128] <= beat == 0 ? {read_words[127:32], pc_q} : read_words;
                    beat <= beat + 2'd1;
                    if (beat == 2'd3) begin
                        state <= what == SAVE ? MEMORY : GIVE;
                        read_done <= 1'b1;
                    end
                end
                GIVE: begin
                    done_answer <= 1'b1;
                    if (!put || put_ready) state <= what == EVICT ? IDLE : LAST;
                end
                TAKE: state <= lifo_has ? TOOK : LAST;
                TOOK: begin
                    words <= lifo_out;
                    done_answer <= 1'b1;
                    state <= MEMORY;
                end
                MEMORY: begin
                    if (sent) to_send <= to_send - 3'd1;
                    if (answered) begin
                        to_come <= to_come - 3'd1;
                        if (what == FILL) words[answered_beat*128+:128] <= answered_data;
                        if (to_come == 3'd1) state <= what == FILL ? GIVE : LAST;
                    end
                end
                default: state <= IDLE;
            endcase
        end
    end
endmodule
