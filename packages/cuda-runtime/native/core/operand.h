// Device memory as library calls take it: checked ranges of buffers.
#pragma once

#include <initializer_list>
#include <vector>

#include "host_copy.h"

namespace mercer {

/// Part of a buffer, from a byte offset on. Without a buffer it is a null pointer.
struct Region {
  SharedBuffer buffer;
  uint64_t offset = 0;

  /// Address of `bytes` bytes for work on `stream`; a capture in progress keeps the buffer. Throws
  /// `OUT_OF_RANGE`, `DEVICE_MISMATCH`.
  void* on(Stream& stream, uint64_t bytes) const;
};

/// A matrix in column-major order; `leading` elements from one column to the next.
struct Matrix {
  Region region;
  int64_t rows = 0, columns = 0, leading = 0;

  void* on(Stream& stream, size_t elementBytes) const;
};

/// `count` matrices, `stride` elements from one to the next.
void* batchOn(Stream& stream, const Matrix& matrix, size_t elementBytes, int64_t count, int64_t stride);

/// Device memory that a call may use while it runs.
struct Scratch {
  Region region;
  uint64_t bytes = 0;
};

/// Throws `INVALID_ARGUMENT` unless each is from 0 to 2^53, or to the given limit.
void checkCounts(std::initializer_list<int64_t> counts, int64_t limit = int64_t{1} << 53);

/// The same for calls whose dimensions are int.
void checkIntCounts(std::initializer_list<int64_t> counts);

/// Throws `INVALID_ARGUMENT` unless columns of `rows` elements fit `leading` apart.
void checkLeading(int64_t leading, int64_t rows);

/// Of one device address in a table of them.
inline constexpr uint64_t kAddressBytes = 8;

/// The buffers of some regions, to be kept while work is under way.
std::vector<std::shared_ptr<void>> buffersOf(std::initializer_list<Region> regions);

}  // namespace mercer
