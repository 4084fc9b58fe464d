// SPDX-License-Identifier: MIT
//
// tsau.svh - properties of tsau.sv, for cores that behave as core.sv does. A hardware thread is
// shown as idle if it has no thread, or waits in `take`; if its core's register is not in use; and
// if no interrupt waits for it. The register is in use from the cycle after that in which an
// assignment arrives. An interrupt ends `take` seven cycles after it is shown.

localparam int HARTS = CORES * THREADS;

// the first cycle resets
logic started = 1'b0;
always_ff @(posedge clk) started <= 1'b1;
always_comb assume (rst == !started);

// --- cores
(* anyseq *) logic [HARTS-1:0] ends;  // the thread ends, blocks, or executes `take`
(* anyseq *) logic [HARTS-1:0] by_take;
(* anyseq *) logic [HARTS-1:0] wakes;  // an interrupt waits for it
(* anyseq *) logic [CORES-1:0] lands;  // the register's context has been written
logic [HARTS-1:0] runs, taking;
logic [CORES-1:0] in_use;  // the register
logic [2*CORES-1:0] lands_in;
logic [3*HARTS-1:0] refuses;
for (genvar c = 0; c < CORES; c = c + 1) begin : core_model
    always_ff @(posedge clk) begin
        if (rst) in_use[c] <= 1'b0;
        else if (assign_valid[c]) in_use[c] <= 1'b1;
        else if (lands[c]) in_use[c] <= 1'b0;
        if (assign_valid[c]) lands_in[2*c+:2] <= assign_thread;
    end
    for (genvar t = 0; t < THREADS; t = t + 1) begin : thread_model
        localparam int H = c * THREADS + t;
        wire refused = refuses[3*H+:3] == 3'd7;
        always_comb begin
            assume (idle[H] == (!runs[H] && !in_use[c] && refuses[3*H+:3] == 0));
            assume (takes[H] == taking[H]);
        end
        always_ff @(posedge clk) begin
            if (rst) begin
                runs[H] <= 1'b1;
                taking[H] <= 1'b0;
                refuses[3*H+:3] <= '0;
            end else begin
                if (in_use[c] && lands[c] && lands_in[2*c+:2] == t || refused && !in_use[c]) begin
                    runs[H] <= 1'b1;
                    taking[H] <= 1'b0;
                end else if (ends[H] && runs[H]) begin
                    runs[H] <= 1'b0;
                    taking[H] <= by_take[H];
                end
                refuses[3*H+:3] <= !taking[H] || !wakes[H] ? 3'd0
                                   : refused ? 3'd7 : refuses[3*H+:3] + 3'd1;
            end
        end
    end
end

