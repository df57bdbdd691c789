// npu_dtype_cast (docs/numerics.md 13):
//   y = the number of `to` that is nearest to x, by one rounding
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

// Values of any format, of which a loop knows the size only: a switch in each tile is little beside
// the work, and every pair of formats a loop would be much to compile.
template <class T>
struct Sized {
  using Storage = T;
};

__attribute__((noinline)) void load(Format format, const void* x, Tile& v) {
  const auto as = [&](auto in) {
    v = decltype(in)::load(static_cast<const typename decltype(in)::Storage*>(x));
  };
  if (format == Format::float32) return as(Float32<WholeLoads>{});
  if (format == Format::float16) return as(Float16<WholeLoads>{});
  if (format == Format::bfloat16) return as(BFloat16<WholeLoads>{});
  SmallCode::load(format, static_cast<const uint8_t*>(x), v);
}

__attribute__((noinline)) void put(Format format, void* y, const Tile& v, Stores stores) {
  const auto as = [&](auto out) {
    decltype(out)::put(static_cast<typename decltype(out)::Storage*>(y), v, stores);
  };
  if (format == Format::float32) return as(Float32<WholeLoads>{});
  if (format == Format::float16) return as(Float16<WholeLoads>{});
  if (format == Format::bfloat16) return as(BFloat16<WholeLoads>{});
  SmallCode::put(format, static_cast<uint8_t*>(y), v, stores);
}

template <class In, class Out>
struct Cast {
  using X = Sized<In>;
  using Y = Sized<Out>;
  static constexpr int kParameters = 0;
  Format from, to;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    Tile v;
    load(from, tile.x(), v);
    put(to, tile.y(), v, tile.stores);
  }
};

// Calls f with a type of the size of a format's values in a piece.
template <class F>
void visit_size(Format format, F f) {
  if (format == Format::float32) return f(Unaligned<uint32_t>{});
  if (format == Format::float16 || format == Format::bfloat16) return f(Unaligned<uint16_t>{});
  f(uint8_t{});
}

}  // namespace

template <>
void DtypeCastKernel::run<kTarget>(const Args& args) {
  const DefaultFloatEnvironment guard;
  trap_unless(is_reference(args.work.rule));
  visit_size(args.from, [&](auto in) {
    visit_size(args.to, [&](auto out) {
      map_rows(args.work, Cast<decltype(in), decltype(out)>{args.from, args.to});
    });
  });
}

}  // namespace npu_quant
