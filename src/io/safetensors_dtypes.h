// How safetensors spells element types.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "heed/dtype.h"

namespace heed::io {

inline constexpr std::string_view kSafetensorsDtypes =
    "F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL";

inline constexpr std::array<std::pair<std::string_view, DType>, 13> kSafetensorsNames = {{
    {"F64", DType::f64},
    {"F32", DType::f32},
    {"F16", DType::f16},
    {"BF16", DType::bf16},
    {"I64", DType::i64},
    {"I32", DType::i32},
    {"I16", DType::i16},
    {"I8", DType::i8},
    {"U64", DType::u64},
    {"U32", DType::u32},
    {"U16", DType::u16},
    {"U8", DType::u8},
    {"BOOL", DType::boolean},
}};

constexpr std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const auto& [spelling, dtype] : kSafetensorsNames)
    if (spelling == name) return dtype;
  return {};
}

constexpr std::string_view safetensors_name(DType dtype) {
  for (const auto& [spelling, known] : kSafetensorsNames)
    if (known == dtype) return spelling;
  return "?";
}

}  // namespace heed::io
