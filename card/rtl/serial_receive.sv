// serial_receive(bytes, messages): takes what serial_send sends, and checks every byte of it.
//
// Results: 0 beats received, 1 beats that were not what serial_send(bytes, messages) sends there
// (data, tkeep or tlast).
module serial_receive #(
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
    input  logic         s_axis_channel_tvalid,
    output logic         s_axis_channel_tready,
    input  logic [DATA_BITS-1:0] s_axis_channel_tdata,
    input  logic [WIDTH_BYTES-1:0] s_axis_channel_tkeep,
    input  logic         s_axis_channel_tlast
);
  localparam int BYTE_BITS = $clog2(WIDTH_BYTES);
  localparam int WORDS = WIDTH_BYTES / 8;

  logic start, done, busy, beat, last_beat, last_message;
  logic [63:0] bytes, messages;
  logic [127:0] arguments;
  logic [31:0] beats, beat_index, message, word_base;
  logic [WIDTH_BYTES-1:0] keep;
  logic [63:0] beats_received, wrong_beats;
  logic [WORDS-1:0] wrong_words;

  control_registers #(
      .ARGUMENTS(2),
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
      .results({wrong_beats, beats_received})
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

  assign s_axis_channel_tready = busy;
  assign beat = s_axis_channel_tvalid && s_axis_channel_tready;

  genvar n, i;
  generate
    for (n = 0; n < WORDS; n = n + 1) begin : words
      logic [63:0] mask, expected;
      assign expected = {message, word_base + 32'(n)};
      for (i = 0; i < 8; i = i + 1) begin : bytes_of_word
        assign mask[8*i+:8] = {8{keep[8*n+i]}};
      end
      assign wrong_words[n] = ((s_axis_channel_tdata[64*n+:64] ^ expected) & mask) != '0;
    end
  endgenerate

  always_ff @(posedge ap_clk) begin
    if (start) begin
      beats_received <= '0;
      wrong_beats <= '0;
    end else if (beat) begin
      beats_received <= beats_received + 1'b1;
      if (wrong_words != '0 || s_axis_channel_tkeep != keep || s_axis_channel_tlast != last_beat)
        wrong_beats <= wrong_beats + 1'b1;
    end
  end

  logic unused_arguments;
  assign unused_arguments = &{1'b0, bytes[63:32+BYTE_BITS], messages[63:32]};

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot};
endmodule
