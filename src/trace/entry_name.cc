// Entries as people name them: "S[2,3]", "S[love,AI]", "Q[2,1] head 2", "O[1,1] batch 2".
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/checks.h"
#include "heed/trace.h"

namespace heed::explain {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
    return {};
  return value;
}

// A label, or a number counted from 1.
std::optional<std::size_t> position_of(std::string_view text,
                                       const std::vector<std::string>& labels) {
  const auto found = std::find(labels.begin(), labels.end(), text);
  if (found != labels.end()) return static_cast<std::size_t>(found - labels.begin());
  const auto number = number_in(text);
  if (number && *number >= 1 && *number <= labels.size()) return *number - 1;
  return {};
}

// "head 2", "batch 1": what follows the brackets.
void read_suffix(std::string_view suffix, std::string_view whole, EntryName& entry) {
  while (!(suffix = trimmed(suffix)).empty()) {
    const std::size_t space = std::min(suffix.find(' '), suffix.size());
    const std::string_view word = suffix.substr(0, space);
    suffix = trimmed(suffix.substr(space));
    const std::size_t end = std::min(suffix.find(' '), suffix.size());
    const auto number = number_in(suffix.substr(0, end));
    require((word == "head" || word == "batch") && number && *number >= 1, "entry: cannot read \"",
            whole, "\"; expected S[2,3], with head 2 or batch 2 behind it where there are several");
    (word == "head" ? entry.head : entry.batch) = *number - 1;
    suffix.remove_prefix(end);
  }
}

}  // namespace

EntryName parse_entry(const Trace& trace, std::string_view text, std::size_t batch,
                      std::size_t head) {
  EntryName entry;
  entry.batch = batch;
  entry.head = head;
  const std::size_t open = text.find('['), close = text.rfind(']');
  require(open != std::string_view::npos && close != std::string_view::npos && open < close,
          "entry: cannot read \"", text, "\"; expected S[2,3] or S[love,AI]");
  entry.id = trimmed(text.substr(0, open));
  read_suffix(text.substr(close + 1), text, entry);
  const Node& node = trace.at(entry.id, entry.batch, entry.head);
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  // A token may hold a comma itself: any comma may be the one between row and column.
  for (std::size_t comma = inside.find(','); comma != std::string_view::npos;
       comma = inside.find(',', comma + 1)) {
    const auto row = position_of(trimmed(inside.substr(0, comma)), node.row_labels);
    const auto col = position_of(trimmed(inside.substr(comma + 1)), node.col_labels);
    if (!row || !col) continue;
    entry.row = *row;
    entry.col = *col;
    return entry;
  }
  const auto range = [](const std::vector<std::string>& labels) {
    const std::string last = std::to_string(labels.size());
    return labels.back() == last
               ? "1 to " + last
               : "1 to " + last + " or " + labels.front() + " to " + labels.back();
  };
  fail("entry: there is no ", text, "; ", entry.id, " has rows ", range(node.row_labels),
       " and columns ", range(node.col_labels));
}

}  // namespace heed::explain
