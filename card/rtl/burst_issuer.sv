// Splits a run of bytes into AXI bursts, and keeps at most `limit` of them in flight.
//
// A burst ends at multiples of BURST_BEATS * WIDTH_BYTES (4096 by default), so none crosses a 4 KiB
// boundary. Addresses are multiples of WIDTH_BYTES: their low bits are ignored.
module burst_issuer #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,  // power of two; BURST_BEATS * WIDTH_BYTES <= 4096
    parameter int OUTSTANDING = 16
) (
    input  logic                             clock,
    input  logic                             reset_n,
    // A run, accepted if run_valid and run_ready are high.
    input  logic                             run_valid,
    output logic                             run_ready,
    input  logic [                     63:0] run_address,
    input  logic [                     63:0] run_bytes,
    input  logic [$clog2(OUTSTANDING+1)-1:0] limit,
    // A burst, with the fields of AR or AW.
    output logic                             burst_valid,
    input  logic                             burst_ready,
    output logic [                     63:0] burst_address,
    output logic [                      7:0] burst_length,   // beats - 1
    // `emit` is high in the cycle before a burst appears on burst_valid, never while `hold` is
    // high.
    input  logic                             hold,
    output logic                             emit,
    output logic [                      7:0] emit_length,
    // Bytes in the burst's last beat, 0 = all.
    output logic [  $clog2(WIDTH_BYTES)-1:0] emit_tail,
    input  logic                             retire,         // one burst has been answered
    output logic                             idle
);
  localparam int BYTE_BITS = $clog2(WIDTH_BYTES);
  localparam int BEAT_BITS = $clog2(BURST_BEATS);
  localparam int COUNT_BITS = $clog2(OUTSTANDING + 1);
  localparam int LEFT_BITS = 64 - BYTE_BITS;

  logic [LEFT_BITS-1:0] beat_address, beats_left;
  logic [BYTE_BITS-1:0] tail;
  logic [COUNT_BITS-1:0] in_flight;
  logic [BEAT_BITS:0] to_boundary, beats;
  logic last;

  assign to_boundary = (BEAT_BITS + 1)'(BURST_BEATS) - {1'b0, beat_address[BEAT_BITS-1:0]};
  assign last = beats_left <= LEFT_BITS'(to_boundary);
  assign beats = last ? beats_left[BEAT_BITS:0] : to_boundary;

  assign emit = beats_left != '0 && in_flight < limit && !hold && (!burst_valid || burst_ready);
  assign emit_length = 8'(beats - 1'b1);
  assign emit_tail = last ? tail : '0;
  assign run_ready = beats_left == '0;
  assign idle = beats_left == '0 && in_flight == '0;

  always_ff @(posedge clock) begin
    if (!reset_n) begin
      beats_left <= '0;
      in_flight <= '0;
      burst_valid <= 1'b0;
    end else begin
      if (run_valid && run_ready) begin
        beat_address <= run_address[63:BYTE_BITS];
        beats_left <= run_bytes[63:BYTE_BITS] + LEFT_BITS'(run_bytes[BYTE_BITS-1:0] != '0);
        tail <= run_bytes[BYTE_BITS-1:0];
      end
      if (emit) begin
        burst_address <= {beat_address, BYTE_BITS'(0)};
        burst_length <= emit_length;
        beat_address <= beat_address + LEFT_BITS'(beats);
        beats_left <= beats_left - LEFT_BITS'(beats);
      end
      if (emit) burst_valid <= 1'b1;
      else if (burst_ready) burst_valid <= 1'b0;
      in_flight <= in_flight + COUNT_BITS'(emit) - COUNT_BITS'(retire);
    end
  end

  logic unused_address_bits;
  assign unused_address_bits = &{1'b0, run_address[BYTE_BITS-1:0]};
endmodule
