// Kernel bandwidth(input0, output0, buf_size, iter): copies input0 to output0 and reads and writes
// at once.
//
// Result 0: number of read beats and written bursts whose response is an error.
module bandwidth #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,
    parameter int OUTSTANDING = 16,       // bursts in flight in each direction; power of two
    parameter int BLOCKS_IN_FLIGHT = 2,   // bursts in flight if the buffer is small
    parameter int FIFO_BEATS = 512,       // beats that fit between reader and writer
    localparam int DATA_BITS = 8 * WIDTH_BYTES
) (
    input  logic         ap_clk,
    input  logic         ap_rst_n,
    input  logic         s_axi_control_awvalid,
    output logic         s_axi_control_awready,
    input  logic [  7:0] s_axi_control_awaddr,
    input  logic [  2:0] s_axi_control_awprot,
    input  logic         s_axi_control_wvalid,
    output logic         s_axi_control_wready,
    input  logic [ 31:0] s_axi_control_wdata,
    input  logic [  3:0] s_axi_control_wstrb,
    output logic         s_axi_control_bvalid,
    input  logic         s_axi_control_bready,
    output logic [  1:0] s_axi_control_bresp,
    input  logic         s_axi_control_arvalid,
    output logic         s_axi_control_arready,
    input  logic [  7:0] s_axi_control_araddr,
    input  logic [  2:0] s_axi_control_arprot,
    output logic         s_axi_control_rvalid,
    input  logic         s_axi_control_rready,
    output logic [ 31:0] s_axi_control_rdata,
    output logic [  1:0] s_axi_control_rresp,
    output logic         interrupt,
    output logic         m_axi_input0_arvalid,
    input  logic         m_axi_input0_arready,
    output logic [  0:0] m_axi_input0_arid,
    output logic [ 63:0] m_axi_input0_araddr,
    output logic [  7:0] m_axi_input0_arlen,
    output logic [  2:0] m_axi_input0_arsize,
    output logic [  1:0] m_axi_input0_arburst,
    output logic [  2:0] m_axi_input0_arprot,
    input  logic         m_axi_input0_rvalid,
    output logic         m_axi_input0_rready,
    input  logic [  0:0] m_axi_input0_rid,
    input  logic [DATA_BITS-1:0] m_axi_input0_rdata,
    input  logic [  1:0] m_axi_input0_rresp,
    input  logic         m_axi_input0_rlast,
    output logic         m_axi_output0_awvalid,
    input  logic         m_axi_output0_awready,
    output logic [  0:0] m_axi_output0_awid,
    output logic [ 63:0] m_axi_output0_awaddr,
    output logic [  7:0] m_axi_output0_awlen,
    output logic [  2:0] m_axi_output0_awsize,
    output logic [  1:0] m_axi_output0_awburst,
    output logic [  2:0] m_axi_output0_awprot,
    output logic         m_axi_output0_wvalid,
    input  logic         m_axi_output0_wready,
    output logic [DATA_BITS-1:0] m_axi_output0_wdata,
    output logic [WIDTH_BYTES-1:0] m_axi_output0_wstrb,
    output logic         m_axi_output0_wlast,
    input  logic         m_axi_output0_bvalid,
    output logic         m_axi_output0_bready,
    input  logic [  0:0] m_axi_output0_bid,
    input  logic [  1:0] m_axi_output0_bresp
);
  localparam int LIMIT_BITS = $clog2(OUTSTANDING + 1);

  logic start, done, idle, run_valid, run_ready, small_buffer;
  logic [LIMIT_BITS-1:0] limit;
  logic [63:0] run_offset, run_bytes;
  logic [63:0] input0, output0, bytes, iterations;
  logic [31:0] read_errors, write_errors;
  logic [255:0] arguments;
  logic [63:0] results;
  logic reader_ready, reader_idle, writer_ready, writer_idle, data_valid, data_ready;

  assign {iterations, bytes, output0, input0} = arguments;
  assign results = {32'd0, read_errors + write_errors};
  assign run_ready = reader_ready && writer_ready;
  assign idle = reader_idle && writer_idle;

  control_registers #(
      .ARGUMENTS(4),
      .RESULTS(1)
  ) control (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .awvalid(s_axi_control_awvalid),
      .awready(s_axi_control_awready),
      .awaddr(s_axi_control_awaddr),
      .wvalid(s_axi_control_wvalid),
      .wready(s_axi_control_wready),
      .wdata(s_axi_control_wdata),
      .wstrb(s_axi_control_wstrb),
      .bvalid(s_axi_control_bvalid),
      .bready(s_axi_control_bready),
      .bresp(s_axi_control_bresp),
      .arvalid(s_axi_control_arvalid),
      .arready(s_axi_control_arready),
      .araddr(s_axi_control_araddr),
      .rvalid(s_axi_control_rvalid),
      .rready(s_axi_control_rready),
      .rdata(s_axi_control_rdata),
      .rresp(s_axi_control_rresp),
      .interrupt(interrupt),
      .start(start),
      .done(done),
      .arguments(arguments),
      .results(results)
  );

  sweep_sequencer sequencer (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .start(start),
      .bytes(bytes),
      .iterations(iterations),
      .run_valid(run_valid),
      .run_ready(run_ready),
      .run_offset(run_offset),
      .run_bytes(run_bytes),
      .small_buffer(small_buffer),
      .idle(idle),
      .done(done)
  );
  assign limit = small_buffer ? LIMIT_BITS'(BLOCKS_IN_FLIGHT) : LIMIT_BITS'(OUTSTANDING);

  axi_reader #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) input0_reader (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .run_valid(run_valid && writer_ready),
      .run_ready(reader_ready),
      .run_address(input0 + run_offset),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(reader_idle),
      .errors(read_errors),
      .arvalid(m_axi_input0_arvalid),
      .arready(m_axi_input0_arready),
      .araddr(m_axi_input0_araddr),
      .arlen(m_axi_input0_arlen),
      .beat(m_axi_input0_rvalid && m_axi_input0_rready),
      .rlast(m_axi_input0_rlast),
      .rresp(m_axi_input0_rresp)
  );
  assign m_axi_input0_arid = 1'b0;
  assign m_axi_input0_arsize = 3'($clog2(WIDTH_BYTES));
  assign m_axi_input0_arburst = 2'b01;
  assign m_axi_input0_arprot = 3'b000;

  fifo #(
      .WIDTH(DATA_BITS),
      .DEPTH(FIFO_BEATS)
  ) data (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .in_valid(m_axi_input0_rvalid),
      .in_ready(m_axi_input0_rready),
      .in_data(m_axi_input0_rdata),
      .out_valid(data_valid),
      .out_ready(data_ready),
      .out_data(m_axi_output0_wdata)
  );

  axi_writer #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) output0_writer (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .run_valid(run_valid && reader_ready),
      .run_ready(writer_ready),
      .run_address(output0 + run_offset),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(writer_idle),
      .errors(write_errors),
      .data_valid(data_valid),
      .data_ready(data_ready),
      .awvalid(m_axi_output0_awvalid),
      .awready(m_axi_output0_awready),
      .awaddr(m_axi_output0_awaddr),
      .awlen(m_axi_output0_awlen),
      .wvalid(m_axi_output0_wvalid),
      .wready(m_axi_output0_wready),
      .wstrb(m_axi_output0_wstrb),
      .wlast(m_axi_output0_wlast),
      .bvalid(m_axi_output0_bvalid),
      .bready(m_axi_output0_bready),
      .bresp(m_axi_output0_bresp)
  );
  assign m_axi_output0_awid = 1'b0;
  assign m_axi_output0_awsize = 3'($clog2(WIDTH_BYTES));
  assign m_axi_output0_awburst = 2'b01;
  assign m_axi_output0_awprot = 3'b000;

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot, m_axi_input0_rid, m_axi_output0_bid};
endmodule
