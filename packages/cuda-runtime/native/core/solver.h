// The cuSOLVER handle of one stream.
#pragma once

#include "cusolver.h"
#include "stream.h"

namespace mercer {

class Solver {
 public:
  explicit Solver(Stream& stream);
  ~Solver();
  Solver(const Solver&) = delete;

  cusolver::Handle handle() const noexcept { return handle_; }
  cusolver::Params params() const noexcept { return params_; }

 private:
  Device& device_;
  cusolver::Handle handle_ = nullptr;
  cusolver::Params params_ = nullptr;
};

}  // namespace mercer
