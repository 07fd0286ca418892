// A card's registers behind AXI4-Lite, each read in READ_CYCLES.
//
//   0x00 identification (read only)   0x04 scratch, written byte by byte
//   0x08, 0x0c free-running clock counter; reading the low half holds the high half for 0x0c
//   0x10 writes taken                 0x14 reads answered
module register_block #(
    parameter int READ_CYCLES = 8,  // at least 2
    parameter logic [31:0] IDENTIFICATION = 32'h49535448  // "ISTH"
) (
    input  logic        ap_clk,
    input  logic        ap_rst_n,
    input  logic        s_axi_control_awvalid,
    output logic        s_axi_control_awready,
    input  logic [ 7:0] s_axi_control_awaddr,
    input  logic [ 2:0] s_axi_control_awprot,
    input  logic        s_axi_control_wvalid,
    output logic        s_axi_control_wready,
    input  logic [31:0] s_axi_control_wdata,
    input  logic [ 3:0] s_axi_control_wstrb,
    output logic        s_axi_control_bvalid,
    input  logic        s_axi_control_bready,
    output logic [ 1:0] s_axi_control_bresp,
    input  logic        s_axi_control_arvalid,
    output logic        s_axi_control_arready,
    input  logic [ 7:0] s_axi_control_araddr,
    input  logic [ 2:0] s_axi_control_arprot,
    output logic        s_axi_control_rvalid,
    input  logic        s_axi_control_rready,
    output logic [31:0] s_axi_control_rdata,
    output logic [ 1:0] s_axi_control_rresp
);
  logic write_valid, read_valid;
  logic [7:0] write_address, read_address;
  logic [31:0] write_data, write_mask, read_data, scratch, held_high, writes, reads;
  logic [63:0] counter;

  axi_lite_slave #(
      .ADDRESS_BITS(8),
      .READ_CYCLES (READ_CYCLES)
  ) slave (
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
      .write_valid(write_valid),
      .write_address(write_address),
      .write_data(write_data),
      .write_mask(write_mask),
      .read_valid(read_valid),
      .read_address(read_address),
      .read_data(read_data)
  );

  always_comb begin
    read_data = '0;
    if (read_address == 8'h00) read_data = IDENTIFICATION;
    if (read_address == 8'h04) read_data = scratch;
    if (read_address == 8'h08) read_data = counter[31:0];
    if (read_address == 8'h0c) read_data = held_high;
    if (read_address == 8'h10) read_data = writes;
    if (read_address == 8'h14) read_data = reads;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      scratch <= '0;
      counter <= '0;
      held_high <= '0;
      writes <= '0;
      reads <= '0;
    end else begin
      counter <= counter + 1'b1;
      if (write_valid) writes <= writes + 1'b1;
      if (write_valid && write_address == 8'h04)
        scratch <= (scratch & ~write_mask) | (write_data & write_mask);
      if (read_valid) reads <= reads + 1'b1;
      if (read_valid && read_address == 8'h08) held_high <= counter[63:32];
    end
  end

  logic unused_inputs;
  assign unused_inputs = &{1'b0, s_axi_control_awprot, s_axi_control_arprot};
endmodule
