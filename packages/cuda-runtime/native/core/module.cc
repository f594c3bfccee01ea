#include "module.h"

#include "graph.h"
#include "janitor.h"

namespace mercer {

Module::Module(SharedUse shared, const void* image) : use(std::move(shared)) {
  Device& device = use->enter();
  cu::CUmodule module = nullptr;
  MERCER_CU(&device, cuModuleLoadData, &module, image);
  code_ = std::shared_ptr<cu::CUmod_st>(module, [use = use](cu::CUmodule m) {
    try {
      // Unloading may wait for the device.
      sweep(use->device, [m] { driver().cuModuleUnload(m); });
    } catch (...) {
      // Out of host memory: the code stays loaded.
    }
  });
}

Module::~Module() { close(); }

void Module::close() noexcept {
  if (!code_) return;
  // Graphs refer to the code: their destructors run first.
  struct Loaded {
    std::shared_ptr<cu::CUmod_st> code;
    std::map<cu::CUfunction, LaunchGraphs> graphs;
  };
  try {
    uses.holdUntilIdle(std::make_shared<Loaded>(Loaded{code_, std::move(graphs_)}));
  } catch (...) {
    // Out of host memory: what is under way is not waited for.
    graphs_.clear();
  }
  code_.reset();
}

Device& Module::enter() {
  if (!code_)
    misuse("DISPOSED", "the module was disposed, and with it its functions");
  return use->enter();
}

Function::Function(std::shared_ptr<Module> shared, const std::string& wanted)
    : module(std::move(shared)), name(wanted) {
  Device& device = module->enter();
  const auto result = driver().cuModuleGetFunction(&function_, module->handle(), name.c_str());
  if (result == cu::kNotFound)
    misuse("NO_SUCH_FUNCTION", "the module has no kernel named " + name);
  check(result, "cuModuleGetFunction", &device);
  graphs_ = &module->graphsOf(function_);
  if (!driver().cuFuncGetParamInfo) return;
  sizesKnown_ = true;
  for (size_t index = 0;; index++) {
    size_t offset = 0, size = 0;
    const cu::CUresult result = driver().cuFuncGetParamInfo(function_, index, &offset, &size);
    if (result) {
      // Past the last parameter the driver says "invalid value"; anything else means that it cannot tell.
      sizesKnown_ = result == cu::kInvalidValue;
      if (!sizesKnown_) sizes_.clear();
      break;
    }
    sizes_.push_back(size);
  }
}

void Function::load() {
  Device& device = module->enter();
  if (driver().cuFuncLoad) MERCER_CU(&device, cuFuncLoad, function_);
}

int Function::attribute(int which) {
  Device& device = module->enter();
  int value = 0;
  MERCER_CU(&device, cuFuncGetAttribute, &value, which, function_);
  return value;
}

void Function::setAttribute(int which, int value) {
  Device& device = module->enter();
  MERCER_CU(&device, cuFuncSetAttribute, function_, which, value);
}

int Function::maxActiveBlocks(int blockThreads, size_t dynamicSharedBytes) {
  Device& device = module->enter();
  int blocks = 0;
  MERCER_CU(&device, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function_, blockThreads,
            dynamicSharedBytes);
  return blocks;
}

namespace {

constexpr size_t kMaxParams = 4096;
constexpr size_t kMaxParamBytes = 32764;

/// Fills a launch configuration; `attributes` has room for two.
cu::CUlaunchConfig configure(const LaunchGeometry& g, cu::CUstream stream,
                             cu::CUlaunchAttribute* attributes) {
  cu::CUlaunchConfig config{};
  config.gridDimX = g.grid[0], config.gridDimY = g.grid[1], config.gridDimZ = g.grid[2];
  config.blockDimX = g.block[0], config.blockDimY = g.block[1], config.blockDimZ = g.block[2];
  config.sharedMemBytes = g.sharedMemBytes;
  config.hStream = stream;
  config.attrs = attributes;
  if (g.cluster[0]) {
    auto& attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = cu::kAttributeClusterDimension;
    attribute.value.clusterDim = {g.cluster[0], g.cluster[1], g.cluster[2]};
  }
  if (g.programmatic) {
    auto& attribute = attributes[config.numAttrs++];
    attribute = {};
    attribute.id = cu::kAttributeProgrammaticStreamSerialization;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

}  // namespace

int Function::maxActiveClusters(const LaunchGeometry& geometry) {
  Device& device = module->enter();
  cu::CUlaunchAttribute attributes[2];
  const auto config = configure(geometry, nullptr, attributes);
  int clusters = 0;
  MERCER_CU(&device, cuOccupancyMaxActiveClusters, &clusters, function_, &config);
  return clusters;
}

void Function::checkParams(size_t paramBytes, const uint32_t* offsets, size_t count) const {
  if (count > kMaxParams || paramBytes > kMaxParamBytes)
    misuse("INVALID_ARGUMENT", name + ": " + std::to_string(count) + " parameters in " +
                                   std::to_string(paramBytes) + " bytes are more than a launch can carry");
  if (sizesKnown_ && count != sizes_.size())
    misuse("INVALID_ARGUMENT", name + " takes " + std::to_string(sizes_.size()) +
                                   " parameters, got offsets of " + std::to_string(count));
  for (size_t i = 0; i < count; i++) {
    const size_t size = sizesKnown_ ? sizes_[i] : 1;
    if (offsets[i] > paramBytes || size > paramBytes - offsets[i])
      misuse("INVALID_ARGUMENT", name + ": parameter " + std::to_string(i) + " (" + std::to_string(size) +
                                     " bytes at " + std::to_string(offsets[i]) +
                                     ") does not lie in the packed " + std::to_string(paramBytes) + " bytes");
  }
}

void** Function::pointersTo(const uint8_t* params, size_t paramBytes, const uint32_t* offsets, size_t count) const {
  checkParams(paramBytes, offsets, count);
  alignas(128) static thread_local uint8_t packed[kMaxParamBytes];
  static thread_local void* pointers[kMaxParams];
  __builtin_memcpy(packed, params, paramBytes);
  for (size_t i = 0; i < count; i++) pointers[i] = packed + offsets[i];
  return pointers;
}

void Function::launch(const LaunchGeometry& geometry, const SharedStream& stream,
                      const uint8_t* params, size_t paramBytes, const uint32_t* offsets, size_t count) {
  Device& device = module->enter();
  if (&stream->use->device != &device)
    misuse("DEVICE_MISMATCH", name + " is loaded on cuda:" + std::to_string(device.ordinal) +
                                  ", the stream belongs to cuda:" +
                                  std::to_string(stream->use->device.ordinal));
  if (stream->use != module->use) stream->enter();
  void** pointers = pointersTo(params, paramBytes, offsets, count);
  const bool plain = !geometry.cluster[0] && !geometry.programmatic;
  if (!plain || !graphs_->launch(stream, node(geometry, pointers))) {
    cu::CUlaunchAttribute attributes[2];
    const auto config = configure(geometry, stream->handle(), attributes);
    MERCER_CU(&device, cuLaunchKernelEx, &config, function_, pointers, nullptr);
  }
  module->uses.note(stream);
  stream->launched(module->code());
}

cu::CUDA_KERNEL_NODE_PARAMS Function::node(const LaunchGeometry& geometry, void** pointers) const {
  cu::CUDA_KERNEL_NODE_PARAMS node{};
  node.func = function_;
  node.gridDimX = geometry.grid[0], node.gridDimY = geometry.grid[1], node.gridDimZ = geometry.grid[2];
  node.blockDimX = geometry.block[0], node.blockDimY = geometry.block[1], node.blockDimZ = geometry.block[2];
  node.sharedMemBytes = geometry.sharedMemBytes;
  node.kernelParams = pointers;
  return node;
}

void Function::launchIn(GraphExec& graph, uint32_t point, bool ofLoops, const LaunchGeometry& geometry,
                        const uint8_t* params, size_t paramBytes, const uint32_t* offsets, size_t count) {
  module->enter();
  const auto launch = node(geometry, pointersTo(params, paramBytes, offsets, count));
  if (ofLoops) graph.setKernelOfLoops(point, launch);
  else graph.setKernel(point, launch);
}

std::shared_ptr<GraphExec> Function::loopOf(GraphExec& graph, const LaunchGeometry& geometry, const uint8_t* params,
                                            size_t paramBytes, const uint32_t* offsets, size_t count) {
  module->enter();
  void** pointers = pointersTo(params, paramBytes, offsets, count);
  if (count == 0) misuse("INVALID_ARGUMENT", name + " has no parameter for the name of a decision");
  return graph.loop(node(geometry, pointers), pointers[0], module->code());
}

}  // namespace mercer
