// Problem files: JSON with comments. docs/problem-files.md describes every key.
#include "heed/problem.h"

#include <algorithm>
#include <utility>

#include "base/checks.h"
#include "heed/io.h"
#include "io/fields.h"
#include "io/mask.h"
#include "io/text.h"

namespace heed::explain {
namespace {

using io::at_line;
using io::JsonValue;
using io::Numbers;
using Kind = io::JsonValue::Kind;

constexpr std::string_view kSequenceKeys[] = {
    "tokens", "text", "context_tokens", "x",    "context", "q",         "k",
    "v",      "keys", "query",          "mask", "bias",    "key_length"};
constexpr std::string_view kSharedKeys[] = {"title",         "comment",
                                            "batch",         "w_q",
                                            "w_k",           "w_v",
                                            "w_o",           "b_q",
                                            "b_k",           "b_v",
                                            "b_o",           "heads",
                                            "kv_heads",      "values",
                                            "scale",         "softcap",
                                            "causal",        "query_offset",
                                            "window_left",   "window_right",
                                            "alibi_slopes",  "sinks",
                                            "key_lengths",   "generate",
                                            "inputs_origin", "weights_origin",
                                            "solution"};

std::vector<std::string_view> all_keys() {
  std::vector<std::string_view> keys(std::begin(kSequenceKeys), std::end(kSequenceKeys));
  keys.insert(keys.end(), std::begin(kSharedKeys), std::end(kSharedKeys));
  return keys;
}

// What a key is called where people read it: w_k is W_K, context is X_KV.
std::string display_name(std::string_view key) {
  if (key == "context") return "X_KV";
  if (key == "x" || key == "q" || key == "k" || key == "v")
    return std::string(1, static_cast<char>(key[0] - 'a' + 'A'));
  const bool weight = key.size() == 3 && key[1] == '_';
  if (!weight) return std::string(key);
  return {key[0] == 'w' ? 'W' : 'b', '_', static_cast<char>(key[2] - 'a' + 'A')};
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, std::string_view name)
      : folder_(folder), name_(name) {}

  Problem read(const JsonValue& root) {
    require(root.kind == Kind::object, name_, ": is ", io::name_of(root.kind),
            ", expected an object { ... }");
    io::require_known_keys(root, all_keys(), name_);
    if (const JsonValue* title = io::find(root, "title"))
      p_.title = io::read_string(*title, "title");
    options(root);
    heads(root);
    sequences(root);
    weights(root);
    if (const JsonValue* v = io::find(root, "generate")) generate_missing(*v);
    values(root);
    origins(root);
    validate(p_);
    return std::move(p_);
  }

 private:
  // Remembers where `name` stands, and its parts as "<name> of <what> 2".
  void remember(const std::string& name, const Numbers& numbers, std::string_view what = {}) {
    p_.lines[name] = numbers.line;
    for (std::size_t i = 0; i < numbers.lines.size() && !what.empty(); ++i)
      p_.lines[name + " of " + std::string(what) + " " + std::to_string(i + 1)] = numbers.lines[i];
  }

  std::optional<Numbers> numbers(const JsonValue& object, std::string_view key,
                                 std::size_t most_axes) const {
    const JsonValue* value = io::find(object, key);
    if (value == nullptr) return {};
    return io::read_numbers(*value, display_name(key), most_axes, folder_);
  }

  // --- options -------------------------------------------------------------------------------

  void options(const JsonValue& root) {
    const auto with = [&](std::string_view key, auto use) {
      if (const JsonValue* value = io::find(root, key)) {
        p_.lines[std::string(key)] = value->line;
        use(*value, std::string(key));
      }
    };
    with("scale", [&](const JsonValue& v, const std::string& key) {
      if (v.kind == Kind::string && v.text == "none")
        p_.scale = 1.0;
      else if (!(v.kind == Kind::string && v.text == "auto"))
        p_.scale = io::read_number(v, key);
    });
    with("softcap",
         [&](const JsonValue& v, const std::string& key) { p_.softcap = io::read_number(v, key); });
    with("causal", [&](const JsonValue& v, const std::string& key) { causal(v, key); });
    with("query_offset", [&](const JsonValue& v, const std::string& key) {
      p_.query_offset = io::read_integer(v, key);
    });
    with("window_left", [&](const JsonValue& v, const std::string& key) {
      p_.window_left = io::read_integer(v, key);
    });
    with("window_right", [&](const JsonValue& v, const std::string& key) {
      p_.window_right = io::read_integer(v, key);
    });
    with("alibi_slopes",
         [&](const JsonValue& v, const std::string& key) { p_.alibi_slopes = floats(v, key); });
    with("sinks", [&](const JsonValue& v, const std::string& key) { p_.sinks = floats(v, key); });
  }

