/* The interface of a plug-in: a kernel of your own for an emulated card behind XRT. Build it as a
 * shared object NAME.so, put it into a folder that `isthmus card exec --kernels FOLDER` names, and
 * describe NAME in the xclbin.
 *
 *   g++ -shared -fPIC -I "$(isthmus card include)" scale.cpp -o kernels/scale.so
 */
#ifndef ISTHMUS_CARD_KERNEL_PLUGIN_H
#define ISTHMUS_CARD_KERNEL_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_KERNEL_ABI 12

/* A word of a stream: data, with the same width at both ends, and sideband signals. The sideband
 * begins with a byte for TLAST; TKEEP, TSTRB, TUSER, TID and TDEST follow as in ap_axi_sdata.h. The
 * card copies only sideband bytes that both ends have. */
struct isthmus_stream_word {
  void* data;
  uint64_t data_bytes;
  void* sideband;
  uint64_t sideband_bytes;
};

/* C has no narrower enumerations. NOLINTBEGIN(performance-enum-size) */
enum isthmus_stream_wait {
  ISTHMUS_STREAM_WAIT, /* waits for data, or for room */
  ISTHMUS_STREAM_TRY,  /* fails without data, or room */
  ISTHMUS_STREAM_LOOK, /* same as TRY, but moves no word */
  /* Since version 4, for code that asks at each clock: same as LOOK, but fails also if data or room
   * come later than `cycles`. */
  ISTHMUS_STREAM_THIS_CLOCK
};

enum isthmus_stream_answer {
  ISTHMUS_STREAM_DONE,
  ISTHMUS_STREAM_NOT_NOW,
  ISTHMUS_STREAM_FAILED /* the kernel must return a value other than 0 */
};

enum isthmus_computing {
  ISTHMUS_COMPUTING_BY_CYCLES, /* `cycles` is the computing time; 0: unknown */
  ISTHMUS_COMPUTING_UNKNOWN,   /* `cycles` contains only reads, writes and words */
  ISTHMUS_COMPUTING_KNOWN,     /* `cycles` is the computing time, even if it is 0 */
  ISTHMUS_COMPUTING_ESTIMATED  /* since version 7: `phase` gave an estimate of cycles */
};
/* NOLINTEND(performance-enum-size) */

/* One run of a kernel. The plug-in's function may change only the fields marked as answers. */
struct isthmus_kernel_run {
  uint32_t abi; /* ISTHMUS_KERNEL_ABI of the card */
  const char* kernel;
  const char* instance;
  double clock_hz; /* of the board's kernels */

  /* Arguments as XRT wrote them, at the offsets that the xclbin gives. The function may write
   * results here, which the program reads as registers. */
  uint8_t* registers;
  uint64_t register_bytes;

  /* `read` and `write` access memory of the card, or of the host for a host_only buffer, and return
   * 0 on success. The board's model computes the time of each access. */
  void* card;
  int (*read)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*write)(void* card, uint64_t address, const void* from, uint64_t bytes);

  /* Answers. */
  uint64_t cycles; /* of the logic; it overlaps with memory, and the longer counts */
  char error[256]; /* why the function returned other than 0 */

  /* Since version 2, for code that works on a copy of a buffer and counts its accesses. `bytes_at`
   * returns how many bytes of its buffer lie from an address on; 0 outside of buffers. `load` and
   * `store` read and write without time and warnings. `moved` reports bytes that the code counted,
   * whose time the card then adds. */
  uint64_t (*bytes_at)(void* card, uint64_t address);
  int (*load)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*store)(void* card, uint64_t address, const void* from, uint64_t bytes);
  int (*moved)(void* card, uint64_t address, uint64_t bytes, int written);
  double memory_latency_s; /* of the card's memory, for code that waits for single accesses */

  /* Since version 3: read or write a word of the stream at argument number `argument`, from 0.
   * `cycles` are the clocks of the logic since the start of this run, without waits. `wait` is an
   * isthmus_stream_wait: ISTHMUS_STREAM_WAIT returns once another kernel has written, or read. */
  int (*stream_read)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                     uint64_t cycles, int wait);
  int (*stream_write)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                      uint64_t cycles, int wait);

  /* Since version 4: waits until one of `count` arguments has data, or room. If `cycles` is less
   * than in the previous call, the difference counts as waiting. */
  int (*stream_wait)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);

  /* Since version 5: same as `stream_wait`, for code that computes meanwhile. Returns
   * ISTHMUS_STREAM_NOT_NOW if nothing else can go on: the code then computes further. */
  int (*stream_look)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);
  /* Ends the run after `cycles`; its registers and memory are then final. If `done` returns
   * ISTHMUS_STREAM_DONE, the function may move further words, until a call returns
   * ISTHMUS_STREAM_FAILED. Otherwise the function must return. */
  int (*done)(void* card, uint64_t cycles);
  /* Warns that the kernel does something wrong. `does` is a text like "lowers out_tvalid ...",
   * without the kernel's name. Only the first warning contains `where`. */
  int (*warn)(void* card, const char* does, const char* where);

  /* An answer, since version 6: what `cycles` contains, one of isthmus_computing. */
  uint32_t computing;

  /* Since version 7: ends a phase of the run, which takes an estimated `cycles`, at least `least`
   * and at most `most`. The bytes that `moved` has reported since the previous phase move
   * meanwhile. */
  int (*phase)(void* card, double least, double cycles, double most);
  /* An answer: what bounds the estimate, such as "its loop at line 41, II 7: floating-point sum";
   * empty if unknown. */
  char bound[200];

  /* Since version 8, for code that works on a copy of a buffer. Sets `*is_written` to 1 if the byte
   * at `address` was written since the buffer was made, else to 0. Returns for how many bytes from
   * there on the answer is the same. */
  uint64_t (*written)(void* card, uint64_t address, uint64_t bytes, int* is_written);
  /* Warns that the kernel read a byte of a buffer that nothing has written. */
  int (*reads_unwritten)(void* card, uint64_t address);

  /* Since version 9: same as `phase`, for a phase that ran `times` times, one after the other. The
   * cycles are those of all runs together, the bytes of `moved` those of one run. */
  int (*phases)(void* card, uint64_t times, double least, double cycles, double most);

  /* Answers of versions 10 and 11, which the card no longer reads: see `change`. */
  uint32_t unused_sums;
  double unused_cycles;

  /* Since version 11, for code that works on a copy of a buffer: reports that the run has read the
   * buffer within the `bytes` from `address` on. Called once for each range. */
  int (*read_between)(void* card, uint64_t address, uint64_t bytes);

  /* Since version 12, both null if nobody asks: begins to describe the run with a change of the
   * source, such as `count` "partial sums" of the variable `name`. Each call of `changed_phases`
   * then adds a phase, as `phases` does for the actual run. */
  int (*change)(void* card, const char* kind, const char* name, uint64_t count);
  int (*changed_phases)(void* card, uint64_t times, double cycles);
  /* Same as `store`, for bytes of which the run has written only some. Since version 12. */
  int (*store_around)(void* card, uint64_t address, const void* from, uint64_t bytes);
};

/* Returned by a plug-in if an argument that was never set led to an access outside of memory;
 * `error` names the argument. */
#define ISTHMUS_UNSET_ARGUMENT 2

/* Does all work of a run, and returns 0 if that succeeded. The plug-in defines this function. */
int isthmus_kernel(struct isthmus_kernel_run* run);

#ifdef __cplusplus
}
#endif
#endif
