// Products with weight matrices: c = a W + bias in f32, any number of them in one parallel run.
//
// Each c_ij is one chain of multiply-adds over the rows of W in order, then the bias. Tiles,
// threads and the way W is stored decide only when a chain is continued, never its order, so none
// of them changes a bit; nor does it matter which other rows are multiplied.
#pragma once

#include <cstddef>
#include <span>

#include "heed/dtype.h"
#include "kernels/targets.h"

namespace heed::kernels {

// W [in, out], f32, f16 or bf16; in and out at least 1.
struct Weight {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::size_t in = 0, out = 0;
  bool packed = false;                           // as pack() writes it; else strided, in elements:
  std::ptrdiff_t in_stride = 0, out_stride = 0;  // every task then packs its panels anew
};

// pack() writes [panels][in][panel_width] of W's dtype, the last panel filled up with 0.
std::size_t panel_width(Target target);
std::size_t packed_columns(Target target, std::size_t out);  // out, up to whole panels
void pack(Target target, const Weight& from, void* to);      // packed_columns * in elements

// c [rows, W.out] = a [rows, W.in] W + bias. Rows are `stride` elements apart.
struct Product {
  const void* a = nullptr;
  DType a_dtype = DType::f32;
  std::ptrdiff_t a_stride = 0;
  std::size_t rows = 0;
  Weight w;
  const float* bias = nullptr;  // packed_columns of them; none: 0
  void* c = nullptr;
  DType c_dtype = DType::f32;
  std::ptrdiff_t c_stride = 0;

  std::size_t first_task = 0;  // set by multiply()
};

// Runs all products; no two may write the same place. `scratch` holds kProductScratch floats for
// each thread.
extern const std::size_t kProductScratch;
void multiply(Target target, std::span<Product> products, std::size_t threads, float* scratch);

}  // namespace heed::kernels
