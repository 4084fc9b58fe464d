// SPDX-License-Identifier: MIT
//
// dtu.svh - properties of dtu.sv, for one stage and for two. A model keeps the order in which entries have begun to wait
// (`before`, a matrix). It says which entry a change must wake: the youngest that waits for that
// line and state. The lists of the DTU, whose entries know only the next one, must find the same.

// the first cycle resets
logic started = 1'b0;
always_ff @(posedge clk) started <= 1'b1;
always_comb begin
    assume (rst == !started);
    if (started) assume (!misused);
end

// --- the line of an access: with two stages, that of the cycle before
logic [LINE_BITS-1:0] a_line;
logic a_state;
if (STAGES == 1) begin : line_now
    assign a_line = line;
    assign a_state = state;
end else begin : line_before
    always_ff @(posedge clk) begin
        a_line <= line;
        a_state <= state;
    end
end

// --- model: entry i has begun before entry j
localparam int N = ENTRIES;
logic [N*N-1:0] before;
logic [N-1:0] m_used, m_woken, m_arrived;
logic [N-1:0] m_wants, m_words;
logic [LINE_BITS*N-1:0] m_lines;
logic [WIDTH*N-1:0] m_contexts;
wire [N-1:0] m_waits = m_used & ~m_woken;

logic [N-1:0] wanted, youngest;  // wait for what has changed; the one that must be woken
always_comb begin
    for (int i = 0; i < N; i++) begin
        wanted[i] = m_waits[i] && m_wants[i] == a_state
            && m_lines[i*LINE_BITS+:LINE_BITS] == a_line;
    end
    youngest = wanted;
    for (int i = 0; i < N; i++) begin
        for (int j = 0; j < N; j++) if (wanted[j] && before[i*N+j]) youngest[i] = 1'b0;
    end
end

logic [N-1:0] taken_now, slot_now;
always_comb begin
    for (int i = 0; i < N; i++) begin
        taken_now[i] = take && taken == i;
        slot_now[i] = blocks && slot == i;
    end
