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

/* A word of a stream to or from another kernel: data, as wide on both sides, and what accompanies
 * them: TLAST in the first byte, then TKEEP, TSTRB, TUSER, TID and TDEST as ap_axi_sdata.h has
 * them. Of that as much is copied as both sides have. */
struct isthmus_stream_word {
  void* data;
  uint64_t data_bytes;
  void* sideband;
  uint64_t sideband_bytes;
};

/* C has no narrower enumerations. NOLINTBEGIN(performance-enum-size) */
enum isthmus_stream_wait {
  ISTHMUS_STREAM_WAIT, /* until there are data, or room */
  ISTHMUS_STREAM_TRY,  /* in vain where there are none */
  ISTHMUS_STREAM_LOOK, /* the same, and nothing is moved */
  /* Since version 4, for code that asks at each clock: the same, and in vain, too, where they come
   * later than at `cycles`. */
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

/* One run of a kernel. What is not marked as an answer must not be changed. */
struct isthmus_kernel_run {
  uint32_t abi; /* ISTHMUS_KERNEL_ABI of the card */
  const char* kernel;
  const char* instance;
  double clock_hz; /* of the board's kernels */

  /* Arguments as XRT wrote them, at the offsets that the xclbin gives them. Results may be written
   * back: the program reads them as registers. */
  uint8_t* registers;
  uint64_t register_bytes;

  /* Memory of the card, or of the host where a buffer is host_only: 0 when it was done. What is
   * read and written here is timed by the board's model. */
  void* card;
  int (*read)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*write)(void* card, uint64_t address, const void* from, uint64_t bytes);

  /* Answers. */
  uint64_t cycles; /* what the logic takes, beside memory: the longer of both counts */
  char error[256]; /* why it returned other than 0 */

  /* Since version 2, for code that has pointers: a copy of a buffer, whose accesses it counts.
   * `bytes_at` is what a buffer has from an address on, 0 where there is none; `load` and `store`
   * are `read` and `write` that take no time and warn of nothing, `moved` tells how many bytes they
   * stand for. */
  uint64_t (*bytes_at)(void* card, uint64_t address);
  int (*load)(void* card, uint64_t address, void* to, uint64_t bytes);
  int (*store)(void* card, uint64_t address, const void* from, uint64_t bytes);
  int (*moved)(void* card, uint64_t address, uint64_t bytes, int written);
  double memory_latency_s; /* of the card's memory, for code that waits for single accesses */

  /* Since version 3, streams: `argument` is the number of the kernel's argument, from 0; `cycles`
   * what the logic has taken since the start of this run, without waits. The function stops within
   * such a call until another kernel has written, or read. */
  int (*stream_read)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                     uint64_t cycles, int wait);
  int (*stream_write)(void* card, uint32_t argument, const struct isthmus_stream_word* word,
                      uint64_t cycles, int wait);

  /* Since version 4: waits until one of `count` arguments has data, or room. `cycles` may be less
   * than before: what it asked in vain at each clock counts as waiting. */
  int (*stream_wait)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);

  /* Since version 5. For code that computes meanwhile: the same, but ISTHMUS_STREAM_NOT_NOW when
   * nothing else can go on, and it should compute further. */
  int (*stream_look)(void* card, const uint32_t* arguments, uint64_t count, uint64_t cycles);
  /* The run is over after so many cycles, and its registers and memory are as it left them. With
   * the answer ISTHMUS_STREAM_DONE the function may go on to move words of streams, until a call
   * answers ISTHMUS_STREAM_FAILED; with any other it returns now. */
  int (*done)(void* card, uint64_t cycles);
  /* Tells the user what the kernel does wrong, such as "lowers out_tvalid ...", without its name;
   * `where` is added, and said for the first time alone. */
  int (*warn)(void* card, const char* does, const char* where);

  /* An answer, since version 6: one of isthmus_computing. */
  uint32_t computing;

  /* Since version 7. A part of the run is over, which is `cycles` by an estimate, from `least` to
   * `most`. Beside it went what `moved` has told since the part before. */
  int (*phase)(void* card, double least, double cycles, double most);
  /* An answer: what bounds the estimate, such as "its loop at line 41, II 7: floating-point sum";
   * empty where nobody knows. */
  char bound[200];

  /* Since version 8, for code that works on a copy of a buffer. Returns how many of the bytes from
   * an address on are alike: all written since the buffer was made, or none. `is_written` says
   * which. */
  uint64_t (*written)(void* card, uint64_t address, uint64_t bytes, int* is_written);
  /* Tells the user that the kernel read a byte of the buffer that nobody wrote. */
  int (*reads_unwritten)(void* card, uint64_t address);

  /* Since version 9: `phase` of a part that came `times`, one after the other. The cycles are those
   * of all together, `moved` has told what went beside it once. */
  int (*phases)(void* card, uint64_t times, double least, double cycles, double most);

  /* Answers, since version 10: so many partial sums in the loop of `bound` would spare so many
   * cycles; 0 where they would not. */
  uint32_t partial_sums;
  double spared_cycles;

  /* Since version 11, for code that works on a copy of a buffer: between which addresses the run
   * has read it. */
  int (*read_between)(void* card, uint64_t address, uint64_t bytes);
};

/* What a plug-in may return: an argument that was never set led out of memory; `error` names it. */
#define ISTHMUS_UNSET_ARGUMENT 2

/* The plug-in defines this: does all of the kernel's work, returns 0. */
int isthmus_kernel(struct isthmus_kernel_run* run);

#ifdef __cplusplus
}
#endif
#endif
