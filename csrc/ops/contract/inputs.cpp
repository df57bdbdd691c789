#include "ops/contract/inputs.h"

#include <string>
#include <utility>

namespace npu_quant {
namespace {

// How to get from a dtype to one that is taken, where there is a way that keeps the meaning.
std::string number_remedy(const std::string& argument, const TensorView& view,
                          std::span<const DType> allowed, DType to) {
  constexpr std::string_view kTorch = "torch.";
  std::string_view dtype = view.dtype_name;
  const auto begins_with = [&](std::string_view text) { return dtype.starts_with(text); };
  if (begins_with(kTorch)) dtype.remove_prefix(kTorch.size());
  if (begins_with("float") && is_among(DType::float32, allowed)) to = DType::float32;
  const std::string bits =
      argument + (view.of_torch ? ".view(torch.bfloat16)" : ".view(ml_dtypes.bfloat16)");
  const std::string converted =
      argument + (view.of_torch ? ".to(torch." : ".astype(np.") + name_of(to) + ")";
  const bool takes_bits = is_among(DType::bfloat16, allowed);
  if (takes_bits && dtype == "|V2") return "If it holds the bits of bfloat16, pass " + bits + ".";
  if (dtype.find_first_of("<>") == 0 && dtype.find_first_of("fiu", 1) == 1)
    return "Its bytes are swapped: pass " + argument + ".astype(" + argument +
           ".dtype.newbyteorder('=')).";
  for (const char* number : {"float", "int", "uint", "bool", "complex"}) {
    if (!begins_with(number)) continue;
    const bool may_be_bits = takes_bits && (dtype == "uint16" || dtype == "int16");
    return "Convert it, e.g. with " + converted +
           (may_be_bits ? "; if it holds the bits of bfloat16, pass " + bits : "") + ".";
  }
  return "";
}

// How to get codes of float4 into bytes, two in each.
std::string float4_remedy(const std::string& argument, std::string_view dtype) {
  if (dtype == "torch.float4_e2m1fn_x2") return "Pass " + argument + ".view(torch.uint8).";
  if (dtype == "float4_e2m1fn") return "Pass npu_quant.formats.pack_fp4(" + argument + ").";
  return "";
}

Status wrong_dtype(const char* op, const char* argument, const TensorView& view,
                   const Text& expected, std::string remedy = {}) {
  return fault(op, Fault::dtype, {Argument(argument)}, {"has dtype ", DTypeOf(view)},
               "expected " + expected, std::move(remedy));
}

}  // namespace

Status check_dtype_in(const char* op, const char* argument, const TensorView& view,
                      std::span<const DType> allowed, DType of_numbers) {
  if (!view.present || is_among(view.dtype, allowed)) return {};
  std::string remedy;
  if (of_numbers != DType::other)
    remedy = number_remedy(argument, view, allowed, of_numbers);
  else if (is_among(DType::uint8, allowed))
    remedy = float4_remedy(argument, view.dtype_name);
  return wrong_dtype(op, argument, view, listed(allowed, " or "), remedy);
}

namespace {

// One of several, the first of which others may be converted to, or that of another array.
Status check_dtype_in_or_same(const char* op, const char* argument, const TensorView& view,
                              std::span<const DType> allowed, const char* other_name,
                              const TensorView& other) {
  const DType of_numbers = allowed.front();
  if (is_among(other.dtype, allowed))
    return check_dtype_in(op, argument, view, allowed, of_numbers);
  if (!view.present || is_among(view.dtype, allowed) || view.dtype == other.dtype) return {};
  return wrong_dtype(op, argument, view,
                     listed(allowed, ", ") + " or " + the_dtype({other_name, other}),
                     number_remedy(argument, view, allowed, of_numbers));
}

}  // namespace

Status check_same_dtype(const char* op, const char* argument, const TensorView& view,
                        const char* other_name, const TensorView& other) {
  if (!view.present || view.dtype == other.dtype) return {};
  const std::string dtype = other.dtype_name, own = std::string(other_name) + ".dtype";
  const std::string to = view.of_torch    ? ".to(torch." + dtype + ")"
                         : other.of_torch ? ".astype('" + dtype + "')"
                                          : ".astype(" + own + ")";
  return wrong_dtype(op, argument, view, the_dtype({other_name, other}),
                     std::string("Convert it with ") + argument + to + ".");
}

namespace {

// How to give or merge axes.
std::string rank_remedy(const std::string& argument, int rank, int low, int high) {
  const std::string reshape = argument + ".reshape";
  if (rank < low && low == 1) return "Give it an axis with " + reshape + "(1).";
  if (rank < low) return "Give it two axes, e.g. with " + reshape + "(1, -1).";
  if (high == 2) return "Merge leading axes with " + reshape + "(-1, n).";
  if (high == 3) return "Merge leading axes with " + reshape + "(-1, m, n).";
  return "Merge axes with " + reshape + ".";
}

[[gnu::cold]] Status wrong_rank(const char* op, const char* argument, int rank, int low, int high,
                                const char* remedy) {
  Text allowed{"expected ", low};
  if (high > low) allowed += {high == low + 1 ? " or " : " to ", high};
  return fault(op, Fault::rank, {Argument(argument)}, {"has ", dimensions(rank)}, allowed,
               remedy != nullptr ? remedy : rank_remedy(argument, rank, low, high));
}

}  // namespace

Status check_rank(const char* op, const char* argument, const TensorView& view, int low, int high,
                  const char* remedy) {
  if (!view.present || (view.rank >= low && view.rank <= high)) return {};
  return wrong_rank(op, argument, view.rank, low, high, remedy);
}

namespace {

Status check_dtype(const char* op, const Input& input, const Inputs& inputs) {
  const auto& [name, view, takes, _] = input;
  if (takes->other == Takes::kNone)
    return takes->dtypes.empty()
               ? Status{}
               : check_dtype_in(op, name, *view, takes->dtypes, takes->of_numbers);
  const Input& other = inputs[takes->other];
  if (takes->dtypes.empty()) return check_same_dtype(op, name, *view, other.name, *other.view);
  return check_dtype_in_or_same(op, name, *view, takes->dtypes, other.name, *other.view);
}

}  // namespace

Status check_dtypes(const char* op, const Inputs& inputs) {
  for (const Input& input : inputs)
    if (input.view->present) NPU_QUANT_RETURN_IF_ERROR(check_dtype(op, input, inputs));
  return {};
}

Status check_ranks(const char* op, const Inputs& inputs) {
  for (const auto& [name, view, takes, _] : inputs)
    if (view->present)
      NPU_QUANT_RETURN_IF_ERROR(
          check_rank(op, name, *view, takes->least_rank, takes->most_rank, takes->rank_remedy));
  return {};
}

}  // namespace npu_quant
