// The vector vocabulary without Highway: vectors of one lane, by the same names, and only those
// that the kernels use. The macros are Highway's too, so that kernel files are written once.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define HWY_NAMESPACE N_SCALAR
#define HWY_BEFORE_NAMESPACE() static_assert(true, "")
#define HWY_AFTER_NAMESPACE() static_assert(true, "")
#define HWY_ONCE 1
#define HWY_INLINE inline
#define HWY_ATTR
#define HWY_NOINLINE
#define HWY_RESTRICT
#define HWY_ATTR
#define HWY_DISPATCH_TABLE(F) F##Table
#define HWY_EXPORT(F) static decltype(&N_SCALAR::F) const F##Table[1] = {&N_SCALAR::F}

namespace heed::scalar {

template <class T>
struct Tag {
  using Lane = T;
};
template <class T>
using ScalableTag = Tag<T>;
template <class T, class D>
using Rebind = Tag<T>;
template <class D>
using RebindToSigned = Tag<std::int32_t>;
template <class D>
using RebindToUnsigned = Tag<std::uint32_t>;

template <class T>
struct Vector {
  T x;
};
struct Mask {
  bool on;
};
template <class D>
using Vec = Vector<typename D::Lane>;

template <class D>
constexpr std::size_t MaxLanes(D) {
  return 1;
}

template <class T>
Vector<T> Zero(Tag<T>) {
  return {T{}};
}
template <class T, class U>
Vector<T> Set(Tag<T>, U x) {
  return {static_cast<T>(x)};
}
template <class T, class U>
Vector<T> Iota(Tag<T>, U first) {
  return {static_cast<T>(first)};
}
template <class T>
Vector<T> Load(Tag<T>, const T* p) {
  return {*p};
}
template <class T>
Vector<T> LoadU(Tag<T>, const T* p) {
  return {*p};
}
template <class T>
void Store(Vector<T> v, Tag<T>, T* p) {
  *p = v.x;
}
template <class T>
void StoreU(Vector<T> v, Tag<T>, T* p) {
  *p = v.x;
}
template <class T>
T GetLane(Vector<T> v) {
  return v.x;
}
template <class D, class T>
Vector<T> SumOfLanes(D, Vector<T> v) {
  return v;
}
template <class D, class T>
Vector<T> MaxOfLanes(D, Vector<T> v) {
  return v;
}

template <class T>
Vector<T> Add(Vector<T> a, Vector<T> b) {
  return {static_cast<T>(a.x + b.x)};
}
template <class T>
Vector<T> Sub(Vector<T> a, Vector<T> b) {
  return {static_cast<T>(a.x - b.x)};
}
inline Vector<float> Mul(Vector<float> a, Vector<float> b) {
  return {a.x * b.x};
}
inline Vector<float> Div(Vector<float> a, Vector<float> b) {
  return {a.x / b.x};
}
inline Vector<float> MulAdd(Vector<float> a, Vector<float> b, Vector<float> c) {
  return {a.x * b.x + c.x};
}
template <class T>
Vector<T> Max(Vector<T> a, Vector<T> b) {
  return {a.x < b.x ? b.x : a.x};
}
inline Vector<float> Neg(Vector<float> a) {
  return {-a.x};
}
inline Vector<float> Abs(Vector<float> a) {
  return {std::fabs(a.x)};
}
inline Vector<float> CopySign(Vector<float> magnitude, Vector<float> sign) {
  return {std::copysign(magnitude.x, sign.x)};
}

template <class T>
Vector<T> And(Vector<T> a, Vector<T> b) {
  return {a.x & b.x};
}
template <class T>
Vector<T> Or(Vector<T> a, Vector<T> b) {
  return {a.x | b.x};
}
template <int kBits, class T>
Vector<T> ShiftLeft(Vector<T> a) {
  return {static_cast<T>(static_cast<std::make_unsigned_t<T>>(a.x) << kBits)};
}
template <int kBits, class T>
Vector<T> ShiftRight(Vector<T> a) {
  return {static_cast<T>(a.x >> kBits)};
}
template <class T, class U>
Vector<T> BitCast(Tag<T>, Vector<U> v) {
  return {std::bit_cast<T>(v.x)};
}
template <class T, class U>
Vector<T> PromoteTo(Tag<T>, Vector<U> v) {
  return {static_cast<T>(v.x)};
}
// Saturating in Highway; the kernels only pass values that fit.
template <class T, class U>
Vector<T> DemoteTo(Tag<T>, Vector<U> v) {
  return {static_cast<T>(v.x)};
}
template <class T, class U>
Vector<T> ConvertTo(Tag<T>, Vector<U> v) {
  return {static_cast<T>(v.x)};
}

template <class T>
Mask Lt(Vector<T> a, Vector<T> b) {
  return {a.x < b.x};
}
template <class T>
Mask Gt(Vector<T> a, Vector<T> b) {
  return {a.x > b.x};
}
template <class T>
Mask Eq(Vector<T> a, Vector<T> b) {
  return {a.x == b.x};
}
inline Mask IsNaN(Vector<float> a) {
  return {std::isnan(a.x)};
}
template <class D>
Mask RebindMask(D, Mask m) {
  return m;
}
inline Mask And(Mask a, Mask b) {
  return {a.on && b.on};
}
inline Mask Or(Mask a, Mask b) {
  return {a.on || b.on};
}
template <class D>
bool AllFalse(D, Mask m) {
  return !m.on;
}
template <class T>
Vector<T> IfThenElse(Mask m, Vector<T> yes, Vector<T> no) {
  return m.on ? yes : no;
}

}  // namespace heed::scalar
