// Compiles the including file once per target. A kernel file begins so:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/prefill.cc"
//   #include "kernels/foreach_target.h"  // must come first
//   #include "kernels/simd-inl.h"
//
// and has its per-target code between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), in
// namespace heed::HWY_NAMESPACE; what exists once comes under #if HWY_ONCE.
//
// The facts about instruction sets:
//  - x86-64: scalar (always runs), SSE4, AVX2, AVX3 (AVX-512); aarch64: NEON; WebAssembly: SIMD128.
//  - Not compiled: SSSE3 (any such machine has SSE4), AVX3_DL (adds nothing that is used here), and
//    SVE and RVV, whose vectors have no size at compile time and so fit in no array of registers.
//  - ThreadSanitizer watches no load or store of more than 16 bytes: for it AVX2 and AVX3 are left
//    out, so that what runs is what it sees.
#if HEED_WITH_HIGHWAY
#ifndef HWY_DISABLED_TARGETS
#ifdef HEED_THREAD_SANITIZER
#define HEED_UNWATCHED_TARGETS (HWY_AVX2 | HWY_AVX3)
#else
#define HEED_UNWATCHED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                             \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   HEED_UNWATCHED_TARGETS)
#define HWY_BROKEN_EMU128 1  // the portable target is HWY_SCALAR with every compiler
#endif
#ifdef HWY_TARGET_INCLUDE
#include <hwy/foreach_target.h>
#endif
#endif