  std::vector<float> floats(const JsonValue& value, const std::string& name) const {
    const Numbers n = io::read_numbers(value, name, 1, folder_);
    std::vector<float> result;
    for (const double x : n.values) result.push_back(static_cast<float>(x));
    return result;
  }

  void causal(const JsonValue& v, const std::string& key) {
    if (v.kind == Kind::boolean) {
      if (v.boolean) p_.causal = Causal::upper_left;
      return;
    }
    const std::string& name = io::read_string(v, key);
    require(name == "upper_left" || name == "lower_right", key, ": is \"", io::printable(name),
            "\", expected true, false, \"upper_left\" or \"lower_right\"", at_line(v.line));
    p_.causal = name == "upper_left" ? Causal::upper_left : Causal::lower_right;
  }

  // Heads as given, or as many as there are matrices.
  void heads(const JsonValue& root) {
    const auto count = [&](std::string_view key, std::initializer_list<std::string_view> matrices,
                           std::size_t otherwise) {
      if (const JsonValue* value = io::find(root, key)) {
        p_.lines[std::string(key)] = value->line;
        return io::read_count(*value, std::string(key));
      }
      for (const std::string_view matrix : matrices)
        if (const auto n = numbers(root, matrix, 4)) {
          if (n->axes() == 3) return n->shape[0];
          if (n->axes() == 4) return n->shape[1];
        }
      return otherwise;
    };
    p_.heads = count("heads", {"w_q", "q"}, 1);
    p_.kv_heads = count("kv_heads", {"w_k", "k"}, p_.heads);
  }

  // --- sequences -----------------------------------------------------------------------------

  void sequences(const JsonValue& root) {
    const JsonValue* batch = io::find(root, "batch");
    if (batch == nullptr) {
      whole_batch(root);
      return;
    }
    io::require_kind(*batch, Kind::array, "batch");
    require(!batch->items.empty(), "batch: is empty", at_line(batch->line));
    const std::size_t count = batch->items.size();
    for (std::size_t b = 0; b < count; ++b) {
      const JsonValue& row = batch->items[b];
      suffix_ = count > 1 ? " of batch row " + std::to_string(b + 1) : "";
      io::require_kind(row, Kind::object, "batch row " + std::to_string(b + 1));
      io::require_known_keys(row, kSequenceKeys, "batch row " + std::to_string(b + 1));
      for (const std::string_view key : {"x", "context", "q", "k", "v", "keys", "query"})
        if (const JsonValue* value = io::find(root, key))
          fail(display_name(key), ": given both in batch and beside it", at_line(value->line));
      Sequence s;
      sequence(root, s);  // what all rows share: tokens, mask, bias, key_length
      sequence(row, s);
      p_.sequences.push_back(std::move(s));
    }
    suffix_.clear();
  }

  // One sequence, or several along the first axis of x (3 axes), q, k, v (4) or keys (3).
  void whole_batch(const JsonValue& root) {
    std::size_t count = 1;
    for (const auto& [key, axes] : {std::pair("x", 3u), std::pair("q", 4u), std::pair("keys", 3u)})
      if (const auto n = numbers(root, key, 4); n && n->axes() == axes) count = n->shape[0];
    if (count == 1) {
      Sequence s;
      sequence(root, s);
      lengths(root, 1, &s);
      p_.sequences = {std::move(s)};
      return;
    }
    p_.sequences.resize(count);
    for (std::size_t b = 0; b < count; ++b) {
      suffix_ = " of batch row " + std::to_string(b + 1);
      row_ = b;
      rows_ = count;
      sequence(root, p_.sequences[b]);
    }
    rows_ = 0;
    suffix_.clear();
    lengths(root, count, p_.sequences.data());
  }

