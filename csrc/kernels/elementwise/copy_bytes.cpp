// Elements of a byte as they are, whatever they mean:
//   y = x
#include "kernels/elementwise/loop.h"

namespace npu_quant {
namespace {

struct CopyBytes {
  using X = Uint8;
  using Y = Uint8;
  static constexpr int kParameters = 0;

  template <class Parameters, class TileAt>
  NPU_QUANT_INLINE void map(const Parameters&, const TileAt& tile) const {
    tile.stores.put(tile.y(), load<I8>(tile.x()));
  }
};

}  // namespace

template <>
void CopyBytesKernel::run<kTarget>(const Args& args) {
  trap_unless(is_reference(args.work.rule));
  map_rows(args.work, CopyBytes{});
}

}  // namespace npu_quant
