// The steps as functions of matrices, sums in index order: what a step gives for any inputs, such
// as those a hand-worked solution has. With the trace's own inputs they give the trace's values.
#pragma once

#include <optional>
#include <vector>

#include "heed/trace.h"

namespace heed::explain {

// a [n, k] times b [k, m] plus the row `bias` where there is one.
Matrix multiply(const Matrix& a, const Matrix& b, const Matrix* bias = nullptr);
Matrix transpose(const Matrix& a);
Matrix concatenate(const std::vector<const Matrix*>& heads);  // side by side

// The softmax of one row over its visible keys, every part kept; `sink` adds to the sum.
SoftmaxRow softmax_of(std::vector<double> z, std::vector<bool> visible, std::optional<double> sink);

// What `node` gives when its inputs are `inputs`, in the order of Trace::input (for concat: the O
// of every head).
Matrix evaluate(const Trace& trace, const Node& node, const std::vector<const Matrix*>& inputs);

// Keys that query i sees.
std::vector<bool> visible_keys(const Trace& trace, std::size_t batch, std::size_t i,
                               std::size_t n_k);

// How many inputs Trace::input resolves: the heads of a concat, else those of the node.
std::size_t input_count(const Trace& trace, const Node& node);

// What ALiBi takes from the score of query i and key j: slope * |i + offset - j|.
double alibi(const Trace& trace, const Node& node, std::size_t i, std::size_t j);

}  // namespace heed::explain
