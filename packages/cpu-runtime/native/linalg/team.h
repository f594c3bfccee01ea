// The thread that runs a routine, and those of the pool that are idle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../share.h"

namespace mercer::cpu {

class Team {
 public:
  // `scratch` has `scratchBytes`, and is the calling thread's; every other thread that takes part has as much.
  Team(void* scratch, size_t scratchBytes)
      : scratch(scratch), threads(static_cast<int64_t>(sharingThreads())),
        scratchBytes_(scratchBytes) {}

  // A single thread.
  explicit Team(void* scratch) : scratch(scratch), threads(1), scratchBytes_(0) {}

  // Calls `work(member, i)` for every i below `count`, side by side; a member is a team of one with scratch memory of its own.
  template <class Work>
  void forEach(int64_t count, const Work& work) const {
    if (threads == 1 || count <= 1) {
      const Team alone(scratch);
      for (int64_t i = 0; i < count; ++i) work(alone, i);
      return;
    }
    const KernelFn one = [](const void* context, int64_t begin, int64_t, void* scratch) {
      (**static_cast<const Work* const*>(context))(Team(scratch), begin);
    };
    share(one, &work, count, scratchBytes_, scratch);
  }

  // Is so much arithmetic worth sharing? Waking a thread costs some microseconds.
  bool pays(double operations) const { return threads > 1 && operations > 2e6; }

  void* const scratch;
  const int64_t threads;

 private:
  const size_t scratchBytes_;
};

// Equal pieces of `extent`, all but the last a multiple of `multiple`.
struct Pieces {
  Pieces(int64_t extent, int64_t wanted, int64_t multiple) : extent(extent) {
    const int64_t even = (extent + wanted - 1) / std::max<int64_t>(1, wanted);
    size = std::max<int64_t>(1, (even + multiple - 1) / multiple * multiple);
    count = (extent + size - 1) / size;
  }
  int64_t first(int64_t piece) const { return piece * size; }
  int64_t length(int64_t piece) const { return std::min(size, extent - first(piece)); }

  int64_t extent, size, count;
};

}  // namespace mercer::cpu
