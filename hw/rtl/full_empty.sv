// SPDX-License-Identifier: MIT
//
// full_empty.sv - the Full/Empty states of a bank's lines, and the rule of conditional accesses.
//
// Beside its state a line has a mark `kept`: the DTU has woken a thread for it. Other threads find
// a kept line in the wrong state, so the woken thread gets it. Every access that succeeds sets both
// again. So as long as a line is kept in a state, a woken thread is on its way that needs that
// state. An access that only waits (COND_WAIT_...) changes nothing if the state is the right one.
//
// The state is read in one cycle, and the access decided in a later one. All states are empty at
// first.
module full_empty #(
    parameter int LINES = 64,
    parameter int LINE_BITS = $clog2(LINES)
) (
    input logic clk,
`ifdef FORMAL
    output logic [2*LINES-1:0] probe_tags,  // for hw/formal/wakeup.sv
    output logic [1:0] probe_tag,
`endif
    input logic look,  // read the line's state
    input logic [LINE_BITS-1:0] line,
    // the access
    input logic [2:0] op,  // one of COND_*
    input logic woken,
    output logic hit,
    output logic changes,  // a hit sets the state, perhaps to what it was
    output logic state,  // after a hit: the line's; otherwise: the one that it needs
    input logic apply,  // the access takes place
    input logic waits  // a thread is woken by the new state
);
    logic [1:0] tags[LINES];
    logic [1:0] tag;
    wire full = tag[0];
    wire kept = tag[1];
    wire always_hits = op == soc_pkg::COND_FILL || op == soc_pkg::COND_EMPTY;
    wire only_waits = op == soc_pkg::COND_WAIT_FULL || op == soc_pkg::COND_WAIT_EMPTY;
    wire needs = op != soc_pkg::COND_PUT && op != soc_pkg::COND_WAIT_EMPTY;
    wire next = op != soc_pkg::COND_TAKE && op != soc_pkg::COND_EMPTY;
    assign hit = always_hits || full == needs && (!kept || woken);
    assign changes = hit && !only_waits;
    assign state = hit ? next : needs;

    always_ff @(posedge clk) begin
        if (look) tag <= tags[line];
`ifdef SOC_MUTANT_LINE_NOT_KEPT
        if (apply && changes) tags[line] <= {1'b0, next};
`else
        if (apply && changes) tags[line] <= {waits, next};
`endif
    end
`ifdef FORMAL
    assign probe_tag = tag;
    for (genvar l = 0; l < LINES; l++) begin : probes
        assign probe_tags[2*l+:2] = tags[l];
    end
`endif
`ifdef VERILATOR
    initial for (int i = 0; i < LINES; i++) tags[i] = '0;
`endif
endmodule
