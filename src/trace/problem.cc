// What a problem must satisfy before it is computed. Every refusal names the matrix, both values
// and, for a problem from a file, the line.
#include "heed/problem.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "base/checks.h"
#include "trace/format.h"
#include "trace/limits.h"
#include "trace/names.h"

namespace heed::explain {
namespace {

class Validator {
 public:
  explicit Validator(const Problem& problem) : p_(problem) {}

  void run() {
    require(!p_.sequences.empty(), "problem: has no tokens; give x, or q and k, or tokens");
    require(p_.heads > 0 && p_.kv_heads > 0, "heads: is 0, expected at least 1", line("heads"));
    require(p_.heads % p_.kv_heads == 0, "kv_heads: ", p_.heads, " heads are not a multiple of ",
            p_.kv_heads, " key/value heads", line("kv_heads"));
    const bool projects = !p_.sequences.front().x.empty();
    if (projects) weights();
    for (std::size_t b = 0; b < p_.sequences.size(); ++b) sequence(b, projects);
    output();
    options();
    total();
  }

 private:
  std::string line(const std::string& name) const {
    const auto found = p_.lines.find(name);
    return found == p_.lines.end() ? "" : " (line " + std::to_string(found->second) + ")";
  }

  void count(const std::string& name, std::size_t have, std::size_t expected,
             std::string_view of) const {
    require(have == expected, name, ": there are ", have, ", expected ", expected, ", one per ", of,
            line(name));
  }

  // [rows, cols], either 0 for "any".
  void shape(const std::string& name, const Matrix& m, std::size_t rows, std::string_view rows_of,
             std::size_t cols, std::string_view cols_of) const {
    require(!m.empty(), name, ": is empty", line(name));
    require(m.rows * m.cols == m.values.size(), name, ": is ", m.rows, " by ", m.cols, " but has ",
            m.values.size(), " values", line(name));
    require(rows == 0 || m.rows == rows, name, ": has ", m.rows, m.rows == 1 ? " row" : " rows",
            ", expected ", rows, ", ", rows_of, line(name));
    require(cols == 0 || m.cols == cols, name, ": has ", m.cols,
            m.cols == 1 ? " column" : " columns", ", expected ", cols, ", ", cols_of, line(name));
  }

  void biases(const std::string& id, const std::vector<Matrix>& b, std::size_t heads,
              std::size_t cols) const {
    if (b.empty()) return;
    count(id, b.size(), heads, "head");
    for (std::size_t h = 0; h < heads; ++h)
      shape(head_name(id, h, heads), b[h], 1, "a bias is one row", cols, "the columns of its W");
  }

  void weights() const {
    const bool values = p_.values == Problem::Values::projected;
    count("W_Q", p_.w_q.size(), p_.heads, "head");
    count("W_K", p_.w_k.size(), p_.kv_heads, "key/value head");
    if (values) count("W_V", p_.w_v.size(), p_.kv_heads, "key/value head");
    const std::size_t m = p_.w_q.front().cols;
    for (std::size_t h = 0; h < p_.heads; ++h)
      shape(head_name("W_Q", h, p_.heads), p_.w_q[h], 0, "", m, "like head 1");
    for (std::size_t g = 0; g < p_.kv_heads; ++g)
      shape(head_name("W_K", g, p_.kv_heads), p_.w_k[g], p_.w_k.front().rows, "like head 1", m,
            "like W_Q: a query and a key are multiplied");
    for (std::size_t g = 0; g < p_.w_v.size(); ++g)
      shape(head_name("W_V", g, p_.kv_heads), p_.w_v[g], p_.w_k.front().rows,
            "like W_K: both multiply the same rows", p_.w_v.front().cols, "like head 1");
    biases("b_Q", p_.b_q, p_.heads, m);
    biases("b_K", p_.b_k, p_.kv_heads, m);
    biases("b_V", p_.b_v, p_.kv_heads, p_.w_v.empty() ? 0 : p_.w_v.front().cols);
  }

  void sequence(std::size_t b, bool projects) const {
    const Sequence& s = p_.sequences[b];
    const std::size_t batch = p_.sequences.size();
    const auto name = [&](std::string_view id) { return batch_name(id, b, batch); };
    require(s.x.empty() != s.q.empty(), name("X"),
            s.x.empty() ? ": is missing; give x, or q and k" : ": given together with q and k",
            line(name("X")));
    require(s.x.empty() != projects, name("X"), ": every sequence needs the same kind of input",
            line(name("X")));
    std::size_t n_q = 0, n_k = 0;
    if (projects) {
      shape(name("X"), s.x, 0, "", p_.w_q.front().rows, "the rows of W_Q");
      const Matrix& source = s.context.empty() ? s.x : s.context;
      shape(name(s.context.empty() ? "X" : "X_KV"), source, 0, "", p_.w_k.front().rows,
            "the rows of W_K");
      n_q = s.x.rows;
      n_k = source.rows;
    } else {
      given(s, name, n_q, n_k);
    }
    tokens(s, name, n_q, n_k);
    scores(name("mask"), s.mask, n_q, n_k);
    scores(name("bias"), s.bias, n_q, n_k);
    for (const double value : s.mask.values)
      require(value == 0 || value == 1, name("mask"), ": holds ", shortest(value),
              ", expected 1 (attend) or 0 (hidden)", line(name("mask")));
    require(s.key_length.value_or(0) <= n_k, name("key_length"), ": is ", s.key_length.value_or(0),
            " but there are ", n_k, " keys", line(name("key_length")));
  }

