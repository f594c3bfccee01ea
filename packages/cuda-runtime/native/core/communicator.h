// One process's part in a group of processes: a NCCL communicator with a stream and a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "direct_memory.h"
#include "nccl.h"
#include "operand.h"
#include "solver_thread.h"

namespace mercer {

/// What all ranks do together: `count` elements of a type are reduced, or gathered from each rank.
struct Collective {
  bool gathers = false;
  int type = 0, reduction = 0;
  int64_t count = 0;
  Region input, output;
};

/// Calls run one after another, in the order in which they were made, on the communicator's thread. Nothing waits inside the library: every
/// call of it is made without blocking and asked about, so that it can be given up when time runs out, when the process exits or when
/// `abort` is called. After that, and after any failure of the library, every call fails with `GROUP_ENDED`.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(SharedUse use, int size, int rank, std::chrono::milliseconds timeout);
  ~Communicator();
  Communicator(const Communicator&) = delete;

  /// Resolves when all ranks have joined.
  void join(const nccl::UniqueId& id, Waiter::Done done);
  /// Starts after the work enqueued on `stream` so far. `done` is told when the result is in device memory; what `stream` gets before
  /// that is not ordered with it.
  void run(const SharedStream& stream, Collective collective, Waiter::Done done);
  /// Leaves the group when what was called before has ended.
  void close(Waiter::Done done);
  /// Gives up what is under way, from any thread.
  void abort() { aborted_.store(true); }

 private:
  using Clock = std::chrono::steady_clock;

  void post(std::function<void()> work, Waiter::Done done);
  void perform(const Collective& collective, const void* input, void* output);
  /// All ranks call the same: throws `GROUP_MISMATCH` on each of them otherwise.
  void agree(const Collective& collective);
  void settle(nccl::Result result, const char* call);
  void awaitStream(const char* call);
  template <typename Ended>
  void await(const char* call, Ended ended);
  void giveUp() noexcept;
  Failure failed(const char* name, const char* call, std::string what) const;

  const SharedUse use_;
  const int size_, rank_;
  const std::chrono::milliseconds timeout_;
  const SharedStream stream_;
  std::atomic<bool> aborted_{false};
  // below: the thread's alone
  nccl::Comm comm_ = nullptr;
  bool joined_ = false;
  std::string ended_;
  std::unique_ptr<DirectMemory> headers_;
  SolverThread thread_;
};

}  // namespace mercer
