// Captured work and its executable form.
#pragma once

#include <vector>

#include "stream.h"
#include "use_tracker.h"

namespace mercer {

class Graph {
 public:
  Graph(SharedUse use, cu::CUgraph graph, std::vector<std::shared_ptr<void>> kept);
  ~Graph();
  Graph(const Graph&) = delete;

  const SharedUse use;
  size_t nodeCount();
  cu::CUgraph handle() const noexcept { return graph_; }
  /// Modules, buffers and pinned memory that the captured work refers to.
  const std::vector<std::shared_ptr<void>>& kept() const noexcept { return kept_; }

 private:
  cu::CUgraph graph_;
  std::vector<std::shared_ptr<void>> kept_;
};

class GraphExec {
 public:
  explicit GraphExec(Graph& graph);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;

  const SharedUse use;
  void launch(const SharedStream& stream);
  void upload(const SharedStream& stream);

 private:
  struct Owned;
  void mustShareDevice(const SharedStream& stream) const;
  std::shared_ptr<Owned> owned_;
  UseTracker uses_;
};

}  // namespace mercer
