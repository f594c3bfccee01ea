// Modules, launches, graphs, tensor maps.
//
// An image is the text "FAKE name(8,8,4) other()" with the byte sizes of each kernel's parameters;
// anything that begins like an ELF file or PTX is taken too and then has every kernel asked for.
// Kernels do nothing for MERCER_FAKE_KERNEL_US microseconds, except
//   increment(pointer, int64 n)   adds 1 to n bytes
//   copy_pieces(...)              copies what packages/kernels/src/elementwise/copy-pieces.ts says
//   repeats(...)                  decides as packages/kernels/src/elementwise/repeats.ts says; every loop is refused with MERCER_FAKE_LOOPS=0
#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <utility>

#include "state.h"

using namespace fake;

FAKE cuModuleLoadData(Module** module, const char* image) {
  if (const int status = contextStatus()) return status;
  if (setting("PTX_TOO_NEW", 0)) return 222;
  if (setting("LOAD_WAITS", 0)) current()->drain();
  auto made = std::make_unique<Module>();
  made->device = current();
  if (!std::strncmp(image, "FAKE", 4)) {
    std::istringstream words(image + 4);
    for (std::string word; words >> word;) {
      auto kernel = std::make_unique<Kernel>();
      kernel->name = word.substr(0, word.find('('));
      std::istringstream sizes(word.substr(word.find('(') + 1));
      for (size_t size; sizes >> size; sizes.get()) kernel->params.push_back(size);
      made->kernels.push_back(std::move(kernel));
    }
  } else if (!std::strncmp(image, "\x7f" "ELF", 4) || !std::strncmp(image, "//", 2)) {
    made->open = true;
  } else {
    return kInvalidImage;
  }
  *module = made.release();
  counters().modules++;
  return 0;
}

// Waits for the device, as the real one may.
FAKE cuModuleUnload(Module* module) {
  if (const int status = contextStatus()) return status;
  module->device->locked = true;
  module->device->drain();
  module->device->locked = false;
  delete module;
  counters().modules--;
  return 0;
}

FAKE cuModuleGetFunction(Kernel** kernel, Module* module, const char* name) {
  if (const int status = contextStatus()) return status;
  for (auto& known : module->kernels)
    if (known->name == name) {
      *kernel = known.get();
      return 0;
    }
  if (!module->open) return kNotFound;
  module->kernels.push_back(std::make_unique<Kernel>(Kernel{name, {}, true}));
  *kernel = module->kernels.back().get();
  return 0;
}

FAKE cuModuleGetGlobal_v2(uint64_t*, size_t*, Module*, const char*) { return kNotFound; }

FAKE cuFuncGetAttribute(int* value, int attribute, Kernel*) {
  static const int values[] = {1024, 0, 0, 0, 32, 90, 90, 0, 49152, 0, 0, 0, 0, 0, 0, 0};
  *value = attribute < 16 ? values[attribute] : 0;
  return 0;
}

FAKE cuFuncLoad(Kernel*) { return contextStatus(); }

FAKE cuFuncSetAttribute(Kernel*, int attribute, int value) {
  return attribute == 8 && value > 232448 ? kInvalidValue : 0;
}

FAKE cuFuncGetParamInfo(Kernel* kernel, size_t index, size_t* offset, size_t* size) {
  if (kernel->untold) return kNotSupported;
  if (index >= kernel->params.size()) return kInvalidValue;
  *offset = 0;
  *size = kernel->params[index];
  return 0;
}

FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int threads, size_t) {
  *blocks = threads > 0 ? 2048 / threads : 0;
  return 0;
}

FAKE cuOccupancyMaxActiveClusters(int* clusters, Kernel*, const void*) {
  *clusters = 16;
  return 0;
}

