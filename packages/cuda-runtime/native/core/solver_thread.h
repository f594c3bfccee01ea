// A thread of one stream for library calls that wait for the device. It ends with its owner.
#pragma once

#include <functional>
#include <memory>

namespace mercer {

class SolverThread {
 public:
  SolverThread();
  /// The task under way finishes; those not begun are dropped.
  ~SolverThread();
  SolverThread(const SolverThread&) = delete;

  /// Tasks run one after another, on a thread started by the first. Dropped when the process is
  /// exiting; the exit waits for a task under way, up to a minute.
  void run(std::function<void()> task);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace mercer
