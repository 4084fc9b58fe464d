// SPDX-License-Identifier: MIT
//
// devices.sv - the devices: exit, CLINT (timers, interrupts between harts), PLIC (interrupts of
// devices), UART, test-and-set locks, and a description of the chip. The registers are those of
// QEMU's machine "virt", except for the last two devices. It takes one request a cycle, and answers
// as late as memory does. Registers are words; those of the UART are bytes.
module devices (
    input logic clk,
    input logic rst,
    input logic [63:0] cycle,
    input soc_pkg::config_t cfg,
    input logic req_valid,
    input soc_pkg::req_t req,
    output logic req_ready,
    output logic rsp_valid,
    output soc_pkg::rsp_t rsp,
    input logic rsp_ready,
    output logic [soc_pkg::HARTS-1:0] irq_soft,
    output logic [soc_pkg::HARTS-1:0] irq_timer,
    output logic [soc_pkg::HARTS-1:0] irq_external,
    // serial line
    output logic tx_valid,
    output logic [7:0] tx,
    input logic rx_valid,
    input logic [7:0] rx,
    output logic rx_ready,
    // registers of the hardware scheduler
    output logic sched_write,
    output logic [11:0] sched_at,
    output logic [31:0] sched_data,
    input logic [31:0] sched_word,
    // the program has ended
    output logic exits,
    output logic [31:0] exit_word
);
    localparam int HARTS = soc_pkg::HARTS;
    localparam int SOURCES = 16;  // of the PLIC; 0 is none
    localparam int UART_SOURCE = 10;
    localparam int ALARM_SOURCE = 11;

    logic [HARTS-1:0] msip;
    logic [63:0] compare[HARTS];
    logic [SOURCES-1:0] priorities, claimed;
    logic [SOURCES-1:0] enables[HARTS];
    logic [HARTS-1:0] threshold;
    logic [soc_pkg::LOCKS-1:0] locks;
    logic rx_irq, alarm_on;
    logic [63:0] alarm_at;
    logic alarm_irq;

    assign irq_soft = msip;
    logic rx_taken;
    assign rx_ready = rx_taken;

    wire room;
    wire go = req_valid && room;
    assign req_ready = room;
    wire [31:0] at = req.addr;
    wire [31:0] data = req.data[31:0];
    wire is_write = req.op == soc_pkg::REQ_WRITE;
    wire writes = go && is_write;
    wire reads = go && !is_write;

    wire in_exit = at[31:12] == soc_pkg::EXIT_BASE[31:12];
    wire in_clint = at[31:16] == soc_pkg::CLINT_BASE[31:16];
    wire in_plic = at[31:24] == soc_pkg::PLIC_BASE[31:24];
    wire in_uart = at[31:8] == soc_pkg::UART_BASE[31:8];
    wire in_locks = at[31:16] == soc_pkg::LOCKS_BASE[31:16];
    wire in_sched = at[31:16] == soc_pkg::SCHEDULER_BASE[31:16] && soc_pkg::SCHEDULER != 0;
    wire in_chip = at[31:16] == soc_pkg::CHIP_BASE[31:16];

    // CLINT: at 0 interrupts between harts, at 0x4000 times of the timers, at 0xbff8 the cycle
    wire in_soft = in_clint && at[15:14] == 2'b00 && at[13:2] < 12'(HARTS);
    wire in_compare = in_clint && at[15:14] == 2'b01 && at[13:3] < 11'(HARTS);
    wire in_time = in_clint && at[15:3] == 13'h17ff;
    wire [4:0] soft_hart = at[6:2];
    wire [4:0] compare_hart = at[7:3];

    // PLIC: at 0 priorities, at 0x1000 pending, at 0x2000 enables, at 0x200000 thresholds and claims.
    // Each hart has every second context: the others would be those of its supervisor mode.
    wire in_priority = in_plic && at[23:12] == 12'h000 && at[11:2] < 10'(SOURCES);
    wire in_pending = in_plic && at[23:0] == 24'h001000;
    wire in_enable = in_plic && at[23:13] == 11'h001 && at[7:2] == 0 && {1'b0, at[12:8]} < 6'(HARTS);
    wire in_threshold = in_plic && at[21] && at[12:0] == 13'h0000 && at[20:13] < 8'(HARTS);
    wire in_claim = in_plic && at[21] && at[12:0] == 13'h0004 && at[20:13] < 8'(HARTS);
    wire [4:0] plic_hart = in_enable ? at[12:8] : at[17:13];
    logic [SOURCES-1:0] sources, offered;
    always_comb begin
        sources = '0;
        sources[UART_SOURCE] = rx_irq && rx_valid;
        sources[ALARM_SOURCE] = alarm_irq;
        offered = sources & priorities & ~claimed;
        for (int h = 0; h < HARTS; h++) begin
            irq_external[h] = (offered & enables[h]) != 0 && !threshold[h];
            irq_timer[h] = cycle >= compare[h];
        end
    end
    logic [3:0] claim;
    always_comb begin
        claim = '0;
        for (int s = SOURCES - 1; s > 0; s--) begin
            if (offered[s] && enables[plic_hart][s]) claim = 4'(s);
        end
    end

    logic [31:0] word;
    always_comb begin
        word = '0;
        if (in_soft) word[0] = msip[soft_hart];
        if (in_compare) word = at[2] ? compare[compare_hart][63:32] : compare[compare_hart][31:0];
        if (in_time) word = at[2] ? cycle[63:32] : cycle[31:0];
        if (in_priority) word[0] = priorities[at[5:2]];
        if (in_pending) word[SOURCES-1:0] = sources & ~claimed;
        if (in_enable) word[SOURCES-1:0] = enables[plic_hart];
        if (in_threshold) word[0] = threshold[plic_hart];
        if (in_claim) word[3:0] = claim;
        if (in_uart) begin
            // RBR and IER; LSR: data is there, the transmitter is empty
            word = at[7:2] == 0 ? {16'b0, 7'b0, rx_irq, rx_valid ? rx : 8'h0}
                   : at[7:2] == 1 ? {16'b0, 2'b01, 1'b1, 4'b0, rx_valid, 8'b0} : '0;
        end
        if (in_locks) word[0] = locks[at[9:2]];
        if (in_sched) word = sched_word;
        if (in_chip) begin
            case (at[7:2])
                6'd0: word = 32'h5049_524e;  // "PIRN"
                6'd1: word = soc_pkg::CORES;
                6'd2: word = soc_pkg::THREADS;
                6'd3: word = soc_pkg::RAM_BYTES;
                6'd4: word = 32'(cfg.latency);
                6'd5: word = 32'(cfg.coherent);
                6'd6: word = alarm_at[31:0];
                6'd7: word = soc_pkg::SCHEDULER;
                6'd16, 6'd17, 6'd18, 6'd19, 6'd20, 6'd21, 6'd22, 6'd23:
                if (int'(at[4:2]) < soc_pkg::CORES) word = 32'(cfg.pause[{at[4:2], 2'b00}+:4]) + 32'd1;
                default: ;
            endcase
        end
    end

    // the lowest byte lane that is written
    wire [7:0] uart_byte = data[at[1:0]*8+:8];
    assign rx_taken = reads && in_uart && at[7:0] == 8'h0;
    assign tx_valid = writes && in_uart && at[7:0] == 8'h0;
    assign tx = uart_byte;
    assign sched_write = writes && in_sched;
    assign sched_at = at[11:0];
    assign sched_data = data;
    assign exits = writes && in_exit;
    assign exit_word = data;

    logic q_valid;
    soc_pkg::rsp_t q;
    logic [31:0] q_came;
    always_ff @(posedge clk) begin
        if (rst) begin
            msip <= '0;
            for (int h = 0; h < HARTS; h++) begin
                compare[h] <= '1;
                enables[h] <= '0;
            end
            threshold <= '0;
            priorities <= '0;
            claimed <= '0;
            locks <= '0;
            rx_irq <= 1'b0;
            alarm_on <= 1'b0;
            alarm_irq <= 1'b0;
            q_valid <= 1'b0;
        end else begin
            if (alarm_on && cycle >= alarm_at) begin
                alarm_irq <= 1'b1;
                alarm_on <= 1'b0;
            end
            if (reads && in_claim && claim != 0) claimed[claim] <= 1'b1;
            if (reads && in_locks) locks[at[9:2]] <= 1'b1;
            if (writes) begin
                if (in_soft) msip[soft_hart] <= data[0];
                if (in_compare) begin
                    if (at[2]) compare[compare_hart][63:32] <= data;
                    else compare[compare_hart][31:0] <= data;
                end
                if (in_priority) priorities[at[5:2]] <= data != 0;
                if (in_enable) enables[plic_hart] <= data[SOURCES-1:0] & ~SOURCES'(1);
                if (in_threshold) threshold[plic_hart] <= data != 0;
                if (in_claim) begin
                    claimed[data[3:0]] <= 1'b0;
                    if (data[3:0] == 4'(ALARM_SOURCE)) alarm_irq <= 1'b0;
                end
                if (in_uart && at[7:0] == 8'h1) rx_irq <= uart_byte[0];
                if (in_locks) locks[at[9:2]] <= data[0];
                // the alarm: an interrupt of source 11 after this many cycles
                if (in_chip && at[7:2] == 6'd6) begin
                    alarm_at <= cycle + 64'(data);
                    alarm_on <= 1'b1;
                end
            end
            q_valid <= go;
            q_came <= cycle[31:0];
            q <= '0;
            q.op <= req.op;
            q.core <= req.core;
            q.thread <= req.thread;
            q.addr <= req.addr;
            q.data <= {96'b0, word};
        end
    end
    delay delay (
        .clk,
        .rst,
        .now(cycle[31:0]),
        .latency(cfg.latency),
        .put(q_valid),
        .came(q_came),
        .put_rsp(q),
        .room,
        .rsp_valid,
        .rsp,
        .rsp_ready
    );
endmodule