template <typename T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// What a launch does, if anything.
Task workOf(const Kernel& kernel, void** params) {
  if (kernel.name == "increment") {
    const auto address = read<uint64_t>(params[0]);
    const auto length = read<int64_t>(params[1]);
    return [=] {
      for (int64_t i = 0; i < length; i++) reinterpret_cast<unsigned char*>(address)[i]++;
    };
  }
  if (kernel.name == "copy_pieces" && read<uint64_t>(params[0]) == 0) {
    // a counter, 32 places to copy from and to, the number of pieces, and of each its bytes and two steps
    constexpr int kMost = 32;
    const auto pieces = std::make_shared<std::vector<std::array<uint64_t, 3>>>();
    for (int i = 0; i < kMost; i++) {
      const auto bytes = read<uint64_t>(params[2 + 2 * kMost + 3 * i]);
      if (bytes == 0) continue;
      pieces->push_back({read<uint64_t>(params[1 + kMost + i]), read<uint64_t>(params[1 + i]), bytes});
    }
    return [pieces] {
      for (const auto& [to, from, bytes] : *pieces)
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    };
  }
  if (kernel.name == "repeats") {
    const auto decision = read<unsigned*>(params[0]);
    const auto rests = read<const double*>(params[1]);
    const auto left = read<int*>(params[2]);
    const auto count = read<int64_t>(params[3]);
    return [=] {
      bool all = count > 0;
      for (int64_t i = 0; i < count; i++) all = all && rests[i] != 0;
      --*left;
      *decision = !all && *left > 0;
    };
  }
  return nullptr;
}

struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Stream* stream;
  void* attributes;
  unsigned count;
};

void launch(Stream* stream, const Task& work) {
  const int number = ++counters().launches;
  const long delay = setting("KERNEL_US", 0);
  const bool faulty = setting("FAULT_AT", 0) == number;
  auto* device = stream->device;
  stream->add([=] {
    if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (faulty) device->fault = kIllegalAddress;
    if (work) work();
  });
}

FAKE cuLaunchKernelEx(const LaunchConfig* config, Kernel* kernel, void** params, void**) {
  if (const int status = contextStatus()) return status;
  if (!config->grid[0] || !config->block[0] || config->block[0] * config->block[1] * config->block[2] > 1024)
    return kInvalidValue;
  launch(config->stream, workOf(*kernel, params));
  return 0;
}

struct NodeParams {
  Kernel* kernel;
  unsigned extents[6], sharedBytes;
  void** params;
};

int setKernel(Graph* graph, size_t node, const NodeParams* given) {
  const size_t number = Graph::numberOf(node);
  if (number == 0 || number > graph->nodes.size() || !given->extents[0] || !given->extents[3]) return kInvalidValue;
  const Task work = workOf(*given->kernel, given->params);
  graph->nodes[number - 1].task = [work] {
    if (work) work();
  };
  return 0;
}

FAKE cuGraphExecKernelNodeSetParams_v2(Graph* exec, size_t node, const NodeParams* given) {
  if (const int status = contextStatus()) return status;
  return setKernel(exec, node, given);
}

FAKE cuGraphKernelNodeSetParams_v2(size_t node, const NodeParams* given) {
  if (const int status = contextStatus()) return status;
  Graph* const graph = Graph::of(node);
  return graph ? setKernel(graph, node, given) : kInvalidValue;
}

FAKE cuGraphCreate(Graph** graph, unsigned) {
  if (const int status = contextStatus()) return status;
  *graph = new Graph;
  counters().graphs++;
  return 0;
}

FAKE cuGraphConditionalHandleCreate(unsigned** decision, Graph*, void*, unsigned first, unsigned) {
  if (const int status = contextStatus()) return status;
  if (!setting("LOOPS", 1)) return kNotSupported;
  *decision = new unsigned(first);  // as long as the process: a few bytes of tests
  return 0;
}

struct LoopParams {
  int type, reserved[3];
  unsigned* decision;
  int kind;
  unsigned size;
  Graph** graphs;
};

FAKE cuGraphAddNode(size_t* node, Graph* graph, const size_t*, size_t count, LoopParams* params) {
  if (const int status = contextStatus()) return status;
  if (params->type != 13 || params->kind != 1 || params->size != 1 || count != 0) return kInvalidValue;
  const auto body = std::make_shared<Graph>();
  const auto places = std::make_shared<std::array<Graph*, 1>>(std::array{body.get()});
  params->graphs = places->data();
  graph->bodies.push_back(body);
  graph->ends.clear();
  graph->add([body, places, decision = params->decision] {
    *decision = 1;
    while (*decision) body->run();
  });
  *node = graph->ends[0];
  return 0;
}

FAKE cuGraphAddChildGraphNode(size_t* node, Graph* graph, const size_t* after, size_t count, Graph* child) {
  if (const int status = contextStatus()) return status;
  const auto clone = std::make_shared<Graph>(*child);
  clone->putInLine();
  graph->ends.assign(after, after + count);
  graph->add([clone] { clone->run(); });
  *node = graph->ends[0];
  return 0;
}

