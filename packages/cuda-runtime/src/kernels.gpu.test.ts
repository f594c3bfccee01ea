import { describe, expect, test } from 'vitest';
import type { LaunchGeometry } from './cuda-function.js';
import { cuda } from './cuda.js';
import type { DeviceBuffer } from './device-buffer.js';
import { nvrtc } from './nvrtc.js';
import { encodeTensorMap } from './tensor-map.js';

const indices = cuda.isAvailable() ? Array.from({ length: cuda.deviceCount() }, (_, i) => i) : [];

if (indices.length === 0) {
  test.skip('GPU tests: no CUDA device', () => undefined);
}

/** Packs pointers and 32-bit integers like a C struct. */
function pack(...values: (DeviceBuffer | number | Uint8Array)[]): [Uint8Array, Uint32Array] {
  const bytes = new Uint8Array(1024);
  const view = new DataView(bytes.buffer);
  const offsets: number[] = [];
  let at = 0;
  for (const value of values) {
    const [size, align] =
      typeof value === 'number'
        ? [4, 4]
        : value instanceof Uint8Array
          ? [value.length, 64]
          : [8, 8];
    at = Math.ceil(at / align) * align;
    offsets.push(at);
    if (typeof value === 'number') view.setInt32(at, value, true);
    else if (value instanceof Uint8Array) bytes.set(value, at);
    else view.setBigUint64(at, value.address, true);
    at += size;
  }
  return [bytes.slice(0, at), Uint32Array.from(offsets)];
}

