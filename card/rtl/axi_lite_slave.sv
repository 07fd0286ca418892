// Turns AXI4-Lite accesses of 32 bits into register accesses.
//
// A write is one cycle of write_valid. A read takes two cycles from the edge that accepts its
// address to the first edge at which RVALID is high. read_data is sampled in the second cycle, in
// which read_valid is high. One read and one write can be in flight.
module axi_lite_slave #(
    parameter int ADDRESS_BITS = 8
) (
    input  logic                    clock,
    input  logic                    reset_n,
    input  logic                    awvalid,
    output logic                    awready,
    input  logic [ADDRESS_BITS-1:0] awaddr,
    input  logic                    wvalid,
    output logic                    wready,
    input  logic [            31:0] wdata,
    input  logic [             3:0] wstrb,
    output logic                    bvalid,
    input  logic                    bready,
    output logic [             1:0] bresp,
    input  logic                    arvalid,
    output logic                    arready,
    input  logic [ADDRESS_BITS-1:0] araddr,
    output logic                    rvalid,
    input  logic                    rready,
    output logic [            31:0] rdata,
    output logic [             1:0] rresp,
    output logic                    write_valid,
    output logic [ADDRESS_BITS-1:0] write_address,
    output logic [            31:0] write_data,
    output logic [            31:0] write_mask,     // bits that the write changes
    output logic                    read_valid,
    output logic [ADDRESS_BITS-1:0] read_address,
    input  logic [            31:0] read_data
);
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign write_valid = !awready && !wready && !bvalid;

  always_ff @(posedge clock) begin
    if (!reset_n) begin
      awready <= 1'b1;
      wready <= 1'b1;
      bvalid <= 1'b0;
    end else begin
      if (awvalid && awready) begin
        awready <= 1'b0;
        write_address <= {awaddr[ADDRESS_BITS-1:2], 2'b00};
      end
      if (wvalid && wready) begin
        wready <= 1'b0;
        write_data <= wdata;
        write_mask <= {{8{wstrb[3]}}, {8{wstrb[2]}}, {8{wstrb[1]}}, {8{wstrb[0]}}};
      end
      if (write_valid) bvalid <= 1'b1;
      else if (bvalid && bready) begin
        bvalid <= 1'b0;
        awready <= 1'b1;
        wready <= 1'b1;
      end
    end
  end

  assign arready = !read_valid && !rvalid;
  always_ff @(posedge clock) begin
    read_valid <= reset_n && arvalid && arready;
    if (arvalid && arready) read_address <= {araddr[ADDRESS_BITS-1:2], 2'b00};
  end

  always_ff @(posedge clock) begin
    if (!reset_n) rvalid <= 1'b0;
    else if (read_valid) begin
      rvalid <= 1'b1;
      rdata <= read_data;
    end else if (rready) rvalid <= 1'b0;
  end

  logic unused_byte_address;
  assign unused_byte_address = &{1'b0, awaddr[1:0], araddr[1:0]};
endmodule
