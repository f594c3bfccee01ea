#include "operand.h"

#include <algorithm>
#include <limits>

namespace mercer {

void* Region::on(Stream& stream, uint64_t bytes) const {
  if (!buffer) return nullptr;
  const Device& device = stream.use->device;
  if (&buffer->device() != &device)
    misuse("DEVICE_MISMATCH", "the buffer lies on cuda:" + std::to_string(buffer->device().ordinal) +
                                  ", the stream belongs to cuda:" + std::to_string(device.ordinal));
  const auto address = buffer->at(offset, bytes);
  stream.keepForCapture(buffer);
  return reinterpret_cast<void*>(address);
}

namespace {

/// Elements from the first to one past the last; throws when they are more than can be counted.
uint64_t extentOf(const Matrix& matrix, int64_t count, int64_t stride) {
  checkCounts({matrix.rows, matrix.columns, matrix.leading, count, stride});
  checkLeading(matrix.leading, matrix.rows);
  if (matrix.rows == 0 || matrix.columns == 0 || count == 0) return 0;
  using Wide = unsigned __int128;
  const Wide extent = static_cast<Wide>(count - 1) * static_cast<uint64_t>(stride) +
                      static_cast<Wide>(matrix.columns - 1) * static_cast<uint64_t>(matrix.leading) +
                      static_cast<uint64_t>(matrix.rows);
  if (extent > uint64_t{1} << 53)
    misuse("OUT_OF_RANGE", "a matrix of " + std::to_string(matrix.rows) + " x " +
                               std::to_string(matrix.columns) + " with leading dimension " +
                               std::to_string(matrix.leading) + " does not lie in any buffer");
  return static_cast<uint64_t>(extent);
}

}  // namespace

void* Matrix::on(Stream& stream, size_t elementBytes) const {
  return region.on(stream, extentOf(*this, 1, 0) * elementBytes);
}

void* batchOn(Stream& stream, const Matrix& matrix, size_t elementBytes, int64_t count, int64_t stride) {
  return matrix.region.on(stream, extentOf(matrix, count, stride) * elementBytes);
}

void checkCounts(std::initializer_list<int64_t> counts, int64_t limit) {
  for (const int64_t count : counts)
    if (count < 0 || count > limit)
      misuse("INVALID_ARGUMENT", "a dimension must be a whole number from 0 to " + std::to_string(limit) +
                                     ", got " + std::to_string(count));
}

void checkIntCounts(std::initializer_list<int64_t> counts) {
  checkCounts(counts, std::numeric_limits<int>::max());
}

void checkLeading(int64_t leading, int64_t rows) {
  if (leading < std::max<int64_t>(1, rows))
    misuse("INVALID_ARGUMENT", "the leading dimension " + std::to_string(leading) + " is less than the " +
                                   std::to_string(rows) + " rows of a column");
}

std::vector<std::shared_ptr<void>> buffersOf(std::initializer_list<Region> regions) {
  std::vector<std::shared_ptr<void>> buffers;
  for (const auto& region : regions) buffers.push_back(region.buffer);
  return buffers;
}

}  // namespace mercer
