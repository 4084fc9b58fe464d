// SPDX-License-Identifier: MIT
//
// tsau.sv - the thread selection and assignment unit: in each cycle one ready thread and one
// hardware thread that has none.
//
// Sources: the recruiting thread of each core, which goes before all others and runs on its own
// core only; then the LIFO and the FILLQ of each core and the DTB, in turn. Target: the idle
// hardware thread of the lowest number, core 0 first. A hardware thread that waits in `take` gets
// only x10 of a thread, so it gets no recruiting thread and none of the DTB, which have begun
// already.
//
// Three stages, so that memories have a cycle to read: choose (and take), read, and the register
// that drives the cores.
module tsau #(
    parameter int CORES = 8,
    parameter int THREADS = 4,
    parameter int WIDTH = 512
) (
    input logic clk,
    input logic rst,
    // sources that have a thread
    input logic [CORES-1:0] recruit,
    input logic [CORES-1:0] lifo_has,
    input logic [CORES-1:0] fill_has,
    input logic dtb_has,
    // the source whose thread is taken in this cycle
    output logic [CORES-1:0] recruit_take,
    output logic [CORES-1:0] lifo_take,
    output logic [CORES-1:0] fill_take,
    output logic dtb_take,
    // contexts, in the next one
    input logic [CORES*WIDTH-1:0] lifo_out,
    input logic [CORES*WIDTH-1:0] fill_out,
    input logic [WIDTH-1:0] dtb_out,
    input logic [31:0] recruit_pc,
    // hardware threads without a thread, and those of them that wait in `take`; a core whose
    // register is in use shows none
    input logic [CORES*THREADS-1:0] idle,
    input logic [CORES*THREADS-1:0] takes,
    // the assignment
    output logic [CORES-1:0] assign_valid,
    output logic [1:0] assign_thread,
    output logic assign_woken,  // it comes from the DTB
    output logic assign_recruits,
    output logic [WIDTH-1:0] assign_context
);
    localparam int SOURCES = 2 * CORES + 1;
    localparam int BITS = $clog2(SOURCES);

    logic [BITS-1:0] turn;

    // A core that is about to get a thread gets no second one: its register is in use, which it
    // shows two cycles later.
    logic [CORES-1:0] r_target, coming;
    assign coming = r_target | assign_valid;

    // the lowest idle thread of each core, of all and of those that are not in `take`
    logic [CORES-1:0] core_idle, core_empty, recruit_ok, recruit_first;
    logic [2*CORES-1:0] idle_thread, empty_thread;
    integer c, t, s;
    always_comb begin
        core_idle = '0;
        core_empty = '0;
        idle_thread = '0;
        empty_thread = '0;
        for (c = 0; c < CORES; c = c + 1) begin
            for (t = THREADS - 1; t >= 0; t = t - 1) begin
                if (idle[c*THREADS+t] && !coming[c]) begin
                    core_idle[c] = 1'b1;
                    idle_thread[2*c+:2] = 2'(t);
                    if (!takes[c*THREADS+t]) begin
                        core_empty[c] = 1'b1;
                        empty_thread[2*c+:2] = 2'(t);
                    end
                end
            end
        end
    end
    assign recruit_ok = recruit & core_empty;
    assign recruit_first = recruit_ok & (~recruit_ok + 1'b1);
    logic [SOURCES-1:0] has;
    assign has = {dtb_has && core_empty != 0, fill_has, lifo_has};

    // the first source from `turn` on
    logic [SOURCES-1:0] later, choice;
    always_comb begin
        later = '0;
        for (s = 0; s < SOURCES; s = s + 1) later[s] = has[s] && s[BITS-1:0] >= turn;
    end
    assign choice = later != 0 ? later & (~later + 1'b1) : has & (~has + 1'b1);

    wire recruits = recruit_ok != 0;
    wire any = !recruits && has != 0 && core_idle != 0;
    wire begun = recruits || choice[SOURCES-1];
    wire [CORES-1:0] targets = recruits ? recruit_first : begun ? core_empty : core_idle;
    wire [CORES-1:0] target = targets & (~targets + 1'b1);
    logic [1:0] thread;
    logic [BITS-1:0] chosen;
    always_comb begin
        thread = '0;
        for (c = 0; c < CORES; c = c + 1) begin
            if (target[c]) thread = begun ? empty_thread[2*c+:2] : idle_thread[2*c+:2];
        end
        chosen = '0;
        for (s = 0; s < SOURCES; s = s + 1) if (choice[s]) chosen = BITS'(s);
    end
    assign recruit_take = recruit_first;
    assign lifo_take = any ? choice[CORES-1:0] : '0;
    assign fill_take = any ? choice[2*CORES-1:CORES] : '0;
    assign dtb_take = any && choice[SOURCES-1];

    // read
    logic [1:0] r_thread;
    logic r_recruits;
    logic [SOURCES-1:0] r_choice;
    logic [WIDTH-1:0] r_context;
    always_comb begin
        r_context = r_choice[SOURCES-1] ? dtb_out : '0;
        for (c = 0; c < CORES; c = c + 1) begin
            if (r_choice[c]) r_context = lifo_out[c*WIDTH+:WIDTH];
            if (r_choice[CORES+c]) r_context = fill_out[c*WIDTH+:WIDTH];
        end
        if (r_recruits) r_context = WIDTH'(recruit_pc);
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            turn <= '0;
            r_target <= '0;
            assign_valid <= '0;
        end else begin
            if (any) turn <= chosen == BITS'(SOURCES - 1) ? '0 : chosen + 1'b1;
            r_target <= recruits || any ? target : '0;
            assign_valid <= r_target;
        end
        r_thread <= thread;
        r_recruits <= recruits;
        r_choice <= any ? choice : '0;
        if (r_target != 0) begin
            assign_thread <= r_thread;
            assign_woken <= r_choice[SOURCES-1];
            assign_recruits <= r_recruits;
            assign_context <= r_context;
        end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst) begin
            assert ((target & (target - 1'b1)) == 0);
            assert (!(recruits && (lifo_take != 0 || fill_take != 0 || dtb_take)));
        end
    end
`ifdef FORMAL_TSAU
    `include "tsau.svh"
`endif
`endif
endmodule
