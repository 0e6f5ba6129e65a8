#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/case_test.h"

namespace heed::kernels {
namespace {

using test::for_each_target;
using test::kNaN;
using test::Random;
using test::rounding;
using test::Stored;

enum class Order { in_out, out_in, packed };

// c = a W + bias with every operand in memory of its own; rows end in spare elements of NaN.
struct Case {
  std::size_t rows = 1, in = 1, out = 1;
  DType a_type = DType::f32, w_type = DType::f32, c_type = DType::f32;
  bool biased = false;

  Stored a, w, c;  // [rows, in], [in, out], [rows, out]
  std::vector<float> bias;

  Stored matrix(DType dtype, std::size_t r, std::size_t cols) const {
    Stored m;
    m.dtype = dtype;
    m.batch = m.heads = 1;
    m.tokens = r;
    m.dim = cols;
    m.gap = 3;
    return m;
  }
  void make(Random& random) {
    a = matrix(a_type, rows, in);
    w = matrix(w_type, in, out);
    a.fill([&] { return random.normal(); });
    w.fill([&] { return random.normal(); });
    bias.assign(biased ? out + 64 : 0, 0.0f);  // filled up to whole panels of any target
    for (std::size_t j = 0; biased && j < out; ++j) bias[j] = 10 * random.normal();
  }

  // The rows [first, first + count) of c, the weights as `order` says.
  Stored run(Order order, std::size_t threads, std::size_t first, std::size_t count) {
    const Target target = chosen_target();
    const TensorView from = w.view();
    Weight weight = {from.data, w_type, in, out, false, from.token_stride, 1};
    Stored turned = matrix(w_type, out, in);
    turned.allocate();
    for (std::size_t x = 0; x < in; ++x)
      for (std::size_t j = 0; j < out; ++j) turned.set(0, 0, j, x, w.get(0, 0, x, j));
    AlignedBuffer<std::byte> packed(in * packed_columns(target, out) * size_of(w_type));
    if (order == Order::packed) {
      pack(target, weight, packed.data());
      weight.packed = true;
      weight.data = packed.data();
    } else if (order == Order::out_in) {
      weight = {turned.view().data, w_type, in, out, false, 1, turned.view().token_stride};
    }
    Stored result = matrix(c_type, count, out);
    result.allocate();
    const TensorView av = a.view(), cv = result.view();
    Product product;
    product.a = static_cast<const std::byte*>(av.data) + first * a.row() * size_of(a_type);
    product.a_dtype = a_type;
    product.a_stride = av.token_stride;
    product.rows = count;
    product.w = weight;
    product.bias = biased ? bias.data() : nullptr;
    product.c = cv.data;
    product.c_dtype = c_type;
    product.c_stride = cv.token_stride;
    AlignedBuffer<float> scratch(kProductScratch * threads);
    multiply(target, {&product, 1}, threads, scratch.data());
    return result;
  }

  // A chain of `in` multiply-adds errs by at most in * eps times the sum of the products' sizes.
  void expect_close(const Stored& result) const {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < out; ++j) {
        double sum = biased ? static_cast<double>(bias[j]) : 0, size = std::abs(sum);
        for (std::size_t x = 0; x < in; ++x) {
          const double product =
              static_cast<double>(a.get(0, 0, i, x)) * static_cast<double>(w.get(0, 0, x, j));
          sum += product;
          size += std::abs(product);
        }
        const double bound = static_cast<double>(in + 2) * 0x1p-24 * size +
                             (c_type == DType::f32 ? 0 : std::abs(sum) * 1.01 * rounding(c_type));
        ASSERT_NEAR(result.get(0, 0, i, j), sum, bound + 0x1p-25)
            << *this << " at " << i << ',' << j;
      }
  }
  friend std::ostream& operator<<(std::ostream& to, const Case& given) {
    return to << '[' << given.rows << ", " << given.in << "] x [" << given.in << ", " << given.out
              << "] " << heed::name_of(given.a_type) << ' ' << heed::name_of(given.w_type) << ' '
              << heed::name_of(given.c_type) << (given.biased ? " + bias" : "");
  }
};

// Bit for bit, spare elements included.
void expect_same(const Stored& a, const Stored& b, const Case& c) {
  const auto alike = [](const auto& x, const auto& y) {
    return std::ranges::equal(std::as_bytes(std::span(x)), std::as_bytes(std::span(y)));
  };
  EXPECT_TRUE(alike(a.f32, b.f32)) << c;
  EXPECT_TRUE(alike(a.half, b.half)) << c;
  EXPECT_TRUE(alike(a.brain, b.brain)) << c;
}

TEST(KernelProduct, EdgeShapesInEveryOrderOfTheWeights) {
  for_each_target([](const std::string&) {
    Random random(1);
    for (const std::size_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 48, 49, 97})
      for (const std::size_t in : {1, 2, 31, 513})
        for (const std::size_t out : {1, 15, 16, 17, 63, 65, 130}) {
          if (rows * in * out > 400000) continue;
          Case c;
          c.rows = rows;
          c.in = in;
          c.out = out;
          c.biased = random.chance(0.5);
          c.make(random);
          const Stored result = c.run(Order::packed, 1, 0, rows);
          c.expect_close(result);
          expect_same(c.run(Order::in_out, 1, 0, rows), result, c);
          expect_same(c.run(Order::out_in, 1, 0, rows), result, c);
        }
  });
}

