/* A kernel of your own for an emulated card behind XRT: build this as a shared object NAME.so, put
 * it into a folder that `isthmus card exec --kernels FOLDER` names, and describe NAME in the
 * xclbin.
 *
 *   g++ -shared -fPIC -I "$(isthmus card include)" scale.cpp -o kernels/scale.so
 */
#ifndef ISTHMUS_CARD_KERNEL_PLUGIN_H
#define ISTHMUS_CARD_KERNEL_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_KERNEL_ABI 11

/* A word of a stream: data, which have the same width on both sides, and sideband signals. TLAST is
 * the first byte of these, then come TKEEP, TSTRB, TUSER, TID and TDEST as in ap_axi_sdata.h. The
 * card copies the sideband bytes that both sides have. */
struct isthmus_stream_word {
  void* data;
  uint64_t data_bytes;
  void* sideband;
  uint64_t sideband_bytes;
};

/* C has no narrower enumerations. NOLINTBEGIN(performance-enum-size) */
enum isthmus_stream_wait {
  ISTHMUS_STREAM_WAIT, /* until there are data, or room */
  ISTHMUS_STREAM_TRY,  /* fails without data, or room */
  ISTHMUS_STREAM_LOOK, /* as TRY, but moves no word */
  /* Since version 4, for code that asks at each clock: as LOOK, but fails also if data or room come
   * later than `cycles`. */
  ISTHMUS_STREAM_THIS_CLOCK
};

enum isthmus_stream_answer {
  ISTHMUS_STREAM_DONE,
  ISTHMUS_STREAM_NOT_NOW,
  ISTHMUS_STREAM_FAILED /* the kernel must return, and not 0 */
};

enum isthmus_computing {
  ISTHMUS_COMPUTING_BY_CYCLES, /* `cycles` is what the kernel computes; 0: nobody knows */
  ISTHMUS_COMPUTING_UNKNOWN,   /* `cycles` is only what its reads, writes and words take */
  ISTHMUS_COMPUTING_KNOWN,     /* `cycles` is what the kernel computes, also where it is 0 */
  ISTHMUS_COMPUTING_ESTIMATED  /* since version 7: `phase` has told an estimate of its cycles */
};
/* NOLINTEND(performance-enum-size) */

/* One run of a kernel. The function changes only fields that are marked as answers. */
struct isthmus_kernel_run {
  uint32_t abi; /* ISTHMUS_KERNEL_ABI of the card */
  const char* kernel;
  const char* instance;
  double clock_hz; /* of the board's kernels */

  /* Arguments as XRT wrote them, at the offsets of the xclbin. The function may write results here:
   * the program reads them as registers. */
  uint8_t* registers;
  uint64_t register_bytes;

  /* Access memory of the card, or of the host for a host_only buffer; return 0 on success. The
   * board's model computes the time of each access. */
  void* card;
  int (*read)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*write)(void* card, uint64_t address, const void* from, uint64_t bytes);

  /* Answers. */
  uint64_t cycles; /* of the logic; memory works at the same time, and the longer counts */
  char error[256]; /* why it returned other than 0 */

  /* Since version 2, for code that works on a copy of a buffer and counts its accesses. `bytes_at`
   * returns the bytes of a buffer from an address on, 0 without a buffer. `load` and `store` are
   * `read` and `write` without time and warnings. `moved` reports the counted bytes instead. */
  uint64_t (*bytes_at)(void* card, uint64_t address);
  int (*load)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*store)(void* card, uint64_t address, const void* from, uint64_t bytes);
  int (*moved)(void* card, uint64_t address, uint64_t bytes, int written);
  double memory_latency_s; /* of the card's memory, for code that waits for single accesses */

  /* Since version 3, streams. `argument`: number of the kernel's argument, from 0. `cycles`: clocks
   * of the logic since the start of this run, without waits. The call returns once another kernel
   * has written, or read. */
  int (*stream_read)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                     uint64_t cycles, int wait);
  int (*stream_write)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                      uint64_t cycles, int wait);

  /* Since version 4: waits until one of `count` arguments has data, or room. `cycles` may be less
   * than before: the difference counts as waiting. */
  int (*stream_wait)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);

  /* Since version 5: as `stream_wait`, for code that computes meanwhile. It returns
   * ISTHMUS_STREAM_NOT_NOW if nothing else can go on: then the code computes further. */
  int (*stream_look)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);
  /* Ends the run after `cycles`; its registers and memory are final. If it returns
   * ISTHMUS_STREAM_DONE, the function may move further words, until a call returns
   * ISTHMUS_STREAM_FAILED. Otherwise the function must return. */
  int (*done)(void* card, uint64_t cycles);
  /* Warns that the kernel does something wrong. `does`: such as "lowers out_tvalid ...", without
   * the kernel's name. `where` is part of the first warning only. */
  int (*warn)(void* card, const char* does, const char* where);

  /* An answer, since version 6: one of isthmus_computing. */
  uint32_t computing;

  /* Since version 7: ends a part of the run, which takes `cycles` by an estimate, from `least` to
   * `most`. The bytes that `moved` has reported since the last part move at the same time. */
  int (*phase)(void* card, double least, double cycles, double most);
  /* An answer: what bounds the estimate, such as "its loop at line 41, II 7: floating-point sum";
   * empty if unknown. */
  char bound[200];

  /* Since version 8, for code that works on a copy of a buffer. Sets `is_written`: whether the byte
   * at `address` was written since the buffer was made. Returns for how many of the bytes from
   * there on that is the same. */
  uint64_t (*written)(void* card, uint64_t address, uint64_t bytes, int* is_written);
  /* Warns that the kernel read a byte of the buffer that was never written. */
  int (*reads_unwritten)(void* card, uint64_t address);

  /* Since version 9: `phase` for a part that ran `times` times, one after the other. The cycles are
   * those of all runs together, the bytes of `moved` those of one run. */
  int (*phases)(void* card, uint64_t times, double least, double cycles, double most);

  /* Answers, since version 10: this number of partial sums in the loop of `bound` would save this
   * number of cycles; 0: partial sums save none. */
  uint32_t partial_sums;
  double spared_cycles;

  /* Since version 11, for code that works on a copy of a buffer: between which addresses the run
   * has read it, once for each range. */
  int (*read_between)(void* card, uint64_t address, uint64_t bytes);
};

/* A plug-in returns this if an argument that was never set led to an access out of memory; `error`
 * names the argument. */
#define ISTHMUS_UNSET_ARGUMENT 2

/* The plug-in defines this function. It does all work of a run, and returns 0. */
int isthmus_kernel(struct isthmus_kernel_run* run);

#ifdef __cplusplus
}
#endif
#endif
