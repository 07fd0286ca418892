// The registers through which a host starts a kernel and reads results, as in Vitis HLS
// (ap_ctrl_hs).
//
//   0x00  bit 0 start, 1 done (cleared when read), 2 idle, 3 ready (cleared when read)
//   0x04  bit 0: interrupts enabled     0x08  bit 0: interrupt when done
//   0x0c  bit 0: done has happened (write 1 to clear)
//   0x10 + 12 n, + 4   argument n, low and high half
//   0x80, 0x84         clock cycles from start to done of the last (or present) execution
//   0x88 + 8 n, + 4    result n, low and high half
module control_registers #(
    parameter int ARGUMENTS = 3,  // at most 9
    parameter int RESULTS   = 1   // at most 15
) (
    input  logic                    clock,
    input  logic                    reset_n,
    input  logic                    awvalid,
    output logic                    awready,
    input  logic [             7:0] awaddr,
    input  logic                    wvalid,
    output logic                    wready,
    input  logic [            31:0] wdata,
    input  logic [             3:0] wstrb,
    output logic                    bvalid,
    input  logic                    bready,
    output logic [             1:0] bresp,
    input  logic                    arvalid,
    output logic                    arready,
    input  logic [             7:0] araddr,
    output logic                    rvalid,
    input  logic                    rready,
    output logic [            31:0] rdata,
    output logic [             1:0] rresp,
    output logic                    interrupt,
    output logic                    start,      // high for one cycle
    input  logic                    done,       // high for one cycle
    output logic [64*ARGUMENTS-1:0] arguments,
    input  logic [  64*RESULTS-1:0] results
);
  logic write_valid, read_valid;
  logic [7:0] write_address, read_address;
  logic [31:0] write_data, write_mask, read_data;
  logic busy, done_seen, ready_seen, interrupts, interrupt_when_done, interrupt_pending;
  logic [63:0] cycles;

  axi_lite_slave #(
      .ADDRESS_BITS(8)
  ) slave (
      .clock(clock),
      .reset_n(reset_n),
      .awvalid(awvalid),
      .awready(awready),
      .awaddr(awaddr),
      .wvalid(wvalid),
      .wready(wready),
      .wdata(wdata),
      .wstrb(wstrb),
      .bvalid(bvalid),
      .bready(bready),
      .bresp(bresp),
      .arvalid(arvalid),
      .arready(arready),
      .araddr(araddr),
      .rvalid(rvalid),
      .rready(rready),
      .rdata(rdata),
      .rresp(rresp),
      .write_valid(write_valid),
      .write_address(write_address),
      .write_data(write_data),
      .write_mask(write_mask),
      .read_valid(read_valid),
      .read_address(read_address),
      .read_data(read_data)
  );

  logic write_bit;
  assign write_bit = write_valid && write_mask[0];
  assign interrupt = interrupts && interrupt_pending;

  always_ff @(posedge clock) begin
    start <= 1'b0;
    if (!reset_n) begin
      busy <= 1'b0;
      done_seen <= 1'b0;
      ready_seen <= 1'b0;
      interrupts <= 1'b0;
      interrupt_when_done <= 1'b0;
      interrupt_pending <= 1'b0;
      cycles <= '0;
    end else begin
      if (busy && !done) cycles <= cycles + 1'b1;
      if (read_valid && read_address == 8'h00) begin
        done_seen <= 1'b0;
        ready_seen <= 1'b0;
      end
      if (write_bit && write_address == 8'h00 && write_data[0] && !busy) begin
        start <= 1'b1;
        busy <= 1'b1;
        cycles <= '0;
      end
      if (write_bit && write_address == 8'h04) interrupts <= write_data[0];
      if (write_bit && write_address == 8'h08) interrupt_when_done <= write_data[0];
      if (write_bit && write_address == 8'h0c && write_data[0]) interrupt_pending <= 1'b0;
      if (done) begin
        busy <= 1'b0;
        done_seen <= 1'b1;
        ready_seen <= 1'b1;
        if (interrupt_when_done) interrupt_pending <= 1'b1;
      end
    end
  end

  genvar n;
  generate
    for (n = 0; n < 2 * ARGUMENTS; n = n + 1) begin : halves
      always_ff @(posedge clock) begin
        if (!reset_n) arguments[32*n+:32] <= '0;
        else if (write_valid && write_address == 8'(16 + 12 * (n / 2) + 4 * (n % 2)))
          arguments[32*n+:32] <= (arguments[32*n+:32] & ~write_mask) | (write_data & write_mask);
      end
    end
  endgenerate

  always_comb begin
    read_data = '0;
    if (read_address == 8'h00) read_data = {28'd0, ready_seen, !busy, done_seen, busy};
    if (read_address == 8'h04) read_data = {31'd0, interrupts};
    if (read_address == 8'h08) read_data = {31'd0, interrupt_when_done};
    if (read_address == 8'h0c) read_data = {31'd0, interrupt_pending};
    for (int i = 0; i < 2 * ARGUMENTS; i = i + 1)
      if (read_address == 8'(16 + 12 * (i / 2) + 4 * (i % 2))) read_data = arguments[32*i+:32];
    if (read_address == 8'h80) read_data = cycles[31:0];
    if (read_address == 8'h84) read_data = cycles[63:32];
    for (int i = 0; i < 2 * RESULTS; i = i + 1)
      if (read_address == 8'(136 + 4 * i)) read_data = results[32*i+:32];
  end
endmodule
