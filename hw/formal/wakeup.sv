// SPDX-License-Identifier: MIT
//
// wakeup.sv - no wake-up is lost: full_empty.sv and dtu.sv together, with threads that execute
// conditional accesses in any order. A thread runs, leaves (it is blocked, and its context is on
// its way), or is in the DTB. The solver chooses the accesses, how long each context takes, and
// when the TSAU takes a thread.
//
// Proved:
//   1. Each thread is in exactly one of these places, and an entry of the DTB has its context once
//      it has arrived. So no thread is lost, and none runs twice.
//   2. As long as a thread waits for a state, its line is in the other state, or is kept for a
//      thread that has been woken and has not made its access yet. So an access that changes the
//      line to the state, or the thread for which it is kept, always finds the waiting thread: a
//      change that came first would have let the access succeed, and one that came later wakes it.
//   3. A thread that has been woken and whose context has arrived is offered to the TSAU (`has`), with
//      two stages from the next cycle on.
//
// An access may only try, and then its thread never leaves. Or it only waits: what leaves is a word
// of software, which stands for the thread that the software does not run meanwhile.
//
// The environment promises what core.sv does, and software for its words: a woken thread executes
// its access again, before anything else that is conditional; after an access that only waited, one
// that needs the same state.
module wakeup #(
    parameter int THREADS = 3,
    parameter int ENTRIES = 2,
    parameter int LINES = 2,
    parameter int STAGES = 1
) (
    input logic clk,
    input logic rst
);
    localparam int TB = 2;
    localparam int BITS = ENTRIES == 1 ? 1 : $clog2(ENTRIES);
    localparam int LB = $clog2(LINES);
    localparam logic [1:0] RUNS = 2'd0, LEAVES = 2'd1, WAITS = 2'd2;

    // --- a choice each cycle; an access takes two
    (* anyseq *) logic starts;
    (* anyseq *) logic [TB-1:0] who;
    (* anyseq *) logic [2:0] any_op;
    (* anyseq *) logic any_try, any_read;
    (* anyseq *) logic [LB-1:0] any_line;
    (* anyseq *) logic grants, put, take;
    (* anyseq *) logic [TB-1:0] put_who;

    logic [2*THREADS-1:0] place;
    logic [BITS*THREADS-1:0] slots;  // of a thread that leaves or waits
    logic [THREADS-1:0] woken;  // runs, and has not made its access again
    logic [3*THREADS-1:0] ops;  // of its last access
    logic [LB*THREADS-1:0] lines;

    // --- the bank: in the first cycle it reads the state, in a later one the access is granted. With
    // two stages it is chosen in the cycle before that, as in scheduler.sv.
    logic busy;
    logic [TB-1:0] a_who;
    logic [2:0] a_op;
    logic [LB-1:0] a_line;
    logic a_woken, a_try;
    logic chosen;
    if (STAGES == 1) begin : at_once
        assign chosen = grants;
    end else begin : registered
        always_ff @(posedge clk) chosen <= !rst && !chosen && busy && grants;
    end
    wire apply = !rst && busy && chosen;
    wire goes = starts && !busy && who < THREADS && place[2*who+:2] == RUNS;
    wire [2:0] last_op = ops[3*who+:3];
    wire [2:0] op = !woken[who] ? any_op
                    : last_op == soc_pkg::COND_WAIT_EMPTY ? soc_pkg::COND_PUT
                    : last_op != soc_pkg::COND_WAIT_FULL ? last_op
                    : any_read ? soc_pkg::COND_READ : soc_pkg::COND_TAKE;
    wire [LB-1:0] line = woken[who] ? lines[LB*who+:LB] : any_line;
    always_comb assume (any_op <= soc_pkg::COND_WAIT_EMPTY);
    function automatic logic needs_full(input [2:0] of);
        needs_full = of != soc_pkg::COND_PUT && of != soc_pkg::COND_WAIT_EMPTY;
    endfunction

    logic hit, sets, state, waits, room, has;
    logic [BITS-1:0] slot, entry;
    logic [TB-1:0] context_out;
    logic [15:0] count;
    logic [2*LINES-1:0] tags;
    logic [1:0] tag;
    logic [ENTRIES-1:0] e_used, e_woken, e_arrived, e_wants;
    logic [LB*ENTRIES-1:0] e_lines;
    logic [TB*ENTRIES-1:0] e_contexts;
    full_empty #(
        .LINES(LINES)
    ) states (
        .clk(clk),
        .probe_tags(tags),
        .probe_tag(tag),
        .look(goes),
        .line(busy ? a_line : line),
        .op(a_op),
        .woken(a_woken),
        .hit(hit),
        .changes(sets),
        .state(state),
        .apply(apply),
        .waits(waits)
    );
    wire blocks = apply && !hit && !a_try && room;
    wire puts = put && put_who < THREADS && place[2*put_who+:2] == LEAVES;
    wire takes = take && has;
    dtu #(
        .ENTRIES(ENTRIES),
        .WIDTH(TB),
        .LINE_BITS(LB),
        .STAGES(STAGES)
    ) dtu (
        .clk(clk),
        .rst(rst),
        .probe_used(e_used),
        .probe_woken(e_woken),
        .probe_arrived(e_arrived),
        .probe_wants(e_wants),
        .probe_lines(e_lines),
        .probe_contexts(e_contexts),
        .blocks(blocks),
        .changes(apply && sets),
        .line(a_line),
        .state(state),
        .room(room),
        .slot(slot),
        .waits(waits),
        .put(puts),
        .put_slot(slots[BITS*put_who+:BITS]),
        .put_context(put_who),
        .has(has),
        .take(takes),
        .taken(entry),
        .context_out(context_out),
        .count(count)
    );

    // --- entries that the TSAU must be offered: with two stages, they were active a cycle ago
    logic [ENTRIES-1:0] offered;
    if (STAGES == 1) begin : offered_now
        assign offered = e_woken & e_arrived;
    end else begin : offered_before
        always_ff @(posedge clk) offered <= rst ? '0 : e_woken & e_arrived;
    end

    // --- the thread that is taken is known in the next cycle, from its context
    logic took;
    logic [BITS-1:0] took_entry;
    logic started = 1'b0;
    always_comb begin
        assume (rst == !started);
        if (!started) assume (tags == 0);
    end
    always_ff @(posedge clk) begin
        started <= 1'b1;
        took <= !rst && takes;
        took_entry <= entry;
        if (rst) begin
            busy <= 1'b0;
            woken <= '0;
            place <= '0;
        end else begin
            if (goes) begin
                busy <= 1'b1;
                a_who <= who;
                a_op <= op;
                a_line <= line;
                a_woken <= woken[who];
                a_try <= any_try && op < soc_pkg::COND_WAIT_FULL;
                ops[3*who+:3] <= op;
                lines[LB*who+:LB] <= line;
            end
            if (apply) begin
                busy <= 1'b0;
                woken[a_who] <= 1'b0;
                if (blocks) begin
                    place[2*a_who+:2] <= LEAVES;
                    slots[BITS*a_who+:BITS] <= slot;
                end
            end
            if (puts) place[2*put_who+:2] <= WAITS;
            if (took) begin
                place[2*context_out+:2] <= RUNS;
                woken[context_out] <= 1'b1;
            end
        end
    end

    // --- 1
    always_comb begin
        if (started) begin
            if (took) begin
                assert (context_out < THREADS);
                assert (place[2*context_out+:2] == WAITS);
                assert (slots[BITS*context_out+:BITS] == took_entry);
            end
            if (busy) assert (a_who < THREADS && place[2*a_who+:2] == RUNS);
            if (busy) assert (a_woken == woken[a_who] && a_op == ops[3*a_who+:3]
                              && a_line == lines[LB*a_who+:LB]);
            if (busy) assert (a_op <= soc_pkg::COND_WAIT_EMPTY);
            if (busy) assert (!(a_woken && a_op >= soc_pkg::COND_WAIT_FULL));
        end
    end
    wire needs_of_a = needs_full(a_op);
    for (genvar t = 0; t < THREADS; t = t + 1) begin : thread
        wire [1:0] at = place[2*t+:2];
        wire [BITS-1:0] mine = slots[BITS*t+:BITS];
        wire coming = took && context_out == t;  // taken, runs from the next cycle on
        wire needs = needs_full(ops[3*t+:3]);
        always_comb begin
            if (started) begin
                assert (at != 2'd3);
                assert (!woken[t] || at == RUNS);
                if (at != RUNS || woken[t]) begin
                    assert (ops[3*t+:3] != soc_pkg::COND_FILL && ops[3*t+:3] != soc_pkg::COND_EMPTY
                            && ops[3*t+:3] <= soc_pkg::COND_WAIT_EMPTY);  // the others never block
                end
                if (at != RUNS && !coming) begin
                    assert (mine < ENTRIES && e_used[mine]);
                    assert (e_arrived[mine] == (at == WAITS));
                    if (at == WAITS) assert (e_contexts[TB*mine+:TB] == t);
                    assert (e_wants[mine] == needs);
                    assert (e_lines[mine*LB+:LB] == lines[LB*t+:LB]);
                    // 3
                    if (at == WAITS && offered[mine]) assert (has);
                end
                for (int j = 0; j < THREADS; j++) begin
                    if (j != t && at != RUNS && place[2*j+:2] != RUNS && !coming
                        && !(took && context_out == j)) begin
                        assert (slots[BITS*j+:BITS] != mine);
                    end
                end
            end
        end
    end

    // --- 2. `pending`: a woken thread that needs the line in this state has yet to make its access
    for (genvar l = 0; l < LINES; l = l + 1) begin : on_line
        wire full = tags[2*l];
        wire kept = tags[2*l+1];
        logic pending;
        always_comb begin
            pending = 1'b0;
            for (int i = 0; i < THREADS; i++) begin
                if (lines[LB*i+:LB] == l && needs_full(ops[3*i+:3]) == full) begin
                    if (woken[i] || took && context_out == i) pending = 1'b1;
                    if (place[2*i+:2] != RUNS && e_woken[slots[BITS*i+:BITS]]) pending = 1'b1;
                end
            end
            if (started) assert (!kept || pending);
        end
        for (genvar e = 0; e < ENTRIES; e = e + 1) begin : waiting
            always_comb begin
                if (started && e_used[e] && !e_woken[e] && e_lines[e*LB+:LB] == l) begin
                    assert (e_wants[e] != full || kept);
                end
            end
        end
    end
    // the bank has read the state that the line still has
    always_comb if (started && busy) assert (tag == tags[2*a_line+:2]);

    // an access that only waits leaves the line as it was
    logic only_waited;
    logic [1:0] tag_then;
    always_ff @(posedge clk) begin
        only_waited <= apply && a_op >= soc_pkg::COND_WAIT_FULL;
        tag_then <= tag;
    end
    always_comb if (started && only_waited) assert (tags[2*a_line+:2] == tag_then);

    // all entries are in use by threads
    logic [ENTRIES-1:0] owned;
    always_comb begin
        owned = '0;
        for (int i = 0; i < THREADS; i++) begin
            if (place[2*i+:2] != RUNS && !(took && context_out == i)) begin
                owned[slots[BITS*i+:BITS]] = 1'b1;
            end
        end
        if (started) assert (owned == e_used);
    end

    // --- what can happen
    logic overflowed, was_blocked;
    always_ff @(posedge clk) begin
        if (rst) begin
            overflowed <= 1'b0;
            was_blocked <= 1'b0;
        end else begin
            if (apply && !hit && !a_try && !room) overflowed <= 1'b1;
            if (blocks && !a_woken) was_blocked <= 1'b1;
            // a woken thread finds its line in the wrong state and waits again
            cover (was_blocked && blocks && a_woken);
            // woken before its context has arrived
            cover (puts && e_woken[slots[BITS*put_who+:BITS]]);
            // another thread wants a kept line
            cover (blocks && tag[1] && tag[0] == needs_of_a);
            cover (overflowed && took);
            // a word waits, though the line is in its state: it is kept for another
            cover (blocks && a_op == soc_pkg::COND_WAIT_FULL && tag == 2'b11);
            // a thread tries a line that is kept for another one, and one that is not
            cover (apply && a_try && !a_woken && !hit && tag == 2'b11);
            cover (apply && a_try && hit && waits);
            cover (apply && hit && a_woken && waits);
            cover (was_blocked && e_used == 0 && woken == 0 && place == 0);
        end
    end
endmodule
