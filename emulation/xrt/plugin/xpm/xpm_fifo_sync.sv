// Has the name and ports of AMD's xpm_fifo_sync, without what does not concern the words.
module xpm_fifo_sync #(
    parameter FIFO_MEMORY_TYPE = "auto",
    parameter ECC_MODE = "no_ecc",
    parameter EN_SIM_ASSERT_ERR = "warning",
    parameter SIM_ASSERT_CHK = 0,
    parameter int CASCADE_HEIGHT = 0,
    parameter int FIFO_WRITE_DEPTH = 2048,
    parameter int WRITE_DATA_WIDTH = 32,
    parameter int WR_DATA_COUNT_WIDTH = 1,
    parameter int PROG_FULL_THRESH = 10,
    parameter int FULL_RESET_VALUE = 0,
    parameter USE_ADV_FEATURES = "0707",
    parameter READ_MODE = "std",
    parameter int FIFO_READ_LATENCY = 1,
    parameter int READ_DATA_WIDTH = 32,
    parameter int RD_DATA_COUNT_WIDTH = 1,
    parameter int PROG_EMPTY_THRESH = 10,
    parameter DOUT_RESET_VALUE = "0",
    parameter int WAKEUP_TIME = 0
) (
    input logic sleep,
    input logic rst,
    input logic wr_clk,
    input logic wr_en,
    input logic [WRITE_DATA_WIDTH-1:0] din,
    output logic full,
    output logic prog_full,
    output logic [WR_DATA_COUNT_WIDTH-1:0] wr_data_count,
    output logic overflow,
    output logic wr_rst_busy,
    output logic almost_full,
    output logic wr_ack,
    input logic rd_en,
    output logic [READ_DATA_WIDTH-1:0] dout,
    output logic empty,
    output logic prog_empty,
    output logic [RD_DATA_COUNT_WIDTH-1:0] rd_data_count,
    output logic underflow,
    output logic rd_rst_busy,
    output logic almost_empty,
    output logic data_valid,
    input logic injectsbiterr,
    input logic injectdbiterr,
    output logic sbiterr,
    output logic dbiterr
);
  isthmus_fifo #(
      .DEPTH(FIFO_WRITE_DEPTH),
      .WRITE_WIDTH(WRITE_DATA_WIDTH),
      .READ_WIDTH(READ_DATA_WIDTH),
      .WRITE_COUNT_WIDTH(WR_DATA_COUNT_WIDTH),
      .READ_COUNT_WIDTH(RD_DATA_COUNT_WIDTH),
      .PROG_FULL(PROG_FULL_THRESH),
      .PROG_EMPTY(PROG_EMPTY_THRESH),
      .FALLS_THROUGH(READ_MODE == "fwft"),
      .LATENCY(FIFO_READ_LATENCY),
      .STAGES(0)
  ) fifo (
      .rd_clk(wr_clk),
      .*
  );
  assign {sbiterr, dbiterr} = '0;
endmodule
