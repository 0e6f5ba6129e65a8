// PagedKVCache: sequences that come, grow, fork and go, in pages of one pool.
#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/config.h"
#include "cache/page_pool.h"
#include "cache/row_storage.h"
#include "heed/kv_cache.h"

namespace heed {

using cache::Page;
using cache::PagePool;
using cache::RowStorage;

namespace {

const PagedKVCacheConfig& checked(const PagedKVCacheConfig& config) {
  constexpr std::string_view kName = "PagedKVCache";
  cache::require_positive(kName, "kv_heads", config.kv_heads);
  cache::require_positive(kName, "key_dim", config.key_dim);
  cache::require_positive(kName, "value_dim", config.value_dim.value_or(config.key_dim));
  cache::require_positive(kName, "pages", config.pages);
  cache::require_positive(kName, "page_size", config.page_size);
  cache::require_storable(kName, config.dtype);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<Page>::max());
  require(config.pages <= kMost, kName, ": pages is ", config.pages, ", expected at most ", kMost);
  return config;
}

RowStorage rows_of(const PagedKVCacheConfig& config, std::string_view name, std::size_t dim) {
  return {name, {config.pages, config.kv_heads, config.page_size, dim, config.dtype}};
}

// The pages of a sequence: exactly as many as its tokens need.
struct PagedSequence {
  std::vector<Page> table;
  std::size_t length = 0;
};

}  // namespace

struct PagedKVCache::Impl {
  explicit Impl(const PagedKVCacheConfig& config)
      : keys(rows_of(checked(config), "PagedKVCache: keys", config.key_dim)),
        values(rows_of(config, "PagedKVCache: values", config.value_dim.value_or(config.key_dim))),
        pool(config.pages) {}

  RowStorage keys, values;
  PagePool pool;
  std::unordered_map<SequenceId, PagedSequence> sequences;
  SequenceId next = 0;

  std::size_t page_size() const { return keys.shape().tokens; }
  std::size_t pages_of(std::size_t tokens) const {
    return tokens / page_size() + (tokens % page_size() != 0);
  }

  PagedSequence& at(SequenceId id) {
    const auto found = sequences.find(id);
    require(found != sequences.end(), "PagedKVCache: sequence ", id, " is not one of the ",
            sequences.size(), " here");
    return found->second;
  }
  const PagedSequence& at(SequenceId id) const { return const_cast<Impl*>(this)->at(id); }

  SequenceId enter(PagedSequence sequence) {
    const SequenceId id = next;
    const PagedSequence& entered = sequences.emplace(id, std::move(sequence)).first->second;
    for (const Page page : entered.table) pool.share(page);
    ++next;
    return id;
  }

  void shorten(PagedSequence& sequence, std::size_t length) {
    for (std::size_t n = pages_of(length); n < sequence.table.size(); ++n)
      pool.release(sequence.table[n]);
    sequence.table.resize(pages_of(length));
    sequence.length = length;
  }

  // The page that the next token of a sequence goes to, if it has one already.
  Page* begun_page(PagedSequence& sequence) const {
    return sequence.length % page_size() == 0 ? nullptr : &sequence.table.back();
  }

  // How many pages appending n > 0 tokens to each takes: new ones, and copies of shared last ones.
  // The last holder of a page does not copy it.
  std::size_t pages_needed(std::span<PagedSequence* const> growing, std::size_t n) const {
    std::size_t needed = 0;
    std::map<Page, std::size_t> leaving;  // holders that will have copied the page
    for (PagedSequence* sequence : growing) {
      if (needed > pool.size())
        break;  // whatever else is needed: it is too much, and might overflow
      needed += pages_of(sequence->length + n) - sequence->table.size();
      const Page* page = begun_page(*sequence);
      if (page != nullptr && pool.holders(*page) > leaving[*page] + 1) {
        ++needed;
        ++leaving[*page];
      }
    }
    return needed;
  }

  // Pages of its own for n more tokens; there are enough, and the table has room for them.
  void make_room(PagedSequence& sequence, std::size_t n) {
    Page* page = begun_page(sequence);
    if (page != nullptr && pool.holders(*page) > 1) {
      const Page copy = pool.take();
      for (RowStorage* rows : {&keys, &values})
        rows->copy(static_cast<std::size_t>(copy), *rows, static_cast<std::size_t>(*page),
                   sequence.length % page_size());
      pool.release(std::exchange(*page, copy));
    }
    while (sequence.table.size() < pages_of(sequence.length + n))
      sequence.table.push_back(pool.take());
  }

  // Tokens of batch row b, page by page.
  void write(PagedSequence& sequence, ConstTensorView k, ConstTensorView v, std::size_t b) {
    for (std::size_t t = 0; t < k.tokens;) {
      const std::size_t token = sequence.length % page_size();
      const std::size_t count = std::min(k.tokens - t, page_size() - token);
      const auto block = static_cast<std::size_t>(sequence.table[sequence.length / page_size()]);
      keys.write({block, token}, k, b, t, count);
      values.write({block, token}, v, b, t, count);
      sequence.length += count;
      t += count;
    }
  }
};

