#include "cli/bench_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "heed/attention.h"

namespace heed::cli {
namespace {

using bench::Limit;
using bench::Report;
using bench::Result;
using bench::Shape;

constexpr double kGiga = 1e9, kMega = 1e6;
constexpr const char* kColumns =
    "{:<7} {:>3} {:>8} {:>8} {:>6} {:>8} {:>6} {:>6} {:>5} {:>6} {:>7}\n";

std::string percent(double fraction) {
  return fmt::format("{:.1f}%", 100 * fraction);
}

// As many decimals as keep about four digits.
std::string milliseconds(double seconds) {
  const double ms = 1e3 * seconds;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : ms < 100 ? 2 : 1);
}

std::string rate(const Result& result) {
  const double rate = bound_by_memory(result.shape) ? result.bytes() : result.flops();
  return fmt::format("{:.1f}", rate / kGiga);
}

// One line for each kind of limit, one column for each thread count.
std::string limits_table(const Report& report) {
  using Kind = std::tuple<std::size_t, DType, std::size_t>;  // bytes, memory, places
  std::map<Kind, std::map<std::size_t, double>> rates;       // by threads
  std::set<std::size_t> threads;
  for (const Limit& limit : report.limits) {
    rates[{limit.bytes, limit.memory, limit.places}][limit.threads] = limit.best;
    threads.insert(limit.threads);
  }
  std::string text = fmt::format("{:<40}", "limits of this machine (" + current_target() + ")");
  for (const std::size_t count : threads)
    text += fmt::format("{:>12}", fmt::format("{} thread{}", count, count == 1 ? "" : "s"));
  for (const auto& [kind, by_threads] : rates) {
    const auto& [bytes, memory, places] = kind;
    text +=
        fmt::format("\n  {:<38}",
                    bytes == 0    ? "f32 multiply-adds, GFLOP/s"
                    : places == 1 ? fmt::format("reading {:.1f} MB of {}, GB/s",
                                                static_cast<double>(bytes) / kMega, name_of(memory))
                                  : fmt::format("  in {} places at once", places));
    for (const std::size_t count : threads) {
      const auto found = by_threads.find(count);
      text += found == by_threads.end() ? fmt::format("{:>12}", "")
                                        : fmt::format("{:>12.1f}", found->second / kGiga);
    }
  }
  if (report.disturbance.calm_fma)
    text += fmt::format("\n  {:<38}{:>12.1f}", "multiply-adds between interruptions",
                        *report.disturbance.calm_fma / kGiga);
  text += fmt::format("\n  {:<38}{:>12.1f}", "interrupted, % of the time",
                      100 * report.disturbance.interrupted);
  return text + "\n";
}

std::string result_line(const Result& result) {
  const double must = result.target.must;
  const auto extra = result.peak_extra_bytes;
  return fmt::format(
      kColumns, label_of(result.shape), result.threads, milliseconds(result.seconds_best),
      milliseconds(result.seconds_median), rate(result), percent(result.fraction),
      result.fraction_calm ? percent(*result.fraction_calm) : "", must > 0 ? percent(must) : "",
      result.speedup ? fmt::format("{:.2f}", *result.speedup) : "",
      fmt::format("{:.2f}", result.accuracy.vs_plain()),
      extra ? fmt::format("{:.2f}", static_cast<double>(*extra) / kMega) : "?");
}

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_limits(const Report& report) {
  auto fma = nlohmann::ordered_json::array(), read = fma, read_in_places = fma;
  for (const Limit& limit : report.limits) {
    nlohmann::ordered_json json = {{"threads", limit.threads}};
    if (limit.bytes != 0) {
      json["bytes"] = limit.bytes;
      json["dtype"] = name_of(limit.memory);
    }
    const std::string unit = limit.bytes == 0 ? "gflops" : "gbps";
    json[unit] = limit.best / kGiga;
    json[unit + "_median"] = limit.median / kGiga;
    if (limit.places != 1) json["places"] = limit.places;
    (limit.bytes == 0 ? fma : limit.places == 1 ? read : read_in_places).push_back(json);
  }
  nlohmann::ordered_json json = {{"target", current_target()},
                                 {"fma", fma},
                                 {"read", read},
                                 {"read_in_places", read_in_places}};
  const bench::Disturbance& disturbance = report.disturbance;
  if (disturbance.calm_fma) json["fma_calm_gflops"] = *disturbance.calm_fma / kGiga;
  json["interrupted"] = disturbance.interrupted;
  return json;
}

nlohmann::ordered_json json_result(const Result& result) {
  const bool memory = bound_by_memory(result.shape);
  nlohmann::ordered_json json = {
      {"shape", result.shape.name},
      {"dtype", name_of(result.shape.kv_dtype)},
      {"threads", result.threads},
      {"runs", result.runs},
      {"ms_best", 1e3 * result.seconds_best},
      {"ms_median", 1e3 * result.seconds_median},
      {"gflops", result.flops() / kGiga},
      {"gbps", result.bytes() / kGiga},
      {"bound_by", memory ? "read" : "fma"},
      {"limit", result.limit.best / kGiga},
      {"fraction", result.fraction},
      {"fraction_median", result.fraction_median},
      {"error_vs_plain", json_number(result.accuracy.vs_plain())},
      {"max_error", json_number(result.accuracy.error)},
      {"max_error_plain", result.accuracy.plain_error},
      {"workspace_bytes", result.workspace_bytes},
  };
  if (result.seconds_calm) json["ms_calm"] = 1e3 * *result.seconds_calm;
  if (result.fraction_calm) json["fraction_calm"] = *result.fraction_calm;
  if (result.peak_extra_bytes) json["peak_extra_bytes"] = *result.peak_extra_bytes;
  if (result.speedup) json["speedup"] = *result.speedup;
  if (result.target.must > 0) json["target"]["must"] = result.target.must;
  if (result.target.aim > 0) json["target"]["aim"] = result.target.aim;
  return json;
}

std::string describe(const Shape& shape) {
  if (shape.kind == bench::Kind::layer)
    return fmt::format("multi-head layer of {}, {} heads, {} tokens", model_dim(shape),
                       shape.query_heads, shape.n_q);
  std::string text = fmt::format("{} x {} heads", shape.batch, shape.query_heads);
  if (shape.kind == bench::Kind::selfish) {
    return fmt::format("selfish attention, batch {}, {} keys of {}", shape.batch, shape.n_k,
                       shape.head_dim);
  }
  if (shape.kv_heads != shape.query_heads) text += fmt::format(" on {}", shape.kv_heads);
  text += shape.shortest != 0 ? fmt::format(", {}...{} tokens", shape.shortest, shape.n_q)
          : shape.n_q == 1    ? fmt::format(", one query, {} keys", shape.n_k)
                              : fmt::format(", {} tokens", shape.n_q);
  text += fmt::format(" of {}", shape.head_dim);
  if (shape.causal) text += ", causal";
  if (shape.bias) text += ", additive bias";
  if (shape.shortest != 0) text += ", ragged";
  if (shape.kind == bench::Kind::decode) text += "; in f32, f16, bf16, i8";
  return text;
}

}  // namespace

