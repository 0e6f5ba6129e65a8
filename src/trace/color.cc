#include "trace/color.h"

#include <algorithm>
#include <cmath>

namespace heed::explain {
namespace {

constexpr Rgb kWhite = {255, 255, 255};
constexpr Rgb kPositive = {120, 178, 221};  // a pale #0072B2
constexpr Rgb kNegative = {234, 150, 122};  // a pale #D55E00
constexpr Rgb kWeight = {96, 190, 160};     // a pale #009E73

std::uint8_t between(std::uint8_t from, std::uint8_t to, double t) {
  return static_cast<std::uint8_t>(std::lround(from + (to - from) * t));
}

Rgb mix(Rgb from, Rgb to, double t) {
  t = std::clamp(t, 0.0, 1.0);
  return {between(from.r, to.r, t), between(from.g, to.g, t), between(from.b, to.b, t)};
}

}  // namespace

Rgb color_of(const Grid& grid, const Cell& cell) {
  if (cell.kind != Cell::Kind::number || !std::isfinite(cell.value)) return kWhite;
  switch (grid.scale) {
    case Grid::Scale::weights: return mix(kWhite, kWeight, cell.value);
    case Grid::Scale::diverging:
      if (grid.bound == 0) return kWhite;
      return mix(kWhite, cell.value < 0 ? kNegative : kPositive, std::abs(cell.value) / grid.bound);
    case Grid::Scale::none: break;
  }
  return kWhite;
}

std::string hex(Rgb color) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "#";
  for (const std::uint8_t part : {color.r, color.g, color.b}) {
    text += kDigits[part >> 4];
    text += kDigits[part & 15];
  }
  return text;
}

Rgb color_of_name(const std::string& id) {
  const char letter = id.size() == 3 && id[1] == '_' ? id[2] : id.size() == 1 ? id[0] : ' ';
  switch (letter) {
    case 'Q': return {0x00, 0x72, 0xb2};
    case 'K': return {0xb3, 0x6b, 0x00};  // #E69F00 darkened until it reads on white
    case 'V': return {0x00, 0x7a, 0x59};  // #009E73, likewise
    default: return {0x22, 0x22, 0x22};
  }
}

}  // namespace heed::explain
