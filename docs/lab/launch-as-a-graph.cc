// What a launch costs the host and the device, as itself and as a graph of one kernel whose values are set anew. By hand on a GPU host:
//   g++ -O2 -std=c++17 -I$CUDA_HOME/include launch-as-a-graph.cc -lcuda -o launch && ./launch
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    if (const CUresult failed = (call)) {                                \
      const char* text = nullptr;                                        \
      cuGetErrorString(failed, &text);                                   \
      std::printf("%s: %s\n", #call, text ? text : "an unknown error");  \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

// Spins for as many cycles as its last value says.
static const char* kSource = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e, .param .u32 f, .param .u32 cycles) {
  .reg .pred p;
  .reg .u32 now, begun, most;
  ld.param.u32 most, [cycles];
  mov.u32 begun, %clock;
again:
  mov.u32 now, %clock;
  sub.u32 now, now, begun;
  setp.lt.u32 p, now, most;
  @p bra again;
  ret;
})";

static CUDA_KERNEL_NODE_PARAMS nodeOf(CUfunction kernel, unsigned blocks, void** pointers) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = kernel;
  node.gridDimX = blocks, node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = 256, node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = pointers;
  return node;
}

using Clock = std::chrono::steady_clock;
static double us(Clock::time_point from) { return std::chrono::duration<double, std::micro>(Clock::now() - from).count(); }
static double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction spin;
  CUstream stream;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kSource));
  CHECK(cuModuleGetFunction(&spin, module, "spin"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

  unsigned long long values[7] = {};
  void* pointers[7];
  for (int n = 0; n < 7; n++) pointers[n] = &values[n];

  std::printf("%-34s %10s %12s\n", "", "host, us", "in a row, us");
  for (const int blocks : {1, 125}) {
    for (const unsigned cycles : {0u, 4000u, 16000u}) {
      values[6] = cycles;
      const CUDA_KERNEL_NODE_PARAMS node = nodeOf(spin, blocks, pointers);
      CUgraph graph;
      CUgraphNode only;
      CUgraphExec exec;
      CHECK(cuGraphCreate(&graph, 0));
      CHECK(cuGraphAddKernelNode(&only, graph, nullptr, 0, &node));
      CHECK(cuGraphInstantiate(&exec, graph, 0));
      CHECK(cuGraphUpload(exec, stream));

      const auto itself = [&] {
        values[0]++;
        CHECK(cuLaunchKernel(spin, blocks, 1, 1, 256, 1, 1, 0, stream, pointers, nullptr));
      };
      const auto asGraph = [&] {
        values[0]++;
        CHECK(cuGraphExecKernelNodeSetParams(exec, only, &node));
        CHECK(cuGraphLaunch(exec, stream));
      };
      const auto measure = [&](const char* name, const auto& launch) {
        std::vector<double> host, each;
        for (int round = -50; round < 200; round++) {
          CHECK(cuStreamSynchronize(stream));
          const auto begun = Clock::now();
          for (int n = 0; n < 32; n++) launch();
          if (round >= 0) host.push_back(us(begun) / 32);
        }
        // many in a row, with the device's time: what it does between two of them
        for (int round = 0; round < 9; round++) {
          CHECK(cuStreamSynchronize(stream));
          const auto begun = Clock::now();
          for (int n = 0; n < 2000; n++) launch();
          CHECK(cuStreamSynchronize(stream));
          each.push_back(us(begun) / 2000);
        }
        std::printf("%4d blocks, %5u cycles, %-9s %10.2f %12.2f\n", blocks, cycles, name, median(host), median(each));
      };
      const auto asItWas = [&] { CHECK(cuGraphLaunch(exec, stream)); };
      bool odd = false;
      const auto inTurns = [&] { (odd = !odd) ? asGraph() : itself(); };
      measure("itself", itself);
      measure("graph", asGraph);
      measure("unchanged", asItWas);
      measure("in turns", inTurns);
      CHECK(cuGraphExecDestroy(exec));
      CHECK(cuGraphDestroy(graph));
    }
  }

  // Making a graph, and its memory.
  size_t before = 0, after = 0, all = 0;
  CHECK(cuMemGetInfo(&before, &all));
  const CUDA_KERNEL_NODE_PARAMS node = nodeOf(spin, 1, pointers);
  std::vector<double> times;
  for (int n = 0; n < 1000; n++) {
    const auto begun = Clock::now();
    CUgraph graph;
    CUgraphNode only;
    CUgraphExec exec;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode(&only, graph, nullptr, 0, &node));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    times.push_back(us(begun));
    CHECK(cuGraphLaunch(exec, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemGetInfo(&after, &all));
  std::printf("making one: %.1f us; 1000 of them hold %.1f MB of the device\n", median(times), (before - after) / 1e6);
}
