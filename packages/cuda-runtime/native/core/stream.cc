#include "stream.h"

#include <algorithm>

#include "beside.h"
#include "blas.h"
#include "graph.h"
#include "janitor.h"
#include "solver.h"

namespace mercer {

namespace {

constexpr uint64_t kLaunchesPerMark = 32;

/// Destroys library handles and then their CUstream, on the janitor's thread once the stream's work is
/// done: destroying a handle synchronises the device.
void retire(std::vector<std::shared_ptr<void>> handles, Device& device, cu::CUstream stream) noexcept {
  try {
    auto event = device.events.take();
    MERCER_CU(&device, cuEventRecord, event.get(), stream);
    const void* queue = event.get();
    device.waiter.add(queue, std::move(event), [handles = std::move(handles), &device, stream](const Failure*) mutable {
      sweep(device, [handles = std::move(handles), stream]() mutable {
        handles.clear();
        driver().cuStreamDestroy(stream);
      });
    });
  } catch (...) {
    // The device is gone, and the handles with it.
  }
}

}  // namespace

Stream::Stream(SharedUse shared, int wanted) : use(std::move(shared)), priority(wanted) {
  Device& device = use->enter();
  MERCER_CU(&device, cuStreamCreateWithPriority, &handle_, cu::kStreamNonBlocking, wanted);
  std::lock_guard lock(device.streamsMutex);
  device.streams.insert(this);
}

Stream::~Stream() {
  {
    std::lock_guard lock(use->device.streamsMutex);
    use->device.streams.erase(this);
  }
  marks_.clear();
  if (!use->device.tryEnter()) return;
  if (capture_) {
    cu::CUgraph graph = nullptr;
    if (!driver().cuStreamEndCapture(handle_, &graph) && graph) driver().cuGraphDestroy(graph);
    for (auto address : capture_->frees) driver().cuMemFreeAsync(address, handle_);
  }
  std::vector<std::shared_ptr<void>> handles;
  if (auto solver = solver_.take()) handles.push_back(std::move(solver));
  if (auto blas = blas_.take()) handles.push_back(std::move(blas));
  if (handles.empty())
    driver().cuStreamDestroy(handle_);
  else
    retire(std::move(handles), use->device, handle_);
}

void Stream::launched(const std::shared_ptr<void>& kept) {
  if (const auto capture = captured()) {
    if (kept && (capture->kept.empty() || capture->kept.back() != kept)) capture->kept.push_back(kept);
    return;
  }
  if (++launched_ % kLaunchesPerMark == 0) addMark();
}

void Stream::addMark() {
  Mark mark{launched_, this->mark()};
  std::lock_guard lock(mutex_);
  marks_.push_back(std::move(mark));
  dropFinishedMarks();
}

void Stream::dropFinishedMarks() {
  while (!marks_.empty()) {
    if (marks_.front().sequence > completed_) {
      const auto result = driver().cuEventQuery(marks_.front().event.get());
      if (result == cu::kNotReady) return;
      check(result, "cuEventQuery", &use->device);
      completed_ = marks_.front().sequence;
    }
    marks_.pop_front();
  }
}

uint64_t Stream::inFlight() {
  const bool isCaptured = capturing();
  if (!isCaptured) enter();
  std::lock_guard lock(mutex_);
  if (!isCaptured) dropFinishedMarks();
  return launched_ - completed_;
}

void Stream::completed(uint64_t sequence) {
  std::lock_guard lock(mutex_);
  completed_ = std::max(completed_, sequence);
}

SharedEvent Stream::mark() {
  Device& device = enter();
  auto event = device.events.take();
  MERCER_CU(&device, cuEventRecord, event.get(), handle_);
  return event;
}

void Stream::whenDone(Waiter::Done done) {
  refuseCapture("waiting for the stream");
  auto event = mark();
  use->device.waiter.add(this, std::move(event),
                         [self = shared_from_this(), sequence = launched_,
                          done = std::move(done)](const Failure* failure) {
                           if (!failure) self->completed(sequence);
                           done(failure);
                         });
}

void Stream::whenBelow(uint64_t limit, Waiter::Done done) {
  refuseCapture("waiting for room");
  const uint64_t needed = launched_ < limit ? 0 : launched_ - limit + 1;
  enter();
  SharedEvent event;
  uint64_t sequence = launched_;
  {
    std::lock_guard lock(mutex_);
    dropFinishedMarks();
    if (completed_ >= needed) {
      sequence = 0;
    } else {
      for (const auto& mark : marks_) {
        if (mark.sequence < needed) continue;
        event = mark.event;
        sequence = mark.sequence;
        break;
      }
    }
  }
  if (sequence == 0) return done(nullptr);
  if (!event) event = mark();
  // Its own queue: an older mark must not wait behind a newer one.
  const void* queue = event.get();
  use->device.waiter.add(queue, std::move(event),
                         [self = shared_from_this(), sequence,
                          done = std::move(done)](const Failure* failure) {
                           if (!failure) self->completed(sequence);
                           done(failure);
                         });
}

bool Stream::query() {
  refuseCapture("asking whether the stream is done");
  Device& device = enter();
  const auto result = driver().cuStreamQuery(handle_);
  if (result == cu::kNotReady) return false;
  check(result, "cuStreamQuery", &device);
  completed(launched_);
  return true;
}

void Stream::synchronize() {
  refuseCapture("waiting for the stream");
  Device& device = enter();
  MERCER_CU(&device, cuStreamSynchronize, handle_);
  completed(launched_);
}

void Stream::refuseCapture(const char* what) const {
  if (capturing())
    misuse("CAPTURING", std::string(what) + " is not possible while the stream captures a graph");
}

void Stream::beginCapture() {
  refuseCapture("a second capture");
  Device& device = enter();
  std::lock_guard lock(device.streamsMutex);
  MERCER_CU(&device, cuStreamBeginCapture, handle_, cu::kCaptureModeRelaxed);
  capture_ = std::make_shared<Capture>();
}

void Stream::joinCapture(const std::shared_ptr<Capture>& capture) {
  if (!capture || capture == captured()) return;
  std::lock_guard lock(use->device.streamsMutex);
  joined_ = capture;
}

std::shared_ptr<Graph> Stream::endCapture() {
  if (!capture_) misuse("NOT_CAPTURING", "the stream does not capture a graph");
  Device& device = enter();
  std::lock_guard lock(device.streamsMutex);
  const auto capture = std::move(capture_);
  capture_.reset();
  cu::CUgraph graph = nullptr;
  const auto result = driver().cuStreamEndCapture(handle_, &graph);
  for (auto address : capture->frees) driver().cuMemFreeAsync(address, handle_);
  check(result, "cuStreamEndCapture", &device);
  return std::make_shared<Graph>(use, graph, std::move(capture->kept), std::move(capture->points));
}

uint32_t Stream::capturePoint() {
  if (!capture_) misuse("NOT_CAPTURING", "the stream does not capture a graph");
  Device& device = enter();
  int status = 0;
  cu::CUgraph graph = nullptr;
  const cu::CUgraphNode* nodes = nullptr;
  size_t count = 0;
  MERCER_CU(&device, cuStreamGetCaptureInfo, handle_, &status, nullptr, &graph, &nodes, &count);
  std::vector<cu::CUgraphNode> now(nodes, nodes + count);
  std::sort(now.begin(), now.end());
  auto& points = capture_->points;
  if (points.empty() || points.back() != now) points.push_back(std::move(now));
  return static_cast<uint32_t>(points.size() - 1);
}

void Stream::followCapture(const std::vector<uint32_t>& given) {
  if (!capture_) misuse("NOT_CAPTURING", "the stream does not capture a graph");
  const auto& points = capture_->points;
  std::vector<cu::CUgraphNode> nodes;
  for (const uint32_t point : given) {
    if (point >= points.size()) misuse("INVALID_ARGUMENT", "a capture has no point " + std::to_string(point));
    nodes.insert(nodes.end(), points[point].begin(), points[point].end());
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  Device& device = enter();
  MERCER_CU(&device, cuStreamUpdateCaptureDependencies, handle_, nodes.data(), nodes.size(), cu::kSetCaptureDependencies);
}

bool Stream::settleIdle(Device& device) {
  std::lock_guard lock(device.streamsMutex);
  bool all = true;
  for (Stream* stream : device.streams) {
    if (stream->capturing()) continue;
    if (driver().cuStreamQuery(stream->handle_) == cu::kSuccess)
      driver().cuStreamSynchronize(stream->handle_);
    else
      all = false;
  }
  return all;
}

void Stream::keepForCapture(std::shared_ptr<void> kept) {
  if (const auto capture = captured()) capture->kept.push_back(std::move(kept));
}

void Stream::keepUntilDone(std::shared_ptr<void> kept) {
  if (capturing()) return keepForCapture(std::move(kept));
  // Also after the environment's use of the device has ended: the work is under way.
  Device& device = use->device;
  device.enter();
  auto event = device.events.take();
  MERCER_CU(&device, cuEventRecord, event.get(), handle_);
  const void* queue = event.get();
  device.waiter.add(queue, std::move(event), [kept = std::move(kept)](const Failure*) {});
}

void Stream::checkHealth() {
  if (capturing()) return;
  Device& device = enter();
  const auto result = driver().cuStreamQuery(handle_);
  if (isFatal(result)) check(result, "cuStreamQuery", &device);
}

Solver& Stream::solver() {
  if (capturing() && !solver_.made()) refuseCapture("making the cuSOLVER handle");
  return makeSolver();
}

Blas& Stream::blas() {
  if (capturing() && !blas_.made()) refuseCapture("making the cuBLAS handle");
  return makeBlas();
}

Solver& Stream::makeSolver() { return solver_.of(*this); }

Blas& Stream::makeBlas() { return blas_.of(*this); }

Beside& Stream::beside() {
  if (!beside_) beside_ = std::make_shared<Beside>(use, priority);
  return *beside_;
}

void Stream::freeAsync(cu::CUdeviceptr address) noexcept {
  if (!use->device.tryEnter()) return;
  if (const auto capture = captured()) {
    capture->frees.push_back(address);
    return;
  }
  driver().cuMemFreeAsync(address, handle_);
}

}  // namespace mercer