std::string bench_table(const Report& report) {
  std::string text = limits_table(report);
  text += "\n";
  text += fmt::format(kColumns, "shape", "thr", "best ms", "median", "rate", "of limit", "calm",
                      "must", "times", "error", "MB");
  for (const Result& result : report.results) text += result_line(result);
  return text +
         "\nrate      of the best run. P, L: GFLOP/s of useful work, 4 n_q n_k d per head,\n"
         "          half for causal; L: and 8 n d_model^2. D, S: GB/s, K and V (S: the\n"
         "          keys) once\n"
         "of limit  P, L: of the multiply-adds; D, S: of plainly reading the same bytes\n"
         "calm      P on one thread, of the multiply-adds between interruptions: every\n"
         "          piece of a run, some tenths of a millisecond, at its fastest\n"
         "must      what one thread has to reach, calm where that is measured\n"
         "times     as fast as with one thread\n"
         "error     largest error on sampled rows over that of plain float (i8: with\n"
         "          query and weights in f16); allowed: 2\n"
         "MB        most memory beyond inputs and outputs, measured\n";
}

std::string bench_json(const Report& report) {
  nlohmann::ordered_json json = {{"limits", json_limits(report)},
                                 {"results", nlohmann::ordered_json::array()}};
  for (const Result& result : report.results) json["results"].push_back(json_result(result));
  return json.dump(2) + "\n";
}

std::string bench_shapes_help() {
  std::string text = "Shapes:\n";
  std::string_view last;
  for (const Shape& shape : bench::all_shapes()) {
    if (shape.name != last) text += fmt::format("  {:<5} {}\n", shape.name, describe(shape));
    last = shape.name;
  }
  return text + "Exit code 1 if an answer errs more than twice as much as plain float.";
}

}  // namespace heed::cli
