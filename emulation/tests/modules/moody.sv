// Does what its argument `what` says, right and wrong. Is done until it is told to continue.
module moody (
    input  logic        ap_clk,
    input  logic        ap_rst_n,
    input  logic        ap_clk_2,
    input  logic        ap_rst_n_2,
    input  logic        s_axi_control_awvalid,
    output logic        s_axi_control_awready,
    input  logic [ 5:0] s_axi_control_awaddr,
    input  logic        s_axi_control_wvalid,
    output logic        s_axi_control_wready,
    input  logic [31:0] s_axi_control_wdata,
    output logic        s_axi_control_bvalid,
    input  logic        s_axi_control_bready,
    input  logic        s_axi_control_arvalid,
    output logic        s_axi_control_arready,
    input  logic [ 5:0] s_axi_control_araddr,
    output logic        s_axi_control_rvalid,
    input  logic        s_axi_control_rready,
    output logic [31:0] s_axi_control_rdata,
    input  logic        in_tvalid,
    output logic        in_tready,
    input  logic [31:0] in_tdata,
    output logic        out_tvalid,
    input  logic        out_tready,
    output logic [31:0] out_tdata,
    output logic        m_axi_gmem_awvalid,
    input  logic        m_axi_gmem_awready,
    output logic [63:0] m_axi_gmem_awaddr,
    output logic [ 7:0] m_axi_gmem_awlen,
    output logic        m_axi_gmem_wvalid,
    input  logic        m_axi_gmem_wready,
    output logic [31:0] m_axi_gmem_wdata,
    output logic [ 3:0] m_axi_gmem_wstrb,
    output logic        m_axi_gmem_wlast,
    input  logic        m_axi_gmem_bvalid,
    output logic        m_axi_gmem_bready
);
  // Each ends at once but for what is said.
  localparam int Sends = 1;  // n words, or without end, counting up from 1
  localparam int Computes = 2;  // for n thousand clocks, ready for a word
  localparam int Lowers = 3;  // tvalid, before tready came, and ends then
  localparam int Changes = 4;  // tdata likewise
  localparam int NoEnd = 5;
  localparam int Writes = 6;  // a burst of four words to mem + n, ends when it is answered
  localparam int EndsEarly = 7;  // the same, wlast in the second
  localparam int Passes = 8;  // n words on, through the second clock

  logic [31:0] what, n, clocks, sent, waited, beats;
  logic [63:0] mem;
  logic runs, done, sends, starts, ends;
  logic passes, full, crosses, empty, between_full, between_empty, valid, has;
  logic [31:0] between, passed, counted;

  assign s_axi_control_awready = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  assign s_axi_control_wready = s_axi_control_awready;
  assign s_axi_control_arready = !s_axi_control_rvalid;
  assign starts = s_axi_control_awready && s_axi_control_awaddr == 0 && s_axi_control_wdata[0];

  assign passes = runs && what == Passes;
  assign in_tready = runs && what == Computes || passes && !full;
  assign out_tvalid = sends || has;
  assign out_tdata = has ? passed : counted;
  assign m_axi_gmem_awlen = 3;
  assign m_axi_gmem_awaddr = mem + 64'(n);
  assign m_axi_gmem_wdata = beats;
  assign m_axi_gmem_wstrb = '1;
  assign m_axi_gmem_wlast = beats == 3 || what == EndsEarly && beats == 1;
  assign m_axi_gmem_bready = 1;

  always_comb
    case (what)
      Computes: ends = clocks == 1000 * n;
      Lowers, Changes: ends = waited == 3;
      NoEnd: ends = 0;
      Writes, EndsEarly: ends = m_axi_gmem_bvalid;
      Passes: ends = sent == n;
      default: ends = 1;
    endcase

  always_ff @(posedge ap_clk) begin
    if (s_axi_control_bready) s_axi_control_bvalid <= 0;
    if (s_axi_control_awready) begin
      s_axi_control_bvalid <= 1;
      case (s_axi_control_awaddr)
        6'h00: if (s_axi_control_wdata[4]) done <= 0;
        6'h10: what <= s_axi_control_wdata;
        6'h18: n <= s_axi_control_wdata;
        6'h20: mem[31:0] <= s_axi_control_wdata;
        6'h24: mem[63:32] <= s_axi_control_wdata;
        default: ;
      endcase
    end
    if (s_axi_control_rready) s_axi_control_rvalid <= 0;
    if (s_axi_control_arvalid && s_axi_control_arready) begin
      s_axi_control_rvalid <= 1;
      s_axi_control_rdata <= {29'd0, !runs, done, runs};
    end

    if (valid || has && out_tready) has <= valid;
    waited <= out_tvalid && !out_tready ? waited + 1 : 0;
    if (out_tvalid && out_tready) begin
      sent <= sent + 1;
      counted <= counted + 1;
      if (what == Sends && sent + 1 == n) sends <= 0;
    end
    if (what == Lowers && waited == 1) sends <= 0;
    if (what == Lowers && waited == 1) waited <= 3;
    if (what == Changes && waited == 1) counted <= counted + 100;
    if (m_axi_gmem_awready) m_axi_gmem_awvalid <= 0;
    if (m_axi_gmem_wvalid && m_axi_gmem_wready) begin
      beats <= beats + 1;
      if (m_axi_gmem_wlast) m_axi_gmem_wvalid <= 0;
    end
    if (starts) begin
      runs <= 1;
      {sent, waited, beats} <= '0;
      sends <= sends || what == Sends || what == Lowers || what == Changes;
      if (what == Writes || what == EndsEarly) {m_axi_gmem_awvalid, m_axi_gmem_wvalid} <= '1;
    end else if (runs && ends) {runs, done} <= 2'b01;
    if (!ap_rst_n) begin
      {runs, done, sends, s_axi_control_bvalid, s_axi_control_rvalid} <= '0;
      {m_axi_gmem_awvalid, m_axi_gmem_wvalid} <= '0;
      has <= 0;
      counted <= 1;
    end
  end

  always_ff @(posedge ap_clk_2) begin
    if (runs) clocks <= clocks + 1;
    if (starts || !ap_rst_n_2) clocks <= 0;
  end

  assign crosses = !empty && !between_full;
  xpm_fifo_async #(
      .FIFO_WRITE_DEPTH(16),
      .READ_MODE("fwft")
  ) across (
      .sleep(1'b0),
      .rst(!ap_rst_n),
      .wr_clk(ap_clk),
      .wr_en(in_tvalid && in_tready && passes),
      .din(in_tdata),
      .full(full),
      .rd_clk(ap_clk_2),
      .rd_en(crosses),
      .dout(between),
      .empty(empty),
      .injectsbiterr(1'b0),
      .injectdbiterr(1'b0)
  );
  xpm_fifo_sync #(
      .FIFO_WRITE_DEPTH(16)
  ) back (
      .sleep(1'b0),
      .rst(!ap_rst_n),
      .wr_clk(ap_clk),
      .wr_en(crosses),
      .din(between),
      .full(between_full),
      .rd_en(passes && !between_empty && !has && !valid),
      .dout(passed),
      .empty(between_empty),
      .data_valid(valid),
      .injectsbiterr(1'b0),
      .injectdbiterr(1'b0)
  );
endmodule