PagedKVCache::PagedKVCache(const PagedKVCacheConfig& config)
    : impl_(std::make_unique<Impl>(config)) {}
PagedKVCache::~PagedKVCache() = default;
PagedKVCache::PagedKVCache(PagedKVCache&&) noexcept = default;
PagedKVCache& PagedKVCache::operator=(PagedKVCache&&) noexcept = default;

std::size_t PagedKVCache::pages() const {
  return impl_->pool.size();
}
std::size_t PagedKVCache::free_pages() const {
  return impl_->pool.free();
}
std::size_t PagedKVCache::page_size() const {
  return impl_->page_size();
}
std::size_t PagedKVCache::sequences() const {
  return impl_->sequences.size();
}
std::size_t PagedKVCache::kv_heads() const {
  return impl_->keys.shape().heads;
}
std::size_t PagedKVCache::key_dim() const {
  return impl_->keys.shape().dim;
}
std::size_t PagedKVCache::value_dim() const {
  return impl_->values.shape().dim;
}
DType PagedKVCache::dtype() const {
  return impl_->keys.shape().dtype;
}
std::size_t PagedKVCache::bytes() const {
  return impl_->keys.bytes() + impl_->values.bytes();
}

SequenceId PagedKVCache::add() {
  return impl_->enter({});
}

SequenceId PagedKVCache::fork(SequenceId sequence, std::optional<std::size_t> length) {
  const PagedSequence& from = impl_->at(sequence);
  const std::size_t tokens = length.value_or(from.length);
  require(tokens <= from.length, "fork: length is ", tokens, " but sequence ", sequence, " has ",
          from.length, " tokens");
  const auto end = from.table.begin() + static_cast<std::ptrdiff_t>(impl_->pages_of(tokens));
  return impl_->enter({{from.table.begin(), end}, tokens});
}

void PagedKVCache::remove(SequenceId sequence) {
  impl_->shorten(impl_->at(sequence), 0);
  impl_->sequences.erase(sequence);
}

void PagedKVCache::truncate(SequenceId sequence, std::size_t length) {
  PagedSequence& found = impl_->at(sequence);
  require(length <= found.length, "truncate: length is ", length, " but sequence ", sequence,
          " has ", found.length, " tokens");
  impl_->shorten(found, length);
}

std::size_t PagedKVCache::length(SequenceId sequence) const {
  return impl_->at(sequence).length;
}

void PagedKVCache::append(SequenceId sequence, ConstTensorView k, ConstTensorView v) {
  append(std::span(&sequence, 1), k, v);
}

void PagedKVCache::append(std::span<const SequenceId> sequences, ConstTensorView k,
                          ConstTensorView v) {
  cache::require_appendable(k, v, sequences.size(), impl_->keys, impl_->values);
  std::vector<SequenceId> sorted(sequences.begin(), sequences.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  require(twice == sorted.end(), "append: sequence ", twice == sorted.end() ? 0 : *twice,
          " is given twice");
  std::vector<PagedSequence*> growing;
  for (const SequenceId id : sequences) growing.push_back(&impl_->at(id));

  if (k.tokens == 0) return;
  const std::size_t needed = impl_->pages_needed(growing, k.tokens);
  if (needed > free_pages()) {
    std::ostringstream text;
    text << "append: " << needed << " pages are needed but " << free_pages() << " of " << pages()
         << " are free";
    throw CacheFull(text.str());
  }
  for (PagedSequence* sequence : growing)
    sequence->table.reserve(impl_->pages_of(sequence->length + k.tokens));
  for (std::size_t b = 0; b < growing.size(); ++b) {  // from here on nothing throws
    impl_->make_room(*growing[b], k.tokens);
    impl_->write(*growing[b], k, v, b);
  }
}

std::size_t PagedKVCache::shared_prefix(std::span<const SequenceId> sequences) const {
  if (sequences.empty()) return 0;
  const PagedSequence& first = impl_->at(sequences.front());
  std::size_t tokens = first.length;
  for (const SequenceId id : sequences) {
    const PagedSequence& other = impl_->at(id);
    const auto [mine, its] = std::mismatch(first.table.begin(), first.table.end(),
                                           other.table.begin(), other.table.end());
    const auto alike = static_cast<std::size_t>(mine - first.table.begin());
    tokens = std::min({tokens, other.length, alike * page_size()});
  }
  return tokens;
}

std::span<const std::int32_t> PagedKVCache::block_table(SequenceId sequence) const {
  return impl_->at(sequence).table;
}
ConstTensorView PagedKVCache::key_pages() const {
  return impl_->keys.view(page_size());
}
ConstTensorView PagedKVCache::value_pages() const {
  return impl_->values.view(page_size());
}
ScaleView PagedKVCache::key_scales() const {
  return impl_->keys.scales();
}
ScaleView PagedKVCache::value_scales() const {
  return impl_->values.scales();
}

}  // namespace heed
