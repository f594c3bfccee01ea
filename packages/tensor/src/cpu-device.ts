import { Buffer } from 'node:buffer';
import process from 'node:process';
import { freemem, totalmem } from 'node:os';
import {
  cpu,
  OutOfMemoryError,
  type CpuEvent,
  type CpuFunction,
  type CpuGraph,
  type CpuStream,
  type HostBuffer,
} from '@mercer/cpu-runtime';
import { hostToolchain, type CompileUnit } from '@mercer/jit-cache';
import {
  packParams,
  type BuiltinKernel,
  type CpuGeometry,
  type CpuLimits,
  type EmittedKernel,
} from '@mercer/kernels';
import { executorsForKernels, type CpuExecutor } from './cpu-executor.js';
import { DeviceCore, NativeOutOfMemory } from './device-core.js';
import type { Device } from './device.js';
import type { CompileOptions } from './executable.js';
import { HostPool } from './host-pool.js';
import { binaryOf, jitCache, toolchainOf } from './jit.js';
import type { NativeFunction } from './native-function.js';
import type { NativeMemory, StorageBlock } from './storage-block.js';
import { StreamCore, type CapturedGraph, type RepeatedGraph } from './stream-core.js';

/** Host copies up to this size are done at once: some 0.2 ms. */
const IMMEDIATE_BYTES = 2 ** 20;
/** From this size on the system is asked what it has: it would promise more and kill the process later. */
const CHECKED_BYTES = 2 ** 26;

class CpuStreamCore extends StreamCore<CpuEvent> {
  readonly native: CpuStream;

  constructor(device: Device, label: string, native: CpuStream) {
    super(device, label);
    this.native = native;
  }

  get inFlight(): number {
    return this.native.inFlight;
  }

  record(): CpuEvent {
    return this.native.record();
  }

  recordTimed(): CpuEvent {
    return this.native.record();
  }

  protected waitEvent(event: CpuEvent): void {
    this.native.wait(event);
  }

  protected whenDone(): Promise<void> {
    return this.native.whenDone();
  }

  protected release(): void {
    this.native.dispose();
  }

  override get capturing(): boolean {
    return this.capture !== undefined && !this.disposed;
  }

  get captureLine(): undefined {
    return undefined;
  }

  protected startCapture(): void {
    this.native.beginCapture();
  }

  protected finishCapture(): CapturedGraph {
    return new CpuCapturedGraph(this.native.endCapture());
  }
}

class CpuCapturedGraph implements CapturedGraph {
  readonly #native: CpuGraph;

  constructor(native: CpuGraph) {
    this.#native = native;
  }

