// Sharing the columns of a problem out to heads.
#include "base/checks.h"
#include "heed/problem.h"
#include "trace/steps.h"

namespace heed::explain {
namespace {

// All heads side by side, then cut into `heads` parts of equal width.
void share_out(std::vector<Matrix>& matrices, std::size_t heads, std::string_view name) {
  if (matrices.empty()) return;
  std::vector<const Matrix*> parts;
  for (const Matrix& m : matrices) parts.push_back(&m);
  const Matrix whole = concatenate(parts);
  require(whole.cols % heads == 0, "heads: ", name, " has ", whole.cols,
          " columns, which cannot be shared out to ", heads, " heads");
  const std::size_t cols = whole.cols / heads;
  matrices.assign(heads, Matrix(whole.rows, cols));
  for (std::size_t i = 0; i < whole.rows; ++i)
    for (std::size_t j = 0; j < whole.cols; ++j) matrices[j / cols](i, j % cols) = whole(i, j);
}

}  // namespace

void set_heads(Problem& problem, std::size_t heads) {
  require(heads > 0, "heads: is 0, expected at least 1");
  require(problem.kv_heads == problem.heads, "heads: the problem has ", problem.kv_heads,
          " key/value heads for ", problem.heads, " heads, which cannot be shared out anew");
  share_out(problem.w_q, heads, "W_Q");
  share_out(problem.w_k, heads, "W_K");
  share_out(problem.w_v, heads, "W_V");
  share_out(problem.b_q, heads, "b_Q");
  share_out(problem.b_k, heads, "b_K");
  share_out(problem.b_v, heads, "b_V");
  for (Sequence& s : problem.sequences) {
    share_out(s.q, heads, "Q");
    share_out(s.k, heads, "K");
    share_out(s.v, heads, "V");
  }
  problem.heads = problem.kv_heads = heads;
}

}  // namespace heed::explain
