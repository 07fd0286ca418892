// serial_send(bytes, messages): sends messages over a channel, one beat a clock where it is taken.
//
// 64-bit word w of message m is {m, w}, 32 bits each; the last beat's tkeep says which bytes count.
// Results: 0 beats sent.
module serial_send #(
    parameter int WIDTH_BYTES = 32,  // multiple of 8
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
    output logic         m_axis_channel_tvalid,
    input  logic         m_axis_channel_tready,
    output logic [DATA_BITS-1:0] m_axis_channel_tdata,
    output logic [WIDTH_BYTES-1:0] m_axis_channel_tkeep,
    output logic         m_axis_channel_tlast
);
  localparam int BYTE_BITS = $clog2(WIDTH_BYTES);
  localparam int WORDS = WIDTH_BYTES / 8;

  logic start, done, busy, beat, last_beat, last_message;
  logic [63:0] bytes, messages;
  logic [127:0] arguments;
  logic [31:0] beats, beat_index, message, word_base;
  logic [WIDTH_BYTES-1:0] keep;
  logic [63:0] beats_sent;

  control_registers #(
      .ARGUMENTS(2),
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
      .results(beats_sent)
  );

  // Messages of up to 2^32 - 1 beats; beat_index and message say where the stream is.
  assign {messages, bytes} = arguments;
  assign beats = bytes[31+BYTE_BITS:BYTE_BITS] + {31'd0, bytes[BYTE_BITS-1:0] != '0};
  assign last_beat = beat_index + 32'd1 == beats;
  assign last_message = message + 32'd1 == messages[31:0];
  assign keep = last_beat && bytes[BYTE_BITS-1:0] != '0 ?
      ~({WIDTH_BYTES{1'b1}} << bytes[BYTE_BITS-1:0]) : {WIDTH_BYTES{1'b1}};
  assign word_base = beat_index * WORDS;

  always_ff @(posedge ap_clk) begin
    done <= 1'b0;
    if (!ap_rst_n) busy <= 1'b0;
    else if (start) begin
      busy <= bytes != '0 && messages != '0;
      done <= bytes == '0 || messages == '0;
      beat_index <= '0;
      message <= '0;
    end else if (beat) begin
      beat_index <= last_beat ? '0 : beat_index + 32'd1;
      if (last_beat) message <= message + 32'd1;
      if (last_beat && last_message) begin
        busy <= 1'b0;
        done <= 1'b1;
      end
    end
  end

  assign m_axis_channel_tvalid = busy;
  assign m_axis_channel_tkeep = keep;
  assign m_axis_channel_tlast = last_beat;
  assign beat = m_axis_channel_tvalid && m_axis_channel_tready;

  genvar n;
  generate
    for (n = 0; n < WORDS; n = n + 1) begin : words
      assign m_axis_channel_tdata[64*n+:64] = {message, word_base + 32'(n)};
    end
  endgenerate

  always_ff @(posedge ap_clk) begin
    if (start) beats_sent <= '0;
    else if (beat) beats_sent <= beats_sent + 1'b1;
  end

  logic unused_arguments;
  assign unused_arguments = &{1'b0, bytes[63:32+BYTE_BITS], messages[63:32]};

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot};
endmodule
