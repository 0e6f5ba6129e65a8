// Problems drawn from a seed: the same numbers for the same seed, everywhere.
#include <cmath>
#include <limits>

#include "base/checks.h"
#include "heed/problem.h"
#include "trace/limits.h"

namespace heed::explain {
namespace {

constexpr std::size_t kSmallDim = 8;  // up to here numbers are meant to be worked with by hand

// The splitmix64 sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// FNV-1a.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

// For a small model halves from -1.5 to 1.5: products and their sums are then exact, in binary as
// in four decimals. For a large one four decimals of the size that `range` says.
double draw(Random& random, std::size_t dim, double range) {
  if (dim <= kSmallDim) return static_cast<double>(random.next() % 7) / 2 - 1.5;
  return std::round((2 * random.uniform() - 1) * range * 10000) / 10000;
}

Matrix weights(Random& random, std::size_t rows, std::size_t cols) {
  Matrix m(rows, cols);
  // The usual random initialisation: variance 1 / rows.
  const double range = std::sqrt(3.0 / static_cast<double>(rows));
  for (double& value : m.values) value = draw(random, rows, range);
  return m;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  std::vector<std::string> words;
  while (true) {
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return words;
    text.remove_prefix(first);
    const std::size_t size = std::min(text.find_first_of(kSpace), text.size());
    words.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

Matrix generate_embeddings(const std::vector<std::string>& tokens, std::size_t dim,
                           std::uint64_t seed) {
  require(!tokens.empty(), "generate: there are no tokens");
  require(dim > 0, "generate: the dimension is 0");
  require(static_cast<double>(tokens.size()) * static_cast<double>(dim) <= kMostNumbers,
          "generate: ", tokens.size(), " tokens of ", dim, " numbers are more than can be shown");
  Matrix x(tokens.size(), dim);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Random random(hash(tokens[i]) ^ seed * 0x9e3779b97f4a7c15u);
    for (std::size_t j = 0; j < dim; ++j) x(i, j) = draw(random, dim, 1);
  }
  return x;
}

Problem generate(const GenerateOptions& options) {
  const std::size_t dim = options.x ? options.x->cols : options.dim;
  const std::size_t count = options.x                ? options.x->rows
                            : options.tokens.empty() ? options.count
                                                     : options.tokens.size();
  require(count > 0, "generate: there are no tokens");
  require(dim > 0, "generate: the dimension is 0");
  require(options.heads > 0 && dim % options.heads == 0, "generate: dimension ", dim,
          " cannot be shared out to ", options.heads, " heads");
  require(4 * static_cast<double>(dim) * static_cast<double>(dim) <= kMostNumbers &&
              static_cast<double>(count) <= kMostNumbers,
          "generate: ", count, " tokens of dimension ", dim, " are more than can be shown");

  Problem p;
  p.heads = p.kv_heads = options.heads;
  p.weights = {Origin::Kind::generated, options.seed};
  Sequence s;
  s.tokens = options.tokens;
  if (options.x) {
    s.x = *options.x;
  } else {
    std::vector<std::string> names = options.tokens;
    for (std::size_t i = names.size(); i < count; ++i) names.push_back(std::to_string(i + 1));
    s.x = generate_embeddings(names, dim, options.seed);
    p.inputs = p.weights;
  }
  p.sequences = {std::move(s)};
  Random random(options.seed);
  const std::size_t size = dim / options.heads;
  for (std::size_t h = 0; h < options.heads; ++h) {
    p.w_q.push_back(weights(random, dim, size));
    p.w_k.push_back(weights(random, dim, size));
    p.w_v.push_back(weights(random, dim, size));
  }
  if (options.heads > 1) p.w_o = weights(random, dim, dim);
  return p;
}

}  // namespace heed::explain
