// A FIFO with a registered output: an item that enters at clock t can leave at t + 2.
module fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16  // power of two
) (
    input  logic             clock,
    input  logic             reset_n,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  localparam int BITS = $clog2(DEPTH);

  logic [WIDTH-1:0] memory[0:DEPTH-1];
  logic [BITS:0] written, fetched;  // one bit wider than an index, to tell full from empty
  logic put, fetch;

  assign in_ready = written - fetched != (BITS + 1)'(DEPTH);
  assign put = in_valid && in_ready;
  assign fetch = written != fetched && (!out_valid || out_ready);

  always_ff @(posedge clock) begin
    if (put) memory[written[BITS-1:0]] <= in_data;
    if (fetch) out_data <= memory[fetched[BITS-1:0]];
  end

  always_ff @(posedge clock) begin
    if (!reset_n) begin
      written <= '0;
      fetched <= '0;
      out_valid <= 1'b0;
    end else begin
      if (put) written <= written + 1'b1;
      if (fetch) fetched <= fetched + 1'b1;
      if (fetch) out_valid <= 1'b1;
      else if (out_ready) out_valid <= 1'b0;
    end
  end
endmodule