// --- what should be taken, for which core: two cycles from choice to arrival
logic [CORES-1:0] free, free_empty, want, to1, to2;
logic [1:0] thread0, thread1, thread2;
logic recruits1, recruits2, woken1, woken2, word1, word2;
logic [SOURCES-1:0] took1;
logic [WIDTH-1:0] context1, context2;
wire [SOURCES-1:0] now_taken = {dtb_take, fill_take, lifo_take};
wire one_taken = (now_taken & (now_taken - 1'b1)) == 0;
wire one_recruits = (recruit_take & (recruit_take - 1'b1)) == 0;
wire old_one = dtb_take && !dtb_word || recruit_take != 0;  // it must not come to a `take`
// what the TSAU sees when it looks: with two stages, that of the cycle before
logic [HARTS-1:0] seen_idle, seen_takes;
logic [CORES-1:0] seen_free, seen_empty, seen_recruit;
logic [SOURCES-1:0] able, seen_able;  // sources whose thread can start
assign able = {dtb_has && (dtb_word || free_empty != 0), fill_has, lifo_has};
wire can_start = free != 0 && able != 0 || (recruit & free_empty) != 0;
logic must;  // it has seen a thread that can start, and did not take one in that cycle
if (STAGES == 1) begin : see_now
    assign seen_idle = idle;
    assign seen_takes = takes;
    assign seen_free = free;
    assign seen_empty = free_empty;
    assign seen_recruit = recruit;
    assign seen_able = able;
    assign must = can_start;
end else begin : saw
    always_ff @(posedge clk) begin
        seen_idle <= idle;
        seen_takes <= takes;
        seen_free <= free;
        seen_empty <= free_empty;
        seen_recruit <= recruit;
        seen_able <= able;
        must <= !rst && !looked && can_start;
    end
end
always_comb begin
    free = '0;
    free_empty = '0;
    for (int k = 0; k < HARTS; k++) begin
        if (idle[k] && !to1[k/THREADS] && !to2[k/THREADS]) begin
            free[k/THREADS] = 1'b1;
            if (!takes[k]) free_empty[k/THREADS] = 1'b1;
        end
    end
    want = '0;
    for (int k = 0; k < CORES; k++) begin
        if (want == 0 && (old_one ? seen_empty[k] : seen_free[k])) want[k] = 1'b1;
    end
    if (recruit_take != 0) want = recruit_take;
    thread0 = '0;
    for (int k = HARTS - 1; k >= 0; k--) begin
        if (want[k/THREADS] && seen_idle[k] && !(old_one && seen_takes[k])) thread0 = 2'(k % THREADS);
    end
    context1 = recruits1 ? WIDTH'(recruit_pc) : '0;
    for (int k = 0; k < CORES; k++) begin
        if (took1[k]) context1 = context1 | lifo_out[k*WIDTH+:WIDTH];
        if (took1[CORES+k]) context1 = context1 | fill_out[k*WIDTH+:WIDTH];
    end
    if (took1[SOURCES-1]) context1 = context1 | dtb_out;
end
always_ff @(posedge clk) begin
    to1 <= !rst && (now_taken != 0 || recruit_take != 0) ? want : '0;
    to2 <= rst ? '0 : to1;
    thread1 <= thread0;
    thread2 <= thread1;
    recruits1 <= recruit_take != 0;
    recruits2 <= recruits1;
    woken1 <= dtb_take && !dtb_word;
    word1 <= dtb_take && dtb_word;
    word2 <= word1;
    woken2 <= woken1;
    took1 <= now_taken;
    context2 <= context1;
end

// --- fairness: how many others have their turn before a source that has a thread that can start
(* anyconst *) logic [BITS-1:0] watched;
logic [7:0] waited;
function automatic [7:0] ahead(input [7:0] source);
    ahead = source >= turn ? source - 8'(turn) : source + 8'(SOURCES) - 8'(turn);
endfunction
always_comb assume (watched < SOURCES);
always_ff @(posedge clk) begin
    if (rst || looked && (!seen_able[watched] || has_turn && chosen[watched])) waited <= '0;
    else if (has_turn) waited <= waited + 8'd1;
end

always_comb begin
    if (started) begin
        // at most one a cycle, from a source that has a thread
        assert (one_taken && one_recruits && (now_taken == 0 || recruit_take == 0));
        assert ((lifo_take & ~lifo_has) == 0 && (fill_take & ~fill_has) == 0);
        assert ((!dtb_take || dtb_has) && (recruit_take & ~recruit) == 0);
        // to an idle hardware thread whose core's register is not in use
        assert ((assign_valid & (assign_valid - 1'b1)) == 0);
        assert ((assign_valid & in_use) == 0);
        for (int k = 0; k < HARTS; k++) begin
            if (assign_valid[k/THREADS] && assign_thread == k % THREADS) begin
                assert (!runs[k]);
                assert (!(taking[k] && (assign_woken || assign_recruits)));
            end
        end
        assert (assign_valid == 0 || assign_thread < THREADS);
        // what was taken arrives, nothing else
        assert (assign_valid == to2);
        if (to2 != 0) begin
            assert (assign_thread == thread2);
            assert (assign_recruits == recruits2);
            assert (assign_woken == woken2);
            assert (assign_context == context2);
        end
        // the recruiting thread goes first, and to its own core
        if (looked && (seen_recruit & seen_empty) != 0) begin
            assert (now_taken == 0);
            assert (recruit_take != 0 || (seen_recruit & ~recruit) != 0);
        end
        assert ((recruit_take & ~seen_empty) == 0);
        // no hardware thread is idle while a thread is ready for it, but for a cycle in which the
        // TSAU looks, and one in which the source that has its turn has lost its thread
        if (must && now_taken == 0 && recruit_take == 0) begin
            assert (looked);
            assert ((chosen & ~{dtb_has && (dtb_word || seen_empty != 0), fill_has, lifo_has}) != 0
                    || (recruits_on & ~recruit) != 0);
        end
        assert (now_taken == 0 || seen_free != 0);
        // round-robin: a source has its turn after all others have had theirs
        assert (waited < SOURCES);

        // for induction
        assert (turn < SOURCES);
        assert (waited + ahead(8'(watched)) < SOURCES);
        assert (to1 == r_target && to2 == assign_valid);
        assert ((to1 & in_use) == 0 && (to1 & to2) == 0);
        assert ((to1 & (to1 - 1'b1)) == 0);
        if (to1 != 0) begin
            assert (r_thread == thread1 && r_recruits == recruits1 && r_woken == woken1);
            assert ((woken1 || word1) == took1[SOURCES-1] && !(woken1 && word1));
            assert (thread1 < THREADS);
            assert (r_choice == took1 && (took1 & (took1 - 1'b1)) == 0);
            assert (recruits1 == (took1 == 0));
        end
        for (int k = 0; k < HARTS; k++) begin
            if (to1[k/THREADS] && thread1 == k % THREADS) begin
                assert (!runs[k] && refuses[3*k+:3] <= 3'(STAGES));
                assert (!(taking[k] && (woken1 || recruits1)));
            end
            if (to2[k/THREADS] && thread2 == k % THREADS) begin
                assert (!runs[k] && refuses[3*k+:3] <= 3'(STAGES + 1));
                assert (!(taking[k] && (woken2 || recruits2)));
            end
            if (in_use[k/THREADS] && lands_in[2*(k/THREADS)+:2] == k % THREADS) assert (!runs[k]);
            assert (!(runs[k] && taking[k]));
            assert (taking[k] || refuses[3*k+:3] <= 3'd7);
        end
        for (int k = 0; k < CORES; k++) if (in_use[k]) assert (lands_in[2*k+:2] < THREADS);
    end
end

// --- what can happen
always_ff @(posedge clk) begin
    if (!rst) begin
        cover (runs == '1 && in_use == 0 && lifo_has == '1 && fill_has == '1 && dtb_has);
        cover (assign_valid[0] && assign_woken && assign_thread == THREADS - 1);
        cover (looked && seen_recruit != 0 && seen_free != 0 && recruit_take == 0);
        cover (waited == SOURCES - 1);
        cover (to2 != 0 && idle == 0 && refuses != 0);  // the interrupt came after the choice
        cover (recruit == '1 && recruit_take[CORES-1]);
        cover (to2[0] && taking[0] && thread2 == 0 && dtb_take);
        cover (to2[0] && word2 && taking[0] && thread2 == 0);  // a word comes to a `take`
    end
end
if (STAGES == 1) begin : one_stage
    always_ff @(posedge clk) begin
        if (!rst) begin
            cover (to1[0] && to2[CORES-1]);  // one each cycle
            cover (assign_valid[CORES-1] && assign_recruits && to1[0] && took1[SOURCES-1]);
        end
    end
end else begin : two_stages
    // what has been seen, when a thread is taken
    always_comb begin
        if (started && looked) begin
            assert (to1 == 0);
            assert (recruits_on == (seen_recruit & seen_empty
                                    & (~(seen_recruit & seen_empty) + 1'b1)));
            assert (idle_on == (seen_free & (~seen_free + 1'b1)));
            assert (empty_on == (seen_empty & (~seen_empty + 1'b1)));
            assert ((seen_free & in_use) == 0 && (seen_free & to2) == 0);
            assert ((seen_empty & ~seen_free) == 0);
            for (int k = 0; k < HARTS; k++) begin
                if (seen_free[k/THREADS] && seen_idle[k]) begin
                    assert (!runs[k] && refuses[3*k+:3] <= 3'd1);
                    assert (seen_takes[k] == taking[k]);
                end
            end
            for (int k = 0; k < CORES; k++) begin
                if (seen_free[k]) begin
                    assert (idle_seen[2*k+:2] < THREADS);
                    assert (seen_idle[k*THREADS+32'(idle_seen[2*k+:2])]);
                    for (int j = 0; j < THREADS; j++) begin
                        assert (!seen_idle[k*THREADS+j] || j >= idle_seen[2*k+:2]);
                    end
                end
                if (seen_empty[k]) begin
                    assert (empty_seen[2*k+:2] < THREADS);
                    assert (seen_idle[k*THREADS+32'(empty_seen[2*k+:2])]);
                    assert (!seen_takes[k*THREADS+32'(empty_seen[2*k+:2])]);
                    for (int j = 0; j < THREADS; j++) begin
                        assert (!seen_idle[k*THREADS+j] || seen_takes[k*THREADS+j]
                                || j >= empty_seen[2*k+:2]);
                    end
                end
            end
            assert ((chosen & (chosen - 1'b1)) == 0);
            assert ((chosen & ~seen_able) == 0 && (chosen != 0) == (seen_able != 0));
            for (int a = 0; a < SOURCES; a++) begin
                for (int b = 0; b < SOURCES; b++) begin
                    if (chosen[a] && seen_able[b]) assert (ahead(8'(a)) <= ahead(8'(b)));
                end
            end
        end
    end
    always_ff @(posedge clk) begin
        if (!rst) begin
            cover (looked && now_taken != 0 && to2[CORES-1]);  // one every two cycles
            cover (assign_valid[CORES-1] && assign_recruits && dtb_take);
            // sources that have lost their thread
            cover (has_turn && now_taken == 0 && chosen[0]);
            cover (looked && recruits_on != 0 && recruit_take == 0);
        end
    end
end
