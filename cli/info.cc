// heed info: what is in a file of tensors, or in a problem file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "heed/error.h"
#include "heed/io.h"
#include "heed/problem.h"

namespace heed::cli {
namespace {

struct Row {
  std::string name;
  DType dtype = DType::f64;
  io::Shape shape;
  io::Summary summary;
};

struct Listing {
  std::string file, format;
  std::map<std::string, std::string> metadata;
  std::vector<Row> rows;
};

// ------------------------------------------------------------------------------ files of tensors

Listing list_tensors(const std::string& path, const io::TensorFile& file) {
  Listing listing{path, std::string(file.format()), file.metadata(), {}};
  double total = 1, done = 0;  // bytes; 1 so that empty files have some
  for (const io::TensorInfo& tensor : file.tensors())
    total += static_cast<double>(io::element_count(tensor.shape) * size_of(tensor.dtype));
  ProgressBar bar("heed info");
  for (const io::TensorInfo& tensor : file.tensors()) {
    const io::ArrayView view = file.view(tensor.name);
    listing.rows.push_back({tensor.name, tensor.dtype, tensor.shape, io::summarise(view)});
    file.forget(tensor.name);
    bar.update((done += static_cast<double>(view.bytes.size())) / total);
  }
  return listing;
}

// ---------------------------------------------------------------------------------- problem files

void add_matrix(Listing& listing, const std::string& name, const explain::Matrix& matrix) {
  if (matrix.empty()) return;
  const io::ArrayView view{
      DType::f64, {matrix.rows, matrix.cols}, std::as_bytes(std::span(matrix.values))};
  listing.rows.push_back({name, DType::f64, view.shape, io::summarise(view)});
}

// One per head: named alone when there is only one.
void add_matrices(Listing& listing, const std::string& name,
                  const std::vector<explain::Matrix>& matrices) {
  for (std::size_t h = 0; h < matrices.size(); ++h)
    add_matrix(listing, matrices.size() == 1 ? name : fmt::format("{} head {}", name, h + 1),
               matrices[h]);
}

Listing list_problem(const std::string& path, const explain::Problem& problem) {
  Listing listing{path, "problem", {}, {}};
  if (!problem.title.empty()) listing.metadata["title"] = problem.title;
  listing.metadata["inputs"] = explain::describe(problem.inputs);
  listing.metadata["weights"] = explain::describe(problem.weights);
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    const explain::Sequence& sequence = problem.sequences[n];
    const std::string suffix =
        problem.sequences.size() == 1 ? "" : fmt::format(" of sequence {}", n + 1);
    add_matrix(listing, "X" + suffix, sequence.x);
    add_matrix(listing, "X_KV" + suffix, sequence.context);
    add_matrices(listing, "Q" + suffix, sequence.q);
    add_matrices(listing, "K" + suffix, sequence.k);
    add_matrices(listing, "V" + suffix, sequence.v);
    add_matrix(listing, "mask" + suffix, sequence.mask);
    add_matrix(listing, "bias" + suffix, sequence.bias);
  }
  add_matrices(listing, "W_Q", problem.w_q);
  add_matrices(listing, "W_K", problem.w_k);
  add_matrices(listing, "W_V", problem.w_v);
  add_matrices(listing, "b_Q", problem.b_q);
  add_matrices(listing, "b_K", problem.b_k);
  add_matrices(listing, "b_V", problem.b_v);
  add_matrix(listing, "W_O", problem.w_o);
  add_matrix(listing, "b_O", problem.b_o);
  return listing;
}

// ------------------------------------------------------------------------------------------ which

// A safetensors index is JSON as well, and says so by its name.
bool is_problem(const std::string& path) {
  return path.ends_with(".json") && !path.ends_with(".index.json");
}

Listing list(const std::string& path) {
  constexpr io::ReadOptions kReading{.bf16_from_v2 = true};
  if (path == "-")
    return list_tensors(
        path, io::TensorFile(io::read_stream(stdin, "standard input"), "standard input", kReading));
  if (is_problem(path)) return list_problem(path, explain::read_problem(path));
  return list_tensors(path, io::TensorFile(std::filesystem::path(path), kReading));
}

// ----------------------------------------------------------------------------------------- output

// Names of files and tensors may be any bytes; JSON is UTF-8.
std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// One tensor per line.
std::string to_json(const Listing& listing) {
  std::string text =
      fmt::format(R"({{"file":{},"format":{},"metadata":{},"tensors":[)", json_text(listing.file),
                  json_text(listing.format), json_text(listing.metadata));
  const char* separator = "\n";
  for (const auto& [name, dtype, shape, summary] : listing.rows) {
    const bool any = summary.finite > 0;
    const nlohmann::ordered_json tensor = {
        {"name", name},
        {"dtype", name_of(dtype)},
        {"shape", shape},
        {"min", any ? nlohmann::ordered_json(summary.min) : nullptr},
        {"max", any ? nlohmann::ordered_json(summary.max) : nullptr},
        {"finite", summary.finite},
        {"nan", summary.nan},
        {"positive_infinity", summary.positive_infinity},
        {"negative_infinity", summary.negative_infinity}};
    text += separator + json_text(tensor);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

// Rows of cells, the first column to the left and the others to the right of theirs. A first cell
// that would push its row past 80 columns stands on a line of its own.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  constexpr std::size_t kColumns = 80;
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 1; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::size_t rest = 0;
  for (std::size_t c = 1; c < width.size(); ++c) rest += width[c] + 2;
  const std::size_t room = rest < kColumns ? kColumns - rest : 1;
  for (const auto& row : rows)
    if (row[0].size() <= room) width[0] = std::max(width[0], row[0].size());
  std::string text;
  for (const auto& row : rows) {
    const bool alone = row[0].size() > room;
    if (alone) text += row[0] + "\n";
    text += fmt::format("{:<{}}", alone ? "" : row[0], width[0]);
    for (std::size_t c = 1; c < row.size(); ++c) text += fmt::format("  {:>{}}", row[c], width[c]);
    text += "\n";
  }
  return text;
}

std::string to_text(const Listing& listing) {
  std::string text =
      fmt::format("{}: {}, {} tensor{}\n", io::printable(listing.file, 4096), listing.format,
                  listing.rows.size(), listing.rows.size() == 1 ? "" : "s");
  for (const auto& [key, value] : listing.metadata)
    text += fmt::format("  {}: {}\n", io::printable(key), io::printable(value));
  if (listing.rows.empty()) return text;
  std::vector<std::vector<std::string>> rows = {
      {"name", "dtype", "shape", "min", "max", "NaN", "inf"}};
  for (const auto& [name, dtype, shape, summary] : listing.rows) {
    const bool any = summary.finite > 0;
    rows.push_back({name.empty() ? "-" : io::printable(name, 4096), std::string(name_of(dtype)),
                    io::to_string(shape), any ? fmt::format("{:.5g}", summary.min) : "-",
                    any ? fmt::format("{:.5g}", summary.max) : "-", std::to_string(summary.nan),
                    std::to_string(summary.positive_infinity + summary.negative_infinity)});
  }
  return text + table(rows);
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("info", "Lists what is in a file: shapes, types, ranges, NaNs");
  struct Options {
    std::string file;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->file,
                   ".npy, .npz, safetensors, a safetensors index, or a problem file; - is stdin")
      ->required();
  command->add_flag("--json", options->json, "JSON instead of a table");
  command->callback([options] {
    const Listing listing = list(options->file);
    const std::string text = options->json ? to_json(listing) : to_text(listing);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace heed::cli
