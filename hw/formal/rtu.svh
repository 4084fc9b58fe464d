// SPDX-License-Identifier: MIT
//
// rtu.svh - what is proved of rtu.sv: RTU_LIFO is a stack and RTU_FILLQ a queue, as two models say
// that keep all contexts in one shift register each. So none is lost and none taken twice.

// the first cycle resets
logic started = 1'b0;
always_ff @(posedge clk) started <= 1'b1;
always_comb begin
    assume (rst == !started);
    if (started) assume (!misused);
end

// --- RTU_LIFO: the youngest is the lowest of `stack`
localparam int WORDS = ENTRIES * WIDTH;
logic [WORDS-1:0] stack, queue;
logic [15:0] stacked, queued;
wire [WORDS-1:0] stack_below = stack >> WIDTH;
always_ff @(posedge clk) begin
    if (rst) begin
        stacked <= '0;
    end else begin
        case ({lifo_push, lifo_take})
            2'b10: stack <= {stack[WORDS-WIDTH-1:0], lifo_in};
            2'b01: stack <= stack_below;
            // the older one is taken
            2'b11: stack <= {stack_below[WORDS-WIDTH-1:0], lifo_in};
            default: ;
        endcase
        stacked <= stacked + 16'(lifo_push) - 16'(lifo_take);
    end
end

// --- RTU_FILLQ: the oldest is the lowest of `queue`
wire [WORDS-1:0] queue_rest = fill_take ? queue >> WIDTH : queue;
wire [15:0] queue_end = queued - 16'(fill_take);
always_ff @(posedge clk) begin
    if (rst) begin
        queue <= '0;
        queued <= '0;
    end else begin
        // above its end it is all zeros
        queue <= queue_rest | (fill_push ? WORDS'(fill_in) << (queue_end * WIDTH) : '0);
        queued <= queue_end + 16'(fill_push);
    end
end

// --- recruiting thread: one that has been taken and has not ended
logic outstanding;
always_ff @(posedge clk) begin
    if (rst) outstanding <= 1'b0;
    else if (recruit_take) outstanding <= 1'b1;
    else if (recruit_end) outstanding <= 1'b0;
end

// --- what was taken, a cycle later
logic [WIDTH-1:0] stack_took, queue_took;
logic lifo_took, fill_took;
always_ff @(posedge clk) begin
    lifo_took <= !rst && lifo_take;
    fill_took <= !rst && fill_take;
    stack_took <= stack[WIDTH-1:0];
    queue_took <= queue[WIDTH-1:0];
end

function automatic [15:0] wrapped(input [15:0] at);
    wrapped = at >= ENTRIES ? at - 16'(ENTRIES) : at;
endfunction
wire [WORDS-1:0] beyond = queue >> (queued * WIDTH);
always_comb begin
    if (started) begin
        // rule 1
        if (lifo_took) assert (lifo_out == stack_took);
        if (fill_took) assert (fill_out == queue_took);
        // rule 2
        assert (lifo_full == (stacked == ENTRIES));
        assert (lifo_has == (stacked != 0));
        assert (fill_full == (queued == ENTRIES));
        assert (fill_has == (queued != 0));
        assert (lifo_count == stacked);
        assert (fill_count == queued);
        // the recruiting thread
        assert (recruit == (spilled && stacked < threshold && queued == 0 && !outstanding));
        assert (!(recruit_take && outstanding));

        // for induction: the memories have what the models have
        assert (stacked <= ENTRIES);
        assert (queued <= ENTRIES);
        assert (first < ENTRIES && last < ENTRIES);
        assert (last == wrapped(16'(first) + queued));
        assert (recruiting == outstanding);
        assert (queued == ENTRIES || beyond == 0);
        for (int n = 0; n < ENTRIES; n++) begin
            if (n < stacked) assert (lifo[n] == stack[(stacked-16'd1-16'(n))*WIDTH+:WIDTH]);
            if (n < queued) assert (fillq[wrapped(16'(first)+16'(n))] == queue[n*WIDTH+:WIDTH]);
        end
    end
end

// --- what can happen
logic was_full, was_fill_full, ended;
always_ff @(posedge clk) begin
    if (rst) begin
        was_full <= 1'b0;
        was_fill_full <= 1'b0;
        ended <= 1'b0;
    end else begin
        if (lifo_full) was_full <= 1'b1;
        if (fill_full) was_fill_full <= 1'b1;
        if (recruit_end && outstanding) ended <= 1'b1;
        cover (lifo_full && lifo_push && lifo_take);
        cover (was_full && !lifo_has && lifo_took && lifo_out == '1);
        cover (was_fill_full && !fill_has && fill_took && fill_out == '1);
        cover (fill_push && fill_take && last == 0 && first != 0);
        cover (ended && recruit_take);
        cover (spilled && !recruit && lifo_count < threshold && fill_has);
        cover (lifo_count == threshold && spilled && !fill_has && !outstanding && threshold == 2);
    end
end
