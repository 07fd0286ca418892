// Kernel read_bandwidth(input0, buf_size, iter): reads a buffer and computes its checksum.
//
// Result 0: checksum; 1: number of beats whose response is an error. The checksum starts at 0. Each
// beat rotates it left by one bit, then XORs the beat's 64-bit words, word n rotated left by n
// bits. Bytes beyond buf_size count as 0. So the checksum depends on the order of beats and of
// words.
module read_bandwidth #(
    parameter int WIDTH_BYTES = 64,
    parameter int BURST_BEATS = 64,
    parameter int OUTSTANDING = 16,       // bursts in flight; power of two
    parameter int BLOCKS_IN_FLIGHT = 2,   // bursts in flight if the buffer is small
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
    input  logic         m_axi_input0_rlast
);
  localparam int LIMIT_BITS = $clog2(OUTSTANDING + 1);

  logic start, done, idle, run_valid, run_ready, small_buffer;
  logic [LIMIT_BITS-1:0] limit;
  logic [63:0] run_offset, run_bytes;
  logic [63:0] input0, bytes, iterations, checksum, folded;
  logic [31:0] errors;
  logic [191:0] arguments;
  logic [127:0] results;

  assign {iterations, bytes, input0} = arguments;
  assign results = {32'd0, errors, checksum};

  control_registers #(
      .ARGUMENTS(3),
      .RESULTS(2)
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
      .run_valid(run_valid),
      .run_ready(run_ready),
      .run_address(input0 + run_offset),
      .run_bytes(run_bytes),
      .limit(limit),
      .idle(idle),
      .errors(errors),
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

  // The beat's position in the buffer: only the buffer's last beat may be partial.
  localparam int BYTE_BITS = $clog2(WIDTH_BYTES);
  logic beat, last_beat;
  logic [63-BYTE_BITS:0] beats_left, beats;
  logic [BYTE_BITS-1:0] tail;
  logic [DATA_BITS-1:0] valid_data;

  assign m_axi_input0_rready = 1'b1;
  assign beat = m_axi_input0_rvalid;
  assign tail = bytes[BYTE_BITS-1:0];
  assign beats = bytes[63:BYTE_BITS] + {{(63 - BYTE_BITS) {1'b0}}, tail != '0};
  assign last_beat = beats_left == {{(63 - BYTE_BITS) {1'b0}}, 1'b1};

  always_comb begin
    valid_data = m_axi_input0_rdata;
    if (last_beat && tail != '0)
      valid_data = m_axi_input0_rdata & ~({DATA_BITS{1'b1}} << {tail, 3'b000});
    folded = '0;
    for (int word = 0; word < WIDTH_BYTES / 8; word = word + 1)
      folded = folded ^ (valid_data[64*word+:64] << word) ^ (valid_data[64*word+:64] >> (64 - word));
  end

  always_ff @(posedge ap_clk) begin
    if (start) begin
      beats_left <= beats;
      checksum <= '0;
    end else if (beat) begin
      beats_left <= last_beat ? beats : beats_left - 1'b1;
      checksum <= {checksum[62:0], checksum[63]} ^ folded;
    end
  end

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot, m_axi_input0_rid};
endmodule
