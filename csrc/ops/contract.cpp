#include "ops/contract.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace npu_quant {
namespace {

// From the kernel's own list: sysconf reports all of a socket's caches together on some AMD
// machines.
int64_t last_level_cache_bytes() {
  int64_t kib = 0;
  if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r")) {
    if (std::fscanf(file, "%" SCNd64, &kib) != 1) kib = 0;
    std::fclose(file);
  }
  return kib > 0 ? kib << 10 : 32 << 20;
}

// Read when the library is loaded: the first call may be in a thread while another forks.
const int64_t last_level_cache = last_level_cache_bytes();

// How to get from a dtype to one that is taken, where there is a way that keeps the meaning.
std::string float_remedy(const std::string& argument, std::string_view dtype) {
  const auto begins_with = [&](std::string_view text) {
    return dtype.substr(0, text.size()) == text;
  };
  const std::string bits = argument + ".view(ml_dtypes.bfloat16)";
  if (dtype == "|V2") return "If it holds the bits of bfloat16: " + bits + ".";
  if (begins_with(">f") || begins_with("<f"))
    return "Its bytes are swapped: " + argument + ".astype(" + argument +
           ".dtype.newbyteorder('=')).";
  for (const char* number : {"float", "int", "uint", "bool", "complex"}) {
    if (!begins_with(number)) continue;
    const bool may_be_bits = dtype == "uint16" || dtype == "int16";
    return "Convert it, e.g. with " + argument + ".astype(np.float32)" +
           (may_be_bits ? "; if it holds the bits of bfloat16, " + bits : "") + ".";
  }
  return "";
}

}  // namespace

bool worth_streaming(int64_t bytes) {
  // Measured on Zen 4 and Zen 5: streaming stores pay from 0.75-1.5 of the last-level cache on. The
  // same bound for any number of threads, so that two are never slower than one.
  return bytes > last_level_cache;
}

int64_t work_bytes(int64_t bytes, std::initializer_list<const TensorView*> tensors) {
  constexpr int64_t kStridedCost = 4;
  for (const TensorView* tensor : tensors)
    if (tensor->present && tensor->rank > 0 &&
        tensor->strides[tensor->rank - 1] != size_of(tensor->dtype))
      return bytes * kStridedCost;
  return bytes;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape.dims[i]);
  return text + (shape.rank == 1 ? ",)" : ")");
}