FAKE cuGraphAddKernelNode_v2(size_t* node, Graph* graph, const size_t* after, size_t count, const NodeParams* given) {
  if (const int status = contextStatus()) return status;
  graph->ends.assign(after, after + count);
  graph->add(nullptr);
  *node = graph->ends[0];
  return setKernel(graph, *node, given);
}

FAKE cuTensorMapEncodeTiled(uint64_t* map, int dtype, unsigned rank, void* address, const uint64_t* sizes,
                            const uint64_t*, const unsigned* box, const unsigned*, int, int, int, int) {
  if (reinterpret_cast<uintptr_t>(address) % 16 || rank > 5) return kInvalidValue;
  for (unsigned i = 0; i < rank; i++)
    if (box[i] > 256 || box[i] == 0 || sizes[i] == 0) return kInvalidValue;
  std::memset(map, 0, 128);
  map[0] = reinterpret_cast<uintptr_t>(address);
  map[1] = static_cast<uint64_t>(dtype);
  map[2] = sizes[0];
  return 0;
}

FAKE cuStreamBeginCapture_v2(Stream* stream, int) {
  if (const int status = contextStatus()) return status;
  std::lock_guard lock(stream->mutex);
  if (stream->capture) return kCaptureUnsupported;
  stream->capture = new Graph;
  Graph::of(stream->capture->address(0)) = stream->capture;
  counters().graphs++;
  return 0;
}

FAKE cuStreamEndCapture(Stream* stream, Graph** graph) {
  if (const int status = contextStatus()) return status;
  std::lock_guard lock(stream->mutex);
  *graph = std::exchange(stream->capture, nullptr);
  if (!*graph) return kCaptureInvalid;
  // the capture has to end behind all of it
  std::vector<bool> followed((*graph)->nodes.size());
  for (const auto& node : (*graph)->nodes)
    for (const size_t one : node.after) followed[one] = true;
  for (const size_t end : (*graph)->ends) followed[Graph::numberOf(end) - 1] = true;
  return std::find(followed.begin(), followed.end(), false) == followed.end() ? 0 : kCaptureUnjoined;
}

FAKE cuStreamGetCaptureInfo_v2(Stream* stream, int* status, uint64_t*, Graph** graph, const size_t** nodes, size_t* count) {
  if (const int failed = contextStatus()) return failed;
  std::lock_guard lock(stream->mutex);
  *status = stream->capture ? 1 : 0;
  if (!stream->capture) return 0;
  *graph = stream->capture;
  *nodes = stream->capture->ends.data();
  *count = stream->capture->ends.size();
  return 0;
}

FAKE cuStreamUpdateCaptureDependencies(Stream* stream, const size_t* nodes, size_t count, unsigned flags) {
  if (const int failed = contextStatus()) return failed;
  std::lock_guard lock(stream->mutex);
  if (!stream->capture) return kCaptureInvalid;
  for (size_t i = 0; i < count; i++)
    if (Graph::numberOf(nodes[i]) == 0 || Graph::of(nodes[i]) != stream->capture) return kInvalidValue;
  auto& ends = stream->capture->ends;
  if (flags == 1) ends.clear();
  ends.insert(ends.end(), nodes, nodes + count);
  return 0;
}

FAKE cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  if (const int status = contextStatus()) return status;
  *exec = new Graph(*graph);
  (*exec)->putInLine();
  counters().execs++;
  return 0;
}

FAKE cuGraphLaunch(Graph* exec, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!setting("GRAPH_LAUNCHES", 1)) return 2;  // out of memory
  // a kernel alone is a launch like others
  if (exec->nodes.size() == 1) launch(stream, exec->nodes[0].task);
  else
    for (const size_t node : exec->line) stream->add(exec->nodes[node].task);
  return 0;
}

FAKE cuGraphUpload(Graph*, Stream*) { return contextStatus(); }

FAKE cuGraphGetNodes(Graph* graph, void*, size_t* count) {
  *count = graph->nodes.size();
  return 0;
}

FAKE cuGraphDestroy(Graph* graph) {
  Graph::of(graph->address(0)) = nullptr;
  delete graph;
  counters().graphs--;
  return 0;
}

FAKE cuGraphExecDestroy(Graph* exec) {
  delete exec;
  counters().execs--;
  return 0;
}

// NVRTC asks an open driver for this and does without its tables, but not without the function.
FAKE cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}
