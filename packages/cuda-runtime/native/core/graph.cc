#include "graph.h"

namespace mercer {

Graph::Graph(SharedUse shared, cu::CUgraph graph, std::vector<std::shared_ptr<void>> kept, Points points)
    : use(std::move(shared)), graph_(graph), kept_(std::move(kept)), points_(std::move(points)) {}

cu::CUgraphNode Graph::nodeAt(uint32_t point) const {
  if (point >= points_.size() || points_[point].size() != 1)
    misuse("INVALID_ARGUMENT", "point " + std::to_string(point) + " of the capture is not behind one kernel");
  return points_[point].front();
}

Graph::~Graph() {
  if (use->device.tryEnter()) driver().cuGraphDestroy(graph_);
}

size_t Graph::nodeCount() {
  Device& device = use->enter();
  size_t count = 0;
  MERCER_CU(&device, cuGraphGetNodes, graph_, nullptr, &count);
  return count;
}

/// The executable graph and what it refers to; outlives launches under way.
struct GraphExec::Owned {
  SharedUse use;
  cu::CUgraphExec exec = nullptr;
  std::vector<std::shared_ptr<void>> kept;
  std::shared_ptr<Graph> graph;  // whose nodes name those of the executable form
  ~Owned() {
    if (exec && use->device.tryEnter()) driver().cuGraphExecDestroy(exec);
  }
};

GraphExec::GraphExec(const std::shared_ptr<Graph>& graph) : use(graph->use), owned_(std::make_shared<Owned>()) {
  Device& device = use->enter();
  owned_->use = use;
  owned_->kept = graph->kept();
  owned_->graph = graph;
  MERCER_CU(&device, cuGraphInstantiateWithFlags, &owned_->exec, graph->handle(), 0ull);
}

void GraphExec::setKernel(uint32_t point, const cu::CUDA_KERNEL_NODE_PARAMS& params) {
  Device& device = use->enter();
  MERCER_CU(&device, cuGraphExecKernelNodeSetParams, owned_->exec, owned_->graph->nodeAt(point), &params);
}

void GraphExec::setKernelOfLoops(uint32_t point, const cu::CUDA_KERNEL_NODE_PARAMS& params) {
  Device& device = use->enter();
  MERCER_CU(&device, cuGraphKernelNodeSetParams, owned_->graph->nodeAt(point), &params);
}

std::shared_ptr<GraphExec> GraphExec::loop(const cu::CUDA_KERNEL_NODE_PARAMS& condition, void* handle,
                                           std::shared_ptr<void> code) {
  Device& device = use->enter();
  if (!driver().cuGraphConditionalHandleCreate || !driver().cuGraphAddNode)
    misuse("NOT_SUPPORTED", "this driver repeats no work by itself: that takes CUDA 12.4");
  cu::CUgraph outer = nullptr;
  MERCER_CU(&device, cuGraphCreate, &outer, 0u);
  auto kept = owned_->kept;
  kept.push_back(std::move(code));
  const auto made = std::make_shared<Graph>(use, outer, std::move(kept), Graph::Points{});
  cu::cuuint64_t name = 0;
  MERCER_CU(&device, cuGraphConditionalHandleCreate, &name, outer, device.context(), 1u, cu::kConditionAssignDefault);
  __builtin_memcpy(handle, &name, sizeof name);
  cu::CUgraphNodeParams params{};
  params.type = cu::kNodeConditional;
  params.conditional.handle = name;
  params.conditional.type = cu::kConditionWhile;
  params.conditional.size = 1;
  params.conditional.ctx = device.context();
  cu::CUgraphNode whole = nullptr, work = nullptr, end = nullptr;
  MERCER_CU(&device, cuGraphAddNode, &whole, outer, nullptr, size_t{0}, &params);
  const cu::CUgraph body = params.conditional.graphs[0];
  MERCER_CU(&device, cuGraphAddChildGraphNode, &work, body, nullptr, size_t{0}, owned_->graph->handle());
  MERCER_CU(&device, cuGraphAddKernelNode, &end, body, &work, size_t{1}, &condition);
  return std::make_shared<GraphExec>(made);
}

GraphExec::~GraphExec() { uses_.holdUntilIdle(owned_); }

void GraphExec::mustShareDevice(const SharedStream& stream) const {
  if (&stream->use->device != &use->device)
    misuse("DEVICE_MISMATCH", "the graph was captured on cuda:" + std::to_string(use->device.ordinal) +
                                  ", the stream belongs to cuda:" +
                                  std::to_string(stream->use->device.ordinal));
}

void GraphExec::launch(const SharedStream& stream) {
  mustShareDevice(stream);
  use->enter();
  Device& device = stream->enter();
  MERCER_CU(&device, cuGraphLaunch, owned_->exec, stream->handle());
  uses_.note(stream);
  stream->launched(owned_);
}

void GraphExec::upload(const SharedStream& stream) {
  mustShareDevice(stream);
  stream->refuseCapture("uploading a graph");
  Device& device = stream->enter();
  MERCER_CU(&device, cuGraphUpload, owned_->exec, stream->handle());
  uses_.note(stream);
}

}  // namespace mercer