describe.each(indices)('cuda:%i', (index) => {
  const device = cuda.device(index);
  const stream = device.defaultStream;
  const hopper = device.computeCapability[0] >= 9;

  async function kernelOf(source: string, name: string) {
    const { binary } = await nvrtc.compile({
      source,
      options: [`--gpu-architecture=${device.arch}`],
    });
    const module = device.loadModule(binary);
    return { module, kernel: module.function(name) };
  }
  const read = async (buffer: DeviceBuffer): Promise<Int32Array> => {
    const out = new Int32Array(buffer.bytes / 4);
    await stream.copyToHost(out, buffer);
    return out;
  };
  const geometry = (
    blocks: number,
    threads: number,
    more: Partial<LaunchGeometry> = {},
  ): LaunchGeometry => ({
    grid: [blocks, 1, 1],
    block: [threads, 1, 1],
    sharedMemBytes: 0,
    ...more,
  });

  test('a kernel gets its parameters and writes its result', async () => {
    const { module, kernel } = await kernelOf(
      `extern "C" __global__ void axpb(int* out, int a, int b, int n) {
         int i = blockIdx.x * blockDim.x + threadIdx.x;
         if (i < n) out[i] = a * i + b;
       }`,
      'axpb',
    );
    const buffer = device.allocate(4000, stream);
    kernel.launch(geometry(8, 128), stream, ...pack(buffer, 3, 7, 1000));
    expect([...(await read(buffer))]).toEqual(Array.from({ length: 1000 }, (_, i) => 3 * i + 7));
    const { registers, maxThreadsPerBlock, binaryVersion } = kernel.attributes;
    expect(registers).toBeGreaterThan(0);
    expect(maxThreadsPerBlock).toBe(1024);
    expect(binaryVersion).toBe(device.computeCapability[0] * 10 + device.computeCapability[1]);
    expect(kernel.maxActiveBlocks(128, 0)).toBeGreaterThan(0);
    if (kernel.paramBytes.length > 0) expect(kernel.paramBytes).toEqual([8, 4, 4, 4]);
    buffer.free();
    module.dispose();
  });

  test('variables of a module can be found and written', async () => {
    const { module, kernel } = await kernelOf(
      `__device__ int table[4] = {1, 2, 3, 4};
       extern "C" __global__ void get(int* out) { out[threadIdx.x] = table[threadIdx.x]; }`,
      'get',
    );
    expect(module.variable('table').bytes).toBe(16);
    expect(() => module.variable('absent')).toThrow('no variable named absent');
    const buffer = device.allocate(16, stream);
    kernel.launch(geometry(1, 4), stream, ...pack(buffer));
    expect([...(await read(buffer))]).toEqual([1, 2, 3, 4]);
    buffer.free();
    module.dispose();
  });

  test('more than 48 KiB of dynamic shared memory', async () => {
    const bytes = Math.min(device.attribute('maxSharedMemoryPerBlockOptin'), 100 * 1024);
    const { module, kernel } = await kernelOf(
      `extern __shared__ int tile[];
       extern "C" __global__ void reverse(int* out, int n) {
         for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
         __syncthreads();
         for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
       }`,
      'reverse',
    );
    const n = bytes / 4;
    const buffer = device.allocate(bytes, stream);
    const launch = () =>
      kernel.launch(geometry(1, 256, { sharedMemBytes: bytes }), stream, ...pack(buffer, n));
    expect(launch).toThrow(/CUDA_ERROR_INVALID_VALUE|CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES/);
    kernel.setMaxDynamicSharedMem(bytes);
    launch();
    const out = await read(buffer);
    expect(out.every((value, i) => value === n - 1 - i)).toBe(true);
    buffer.free();
    module.dispose();
  });

  test('launched often, as graphs of one kernel: values, sizes and order are those of each launch', async () => {
    const { module, kernel } = await kernelOf(
      `extern __shared__ int tile[];
       extern "C" __global__ void step(int* sums, int* last, int factor, int n) {
         int i = blockIdx.x * blockDim.x + threadIdx.x;
         tile[threadIdx.x] = factor * i;
         __syncthreads();
         if (i < n) { sums[i] = 3 * sums[i] + tile[threadIdx.x]; last[i] = factor; }
       }`,
      'step',
    );
    const n = 5000;
    const other = device.createStream();
    const event = device.createEvent();
    const [sums, ends] = [
      device.allocate(4 * n, stream),
      [0, 0, 0].map(() => device.allocate(4 * n, stream)),
    ];
    for (const one of [sums, ...ends]) stream.memset(one, 0, 0, 4 * n);
    const wanted = new Int32Array(n);
    const launches = 300;
    for (let at = 0; at < launches; at++) {
      // streams in turns, in order by an event, with other sizes and values each time
      const [on, next] = at % 2 === 0 ? [stream, other] : [other, stream];
      const threads = [64, 128, 256][at % 3] ?? 64;
      const count = n - 7 * at;
      const sizes = geometry(Math.ceil(count / threads), threads, { sharedMemBytes: 4 * threads });
      kernel.launch(sizes, on, ...pack(sums, ends[at % 3] ?? sums, at, count));
      on.record(event);
      next.wait(event);
      for (let i = 0; i < count; i++) wanted[i] = Math.imul(3, wanted[i] ?? 0) + at * i;
    }
    expect(await read(sums)).toEqual(wanted);
    for (const [k, end] of ends.entries()) expect((await read(end))[0]).toBe(launches - 3 + k);
    for (const one of [sums, ...ends]) one.free();
    other.dispose();
    module.dispose();
  });

  test('waiting for captured work, a stream’s launches become part of the graph', async () => {
    const { module, kernel } = await kernelOf(
      `extern "C" __global__ void add(int* out, int amount) { atomicAdd(out, amount); }`,
      'add',
    );
    const other = device.createStream();
    const [fork, join] = [device.createEvent(), device.createEvent()];
    const buffer = device.allocate(4, stream);
    stream.memset(buffer, 0, 0, 4);
    for (let at = 0; at < 40; at++)
      for (const on of [stream, other]) kernel.launch(geometry(1, 1), on, ...pack(buffer, 1));
    await Promise.all([stream.whenDone(), other.whenDone()]);
    expect(await read(buffer)).toEqual(Int32Array.of(80));
    stream.beginCapture();
    stream.record(fork);
    other.wait(fork);
    kernel.launch(geometry(1, 1), stream, ...pack(buffer, 100));
    kernel.launch(geometry(1, 1), other, ...pack(buffer, 1000));
    other.record(join);
    stream.wait(join);
    const graph = stream.endCapture();
    expect(graph.nodeCount).toBe(2);
    const exec = graph.instantiate();
    kernel.launch(geometry(1, 1), stream, ...pack(buffer, 5));
    exec.launch(stream);
    exec.launch(stream);
    expect(await read(buffer)).toEqual(Int32Array.of(80 + 5 + 2200));
    for (const owned of [exec, graph, other, module, buffer]) owned.dispose();
  });

  test.skipIf(!hopper)(
    'clusters read each other’s shared memory (needs compute capability 9.0)',
    async () => {
      const { module, kernel } = await kernelOf(
        `extern "C" __global__ void neighbour(int* out) {
         __shared__ int mine;
         unsigned rank, size, remote; int value;
         asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
         asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
         if (threadIdx.x == 0) mine = 100 * blockIdx.x + 7;
         asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
         unsigned here = (unsigned)__cvta_generic_to_shared(&mine);
         asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(here), "r"((rank + 1) % size));
         asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote));
         if (threadIdx.x == 0) out[blockIdx.x] = value;
         asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
       }`,
        'neighbour',
      );
      const buffer = device.allocate(32, stream);
      const cluster = geometry(8, 32, { cluster: [4, 1, 1] });
      expect(kernel.maxActiveClusters(cluster)).toBeGreaterThan(0);
      kernel.launch(cluster, stream, ...pack(buffer));
      expect([...(await read(buffer))]).toEqual([107, 207, 307, 7, 507, 607, 707, 407]);
      buffer.free();
      module.dispose();
    },
  );

  test.skipIf(!hopper)(
    'a bulk tensor copy through an encoded tensor map (needs compute capability 9.0)',
    async () => {
      const [width, height, boxX, boxY] = [100, 20, 32, 8];
      const { module, kernel } = await kernelOf(
        `struct alignas(64) TensorMap { unsigned long long opaque[16]; };
       extern "C" __global__ void fetch(const __grid_constant__ TensorMap map, int* out, int x, int y) {
         __shared__ alignas(128) int tile[${boxX * boxY}];
         __shared__ alignas(8) unsigned long long barrier;
         unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), dst = (unsigned)__cvta_generic_to_shared(tile);
         if (threadIdx.x == 0) {
           asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
           asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
         }
         __syncthreads();
         if (threadIdx.x == 0) {
           asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], ${boxX * boxY * 4};" :: "r"(bar) : "memory");
           asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
             :: "r"(dst), "l"(&map), "r"(x), "r"(y), "r"(bar) : "memory");
         }
         unsigned done = 0;
         while (!done)
           asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
             : "=r"(done) : "r"(bar) : "memory");
         for (int i = threadIdx.x; i < ${boxX * boxY}; i += blockDim.x) out[i] = tile[i];
       }`,
        'fetch',
      );
      const source = Int32Array.from({ length: width * height }, (_, i) => i + 1);
      const [input, output] = [
        device.allocate(source.byteLength, stream),
        device.allocate(boxX * boxY * 4, stream),
      ];
      await stream.copyToDevice(input, 0, source);
      const map = encodeTensorMap({
        dtype: 'int32',
        rank: 2,
        address: input.address,
        sizes: [width, height],
        strideBytes: [width * 4],
        box: [boxX, boxY],
      });
      expect(map.length).toBe(128);
      // Inside, over both edges (zeros), and at a negative origin. Rows begin at multiples of 16 bytes.
      for (const [x, y] of [
        [16, 4],
        [84, 15],
        [-8, -3],
      ] as const) {
        kernel.launch(geometry(1, 64), stream, ...pack(map, output, x, y));
        const expected = Array.from({ length: boxX * boxY }, (_, i) => {
          const [column, row] = [x + (i % boxX), y + Math.floor(i / boxX)];
          const inside = column >= 0 && column < width && row >= 0 && row < height;
          return inside ? row * width + column + 1 : 0;
        });
        expect([...(await read(output))]).toEqual(expected);
      }
      expect(() =>
        encodeTensorMap({
          dtype: 'int32',
          rank: 2,
          address: input.address + 4n,
          sizes: [8, 8],
          strideBytes: [32],
          box: [8, 8],
        }),
      ).toThrow('CUDA_ERROR_INVALID_VALUE');
      for (const owned of [input, output, module]) owned.dispose();
    },
  );

  test.skipIf(!hopper)(
    'a programmatic dependent launch sees what the kernel ahead wrote',
    async () => {
      const { module, kernel } = await kernelOf(
        `extern "C" __global__ void step(int* data) {
         asm volatile("griddepcontrol.wait;" ::: "memory");
         data[threadIdx.x] += 1;
         asm volatile("griddepcontrol.launch_dependents;");
       }`,
        'step',
      );
      const buffer = device.allocate(128, stream);
      stream.memset(buffer, 0, 0, 128);
      const chained = geometry(1, 32, { programmatic: true });
      for (let i = 0; i < 50; i++) kernel.launch(chained, stream, ...pack(buffer));
      expect((await read(buffer)).every((value) => value === 50)).toBe(true);
      buffer.free();
      module.dispose();
    },
  );

  test('a captured graph replays kernels, copies from pinned memory and memset', async () => {
    const { module, kernel } = await kernelOf(
      `extern "C" __global__ void add(int* to, const int* from) { to[threadIdx.x] += from[threadIdx.x]; }`,
      'add',
    );
    const [sum, term] = [device.allocate(128, stream), device.allocate(128, stream)];
    const pinned = device.allocatePinned(128);
    const host = new Int32Array(pinned.arrayBuffer);
    stream.memset(sum, 0, 0, 128);
    stream.beginCapture();
    stream.memset(term, 0, 0, 128);
    await stream.copyToDevice(term, 0, pinned);
    kernel.launch(geometry(1, 32), stream, ...pack(sum, term));
    const graph = stream.endCapture();
    expect(graph.nodeCount).toBe(3);
    const exec = graph.instantiate();
    graph.dispose();
    exec.upload(stream);
    for (const value of [1, 10, 100]) {
      host.fill(value);
      exec.launch(stream);
      await stream.whenDone();
    }
    expect((await read(sum)).every((value) => value === 111)).toBe(true);
    for (const owned of [exec, sum, term, pinned, module]) owned.dispose();
  });

  test('launches in flight are counted and waited for without blocking', async () => {
    const { module, kernel } = await kernelOf(
      `extern "C" __global__ void spin(int ns) {
         unsigned long long start, now;
         asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
         do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns);
       }`,
      'spin',
    );
    for (let i = 0; i < 300; i++) kernel.launch(geometry(1, 1), stream, ...pack(100_000));
    expect(stream.inFlight).toBeGreaterThan(32);
    let turns = 0;
    const timer = setInterval(() => turns++, 2);
    await stream.whenInFlightBelow(64);
    expect(stream.inFlight).toBeLessThan(64 + 32);
    await stream.whenDone();
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    expect(stream.inFlight).toBe(0);
    module.dispose();
  });
});
