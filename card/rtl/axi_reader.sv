// Reads runs of bytes: sends bursts on AR, and passes the data on R to its user.
module axi_reader #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,
    parameter int OUTSTANDING = 16
) (
    input  logic                             clock,
    input  logic                             reset_n,
    input  logic                             run_valid,
    output logic                             run_ready,
    input  logic [                     63:0] run_address,
    input  logic [                     63:0] run_bytes,
    input  logic [$clog2(OUTSTANDING+1)-1:0] limit,
    output logic                             idle,
    output logic [                     31:0] errors,       // beats whose response is not OKAY
    output logic                             arvalid,
    input  logic                             arready,
    output logic [                     63:0] araddr,
    output logic [                      7:0] arlen,
    input  logic                             beat,         // RVALID && RREADY
    input  logic                             rlast,
    input  logic [                      1:0] rresp
);
  logic unused_emit;
  logic [7:0] unused_length;
  logic [$clog2(WIDTH_BYTES)-1:0] unused_tail;

  burst_issuer #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) issuer (
      .clock(clock),
      .reset_n(reset_n),
      .run_valid(run_valid),
      .run_ready(run_ready),
      .run_address(run_address),
      .run_bytes(run_bytes),
      .limit(limit),
      .burst_valid(arvalid),
      .burst_ready(arready),
      .burst_address(araddr),
      .burst_length(arlen),
      .hold(1'b0),
      .emit(unused_emit),
      .emit_length(unused_length),
      .emit_tail(unused_tail),
      .retire(beat && rlast),
      .idle(idle)
  );

  always_ff @(posedge clock) begin
    if (!reset_n) errors <= '0;
    else if (beat && rresp != 2'b00) errors <= errors + 1'b1;
  end
endmodule
