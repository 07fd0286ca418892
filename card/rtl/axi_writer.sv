// Writes runs of bytes: sends bursts on AW and a data stream on W, and counts responses on B.
//
// WVALID rises as soon as the burst is known and its data are there, without waiting for a READY.
module axi_writer #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,
    parameter int OUTSTANDING = 16  // power of two
) (
    input  logic                             clock,
    input  logic                             reset_n,
    input  logic                             run_valid,
    output logic                             run_ready,
    input  logic [                     63:0] run_address,
    input  logic [                     63:0] run_bytes,
    input  logic [$clog2(OUTSTANDING+1)-1:0] limit,
    output logic                             idle,
    output logic [                     31:0] errors,       // bursts whose response is not OKAY
    input  logic                             data_valid,   // the data go to WDATA
    output logic                             data_ready,
    output logic                             awvalid,
    input  logic                             awready,
    output logic [                     63:0] awaddr,
    output logic [                      7:0] awlen,
    output logic                             wvalid,
    input  logic                             wready,
    output logic [          WIDTH_BYTES-1:0] wstrb,
    output logic                             wlast,
    input  logic                             bvalid,
    output logic                             bready,
    input  logic [                      1:0] bresp
);
  localparam int TAIL_BITS = $clog2(WIDTH_BYTES);

  logic emit, space, beat, burst_known;
  logic [7:0] emit_length, length, sent;
  logic [TAIL_BITS-1:0] emit_tail, tail;

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
      .burst_valid(awvalid),
      .burst_ready(awready),
      .burst_address(awaddr),
      .burst_length(awlen),
      .hold(!space),
      .emit(emit),
      .emit_length(emit_length),
      .emit_tail(emit_tail),
      .retire(bvalid && bready),
      .idle(idle)
  );

  // Bursts whose data W has still to send.
  fifo #(
      .WIDTH(8 + TAIL_BITS),
      .DEPTH(OUTSTANDING)
  ) bursts (
      .clock(clock),
      .reset_n(reset_n),
      .in_valid(emit),
      .in_ready(space),
      .in_data({emit_length, emit_tail}),
      .out_valid(burst_known),
      .out_ready(beat && wlast),
      .out_data({length, tail})
  );

  assign wvalid = burst_known && data_valid;
  assign data_ready = burst_known && wready;
  assign beat = wvalid && wready;
  assign wlast = sent == length;
  assign wstrb = wlast && tail != '0 ? ~({WIDTH_BYTES{1'b1}} << tail) : {WIDTH_BYTES{1'b1}};
  assign bready = 1'b1;

  always_ff @(posedge clock) begin
    if (!reset_n) begin
      sent <= '0;
      errors <= '0;
    end else begin
      if (beat) sent <= wlast ? '0 : sent + 1'b1;
      if (bvalid && bresp != 2'b00) errors <= errors + 1'b1;
    end
  end
endmodule
