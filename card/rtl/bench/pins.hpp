// The pins of a verilated kernel, as pointers: one bench for every kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::card {

struct ControlPins {
  std::uint8_t *awvalid, *awready, *awaddr, *wvalid, *wready;
  std::uint32_t* wdata;
  std::uint8_t *wstrb, *bvalid, *bready, *arvalid, *arready, *araddr, *rvalid, *rready;
  std::uint32_t* rdata;
};

struct ReadPins {
  std::uint8_t *arvalid, *arready;
  std::uint64_t* araddr;
  std::uint8_t *arlen, *arsize, *arid, *rvalid, *rready;
  std::byte* rdata;
  std::uint8_t *rresp, *rlast;
};

struct WritePins {
  std::uint8_t *awvalid, *awready;
  std::uint64_t* awaddr;
  std::uint8_t *awlen, *awsize, *awid, *wvalid, *wready;
  std::byte* wdata;
  std::uint64_t* wstrb;
  std::uint8_t *wlast, *bvalid, *bready, *bresp;
};

struct StreamPins {
  std::uint8_t *tvalid, *tready;
  std::byte* tdata;
  std::uint32_t* tkeep;
  std::uint8_t* tlast;
};

}  // namespace isthmus::card

// A pin belongs to a class that Verilator made, so its name cannot be a value: hence macros.
#define ISTHMUS_CONTROL_PINS(m)                                                       \
  {&(m).s_axi_control_awvalid, &(m).s_axi_control_awready, &(m).s_axi_control_awaddr, \
   &(m).s_axi_control_wvalid,  &(m).s_axi_control_wready,  &(m).s_axi_control_wdata,  \
   &(m).s_axi_control_wstrb,   &(m).s_axi_control_bvalid,  &(m).s_axi_control_bready, \
   &(m).s_axi_control_arvalid, &(m).s_axi_control_arready, &(m).s_axi_control_araddr, \
   &(m).s_axi_control_rvalid,  &(m).s_axi_control_rready,  &(m).s_axi_control_rdata}
#define ISTHMUS_READ_PINS(m, name)                                \
  {&(m).m_axi_##name##_arvalid,                                   \
   &(m).m_axi_##name##_arready,                                   \
   &(m).m_axi_##name##_araddr,                                    \
   &(m).m_axi_##name##_arlen,                                     \
   &(m).m_axi_##name##_arsize,                                    \
   &(m).m_axi_##name##_arid,                                      \
   &(m).m_axi_##name##_rvalid,                                    \
   &(m).m_axi_##name##_rready,                                    \
   reinterpret_cast<std::byte*>((m).m_axi_##name##_rdata.data()), \
   &(m).m_axi_##name##_rresp,                                     \
   &(m).m_axi_##name##_rlast}
#define ISTHMUS_WRITE_PINS(m, name)                               \
  {&(m).m_axi_##name##_awvalid,                                   \
   &(m).m_axi_##name##_awready,                                   \
   &(m).m_axi_##name##_awaddr,                                    \
   &(m).m_axi_##name##_awlen,                                     \
   &(m).m_axi_##name##_awsize,                                    \
   &(m).m_axi_##name##_awid,                                      \
   &(m).m_axi_##name##_wvalid,                                    \
   &(m).m_axi_##name##_wready,                                    \
   reinterpret_cast<std::byte*>((m).m_axi_##name##_wdata.data()), \
   &(m).m_axi_##name##_wstrb,                                     \
   &(m).m_axi_##name##_wlast,                                     \
   &(m).m_axi_##name##_bvalid,                                    \
   &(m).m_axi_##name##_bready,                                    \
   &(m).m_axi_##name##_bresp}
#define ISTHMUS_STREAM_PINS(m, name)                                                              \
  {&(m).name##_tvalid, &(m).name##_tready, reinterpret_cast<std::byte*>((m).name##_tdata.data()), \
   &(m).name##_tkeep, &(m).name##_tlast}
