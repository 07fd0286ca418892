// Replaces the FIFOs of AMD's XPM, with the same words, order, full and empty; it may be some
// clocks faster.
module isthmus_fifo #(
    parameter int DEPTH = 2048,
    parameter int WRITE_WIDTH = 32,
    parameter int READ_WIDTH = 32,
    parameter int WRITE_COUNT_WIDTH = 1,
    parameter int READ_COUNT_WIDTH = 1,
    parameter int PROG_FULL = 10,
    parameter int PROG_EMPTY = 10,
    parameter bit FALLS_THROUGH = 0,  // shows the first word before rd_en
    parameter int LATENCY = 1,        // else clocks from rd_en to the word
    parameter int STAGES = 0          // registers between two clocks
) (
    input  logic                         rst,
    input  logic                         wr_clk,
    input  logic                         wr_en,
    input  logic [      WRITE_WIDTH-1:0] din,
    output logic                         full,
    output logic                         almost_full,
    output logic                         prog_full,
    output logic [WRITE_COUNT_WIDTH-1:0] wr_data_count,
    output logic                         wr_ack,
    output logic                         overflow,
    output logic                         wr_rst_busy,
    input  logic                         rd_clk,
    input  logic                         rd_en,
    output logic [       READ_WIDTH-1:0] dout,
    output logic                         empty,
    output logic                         almost_empty,
    output logic                         prog_empty,
    output logic [ READ_COUNT_WIDTH-1:0] rd_data_count,
    output logic                         data_valid,
    output logic                         underflow,
    output logic                         rd_rst_busy
);
  if (WRITE_WIDTH != READ_WIDTH) begin : g_widths
    $error("a FIFO of XPM has one width here: WRITE_DATA_WIDTH and READ_DATA_WIDTH differ");
  end

  localparam int Bits = $clog2(DEPTH);
  localparam int Between = STAGES > 0 ? STAGES : 1;
  typedef logic [Bits:0] count_t;

  logic [WRITE_WIDTH-1:0] words[DEPTH];
  count_t written, taken;  // words so far, modulo twice DEPTH
  count_t written_there, taken_there;  // as the other clock knows them
  count_t written_on_its_way[Between];
  count_t taken_on_its_way[Between];
  count_t in_writing, in_reading;

  assign written_there = STAGES > 0 ? written_on_its_way[Between-1] : written;
  assign taken_there = STAGES > 0 ? taken_on_its_way[Between-1] : taken;
  assign in_writing = written - taken_there;
  assign in_reading = written_there - taken;

  assign full = wr_rst_busy || in_writing >= count_t'(DEPTH);
  assign almost_full = full || in_writing + 1 >= count_t'(DEPTH);
  assign prog_full = in_writing >= count_t'(PROG_FULL);
  assign wr_data_count = WRITE_COUNT_WIDTH'(in_writing);
  assign empty = rd_rst_busy || in_reading == 0;
  assign almost_empty = empty || in_reading == 1;
  assign prog_empty = in_reading <= count_t'(PROG_EMPTY);
  assign rd_data_count = READ_COUNT_WIDTH'(in_reading);

  always_ff @(posedge wr_clk) begin
    wr_rst_busy <= rst;
    wr_ack <= wr_en && !full;
    overflow <= wr_en && full;
    taken_on_its_way[0] <= taken;
    for (int n = 1; n < Between; ++n) taken_on_its_way[n] <= taken_on_its_way[n-1];
    if (wr_en && !full) begin
      words[written[Bits-1:0]] <= din;
      written <= written + 1;
    end
    if (rst) begin
      written <= '0;
      for (int n = 0; n < Between; ++n) taken_on_its_way[n] <= '0;
    end
  end

  always_ff @(posedge rd_clk) begin
    rd_rst_busy <= rst;
    underflow <= rd_en && empty;
    written_on_its_way[0] <= written;
    for (int n = 1; n < Between; ++n) written_on_its_way[n] <= written_on_its_way[n-1];
    if (rd_en && !empty) taken <= taken + 1;
    if (rst) begin
      taken <= '0;
      for (int n = 0; n < Between; ++n) written_on_its_way[n] <= '0;
    end
  end

  if (FALLS_THROUGH) begin : g_first_word
    assign dout = words[taken[Bits-1:0]];
    assign data_valid = !empty;
  end else begin : g_standard
    localparam int Last = LATENCY > 0 ? LATENCY - 1 : 0;
    logic [READ_WIDTH-1:0] read[Last+1];
    logic [Last:0] valid;
    assign dout = read[Last];
    assign data_valid = valid[Last];
    always_ff @(posedge rd_clk) begin
      valid[0] <= rd_en && !empty && !rst;
      if (rd_en && !empty) read[0] <= words[taken[Bits-1:0]];
      for (int n = 1; n <= Last; ++n) begin
        valid[n] <= valid[n-1] && !rst;
        if (valid[n-1]) read[n] <= read[n-1];
      end
    end
  end
endmodule
