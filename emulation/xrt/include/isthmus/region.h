/* Marks parts of a host program for `isthmus card exec --watch`: each mark begins a region, which
 * ends at the next mark. Without Isthmus the call does nothing; a program links no library. */
#ifndef ISTHMUS_REGION_H
#define ISTHMUS_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) void isthmus_region(const char* name);

#ifdef __cplusplus
}
#endif

#define ISTHMUS_REGION(name) \
  do {                       \
    if (isthmus_region) {    \
      isthmus_region(name);  \
    }                        \
  } while (0)

#endif