  void lengths(const JsonValue& root, std::size_t count, Sequence* sequences) {
    const JsonValue* value = io::find(root, "key_lengths");
    if (value == nullptr) return;
    io::require_kind(*value, Kind::array, "key_lengths");
    require(value->items.size() == count, "key_lengths: there are ", value->items.size(), " for ",
            count, " sequences", at_line(value->line));
    for (std::size_t b = 0; b < count; ++b)
      sequences[b].key_length = io::read_count(value->items[b], "key_lengths");
  }

  // The array under `key` for this sequence: `axes` axes, or one more, of which this row is taken.
  std::optional<Numbers> row_numbers(const JsonValue& object, std::string_view key,
                                     std::size_t axes) {
    auto n = numbers(object, key, axes + (rows_ > 0 ? 1 : 0));
    if (!n) return {};
    if (rows_ > 0 && n->axes() == axes + 1) {
      require(n->shape[0] == rows_, display_name(key), ": there are ", n->shape[0], " for ", rows_,
              " sequences", at_line(n->line));
      n = n->part(row_);
    }
    remember(display_name(key) + suffix_, *n, axes == 3 ? "head" : "");
    if (n->imported) p_.inputs.kind = Origin::Kind::imported;
    return n;
  }

  Matrix matrix(const Numbers& numbers, std::string_view key) const {
    require(numbers.axes() == 2, display_name(key), suffix_, ": is a list of numbers, expected a ",
            "list of rows", at_line(numbers.line));
    return numbers.matrix();
  }

  void sequence(const JsonValue& object, Sequence& s) {
    names(object, s);
    if (const auto n = row_numbers(object, "x", 2)) s.x = matrix(*n, "x");
    if (const auto n = row_numbers(object, "context", 2)) s.context = matrix(*n, "context");
    if (const auto n = row_numbers(object, "q", 3)) s.q = per_head(*n, "q", p_.heads);
    if (const auto n = row_numbers(object, "k", 3)) s.k = per_head(*n, "k", p_.kv_heads);
    if (const auto n = row_numbers(object, "v", 3)) s.v = per_head(*n, "v", p_.kv_heads);
    selfish(object, s);
    if (const JsonValue* value = io::find(object, "mask")) mask(*value, s);
    if (const auto n = row_numbers(object, "bias", 2)) s.bias = n->matrix();
    if (const JsonValue* value = io::find(object, "key_length")) {
      p_.lines["key_length" + suffix_] = value->line;
      s.key_length = io::read_count(*value, "key_length");
    }
  }

  void names(const JsonValue& object, Sequence& s) {
    const auto tokens = [&](std::string_view key, std::vector<std::string>& into) {
      const JsonValue* value = io::find(object, key);
      if (value == nullptr) return;
      p_.lines[std::string(key) + suffix_] = value->line;
      const bool lists = rows_ > 0 && value->kind == Kind::array && !value->items.empty() &&
                         value->items.front().kind == Kind::array;
      if (lists)
        require(value->items.size() == rows_, key, ": there are ", value->items.size(),
                " lists for ", rows_, " sequences", at_line(value->line));
      into = io::read_strings(lists ? value->items[row_] : *value, std::string(key));
    };
    tokens("tokens", s.tokens);
    tokens("context_tokens", s.context_tokens);
    if (const JsonValue* value = io::find(object, "text")) {
      s.tokens = split_words(io::read_string(*value, "text"));
      require(!s.tokens.empty(), "text: has no words", at_line(value->line));
    }
  }

