// Whether two function types agree in what a call passes.
#pragma once

#include <type_traits>

namespace mercer {

/// Equal in what a call passes: size, and whether it is a pointer.
template <typename A, typename B>
constexpr bool sameParameter() {
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}

template <typename A, typename B>
struct Same : std::false_type {};

template <typename R, typename... A, typename S, typename... B>
struct Same<R(A...), S(B...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return sizeof(R) == sizeof(S) && (sameParameter<A, B>() && ...);
  }
  static constexpr bool value = check();
};

}  // namespace mercer
