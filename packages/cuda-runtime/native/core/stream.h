// A non-blocking stream: work in order, a count of launches in flight, graph capture.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "lazy_handle.h"

namespace mercer {

class Graph;
class Blas;
class Solver;
class Beside;

/// A capture under way: what the graph will keep, and what is freed behind it.
struct Capture {
  std::vector<std::shared_ptr<void>> kept;
  std::vector<cu::CUdeviceptr> frees;
  std::vector<std::vector<cu::CUgraphNode>> points;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(SharedUse use, int priority);
  ~Stream();
  Stream(const Stream&) = delete;

  const SharedUse use;
  const int priority;
  cu::CUstream handle() const noexcept { return handle_; }
  /// The device, alive and current.
  Device& enter() { return use->enter(); }

  /// Counts one launch and keeps what a capture in progress must keep.
  void launched(const std::shared_ptr<void>& kept);
  /// Launches enqueued and not known finished; asks the driver about recorded marks only.
  uint64_t inFlight();
  /// An event recorded now, after everything enqueued so far.
  SharedEvent mark();
  /// Calls `done` on the waiter's thread when all work enqueued so far is done.
  void whenDone(Waiter::Done done);
  /// Calls `done` when fewer than `limit` launches are in flight.
  void whenBelow(uint64_t limit, Waiter::Done done);
  bool query();
  void synchronize();

  /// Its work becomes part of a graph: it began a capture, or waited for an event of one that is not over.
  bool capturing() const noexcept { return captured() != nullptr; }
  /// What its work is captured into, if it is.
  std::shared_ptr<Capture> captured() const noexcept { return capture_ ? capture_ : joined_.lock(); }
  /// Waited for an event of a capture, which takes the stream's work in until it ends.
  void joinCapture(const std::shared_ptr<Capture>& capture);
  /// Kernels may be launched as graphs: these are no part of others, and have no priority.
  bool launchesGraphs() const noexcept { return priority == 0 && !capturing(); }
  /// Synchronises the streams that have nothing to do, which costs nothing: the pool counts memory
  /// as free only after a synchronisation, however long ago it was freed.
  /// True if that was all of them; the device must be current.
  static bool settleIdle(Device& device);
  /// Throws `CAPTURING`: `what` cannot be part of a graph.
  void refuseCapture(const char* what) const;
  void beginCapture();
  std::shared_ptr<Graph> endCapture();
  /// A number for what work that is captured next would follow: the same one while that is the same.
  uint32_t capturePoint();
  /// Work that is captured next follows what is at these points, and nothing else.
  void followCapture(const std::vector<uint32_t>& points);
  /// Keeps an object until the graph being captured dies.
  void keepForCapture(std::shared_ptr<void> kept);
  /// Keeps an object until the work enqueued so far is done, or as long as the graph being captured.
  void keepUntilDone(std::shared_ptr<void> kept);
  /// Frees device memory in stream order; postponed to the end of a capture.
  void freeAsync(cu::CUdeviceptr address) noexcept;
  /// Throws if the device broke in work enqueued so far, after marking it dead.
  void checkHealth();

  /// The cuSOLVER and cuBLAS handles bound to this stream: made on first use, which takes long and may
  /// wait for the device, and destroyed with the stream. Throw `CAPTURING` if it would be made in a capture.
  Solver& solver();
  Blas& blas();
  /// Make them now, on any thread.
  Solver& makeSolver();
  Blas& makeBlas();
  /// The stream and the thread for library calls that wait for their own results.
  Beside& beside();

 private:
  struct Mark {
    uint64_t sequence;
    SharedEvent event;
  };
  void addMark();
  void dropFinishedMarks();
  void completed(uint64_t sequence);

  cu::CUstream handle_ = nullptr;
  std::mutex mutex_;  // marks_, completed_: the waiter's thread reports completion
  uint64_t launched_ = 0;
  uint64_t completed_ = 0;
  std::deque<Mark> marks_;
  std::shared_ptr<Capture> capture_;
  std::weak_ptr<Capture> joined_;
  LazyHandle<Solver> solver_;
  LazyHandle<Blas> blas_;
  std::shared_ptr<Beside> beside_;  // environment's thread only
};

using SharedStream = std::shared_ptr<Stream>;

}  // namespace mercer