std::string to_string(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::string to_integer_string(double number) {
  char text[400];
  std::snprintf(text, sizeof text, "%.0f", number);
  return text;
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 60;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // inside UTF-8
  return std::string(text.substr(0, end)) + "...";
}

std::string with_article(const std::string& type) {
  const bool vowel = !type.empty() && std::strchr("aeiouAEIOU", type[0]) != nullptr;
  return (vowel ? "an " : "a ") + shortened(type);
}

std::string quoted(std::string_view text) {
  std::string line = shortened(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = '?';  // messages are one line
  return "'" + line + "'";
}

Status fault(const char* op, Fault kind, const std::string& sentence, const std::string& remedy) {
  return {kind, std::string(op) + ": " + sentence, remedy};
}

std::string_view sentence_of(const Status& status) {
  const std::string_view message = status.message;
  const size_t colon = message.find(": ");
  return colon == message.npos ? message : message.substr(colon + 2);
}

Status missing(const char* op, const char* argument) {
  return fault(op, Fault::missing, std::string(argument) + " is None, expected a numpy.ndarray.");
}

Status not_an_array(const char* op, const char* argument, const std::string& type,
                    const std::string& remedy) {
  return fault(op, Fault::dtype,
               std::string(argument) + " is " + with_article(type) + ", expected a numpy.ndarray.",
               remedy);
}

Status out_of_memory(const char* op) { return fault(op, Fault::memory, "out of memory."); }

std::string known_numerics() {
  std::string names;
  for (const char* name : kNumericsNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Status check_numerics(const char* op, std::string_view name, Numerics& numerics) {
  if (find_numerics(name, numerics)) return {};
  return fault(op, Fault::unavailable,
               "numerics is " + quoted(name) + ", available: " + known_numerics() + ".");
}

Status check_num_threads(int64_t n) {
  if (n >= 1 && n <= 4096) return {};
  return fault("set_num_threads", Fault::attribute,
               "n is " + std::to_string(n) + ", expected a whole number from 1 to 4096.");
}

Status check_float_dtype(const char* op, const char* argument, const TensorView& view) {
  switch (view.dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return {};
    default: break;
  }
  return fault(op, Fault::dtype,
               std::string(argument) + " has dtype " + view.dtype_name +
                   ", expected float16, bfloat16 or float32.",
               float_remedy(argument, view.dtype_name));
}

Status check_dtype_in(const char* op, const char* argument, const TensorView& view,
                      std::initializer_list<DType> allowed) {
  std::string names;
  size_t left = allowed.size();
  for (const DType dtype : allowed) {
    if (view.dtype == dtype) return {};
    names += name_of(dtype);
    if (--left > 0) names += left == 1 ? " or " : ", ";
  }
  return fault(
      op, Fault::dtype,
      std::string(argument) + " has dtype " + view.dtype_name + ", expected " + names + ".");
}

Status check_dtype_in_or_same(const char* op, const char* argument, const TensorView& view,
                              std::initializer_list<DType> allowed, const char* other_name,
                              const TensorView& other) {
  bool is_among = false;
  for (const DType dtype : allowed) is_among = is_among || other.dtype == dtype;
  if (is_among) return check_dtype_in(op, argument, view, allowed);
  std::string names;
  for (const DType dtype : allowed) {
    if (view.dtype == dtype) return {};
    names += (names.empty() ? "" : ", ") + std::string(name_of(dtype));
  }
  if (view.dtype == other.dtype) return {};
  return fault(op, Fault::dtype,
               std::string(argument) + " has dtype " + view.dtype_name + ", expected " + names +
                   " or that of " + other_name + ", " + other.dtype_name + ".");
}

Status check_same_dtype(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other) {
  if (view.dtype == other.dtype) return {};
  return fault(op, Fault::dtype,
               std::string(argument) + " has dtype " + view.dtype_name + ", expected that of " +
                   other_name + ", " + other.dtype_name + ".",
               std::string("Convert it with ") + argument + ".astype(" + other_name + ".dtype).");
}

Status check_rank(const char* op, const char* argument, const TensorView& view, int low, int high,
                  const char* remedy) {
  if (view.rank >= low && view.rank <= high) return {};
  const std::string range =
      low == high
          ? std::to_string(low)
          : std::to_string(low) + (high == low + 1 ? " or " : " to ") + std::to_string(high);
  return fault(op, Fault::rank,
               std::string(argument) + " has " + std::to_string(view.rank) +
                   (view.rank == 1 ? " dimension" : " dimensions") + ", expected " + range + ".",
               remedy);
}

bool is_no_such_rank(const TensorView& view, const Shape& expected) {
  return view.rank > kMaxRank || (view.rank == 0 && expected.rank > 0);
}

Status check_same_shape(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other) {
  if (view.shape == other.shape && view.rank == other.rank) return {};
  if (is_no_such_rank(view, other.shape))
    return fault(op, Fault::rank,
                 std::string(argument) + " has " + std::to_string(view.rank) +
                     " dimensions, expected the shape of " + other_name + ", " +
                     to_string(other.shape) + ".");
  return fault(op, Fault::shape,
               std::string(argument) + " has shape " + to_string(view.shape) +
                   ", expected that of " + other_name + ", " + to_string(other.shape) + ".");
}

Status check_channel_axis(const char* op, int64_t axis, const TensorView& x, const char* x_name,
                          int& place) {
  if (axis >= -x.rank && axis < x.rank) {
    place = static_cast<int>(axis < 0 ? axis + x.rank : axis);
    return {};
  }
  const std::string dimensions =
      std::to_string(x.rank) + (x.rank == 1 ? " dimension" : " dimensions");
  const std::string range =
      x.rank == 0 ? "none" : std::to_string(-x.rank) + " to " + std::to_string(x.rank - 1);
  return fault(op, Fault::attribute,
               "axis is " + std::to_string(axis) + ", expected " + range + " for " + x_name +
                   " of " + dimensions + ".");
}

Status check_dst_type(const char* op, const DTypeRequest& dst_type) {
  if (dst_type.is_default || dst_type.dtype == DType::int8) return {};
  return fault(op, Fault::unavailable,
               "dst_type is " + shortened(dst_type.text) + ", available: int8.",
               "Name it 1 (torch_npu's code), torch.int8, np.int8 or 'int8'.");
}

Status check_no_dst_type_max(const char* op, double dst_type_max) {
  if (dst_type_max == 0.0) return {};
  return fault(
      op, Fault::attribute,
      "dst_type_max is " + to_string(dst_type_max) + ", available: 0.0 (it belongs to hifloat8).");
}

}  // namespace npu_quant
