// A static memory with separate read and write ports, as QDR SRAM behind its controller.
//
// Each port takes one access a clock. The data of a read taken at clock t are there at clock
// t + CYCLES, and hold what was written before clock t.
module sram_controller #(
    parameter int WIDTH_BYTES = 8,
    parameter int WORDS = 4096,  // power of two
    parameter int CYCLES = 5     // at least 2
) (
    input  logic                     ap_clk,
    input  logic                     ap_rst_n,
    input  logic                     write_valid,
    input  logic [$clog2(WORDS)-1:0] write_address,
    input  logic [8*WIDTH_BYTES-1:0] write_data,
    input  logic [  WIDTH_BYTES-1:0] write_strobe,
    input  logic                     read_valid,
    input  logic [$clog2(WORDS)-1:0] read_address,
    output logic                     read_data_valid,
    output logic [8*WIDTH_BYTES-1:0] read_data
);
  localparam int DATA_BITS = 8 * WIDTH_BYTES;

  logic [DATA_BITS-1:0] memory[0:WORDS-1];
  logic [CYCLES-1:0] valid;                  // bit n: was taken n + 1 clocks ago
  logic [DATA_BITS*CYCLES-1:0] data;         // item n: of the read taken n + 1 clocks ago

  assign read_data_valid = valid[CYCLES-1];
  assign read_data = data[DATA_BITS*(CYCLES-1)+:DATA_BITS];

  always_ff @(posedge ap_clk) begin
    for (int n = 0; n < WIDTH_BYTES; n = n + 1)
      if (write_valid && write_strobe[n]) memory[write_address][8*n+:8] <= write_data[8*n+:8];
    data <= {data[DATA_BITS*(CYCLES-1)-1:0], memory[read_address]};
    if (!ap_rst_n) valid <= '0;
    else valid <= {valid[CYCLES-2:0], read_valid};
  end
endmodule
