// Second of three kernels: doubles the words of one packet; done when its last word has been taken.
module twice (
    input  logic        ap_clk,
    input  logic        ap_rst_n,
    input  logic        s_axi_control_awvalid,
    output logic        s_axi_control_awready,
    input  logic [ 5:0] s_axi_control_awaddr,
    input  logic        s_axi_control_wvalid,
    output logic        s_axi_control_wready,
    input  logic [31:0] s_axi_control_wdata,
    output logic        s_axi_control_bvalid,
    input  logic        s_axi_control_bready,
    output logic [ 1:0] s_axi_control_bresp,
    input  logic        s_axi_control_arvalid,
    output logic        s_axi_control_arready,
    input  logic [ 5:0] s_axi_control_araddr,
    output logic        s_axi_control_rvalid,
    input  logic        s_axi_control_rready,
    output logic [31:0] s_axi_control_rdata,
    output logic [ 1:0] s_axi_control_rresp,
    input  logic        s_axis_in_tvalid,
    output logic        s_axis_in_tready,
    input  logic [31:0] s_axis_in_tdata,
    input  logic [ 3:0] s_axis_in_tkeep,
    input  logic        s_axis_in_tlast,
    output logic        m_axis_out_tvalid,
    input  logic        m_axis_out_tready,
    output logic [31:0] m_axis_out_tdata,
    output logic [ 3:0] m_axis_out_tkeep,
    output logic        m_axis_out_tlast
);
  logic runs, done, ends;

  // The host writes the start to register 0, and reads the state there.
  assign s_axi_control_awready = s_axi_control_awvalid && s_axi_control_wvalid && !s_axi_control_bvalid;
  assign s_axi_control_wready = s_axi_control_awready;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_arready = !s_axi_control_rvalid;
  assign s_axi_control_rresp = 2'b00;

  // Accepts a word if it holds none, or while the previous word goes out; none after the last word.
  assign s_axis_in_tready = runs && (!m_axis_out_tvalid || m_axis_out_tready && !m_axis_out_tlast);
  assign ends = m_axis_out_tvalid && m_axis_out_tready && m_axis_out_tlast;

  always_ff @(posedge ap_clk) begin
    if (s_axi_control_bready) s_axi_control_bvalid <= 1'b0;
    if (s_axi_control_awready) s_axi_control_bvalid <= 1'b1;
    if (s_axi_control_awready && s_axi_control_awaddr == 0 && s_axi_control_wdata[0]) runs <= 1'b1;
    if (s_axi_control_rready) s_axi_control_rvalid <= 1'b0;
    if (s_axi_control_arvalid && s_axi_control_arready) begin
      s_axi_control_rvalid <= 1'b1;
      s_axi_control_rdata <= s_axi_control_araddr == 0 ? {29'd0, !runs, done, runs} : '0;
      done <= 1'b0;
    end
    if (m_axis_out_tready) m_axis_out_tvalid <= 1'b0;
    if (s_axis_in_tvalid && s_axis_in_tready) begin
      m_axis_out_tvalid <= 1'b1;
      m_axis_out_tdata <= s_axis_in_tdata << 1;
      m_axis_out_tkeep <= s_axis_in_tkeep;
      m_axis_out_tlast <= s_axis_in_tlast;
    end
    if (ends) {runs, done} <= 2'b01;
    if (!ap_rst_n) begin
      {runs, done, m_axis_out_tvalid, s_axi_control_bvalid, s_axi_control_rvalid} <= '0;
    end
  end
endmodule