  launch(stream: StreamCore, repeated?: RepeatedGraph): void {
    if (repeated === undefined) {
      nativeOf(stream).enqueueGraph(this.#native);
      return;
    }
    const { times, between, rests } = repeated;
    if (!(between instanceof CpuCapturedGraph)) throw new TypeError('not a graph of the CPU');
    nativeOf(stream).enqueueGraph(this.#native, { times, between: between.#native, rests });
  }

  stop(): void {
    this.#native.stop();
  }

  dispose(): void {
    this.#native.dispose();
  }
}

/** A stream of this device is of its class: `streamFor` has seen to that. */
function nativeOf(stream: StreamCore): CpuStream {
  if (stream instanceof CpuStreamCore) return stream.native;
  throw new TypeError(`${stream.label} is not a stream of the CPU`);
}

const bufferOf = (storage: StorageBlock): HostBuffer => storage.handle as HostBuffer;

function launcher(native: CpuFunction, executor: CpuExecutor | undefined): NativeFunction {
  return {
    isImage: executor === 'compiled',
    executor,
    launch: (geometry, stream, packed, keepAlive) => {
      native.enqueue(geometry as CpuGeometry, nativeOf(stream), packed, keepAlive);
    },
  };
}

/** The CPU. */
export class CpuDevice extends DeviceCore<CpuStreamCore> {
  readonly kind = 'cpu';
  readonly index = 0;
  readonly id = 'cpu';
  readonly #pool = new HostPool();
  #facts: { readonly name: string; readonly limits: CpuLimits } | undefined;

  get name(): string {
    return this.#read().name;
  }

  get limits(): CpuLimits {
    return this.#read().limits;
  }

  #read(): { readonly name: string; readonly limits: CpuLimits } {
    if (this.#facts === undefined) {
      const { level, model, l1Bytes, l2Bytes } = cpu.info();
      const limits = { kind: 'cpu', level, cores: cpu.threads, l1Bytes, l2Bytes } as const;
      this.#facts = { name: model, limits };
    }
    return this.#facts;
  }

  protected newStream(label: string): CpuStreamCore {
    return new CpuStreamCore(this, label, cpu.createStream());
  }

  protected allocateNative(bytes: number, stream: CpuStreamCore, zeroed: boolean): NativeMemory {
    if (bytes >= CHECKED_BYTES) {
      const { freeBytes } = this.memoryInfo();
      if (bytes > freeBytes) throw new NativeOutOfMemory('the machine has no such amount free');
    }
    let buffer: HostBuffer;
    try {
      // Memory of the system is zero, that of the pool is not.
      buffer = zeroed ? cpu.allocate(bytes) : this.#pool.take(bytes, stream);
    } catch (cause) {
      if (cause instanceof OutOfMemoryError) throw new NativeOutOfMemory(cause.message, { cause });
      throw cause;
    }
    return {
      address: Number(buffer.address),
      handle: buffer,
      // Enqueued work keeps the memory itself.
      free: (uses) => {
        this.#pool.give(buffer, uses);
      },
    };
  }

  protected trim(): void {
    this.#pool.clear();
  }

  protected memoryInfo(): { freeBytes: number; totalBytes: number } {
    const limit = process.constrainedMemory();
    const totalBytes = Math.min(totalmem(), limit > 0 ? limit : Infinity);
    const unused = totalBytes - process.memoryUsage.rss();
    return { freeBytes: Math.max(0, Math.min(freemem(), unused)), totalBytes };
  }

  executors(kernels: readonly EmittedKernel[]): Promise<'either' | CpuExecutor> {
    // Without a text the program is all there is.
    if (kernels.length > 0 && kernels.every(({ source }) => source === ''))
      return Promise.resolve('interpreted');
    return executorsForKernels(() => this.#areBundled(kernels));
  }

  /** Whether bundles have all kernels; of none, whether there is a bundle that may have some. */
  async #areBundled(kernels: readonly EmittedKernel[]): Promise<boolean> {
    const cache = jitCache();
    if (!cache.hasBundleFor(this.limits.level)) return false;
    for (const kernel of kernels) {
      if (!(await cache.hasBundled(this.#unitOf(kernel)))) return false;
    }
    return true;
  }

  protected async isCached(kernel: EmittedKernel): Promise<boolean> {
    const unit = this.#unitOf(kernel);
    if (await jitCache().hasBundled(unit)) return true;
    return jitCache().has(unit, await toolchainOf(hostToolchain));
  }

  protected async build(
    kernel: EmittedKernel,
    { debug, signal, behind }: CompileOptions,
  ): Promise<NativeFunction> {
    const { entry, params } = kernel;
    const unit = this.#unitOf(kernel);
    const { binary, loweredNames } = await binaryOf(
      unit,
      async () => [await toolchainOf(hostToolchain), unit.target],
      {
        ...(debug !== undefined && { debug }),
        ...(signal && { signal }),
        ...(behind && { behind }),
        timeoutMs: this.compileTimeoutMs,
      },
    );
    const name = loweredNames[entry] ?? entry;
    const paramBytes = packParams(params).bytes;
    return launcher(cpu.loadModule(binary).function(name, { paramBytes }), 'compiled');
  }

  protected interpret(kernel: EmittedKernel): NativeFunction | undefined {
    const program = kernel.dialect === 'cpu' ? kernel.program : undefined;
    const paramBytes = packParams(kernel.params).bytes;
    return (
      program && launcher(cpu.interpret(program, { paramBytes, name: kernel.entry }), 'interpreted')
    );
  }

  #unitOf({ entry, source, options }: EmittedKernel): CompileUnit {
    return { language: 'c++', source, options, target: this.limits.level, names: [entry] };
  }

  protected builtin({ entry }: BuiltinKernel): NativeFunction {
    return launcher(cpu.builtin(entry), undefined);
  }

  readonly takenAtOnce = IMMEDIATE_BYTES;

  upload(
    to: StorageBlock,
    byteOffset: number,
    source: ArrayBufferView,
    stream: CpuStreamCore,
  ): undefined {
    const { byteLength } = source;
    if (byteLength === 0) return;
    stream.native.enqueueCopy(bufferOf(to), byteOffset, source, 0, byteLength);
    stream.enqueued++;
  }

  async download(
    from: StorageBlock,
    byteOffset: number,
    target: ArrayBufferView,
    stream: CpuStreamCore,
  ): Promise<void> {
    if (target.byteLength > 0) {
      stream.native.enqueueRead(target, bufferOf(from), byteOffset);
      stream.enqueued++;
    }
    await stream.native.whenDone();
  }

  hostView(of: StorageBlock, byteOffset: number, bytes: number): Uint8Array {
    const buffer = bufferOf(of);
    return new Uint8Array(buffer.arrayBuffer, buffer.byteOffset + byteOffset, bytes);
  }

  move(
    to: StorageBlock,
    toOffset: number,
    from: StorageBlock,
    fromOffset: number,
    bytes: number,
    stream: CpuStreamCore,
  ): void {
    stream.native.enqueueCopy(bufferOf(to), toOffset, bufferOf(from), fromOffset, bytes);
    stream.enqueued++;
  }

  /** Short fills are a copy of a filled array. */
  memset(
    to: StorageBlock,
    byteOffset: number,
    count: number,
    width: number,
    pattern: bigint,
    stream: CpuStreamCore,
  ): boolean {
    const bytes = count * width;
    if (bytes > IMMEDIATE_BYTES) return false;
    const filled = Buffer.alloc(bytes, elementBytes(width, pattern));
    stream.native.enqueueCopy(bufferOf(to), byteOffset, filled, 0, bytes);
    stream.enqueued++;
    return true;
  }
}

function elementBytes(width: number, pattern: bigint): Uint8Array {
  const element = new DataView(new ArrayBuffer(8));
  element.setBigUint64(0, pattern, true);
  return new Uint8Array(element.buffer, 0, width);
}
