// First phases as functions of any arguments of the right kinds: what tables of functions are made
// of.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "functions.h"

namespace npu_quant::testing {

// Of one tensor, or NULL. It stays, as it would take the tensor with it.
inline aclTensorList* list_of(aclTensor* tensor) {
  return tensor == nullptr ? nullptr : aclCreateTensorList(&tensor, 1);
}

template <class To>
To as(const Argument& argument) {
  using Pointed = std::remove_const_t<std::remove_pointer_t<To>>;
  if constexpr (std::is_same_v<Pointed, aclTensor>)
    return std::get<aclTensor*>(argument);
  else if constexpr (std::is_same_v<Pointed, aclTensorList>)
    return list_of(std::get<aclTensor*>(argument));
  else if constexpr (std::is_same_v<Pointed, char>)
    return const_cast<To>(std::get<const char*>(std::get<Attribute>(argument)));
  else if constexpr (std::is_same_v<Pointed, aclIntArray>)
    return (void)std::get<const char*>(std::get<Attribute>(argument)), nullptr;  // NULL alone
  else if constexpr (std::is_same_v<To, bool>)
    return std::get<bool>(std::get<Attribute>(argument));
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(std::get<double>(std::get<Attribute>(argument)));
  else
    return static_cast<To>(std::get<int64_t>(std::get<Attribute>(argument)));
}

template <class... Types, size_t... i>
Phase1 from_arguments(aclnnStatus (*function)(Types...), std::index_sequence<i...>) {
  using All = std::tuple<Types...>;
  return [=](const Arguments& a, uint64_t* size, aclOpExecutor** executor) {
    EXPECT_EQ(a.size(), sizeof...(i));
    return function(as<std::tuple_element_t<i, All>>(a[i])..., size, executor);
  };
}

// The last two parameters are what every first phase gives.
template <class... Types>
Phase1 of(aclnnStatus (*function)(Types...)) {
  return from_arguments(function, std::make_index_sequence<sizeof...(Types) - 2>());
}

inline constexpr bool kOptional = true;

inline Parameters operator+(const Parameters& first, const Parameters& then) {
  return with(first, then);
}

// The functions of one file each.
std::vector<Function> gated_linear_units();
std::vector<Function> weight_quant_products();
std::vector<Function> grouped_products();
std::vector<Function> products_by_experts();
std::vector<Function> rows_of_experts();
std::vector<Function> quant_products();

}  // namespace npu_quant::testing