  template <class Name>
  void given(const Sequence& s, const Name& name, std::size_t& n_q, std::size_t& n_k) const {
    count(name("Q"), s.q.size(), p_.heads, "head");
    count(name("K"), s.k.size(), p_.kv_heads, "key/value head");
    require(s.context.empty(), name("X_KV"), ": a context needs x, not q and k",
            line(name("X_KV")));
    require(p_.w_q.empty() && p_.w_k.empty() && p_.w_v.empty(),
            "W_Q: weights need x, but q and k are given", line("W_Q"));
    if (p_.values == Problem::Values::projected)
      count(name("V"), s.v.size(), p_.kv_heads, "key/value head");
    n_q = s.q.front().rows;
    n_k = s.k.front().rows;
    const std::size_t m = p_.sequences.front().q.front().cols;
    for (std::size_t h = 0; h < s.q.size(); ++h)
      shape(head_name(name("Q"), h, p_.heads), s.q[h], n_q, "like head 1", m, "like the first Q");
    for (std::size_t g = 0; g < s.k.size(); ++g)
      shape(head_name(name("K"), g, p_.kv_heads), s.k[g], n_k, "like head 1", m,
            "the columns of Q: a query and a key are multiplied");
    for (std::size_t g = 0; g < s.v.size(); ++g)
      shape(head_name(name("V"), g, p_.kv_heads), s.v[g], n_k, "one per key",
            p_.sequences.front().v.front().cols, "like the first V");
  }

  template <class Name>
  void tokens(const Sequence& s, const Name& name, std::size_t n_q, std::size_t n_k) const {
    const bool cross = !s.context.empty() || n_q != n_k || !s.context_tokens.empty();
    require(s.tokens.empty() || s.tokens.size() == n_q, name("tokens"), ": there are ",
            s.tokens.size(), " for ", n_q, " queries", line(name("tokens")));
    require(s.context_tokens.empty() || s.context_tokens.size() == n_k, name("context_tokens"),
            ": there are ", s.context_tokens.size(), " for ", n_k, " keys",
            line(name("context_tokens")));
    require(cross || n_q == n_k, name("tokens"), ": ", n_q, " queries but ", n_k, " keys");
  }

  void scores(const std::string& name, const Matrix& m, std::size_t n_q, std::size_t n_k) const {
    if (m.empty()) return;
    shape(name, m, m.rows == 1 ? 1 : n_q, "one per query", n_k, "one per key");
  }

  void output() const {
    if (p_.w_o.empty()) {
      require(p_.b_o.empty(), "b_O: given without W_O", line("b_O"));
      return;
    }
    require(p_.values != Problem::Values::none, "W_O: there are no values to multiply",
            line("W_O"));
    const Sequence& s = p_.sequences.front();
    const std::size_t l = p_.values == Problem::Values::keys
                              ? (s.k.empty() ? p_.w_k.front().cols : s.k.front().cols)
                              : (s.v.empty() ? p_.w_v.front().cols : s.v.front().cols);
    shape("W_O", p_.w_o, p_.heads * l, "heads times the columns of V", 0, "");
    if (!p_.b_o.empty())
      shape("b_O", p_.b_o, 1, "a bias is one row", p_.w_o.cols, "the columns of W_O");
  }

  void options() const {
    if (p_.scale)
      require(std::isfinite(*p_.scale), "scale: is ", shortest(*p_.scale),
              ", expected a finite number", line("scale"));
    if (p_.softcap)
      require(std::isfinite(*p_.softcap) && *p_.softcap > 0, "softcap: is ", shortest(*p_.softcap),
              ", expected a finite number above 0", line("softcap"));
    for (const auto& [name, value] :
         {std::pair("window_left", p_.window_left), std::pair("window_right", p_.window_right)})
      require(value.value_or(0) >= 0, name, ": is ", value.value_or(0), ", expected at least 0",
              line(name));
    require(p_.alibi_slopes.empty() || p_.alibi_slopes.size() == p_.heads,
            "alibi_slopes: there are ", p_.alibi_slopes.size(), " for ", p_.heads, " heads",
            line("alibi_slopes"));
    require(p_.sinks.empty() || p_.sinks.size() == p_.heads, "sinks: there are ", p_.sinks.size(),
            " for ", p_.heads, " heads", line("sinks"));
  }

  // All the numbers the trace will hold, before the first is computed.
  void total() const {
    double numbers = 0;
    for (const Sequence& s : p_.sequences) {
      const double n_q = static_cast<double>(s.x.empty() ? s.q.front().rows : s.x.rows);
      const Matrix& keys = !s.k.empty() ? s.k.front() : s.context.empty() ? s.x : s.context;
      const double n_k = static_cast<double>(keys.rows);
      numbers += static_cast<double>(p_.heads) * 6 * n_q * n_k;  // S, Z, capped, biased, M, A
    }
    require(numbers <= kMostNumbers, "problem: its score matrices would hold ",
            with_commas(static_cast<std::size_t>(numbers)), " numbers, more than the ",
            with_commas(static_cast<std::size_t>(kMostNumbers)),
            " that can be shown entry by entry");
  }

  const Problem& p_;
};

}  // namespace

std::string describe(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::typed: return "typed";
    case Origin::Kind::imported: return "imported";
    case Origin::Kind::generated: break;
  }
  return "generated (seed " + std::to_string(origin.seed) + "), not learned";
}

void validate(const Problem& problem) {
  Validator(problem).run();
}

std::string head_name(std::string_view id, std::size_t head, std::size_t heads) {
  return std::string(id) + (heads > 1 ? " of head " + std::to_string(head + 1) : "");
}

std::string batch_name(std::string_view id, std::size_t batch, std::size_t batches) {
  return std::string(id) + (batches > 1 ? " of batch row " + std::to_string(batch + 1) : "");
}

}  // namespace heed::explain