  // keys [N, D] and query [D]: one query, the keys are the values, unscaled.
  void selfish(const JsonValue& object, Sequence& s) {
    const auto keys = row_numbers(object, "keys", 2);
    auto query = row_numbers(object, "query", 1);
    if (!keys && !query) return;
    require(keys && query,
            keys ? "query: is missing beside keys" : "keys: are missing beside query");
    s.k = {matrix(*keys, "keys")};
    s.q = {query->matrix()};
    p_.lines["K" + suffix_] = keys->line;
    p_.lines["Q" + suffix_] = query->line;
    p_.values = Problem::Values::keys;
    if (!p_.lines.contains("scale")) p_.scale = 1.0;
    // Tokens name the keys; there is one query.
    if (s.context_tokens.empty()) s.context_tokens = std::exchange(s.tokens, {});
  }

  void mask(const JsonValue& value, Sequence& s) {
    p_.lines["mask" + suffix_] = value.line;
    if (value.kind == Kind::string) {
      if (value.text == "none") return;
      if (value.text == "causal") {
        p_.causal = Causal::upper_left;
        return;
      }
      if (value.text.starts_with("pad:")) {
        s.key_length = io::padding(value.text, value.line);
        return;
      }
    }
    Numbers n = io::read_numbers(value, "mask" + suffix_, rows_ > 0 ? 3 : 2, folder_);
    if (n.axes() == 3) {
      require(n.shape[0] == rows_, "mask: there are ", n.shape[0], " for ", rows_, " sequences",
              at_line(n.line));
      n = n.part(row_);
    }
    s.mask = io::mask_from(n, "mask" + suffix_);
  }

  // --- weights -------------------------------------------------------------------------------

  // One matrix per head: a list of matrices, or one matrix whose columns are shared out.
  std::vector<Matrix> per_head(const Numbers& n, std::string_view key, std::size_t heads) const {
    std::vector<Matrix> result;
    if (n.axes() == 3) {
      for (std::size_t h = 0; h < n.shape[0]; ++h) result.push_back(n.part(h).matrix());
      return result;
    }
    const Matrix whole = n.matrix();
    require(heads > 0 && whole.cols % heads == 0, display_name(key), suffix_, ": has ", whole.cols,
            " columns, which cannot be shared out to ", heads, " heads", at_line(n.line));
    const std::size_t cols = whole.cols / heads;
    for (std::size_t h = 0; h < heads; ++h) {
      Matrix m(whole.rows, cols);
      for (std::size_t i = 0; i < whole.rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) m(i, j) = whole(i, h * cols + j);
      result.push_back(std::move(m));
    }
    return result;
  }

  // The bias of every head: one row per head, or one row whose numbers are shared out.
  std::vector<Matrix> bias_per_head(const Numbers& n, std::string_view key,
                                    std::size_t heads) const {
    if (n.axes() == 1) return per_head(n, key, heads);
    std::vector<Matrix> result;
    for (std::size_t h = 0; h < n.shape[0]; ++h) result.push_back(n.part(h).matrix());
    return result;
  }

  std::optional<Numbers> weight(const JsonValue& root, std::string_view key, std::size_t axes) {
    auto n = numbers(root, key, axes);
    if (!n) return {};
    remember(display_name(key), *n, "head");
    if (n->imported) p_.weights.kind = Origin::Kind::imported;
    return n;
  }

  void weights(const JsonValue& root) {
    if (const auto n = weight(root, "w_q", 3)) p_.w_q = per_head(*n, "w_q", p_.heads);
    if (const auto n = weight(root, "w_k", 3)) p_.w_k = per_head(*n, "w_k", p_.kv_heads);
    if (const auto n = weight(root, "w_v", 3)) p_.w_v = per_head(*n, "w_v", p_.kv_heads);
    if (const auto n = weight(root, "b_q", 2)) p_.b_q = bias_per_head(*n, "b_q", p_.heads);
    if (const auto n = weight(root, "b_k", 2)) p_.b_k = bias_per_head(*n, "b_k", p_.kv_heads);
    if (const auto n = weight(root, "b_v", 2)) p_.b_v = bias_per_head(*n, "b_v", p_.kv_heads);
    if (const auto n = weight(root, "w_o", 2)) p_.w_o = matrix(*n, "w_o");
    if (const auto n = weight(root, "b_o", 1)) p_.b_o = n->matrix();
  }

