// SPDX-License-Identifier: MIT
//
// tsau.sv - the thread selection and assignment unit: in each cycle one ready thread and one
// hardware thread that has none.
//
// Sources: the recruiting thread of each core, which goes before all others and runs on its own
// core only; then the LIFO and the FILLQ of each core and the DTB, in turn. Target: the idle
// hardware thread of the lowest number, core 0 first. A hardware thread that waits in `take` gets
// only x10 of a thread, so it gets no recruiting thread, and of the DTB only words of software: its
// other threads have begun already.
//
// Three stages, so that memories have a cycle to read: choose (and take), read, and the register
// that drives the cores. With STAGES 2 the first one has two cycles: look, and take. What the TSAU
// sees in the first is registered: the idle hardware threads, and the source whose turn it is. In
// the second one it chooses the target and takes the thread. Looks do not overlap with that, so
// there is at most one assignment every two cycles. In between:
//   - A source may lose its thread: the core spills the only one of its LIFO, or no longer wants a
//     recruiting thread. So it is asked again, and nothing is taken if it has none. Its turn is over
//     all the same, so it cannot hold up the others for ever.
//   - A hardware thread stays as it was. Only the TSAU gives it a thread; and if an interrupt, or the
//     end of its time, is about to end its `take`, its core waits for an assignment that is under
//     way (core.sv: it waits seven cycles, and the assignment arrives within three).
module tsau #(
    parameter int CORES = 8,
    parameter int THREADS = 4,
    parameter int WIDTH = 512,
    parameter int STAGES = 1  // cycles of a choice
) (
    input logic clk,
    input logic rst,
    // sources that have a thread
    input logic [CORES-1:0] recruit,
    input logic [CORES-1:0] lifo_has,
    input logic [CORES-1:0] fill_has,
    input logic dtb_has,
    input logic dtb_word,  // it is a word
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
    output logic assign_woken,  // a thread from the DTB
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
    logic [CORES-1:0] core_idle, core_empty;
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
    wire [CORES-1:0] recruit_ok = recruit & core_empty;

    // The source whose turn it is: the first from `turn` on. The DTB is the last one. It is passed
    // over if no hardware thread can have its thread, which any idle one can if it is a word.
    logic [SOURCES-1:0] has, choice;
    logic [SOURCES-2:0] queues, later, first_later, first;
    assign has = {dtb_has, fill_has, lifo_has};
    assign queues = has[SOURCES-2:0];
    always_comb begin
        later = '0;
        for (s = 0; s < SOURCES - 1; s = s + 1) later[s] = queues[s] && s[BITS-1:0] >= turn;
    end
    assign first_later = later & (~later + 1'b1);
    assign first = queues & (~queues + 1'b1);
    wire dtb_ok = dtb_has && (dtb_word || core_empty != 0);
    assign choice = later != 0 ? {1'b0, first_later} : dtb_ok ? {1'b1, {2 * CORES{1'b0}}}
                    : {1'b0, first};

    // what has been seen, in this cycle or in the one before, and what is still there of it
    logic looked;
    logic [CORES-1:0] recruits_on, idle_on, empty_on;  // the lowest core of those that can
    logic [2*CORES-1:0] idle_seen, empty_seen;  // its hardware thread
    logic [SOURCES-1:0] chosen, ready;
    logic [CORES-1:0] recruit_ready;
    if (STAGES == 1) begin : at_once
        assign looked = 1'b1;
        assign recruits_on = recruit_ok & (~recruit_ok + 1'b1);
        assign idle_on = core_idle & (~core_idle + 1'b1);
        assign empty_on = core_empty & (~core_empty + 1'b1);
        assign idle_seen = idle_thread;
        assign empty_seen = empty_thread;
        assign chosen = choice;
        assign ready = '1;
        assign recruit_ready = '1;
    end else begin : registered
        always_ff @(posedge clk) begin
            looked <= !rst && !looked && core_idle != 0 && (has != 0 || recruit != 0);
            recruits_on <= recruit_ok & (~recruit_ok + 1'b1);
            idle_on <= core_idle & (~core_idle + 1'b1);
            empty_on <= core_empty & (~core_empty + 1'b1);
            idle_seen <= idle_thread;
            empty_seen <= empty_thread;
            chosen <= choice;
        end
        // what the DTB offers now, may be a thread, and no hardware thread can have it
        assign ready = {dtb_has && (dtb_word || empty_on != 0), queues};
        assign recruit_ready = recruit;
    end

    wire recruits = recruits_on != 0;
    wire begun = recruits || chosen[SOURCES-1] && !dtb_word;
    wire [CORES-1:0] target = recruits ? recruits_on : begun ? empty_on : idle_on;
    wire has_turn = looked && !recruits && chosen != 0 && idle_on != 0;
    wire [SOURCES-1:0] taken = has_turn ? chosen & ready : '0;
    logic [1:0] thread;
    logic [BITS-1:0] number;
    always_comb begin
        thread = '0;
        for (c = 0; c < CORES; c = c + 1) begin
            if (target[c]) thread = begun ? empty_seen[2*c+:2] : idle_seen[2*c+:2];
        end
        number = '0;
        for (s = 0; s < SOURCES; s = s + 1) if (chosen[s]) number = BITS'(s);
    end
    assign recruit_take = looked ? recruits_on & recruit_ready : '0;
    assign {dtb_take, fill_take, lifo_take} = taken;

    // read
    logic [1:0] r_thread;
    logic r_recruits, r_woken;
    logic [SOURCES-1:0] r_choice;
    logic [WIDTH-1:0] r_context;
    // Of at most one source, so none goes before another.
    always_comb begin
        r_context = (r_recruits ? WIDTH'(recruit_pc) : '0)
                    | (r_choice[SOURCES-1] ? dtb_out : '0);
        for (c = 0; c < CORES; c = c + 1) begin
            r_context = r_context | (r_choice[c] ? lifo_out[c*WIDTH+:WIDTH] : '0)
                        | (r_choice[CORES+c] ? fill_out[c*WIDTH+:WIDTH] : '0);
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            turn <= '0;
            r_target <= '0;
            assign_valid <= '0;
        end else begin
            if (has_turn) turn <= number == BITS'(SOURCES - 1) ? '0 : number + 1'b1;
            r_target <= recruit_take != 0 || taken != 0 ? target : '0;
            assign_valid <= r_target;
        end
        r_thread <= thread;
        r_recruits <= recruits;
        r_woken <= dtb_take && !dtb_word;
        r_choice <= taken;
        if (r_target != 0) begin
            assign_thread <= r_thread;
            assign_woken <= r_woken;
            assign_recruits <= r_recruits;
            assign_context <= r_context;
        end
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk) begin
        if (!rst) begin
            assert ((target & (target - 1'b1)) == 0);
            assert (recruit_take == 0 || taken == 0);
        end
    end
`ifdef FORMAL_TSAU
    `include "tsau.svh"
`endif
`endif
endmodule