TEST(KernelProduct, EveryElementType) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};
  for_each_target([&](const std::string&) {
    Random random(2);
    for (const DType a : kTypes)
      for (const DType w : kTypes)
        for (const DType out : kTypes) {
          Case c;
          c.rows = 1 + random.below(60);
          c.in = 1 + random.below(700);
          c.out = 1 + random.below(100);
          c.a_type = a;
          c.w_type = w;
          c.c_type = out;
          c.biased = true;
          c.make(random);
          const Stored result = c.run(Order::packed, 1, 0, c.rows);
          c.expect_close(result);
          expect_same(c.run(Order::in_out, 2, 0, c.rows), result, c);
          expect_same(c.run(Order::out_in, 1, 0, c.rows), result, c);
        }
  });
}

TEST(KernelProduct, TheSameBitsForAnyThreadsAndForARowAlone) {
  for_each_target([](const std::string& target) {
    Random random(3);
    Case c;
    c.rows = 61;
    c.in = target == "SCALAR" ? 300 : 1100;
    c.out = 190;
    c.biased = true;
    c.make(random);
    const Stored result = c.run(Order::packed, 1, 0, c.rows);
    for (const std::size_t threads : {2, 3, 8})
      expect_same(c.run(Order::packed, threads, 0, c.rows), result, c);
    for (const std::size_t count : {1, 2, 3, 4, 5, 6, 7})
      for (std::size_t first = 0; first + count <= c.rows; first += 9) {
        const Stored some = c.run(Order::packed, 1, first, count);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t j = 0; j < c.out; ++j)
            ASSERT_EQ(some.get(0, 0, i, j), result.get(0, 0, first + i, j)) << count << " rows";
      }
  });
}

TEST(KernelProduct, ManyInOneRunAreEachAsAlone) {
  Random random(4);
  const Target target = chosen_target();
  std::vector<Case> cases(5);
  std::vector<Stored> results;
  std::vector<Product> products;
  results.reserve(cases.size());
  for (Case& c : cases) {
    c.rows = random.below(100);  // also none
    c.in = 1 + random.below(100);
    c.out = 1 + random.below(200);
    c.make(random);
    results.push_back(c.matrix(DType::f32, c.rows, c.out));
    results.back().allocate();
    const TensorView a = c.a.view(), w = c.w.view(), to = results.back().view();
    Product p;
    p.a = a.data;
    p.a_stride = a.token_stride;
    p.rows = c.rows;
    p.w = {w.data, DType::f32, c.in, c.out, false, w.token_stride, 1};
    p.c = to.data;
    p.c_stride = to.token_stride;
    products.push_back(p);
  }
  AlignedBuffer<float> scratch(kProductScratch * 2);
  multiply(target, products, 2, scratch.data());
  for (std::size_t n = 0; n < cases.size(); ++n)
    expect_same(results[n], cases[n].run(Order::in_out, 1, 0, cases[n].rows), cases[n]);
}

TEST(KernelProduct, NaNReachesItsRowAndNoOther) {
  Random random(5);
  Case c;
  c.rows = 13;
  c.in = 40;
  c.out = 33;
  c.make(random);
  c.a.set(0, 0, 5, 7, kNaN);
  const Stored result = c.run(Order::packed, 1, 0, c.rows);
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.out; ++j)
      EXPECT_EQ(std::isnan(result.get(0, 0, i, j)), i == 5) << i << ',' << j;
}

}  // namespace
}  // namespace heed::kernels
