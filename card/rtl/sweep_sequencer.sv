// Generates the loops of AMD's published host-memory kernels as runs of (offset, bytes).
//
// A buffer of at most SMALL_BYTES is one run per block of BLOCK_BYTES, `iterations` times, without
// pauses. A larger buffer is one run per sweep; each begins when the previous sweep has come to
// rest. The last block is shorter if `bytes` is no multiple of BLOCK_BYTES.
module sweep_sequencer #(
    parameter int BLOCK_BYTES = 4096,
    parameter int SMALL_BYTES = 8192
) (
    input  logic        clock,
    input  logic        reset_n,
    input  logic        start,
    input  logic [63:0] bytes,
    input  logic [63:0] iterations,
    output logic        run_valid,
    input  logic        run_ready,
    output logic [63:0] run_offset,
    output logic [63:0] run_bytes,
    output logic        small_buffer,
    input  logic        idle,          // nothing of earlier runs is in flight
    output logic        done
);
  logic draining;
  logic [63:0] left, iterations_left;
  logic last_block, last_iteration;

  assign small_buffer = bytes <= 64'(SMALL_BYTES);
  assign left = bytes - run_offset;
  assign last_block = !small_buffer || left <= 64'(BLOCK_BYTES);
  assign run_bytes = last_block ? left : 64'(BLOCK_BYTES);
  assign last_iteration = iterations_left == 64'd1;

  always_ff @(posedge clock) begin
    done <= 1'b0;
    if (!reset_n) begin
      run_valid <= 1'b0;
      draining <= 1'b0;
    end else if (start) begin
      run_offset <= '0;
      iterations_left <= iterations;
      if (bytes == '0 || iterations == '0) done <= 1'b1;
      else run_valid <= 1'b1;
    end else if (run_valid && run_ready) begin
      if (!last_block) run_offset <= run_offset + 64'(BLOCK_BYTES);
      else begin
        run_offset <= '0;
        iterations_left <= iterations_left - 1'b1;
        if (last_iteration || !small_buffer) begin
          run_valid <= 1'b0;
          draining <= 1'b1;
        end
      end
    end else if (draining && idle) begin
      draining <= 1'b0;
      if (iterations_left == '0) done <= 1'b1;
      else run_valid <= 1'b1;
    end
  end
endmodule
