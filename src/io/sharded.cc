// A model in several safetensors files and an index that says which tensor is in which:
//   {"metadata": {"total_size": 96}, "weight_map": {"w": "model-00001-of-00002.safetensors"}}
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/checks.h"
#include "io/format.h"
#include "io/mapped_file.h"
#include "io/names.h"
#include "io/safetensors_header.h"
#include "io/strict_json.h"
#include "io/text.h"

namespace heed::io {
namespace {

namespace fs = std::filesystem;

struct Index {
  std::vector<std::pair<std::string, std::string>> weight_map;  // tensor, shard; in order
  std::map<std::string, std::string> metadata;
};

class IndexReader : public StrictJson {
 public:
  IndexReader(const std::string& label, Index& index) : StrictJson(label), index_(index) {}

  void finish() const {
    if (!names_[0].contains("weight_map")) refuse("weight_map is missing");
  }

 private:
  std::string place() const override { return section_; }
  bool in_map() const { return depth_ == 2 && section_ == "weight_map"; }

  void on_object(bool begins) override {
    if (!begins) {
      if (--depth_ == 1) section_.clear();
      return;
    }
    if (depth_ == 2) refuse_value("an object");
    names_[depth_++].clear();
  }

  void on_key(const std::string& key) override {
    if (!names_[depth_ - 1].insert(key).second) refuse(in_quotes(key) + " is given twice");
    if (depth_ == 1) {
      if (key != "metadata" && key != "weight_map")
        refuse(in_quotes(key) + " is not expected here");
      section_ = key;
    }
    key_ = key;
  }

  void on_string(const std::string& text) override {
    if (depth_ != 2) refuse_value(in_quotes(text));
    if (in_map()) {
      index_.weight_map.emplace_back(key_, text);
    } else {
      index_.metadata.emplace(key_, text);
    }
  }

  void on_size(std::uint64_t x) override {
    if (depth_ != 2 || in_map()) refuse_value(std::to_string(x));
    index_.metadata.emplace(key_, std::to_string(x));
  }

  Index& index_;
  std::size_t depth_ = 0;
  std::string section_, key_;
  std::set<std::string> names_[2];  // keys seen at each depth
};

// A shard lies beside its index: anything but a plain file name could lead elsewhere.
void check_shard_name(const std::string& shard, const std::string& label) {
  const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                     shard.find_first_of(std::string_view("/\\:\0", 4)) == shard.npos;
  require(plain, label, ": weight_map: ", in_quotes(shard), " is not the name of a file beside it");
}

class ShardedFormat : public Format {
 public:
  ShardedFormat(Bytes file, const std::string& label, const fs::path& folder) : Format(label) {
    Index index;
    IndexReader reader(label_, index);
    reader.read(file);
    reader.finish();
    metadata_ = std::move(index.metadata);
    std::map<std::string, std::size_t> opened;
    for (const auto& [tensor, shard] : index.weight_map) {
      const auto [found, is_new] = opened.try_emplace(shard, shards_.size());
      if (is_new) open_shard(shard, folder);
      const Format& home = *shards_[found->second].format;
      homes_.push_back({&home, home.find(tensor)});
      add(home.tensors()[homes_.back().index]);
    }
  }

  std::string_view name() const override { return "safetensors index"; }
  Elements load(std::size_t index) const override {
    return homes_[index].format->load(homes_[index].index);
  }

 private:
  struct Shard {
    std::unique_ptr<FileBytes> file;
    std::unique_ptr<Format> format;
  };
  struct Home {
    const Format* format;
    std::size_t index;
  };

  void open_shard(const std::string& shard, const fs::path& folder) {
    check_shard_name(shard, label_);
    const fs::path path = folder / shard;
    auto file = std::make_unique<FileBytes>(path);
    require(looks_like_safetensors(file->get()), label_, ": weight_map: ", in_quotes(shard),
            " is not a safetensors file");
    auto format = open_safetensors(file->get(), path.string());
    shards_.push_back({std::move(file), std::move(format)});
  }

  std::vector<Shard> shards_;
  std::vector<Home> homes_;  // where each tensor lies
};

// Tensors in order, each in the first shard that its predecessors leave room in.
std::vector<std::vector<NamedArray>> split(std::span<const NamedArray> arrays,
                                           std::uint64_t most_bytes) {
  std::vector<std::vector<NamedArray>> shards(1);
  std::uint64_t filled = 0;
  for (const NamedArray& named : arrays) {
    const std::uint64_t bytes = named.array.bytes.size();
    if (!shards.back().empty() && (filled > most_bytes || bytes > most_bytes - filled)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(named);
    filled += bytes;
  }
  return shards;
}

std::string shard_name(const std::string& stem, std::size_t number, std::size_t count) {
  const auto five = [](std::size_t n) {
    std::string digits = std::to_string(n);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  };
  return stem + "-" + five(number) + "-of-" + five(count) + ".safetensors";
}

}  // namespace

std::unique_ptr<Format> open_sharded(Bytes file, const std::string& label, const fs::path& folder) {
  return std::make_unique<ShardedFormat>(file, label, folder);
}

void write_sharded_safetensors(const fs::path& index_path, std::span<const NamedArray> arrays,
                               std::uint64_t most_bytes) {
  constexpr std::string_view kSuffix = ".safetensors.index.json";
  const std::string file_name = index_path.filename().string();
  require(file_name.ends_with(kSuffix), index_path.string(), ": the name of an index ends in ",
          kSuffix);
  refuse_repeated_names("safetensors", arrays);
  const std::string stem = file_name.substr(0, file_name.size() - kSuffix.size());
  const auto shards = split(arrays, most_bytes);
  std::uint64_t total = 0;
  nlohmann::ordered_json weight_map = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string shard = shard_name(stem, i + 1, shards.size());
    write_safetensors(OutputFile(index_path.parent_path() / shard), shards[i], {});
    for (const auto& [name, array] : shards[i]) {
      weight_map[name] = shard;
      total += array.bytes.size();
    }
  }
  // Last, so that an index never names a shard that is not there.
  nlohmann::ordered_json index;
  index["metadata"] = {{"total_size", total}};
  index["weight_map"] = std::move(weight_map);
  write_file(index_path, to_json_text("safetensors", index, 2) + "\n");
}

}  // namespace heed::io