end
always_ff @(posedge clk) begin
    if (rst) begin
        m_used <= '0;
        m_woken <= '0;
        m_arrived <= '0;
    end else begin
        m_used <= (m_used | slot_now) & ~taken_now;
        m_woken <= (m_woken | (changes ? youngest : '0)) & ~taken_now;
        for (int i = 0; i < N; i++) begin
            m_arrived[i] <= (m_arrived[i] || put && put_slot == i) && !taken_now[i];
            if (put && put_slot == i) m_contexts[i*WIDTH+:WIDTH] <= put_context;
            if (put && put_slot == i) m_words[i] <= put_word;
            if (slot_now[i]) begin
                m_wants[i] <= a_state;
                m_lines[i*LINE_BITS+:LINE_BITS] <= a_line;
            end
            for (int j = 0; j < N; j++) begin
                if (slot_now[i]) before[i*N+j] <= 1'b0;
                else if (slot_now[j]) before[i*N+j] <= 1'b1;
            end
        end
    end
end

// --- what a search finds: with two stages, it was made in the cycle before
logic [N-1:0] searched, offered;
if (STAGES == 1) begin : search_now
    assign searched = m_used;
    assign offered = m_woken & m_arrived;
end else begin : search_before
    always_ff @(posedge clk) begin
        searched <= m_used;
        offered <= rst ? '0 : m_woken & m_arrived & ~taken_now;
    end
end

// --- what was taken, a cycle later
logic took;
logic [WIDTH-1:0] took_context;
logic [15:0] total, awake;
always_ff @(posedge clk) begin
    took <= !rst && take;
    for (int i = 0; i < N; i++) if (taken_now[i]) took_context <= m_contexts[i*WIDTH+:WIDTH];
end
always_comb begin
    total = '0;
    awake = '0;
    for (int i = 0; i < N; i++) total = total + 16'(m_used[i]);
    for (int i = 0; i < N; i++) awake = awake + 16'(m_woken[i]);
end

always_comb begin
    if (started) begin
        // rule 1
        assert (busy || room == (searched != '1));
        assert (busy || !room || slot < N && !m_used[slot]);
        assert (has == (offered != 0));
        assert (!has || taken < N && m_used[taken] && m_woken[taken] && m_arrived[taken]);
        if (took) assert (context_out == took_context);
        assert (count == total && ready == awake);
        assert (!has || word == m_words[taken]);
        // rule 2: `waits` tells the truth, and one entry is woken: the youngest
        assert (busy || waits == (wanted != 0));
        assert (busy || !waits || youngest[matched]);
        assert ((youngest & (youngest - 1'b1)) == 0);
        assert (woken == m_woken);

        // rule 3, and for induction
        assert (used == m_used && arrived == m_arrived);
        assert ((m_woken & ~m_used) == 0 && (m_arrived & ~m_used) == 0);
        assert ((heads & ~m_waits) == 0);
        assert (!promotes || STAGES == 1 || busy);
        assert ((free & (free - 1'b1)) == 0 && (offer & (offer - 1'b1)) == 0);
        assert (busy || (free & m_used) == 0);
        assert ((offer & ~(m_woken & m_arrived)) == 0);
        assert (busy || STAGES == 1 || of_state == a_state && of_line == a_line);
    end
end
for (genvar i = 0; i < N; i = i + 1) begin : entry
    wire [BITS-1:0] next = older[i*BITS+:BITS];
    logic [N-1:0] younger_same, older_same;
    always_comb begin
        for (int j = 0; j < N; j++) begin
            younger_same[j] = m_waits[j] && before[i*N+j] && m_wants[j] == m_wants[i]
                && m_lines[j*LINE_BITS+:LINE_BITS] == m_lines[i*LINE_BITS+:LINE_BITS];
            older_same[j] = m_waits[j] && before[j*N+i] && m_wants[j] == m_wants[i]
                && m_lines[j*LINE_BITS+:LINE_BITS] == m_lines[i*LINE_BITS+:LINE_BITS];
        end
    end
    always_comb begin
        if (started && m_used[i]) begin
            assert (wants[i] == m_wants[i]);
            assert (lines[i*LINE_BITS+:LINE_BITS] == m_lines[i*LINE_BITS+:LINE_BITS]);
            if (m_arrived[i]) assert (contexts[i] == m_contexts[i*WIDTH+:WIDTH]);
            if (m_arrived[i]) assert (words[i] == m_words[i]);
            assert (!before[i*N+i]);
        end
        if (started && m_waits[i]) begin
            assert (heads[i] == (younger_same == 0));
            assert (chained[i] == (older_same != 0));
            if (older_same != 0) assert (next < N && older_same[next]);
        end
    end
    always_comb begin
        if (started && !busy) begin
            assert (found[i] == (heads[i] && m_wants[i] == a_state
                                 && m_lines[i*LINE_BITS+:LINE_BITS] == a_line));
        end
    end
    for (genvar j = 0; j < N; j = j + 1) begin : pair
        always_comb begin
            if (started && i != j && m_used[i] && m_used[j]) begin
                assert (before[i*N+j] != before[j*N+i]);
            end
            // nothing of the same list lies between an entry and the next one
            if (started && m_waits[i] && older_same[j] && next != j) assert (before[j*N+next]);
        end
        for (genvar k = 0; k < N; k = k + 1) begin : triple
            always_comb begin
                if (started && m_used[i] && m_used[j] && m_used[k] && before[i*N+j]
                    && before[j*N+k]) begin
                    assert (before[i*N+k]);
                end
            end
        end
    end
end

// --- what can happen
logic was_full;
always_ff @(posedge clk) begin
    if (rst) begin
        was_full <= 1'b0;
    end else begin
        if (!room) was_full <= 1'b1;
        cover (was_full && used == 0);
        cover (!room && has && heads == 0);
        // a chain of three, whose oldest entry has the highest number
        cover (changes && waits && chained[matched] && chained[older[matched*BITS+:BITS]]
               && older[older[matched*BITS+:BITS]*BITS+:BITS] == N - 1);
        cover ((woken & ~arrived) != 0 && put && woken[put_slot]);
        cover ((arrived & ~woken) != 0 && changes && waits && arrived[matched]);
        cover (blocks && take && slot > taken);
        cover (took && context_out == '1);
        cover (changes && waits && put && put_slot == matched);
    end
end
if (STAGES == 2) begin : two_stages
    always_ff @(posedge clk) begin
        if (!rst) begin
            // a take has freed an entry between search and access
            cover (!busy && !room && used != '1);
            cover (blocks && waits && took);
            // the next access finds the entry that has just become head
            cover (busy && promotes && match[promoted]);
        end
    end
end
