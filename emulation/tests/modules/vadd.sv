// vadd(a, b, c, elements): c = a + b, 32-bit integers that wrap around, in one linear sweep.
//
// Results: 0 beats read and bursts written that were answered with an error.
module vadd #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,
    parameter int OUTSTANDING = 16,       // bursts, each way; power of two
    parameter int FIFO_BEATS = 512,       // between reader and writer
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
    output logic         m_axi_a_arvalid,
    input  logic         m_axi_a_arready,
    output logic [  0:0] m_axi_a_arid,
    output logic [ 63:0] m_axi_a_araddr,
    output logic [  7:0] m_axi_a_arlen,
    output logic [  2:0] m_axi_a_arsize,
    output logic [  1:0] m_axi_a_arburst,
    output logic [  2:0] m_axi_a_arprot,
    input  logic         m_axi_a_rvalid,
    output logic         m_axi_a_rready,
    input  logic [  0:0] m_axi_a_rid,
    input  logic [DATA_BITS-1:0] m_axi_a_rdata,
    input  logic [  1:0] m_axi_a_rresp,
    input  logic         m_axi_a_rlast,
    output logic         m_axi_b_arvalid,
    input  logic         m_axi_b_arready,
    output logic [  0:0] m_axi_b_arid,
    output logic [ 63:0] m_axi_b_araddr,
    output logic [  7:0] m_axi_b_arlen,
    output logic [  2:0] m_axi_b_arsize,
    output logic [  1:0] m_axi_b_arburst,
    output logic [  2:0] m_axi_b_arprot,
    input  logic         m_axi_b_rvalid,
    output logic         m_axi_b_rready,
    input  logic [  0:0] m_axi_b_rid,
    input  logic [DATA_BITS-1:0] m_axi_b_rdata,
    input  logic [  1:0] m_axi_b_rresp,
    input  logic         m_axi_b_rlast,
    output logic         m_axi_c_awvalid,
    input  logic         m_axi_c_awready,
    output logic [  0:0] m_axi_c_awid,
    output logic [ 63:0] m_axi_c_awaddr,
    output logic [  7:0] m_axi_c_awlen,
    output logic [  2:0] m_axi_c_awsize,
    output logic [  1:0] m_axi_c_awburst,
    output logic [  2:0] m_axi_c_awprot,
    output logic         m_axi_c_wvalid,
    input  logic         m_axi_c_wready,
    output logic [DATA_BITS-1:0] m_axi_c_wdata,
    output logic [WIDTH_BYTES-1:0] m_axi_c_wstrb,
    output logic         m_axi_c_wlast,
    input  logic         m_axi_c_bvalid,
    output logic         m_axi_c_bready,
    input  logic [  0:0] m_axi_c_bid,
    input  logic [  1:0] m_axi_c_bresp
);
  localparam int LIMIT_BITS = $clog2(OUTSTANDING + 1);

  logic start, done, idle, running, run_valid, run_ready;
  logic [LIMIT_BITS-1:0] limit;
  logic [63:0] a, b, c, elements, run_bytes;
  logic [31:0] a_errors, b_errors, c_errors;
  logic [255:0] arguments;
  logic [63:0] results;
  logic a_ready, a_idle, b_ready, b_idle, c_ready, c_idle;
  logic a_valid, b_valid, sum_valid, sum_ready;
  logic [DATA_BITS-1:0] a_data, b_data;

  assign {elements, c, b, a} = arguments;
  assign results = {32'd0, a_errors + b_errors + c_errors};
  assign run_bytes = {elements[61:0], 2'b00};
  assign run_ready = a_ready && b_ready && c_ready;
  assign idle = a_idle && b_idle && c_idle;
  assign limit = LIMIT_BITS'(OUTSTANDING);

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

  always_ff @(posedge ap_clk) begin
    done <= 1'b0;
    if (!ap_rst_n) begin
      run_valid <= 1'b0;
      running <= 1'b0;
    end else if (start) run_valid <= 1'b1;
    else if (run_valid && run_ready) begin
      run_valid <= 1'b0;
      running <= 1'b1;
    end else if (running && idle) begin
      running <= 1'b0;
      done <= 1'b1;
    end
  end

  axi_reader #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) a_reader (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .run_valid(run_valid && run_ready),
      .run_ready(a_ready),
      .run_address(a),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(a_idle),
      .errors(a_errors),
      .arvalid(m_axi_a_arvalid),
      .arready(m_axi_a_arready),
      .araddr(m_axi_a_araddr),
      .arlen(m_axi_a_arlen),
      .beat(m_axi_a_rvalid && m_axi_a_rready),
      .rlast(m_axi_a_rlast),
      .rresp(m_axi_a_rresp)
  );
  assign m_axi_a_arid = 1'b0;
  assign m_axi_a_arsize = 3'($clog2(WIDTH_BYTES));
  assign m_axi_a_arburst = 2'b01;
  assign m_axi_a_arprot = 3'b000;

  fifo #(
      .WIDTH(DATA_BITS),
      .DEPTH(FIFO_BEATS)
  ) a_fifo (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .in_valid(m_axi_a_rvalid),
      .in_ready(m_axi_a_rready),
      .in_data(m_axi_a_rdata),
      .out_valid(a_valid),
      .out_ready(sum_ready && b_valid),
      .out_data(a_data)
  );

  axi_reader #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) b_reader (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .run_valid(run_valid && run_ready),
      .run_ready(b_ready),
      .run_address(b),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(b_idle),
      .errors(b_errors),
      .arvalid(m_axi_b_arvalid),
      .arready(m_axi_b_arready),
      .araddr(m_axi_b_araddr),
      .arlen(m_axi_b_arlen),
      .beat(m_axi_b_rvalid && m_axi_b_rready),
      .rlast(m_axi_b_rlast),
      .rresp(m_axi_b_rresp)
  );
  assign m_axi_b_arid = 1'b0;
  assign m_axi_b_arsize = 3'($clog2(WIDTH_BYTES));
  assign m_axi_b_arburst = 2'b01;
  assign m_axi_b_arprot = 3'b000;

  fifo #(
      .WIDTH(DATA_BITS),
      .DEPTH(FIFO_BEATS)
  ) b_fifo (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .in_valid(m_axi_b_rvalid),
      .in_ready(m_axi_b_rready),
      .in_data(m_axi_b_rdata),
      .out_valid(b_valid),
      .out_ready(sum_ready && a_valid),
      .out_data(b_data)
  );

  assign sum_valid = a_valid && b_valid;

  axi_writer #(
      .WIDTH_BYTES(WIDTH_BYTES),
      .BURST_BEATS(BURST_BEATS),
      .OUTSTANDING(OUTSTANDING)
  ) c_writer (
      .clock(ap_clk),
      .reset_n(ap_rst_n),
      .run_valid(run_valid && run_ready),
      .run_ready(c_ready),
      .run_address(c),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(c_idle),
      .errors(c_errors),
      .data_valid(sum_valid),
      .data_ready(sum_ready),
      .awvalid(m_axi_c_awvalid),
      .awready(m_axi_c_awready),
      .awaddr(m_axi_c_awaddr),
      .awlen(m_axi_c_awlen),
      .wvalid(m_axi_c_wvalid),
      .wready(m_axi_c_wready),
      .wstrb(m_axi_c_wstrb),
      .wlast(m_axi_c_wlast),
      .bvalid(m_axi_c_bvalid),
      .bready(m_axi_c_bready),
      .bresp(m_axi_c_bresp)
  );
  assign m_axi_c_awid = 1'b0;
  assign m_axi_c_awsize = 3'($clog2(WIDTH_BYTES));
  assign m_axi_c_awburst = 2'b01;
  assign m_axi_c_awprot = 3'b000;

  genvar n;
  generate
    for (n = 0; n < WIDTH_BYTES / 4; n = n + 1) begin : sums
      assign m_axi_c_wdata[32*n+:32] = a_data[32*n+:32] + b_data[32*n+:32];
    end
  endgenerate

  logic unused_elements;
  assign unused_elements = &{1'b0, elements[63:62]};

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot, m_axi_a_rid, m_axi_b_rid, m_axi_c_bid};
endmodule
