// void triple(const int* in, int* out, int n)
//
// Moves one element at a time; what it does to them is in the line that sets `result`.
module triple (
    input  logic        ap_clk,
    input  logic        ap_rst_n,
    output logic        interrupt,
    input  logic        s_axi_control_awvalid,
    output logic        s_axi_control_awready,
    input  logic [11:0] s_axi_control_awaddr,
    input  logic        s_axi_control_wvalid,
    output logic        s_axi_control_wready,
    input  logic [31:0] s_axi_control_wdata,
    input  logic [ 3:0] s_axi_control_wstrb,
    output logic        s_axi_control_bvalid,
    input  logic        s_axi_control_bready,
    output logic [ 1:0] s_axi_control_bresp,
    input  logic        s_axi_control_arvalid,
    output logic        s_axi_control_arready,
    input  logic [11:0] s_axi_control_araddr,
    output logic        s_axi_control_rvalid,
    input  logic        s_axi_control_rready,
    output logic [31:0] s_axi_control_rdata,
    output logic [ 1:0] s_axi_control_rresp,
    output logic        m_axi_gmem_arvalid,
    input  logic        m_axi_gmem_arready,
    output logic [63:0] m_axi_gmem_araddr,
    output logic [ 7:0] m_axi_gmem_arlen,
    output logic [ 2:0] m_axi_gmem_arsize,
    output logic [ 1:0] m_axi_gmem_arburst,
    input  logic        m_axi_gmem_rvalid,
    output logic        m_axi_gmem_rready,
    input  logic [31:0] m_axi_gmem_rdata,
    input  logic [ 1:0] m_axi_gmem_rresp,
    input  logic        m_axi_gmem_rlast,
    output logic        m_axi_gmem_awvalid,
    input  logic        m_axi_gmem_awready,
    output logic [63:0] m_axi_gmem_awaddr,
    output logic [ 7:0] m_axi_gmem_awlen,
    output logic [ 2:0] m_axi_gmem_awsize,
    output logic [ 1:0] m_axi_gmem_awburst,
    output logic        m_axi_gmem_wvalid,
    input  logic        m_axi_gmem_wready,
    output logic [31:0] m_axi_gmem_wdata,
    output logic [3:0] m_axi_gmem_wstrb,
    output logic        m_axi_gmem_wlast,
    input  logic        m_axi_gmem_bvalid,
    output logic        m_axi_gmem_bready,
    input  logic [ 1:0] m_axi_gmem_bresp
);
  // Arguments, at the offsets of the description.
  logic [63:0] in_;  // 0x10
  logic [63:0] out_;  // 0x1c
  logic [31:0] n_;  // 0x28

  typedef enum logic [2:0] {IDLE, READ, DATA, WRITE, RESPONSE} state_t;
  state_t state;
  logic [63:0] index;
  logic [31:0] result;
  logic start, done, interrupts, interrupt_when_done, interrupt_pending;
  logic address_taken, data_taken;
  logic [11:0] write_address;
  logic [31:0] write_data;

  // What the host writes and reads.
  assign s_axi_control_awready = !address_taken;
  assign s_axi_control_wready = !data_taken;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_arready = !s_axi_control_rvalid;
  assign s_axi_control_rresp = 2'b00;
  assign interrupt = interrupts && interrupt_pending;

  always_ff @(posedge ap_clk) begin
    start <= 1'b0;
    if (!ap_rst_n) begin
      {address_taken, data_taken, s_axi_control_bvalid, s_axi_control_rvalid} <= '0;
      {done, interrupts, interrupt_when_done, interrupt_pending} <= '0;
    end else begin
      if (s_axi_control_awvalid && s_axi_control_awready) begin
        address_taken <= 1'b1;
        write_address <= s_axi_control_awaddr;
      end
      if (s_axi_control_wvalid && s_axi_control_wready) begin
        data_taken <= 1'b1;
        write_data <= s_axi_control_wdata;
      end
      if (s_axi_control_bvalid && s_axi_control_bready) s_axi_control_bvalid <= 1'b0;
      if (address_taken && data_taken && !s_axi_control_bvalid) begin
        {address_taken, data_taken} <= '0;
        s_axi_control_bvalid <= 1'b1;
        case (write_address)
          12'h000: start <= write_data[0];
          12'h004: interrupts <= write_data[0];
          12'h008: interrupt_when_done <= write_data[0];
          12'h00c: interrupt_pending <= interrupt_pending && !write_data[0];
          12'h010: in_[31:0] <= write_data;
          12'h014: in_[63:32] <= write_data;
          12'h01c: out_[31:0] <= write_data;
          12'h020: out_[63:32] <= write_data;
          12'h028: n_[31:0] <= write_data;
          default: ;
        endcase
      end
      if (s_axi_control_rvalid && s_axi_control_rready) s_axi_control_rvalid <= 1'b0;
      if (s_axi_control_arvalid && s_axi_control_arready) begin
        s_axi_control_rvalid <= 1'b1;
        s_axi_control_rdata <= '0;
        if (s_axi_control_araddr == 12'h000) begin
          s_axi_control_rdata <= {28'd0, done, state == IDLE && !start, done, state != IDLE || start};
          done <= 1'b0;
        end
      end
      if (state == RESPONSE && m_axi_gmem_bvalid && index + 1 == n_ || start && n_ == 0) begin
        done <= 1'b1;
        interrupt_pending <= interrupt_pending || interrupt_when_done;
      end
    end
  end

  // What the kernel does.
  assign result = 3 * m_axi_gmem_rdata;

  assign m_axi_gmem_arvalid = state == READ;
  assign m_axi_gmem_araddr = in_ + (index << 2);
  assign m_axi_gmem_arlen = 8'd0;  // one beat
  assign m_axi_gmem_arsize = 3'd2;
  assign m_axi_gmem_arburst = 2'b01;
  assign m_axi_gmem_rready = state == DATA;
  assign m_axi_gmem_awaddr = out_ + (index << 2);
  assign m_axi_gmem_awlen = 8'd0;
  assign m_axi_gmem_awsize = 3'd2;
  assign m_axi_gmem_awburst = 2'b01;
  assign m_axi_gmem_wstrb = '1;
  assign m_axi_gmem_wlast = 1'b1;
  assign m_axi_gmem_bready = state == RESPONSE;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state <= IDLE;
      {m_axi_gmem_awvalid, m_axi_gmem_wvalid} <= '0;
    end else
      case (state)
        IDLE:
        if (start && n_ != 0) begin
          index <= '0;
          state <= READ;
        end
        READ: if (m_axi_gmem_arready) state <= DATA;
        DATA:
        if (m_axi_gmem_rvalid) begin
          m_axi_gmem_wdata <= result;
          {m_axi_gmem_awvalid, m_axi_gmem_wvalid} <= '1;
          state <= WRITE;
        end
        WRITE: begin
          if (m_axi_gmem_awready) m_axi_gmem_awvalid <= 1'b0;
          if (m_axi_gmem_wready) m_axi_gmem_wvalid <= 1'b0;
          if ((!m_axi_gmem_awvalid || m_axi_gmem_awready) && (!m_axi_gmem_wvalid || m_axi_gmem_wready))
            state <= RESPONSE;
        end
        RESPONSE:
        if (m_axi_gmem_bvalid) begin
          index <= index + 1;
          state <= index + 1 == n_ ? IDLE : READ;
        end
        default: state <= IDLE;
      endcase
  end

  logic unused;
  assign unused = &{1'b0, s_axi_control_wstrb, m_axi_gmem_rresp, m_axi_gmem_rlast, m_axi_gmem_bresp};
endmodule