  // "keys", "none", or left out: then V is made or given where it can be.
  void values(const JsonValue& root) {
    const JsonValue* value = io::find(root, "values");
    const Sequence& s = p_.sequences.front();
    if (value == nullptr) {
      const bool scores_only = !s.q.empty() && s.v.empty();
      if (scores_only && p_.values == Problem::Values::projected) p_.values = Problem::Values::none;
      return;
    }
    const std::string& name = io::read_string(*value, "values");
    require(name == "keys" || name == "none", "values: is \"", io::printable(name),
            "\", expected \"keys\" or \"none\"", at_line(value->line));
    p_.values = name == "keys" ? Problem::Values::keys : Problem::Values::none;
  }

  // {"seed": 7, "dim": 512, "heads": 8, "tokens": 5}: what is not given is drawn from the seed.
  void generate_missing(const JsonValue& value) {
    constexpr std::string_view kKeys[] = {"seed", "dim", "heads", "tokens"};
    io::require_kind(value, Kind::object, "generate");
    io::require_known_keys(value, kKeys, "generate");
    const auto count = [&](std::string_view key, std::size_t otherwise) {
      const JsonValue* v = io::find(value, key);
      return v == nullptr ? otherwise : io::read_count(*v, "generate: " + std::string(key));
    };
    require(p_.sequences.size() == 1, "generate: there are ", p_.sequences.size(),
            " sequences, expected 1", at_line(value.line));
    require(p_.w_q.empty() && p_.sequences[0].q.empty(), "generate: the weights are given already",
            at_line(value.line));
    Sequence& s = p_.sequences[0];
    GenerateOptions options;
    options.seed = count("seed", options.seed);
    options.heads = count("heads", p_.heads);
    options.tokens = s.tokens;
    options.count = count("tokens", 0);
    options.dim = count("dim", s.x.empty() ? options.dim : s.x.cols);
    if (!s.x.empty()) options.x = s.x;
    Problem generated = generate(options);
    s.tokens = generated.sequences[0].tokens;
    s.x = std::move(generated.sequences[0].x);
    p_.w_q = std::move(generated.w_q);
    p_.w_k = std::move(generated.w_k);
    p_.w_v = std::move(generated.w_v);
    p_.w_o = std::move(generated.w_o);
    p_.heads = generated.heads;
    p_.kv_heads = generated.kv_heads;
    p_.weights = generated.weights;
    if (!options.x) p_.inputs = generated.inputs;
  }

  void origins(const JsonValue& root) {
    const auto origin = [&](std::string_view key, Origin& into) {
      const JsonValue* value = io::find(root, key);
      if (value == nullptr) return;
      constexpr std::string_view kKeys[] = {"kind", "seed"};
      io::require_kind(*value, Kind::object, std::string(key));
      io::require_known_keys(*value, kKeys, key);
      const JsonValue* kind = io::find(*value, "kind");
      require(kind != nullptr && (kind->text == "generated" || kind->text == "imported"), key,
              ": kind must be \"generated\" or \"imported\"", at_line(value->line));
      into.kind = kind->text == "generated" ? Origin::Kind::generated : Origin::Kind::imported;
      if (const JsonValue* seed = io::find(*value, "seed"))
        into.seed = io::read_count(*seed, std::string(key) + ": seed");
    };
    origin("inputs_origin", p_.inputs);
    origin("weights_origin", p_.weights);
  }

  const std::filesystem::path folder_;
  const std::string_view name_;
  Problem p_;
  std::string suffix_;              // " of batch row 2" while one of several sequences is read
  std::size_t row_ = 0, rows_ = 0;  // which sequence of how many, along the first axis
};

}  // namespace

Problem parse_problem(std::string_view json, const std::filesystem::path& folder,
                      std::string_view name) {
  return Reader(folder, name).read(io::parse_json(json, name));
}

Problem read_problem(const std::filesystem::path& path) {
  const std::string name = path == "-" ? "standard input" : path.filename().string();
  return parse_problem(io::read_text(path), path.parent_path(), name);
}

}  // namespace heed::explain
