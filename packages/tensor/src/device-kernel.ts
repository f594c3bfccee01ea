import {
  dtypeBytes,
  type CpuGeometry,
  type CudaGeometry,
  type DType,
  type LaunchableKernel,
  type KernelParam,
  type Scalars,
} from '@mercer/kernels';
import { debugPrinter, type DebugOption, type DebugPrinter } from '@mercer/jit-cache';
import { describeValue } from '@mercer/options';
import type { CpuExecutor } from './cpu-executor.js';
import type { Device, LaunchArguments, LoadedKernel, PointerArgument, Stream } from './device.js';
import { MercerError } from './mercer-error.js';
import type { NativeFunction } from './native-function.js';
import { ParamPacker } from './param-packer.js';
import { activeProfiler } from './profiler.js';
import { StorageBlock } from './storage-block.js';
import {
  streamFor,
  type CapturedGraph,
  type StreamCapture,
  type StreamCore,
} from './stream-core.js';

type PointerParam = Extract<KernelParam, { kind: 'pointer' }>;

type Geometry = ReturnType<LaunchableKernel['geometry']>;

/** What a kernel is launched with: packed parameters, and the storages that they point into, by pointer parameter. */
export class KernelArguments {
  readonly packer: ParamPacker;
  readonly storages: (StorageBlock | undefined)[];
  scalars: Scalars | undefined;
  /** Those of the last launch, where some differ from launch to launch. */
  last: Record<string, number> | undefined;
  geometry: Geometry | undefined;

  constructor(kernel: LaunchableKernel, pointers: number) {
    this.packer = new ParamPacker(kernel);
    this.storages = new Array<undefined>(pointers).fill(undefined);
  }
}

/** The one implementation of LoadedKernel. */
export class DeviceKernel implements LoadedKernel {
  readonly device: Device;
  readonly kernel: LaunchableKernel;
  readonly executor: CpuExecutor | undefined;
  readonly #native: NativeFunction;
  readonly #pointers: readonly PointerParam[];
  /** Of launches that bring all they take. */
  readonly #arguments: KernelArguments;
  readonly #print: DebugPrinter | undefined;
  readonly #what: string;

  /** @internal Use `device.load`. */
  constructor(
    device: Device,
    kernel: LaunchableKernel,
    native: NativeFunction,
    debug: DebugOption | undefined,
  ) {
    this.device = device;
    this.kernel = kernel;
    this.executor = native.executor;
    this.#native = native;
    this.#pointers = kernel.params.filter((param) => param.kind === 'pointer');
    this.#arguments = this.newArguments();
    this.#print = debugPrinter(debug);
    this.#what = `launch of ${kernel.name}`;
  }

  launch(stream: Stream, args: LaunchArguments): void {
    const { scalars, pointers } = args;
    const core = streamFor(this.device, stream, this.#what);
    if (pointers.length !== this.#pointers.length) throw this.#wrongCount(pointers.length);
    const to = this.#arguments;
    for (let i = 0; i < pointers.length; i++) this.#bind(to, i, pointers[i]);
    // the caller may have changed them
    to.scalars = undefined;
    this.setScalars(to, scalars);
    const maps = Object.hasOwn(args, 'tensorMaps') ? args.tensorMaps : undefined;
    if (maps !== undefined) to.packer.setTensorMaps(maps);
    this.enqueue(core, to);
  }

  /** Arguments for launches that come again, which keep the scalars. */
  newArguments(): KernelArguments {
    return new KernelArguments(this.kernel, this.#pointers.length);
  }

  /** Packs the scalars, and finds the geometry that they ask for. Those that were set last, which nobody changes, are still there. */
  setScalars(to: KernelArguments, scalars: Scalars): void {
    if (to.scalars === scalars) return;
    to.scalars = undefined;
    to.packer.setScalars(scalars);
    to.geometry = this.kernel.geometry(scalars);
    to.scalars = scalars;
  }

  /** The same where some scalars of launches that come again differ. What is floating decides on no geometry. */
  changeScalars(to: KernelArguments, scalars: Scalars, changing: Scalars): void {
    const { last } = to;
    if (last === undefined || to.scalars !== last) {
      this.setScalars(to, (to.last = { ...scalars, ...changing }));
      return;
    }
    let isPacked = true;
    for (const name of Object.keys(changing)) {
      const value = changing[name] as number;
      if (Object.is(last[name], value)) continue;
      last[name] = value;
      if (!to.packer.setFloating(name, value)) isPacked = false;
    }
    if (isPacked) return;
    to.scalars = undefined;
    this.setScalars(to, last);
  }

  /** Pointer number `index`: memory of a storage from a byte on, which holds elements of a dtype, or anything. */
  setPointer(
    to: KernelArguments,
    index: number,
    storage: StorageBlock,
    byteOffset: number,
    dtype: DType | undefined,
  ): void {
    storage.assertAlive();
    if (storage.device !== this.device) throw this.#wrongDevice(index, storage);
    const wanted = this.#pointers[index]?.dtype;
    if (dtype !== undefined && wanted !== 'byte' && wanted !== dtype) {
      throw this.#wrongType(index, dtype);
    }
    to.packer.setPointer(index, storage.address + byteOffset);
    to.storages[index] = storage;
  }

  /** Enqueues the kernel with arguments whose pointers and scalars are set; their storages are let go. */
  enqueue(core: StreamCore, { packer, storages, scalars, geometry }: KernelArguments): void {
    if (scalars === undefined || geometry === undefined) throw new Error('there are no scalars');
    try {
      if (isEmpty(geometry) || core.onlyAsks) return;
      const keepAlive: object[] = [];
      for (let i = 0; i < storages.length; i++) {
        const handle = storages[i]?.handle;
        if (handle !== undefined) keepAlive.push(handle);
        if (this.#pointers[i]?.access === 'read') storages[i]?.beforeRead(core);
        else storages[i]?.beforeWrite(core);
      }
      core.admit();
      const profiler = core.capture === undefined ? activeProfiler() : undefined;
      const begin = profiler?.begin(core);
      const capture = core.capture && this.#tellsMemory(storages) ? core.capture : undefined;
      if (capture !== undefined) this.#beginCaptured(capture, storages);
      try {
        this.#native.launch(geometry, core, packer.bytes, keepAlive);
      } finally {
        capture?.end();
      }
      core.enqueued++;
      if (profiler !== undefined && begin !== undefined) {
        profiler.end(core, begin, this.kernel, { ...scalars }, this.executor);
      }
      for (let i = 0; i < storages.length; i++) {
        if (this.#pointers[i]?.access === 'read') storages[i]?.noteRead(core);
        else storages[i]?.noteWrite(core);
      }
      if (this.#print === undefined) return;
      const how = this.executor === undefined ? '' : `, ${this.executor}`;
      this.#print(`launch ${this.kernel.name} on ${core.label}${how}: ${formatGeometry(geometry)}`);
    } finally {
      for (let i = 0; i < storages.length; i++) storages[i] = undefined;
    }
  }

  /** Whether its storages are all that it touches: neither bare addresses nor tensor maps tell their memory. */
  #tellsMemory(storages: readonly (StorageBlock | undefined)[]): boolean {
    const { params, hasVariables = false } = this.kernel;
    return !hasVariables && !storages.includes(undefined) && !params.some(isTensorMap);
  }

  #beginCaptured(capture: StreamCapture, storages: readonly (StorageBlock | undefined)[]): void {
    const touched = (reads: boolean): StorageBlock[] =>
      storages.flatMap((one, i) =>
        one !== undefined && (this.#pointers[i]?.access === 'read') === reads ? [one] : [],
      );
    capture.begin(touched(true), touched(false));
  }

  /**
   * Captures a launch whose other arguments each replay brings: it reads these storages and writes new memory of the replay, or it writes them
   * and reads the arguments of the replay.
   *
   * @returns its point of the capture, for `replaceIn`; undefined where nothing is launched
   */
  captureOpen(
    core: StreamCore,
    { packer, geometry }: KernelArguments,
    side: 'reads' | 'writes',
    storages: readonly StorageBlock[],
  ): number | undefined {
    const { capture, captureLine } = core;
    if (geometry === undefined || isEmpty(geometry)) return undefined;
    if (capture === undefined || captureLine === undefined) throw new Error('nothing is captured');
    core.admit();
    if (side === 'reads') capture.begin(storages, []);
    else capture.beginWithArguments(storages);
    try {
      this.#native.launch(geometry, core, packer.bytes, []);
      core.enqueued++;
      return captureLine.point();
    } finally {
      capture.end();
    }
  }

  /** Replays of the graph from now on, or loops made of it, have these arguments at a point where it was captured. */
  replaceIn(
    graph: CapturedGraph,
    point: number,
    { packer, geometry }: KernelArguments,
    ofLoops = false,
  ): void {
    if (geometry === undefined) throw new Error('there are no scalars');
    this.#native.launchIn?.(graph, point, geometry as CudaGeometry, packer.bytes, ofLoops);
  }

  /** The graph's work as a loop of the device, of which this kernel decides; undefined on a CPU. @throws where the driver has none, or not for such work */
  loopOf(graph: CapturedGraph, { packer, geometry }: KernelArguments): CapturedGraph | undefined {
    return this.#native.loopOf?.(graph, geometry as CudaGeometry, packer.bytes);
  }

  #bind(to: KernelArguments, index: number, argument: PointerArgument | undefined): void {
    if (typeof argument === 'bigint') {
      to.packer.setBigPointer(index, argument);
      to.storages[index] = undefined;
      return;
    }
    const storage = storageOf(argument);
    if (storage === undefined || argument === undefined) throw this.#wrongKind(index, argument);
    if ('dtype' in argument) {
      this.setPointer(to, index, storage, argument.byteOffset, argument.dtype);
    } else {
      this.setPointer(to, index, storage, 0, undefined);
    }
  }

  #parameter(index: number): string {
    return `launch of ${this.kernel.name}: parameter '${this.#pointers[index]?.name ?? String(index)}'`;
  }

  #wrongCount(given: number): MercerError {
    const names = this.#pointers.map((param) => param.name).join(', ');
    return new MercerError(
      'INVALID_ARGUMENT',
      `launch of ${this.kernel.name}: ${given} pointers given, ${this.#pointers.length} needed (${names}). Pass one per pointer parameter, in order.`,
    );
  }

  #wrongKind(index: number, argument: unknown): MercerError {
    return new MercerError(
      'INVALID_ARGUMENT',
      `${this.#parameter(index)} is bound to ${describeValue(argument)}. Pass a tensor, a storage or an address.`,
    );
  }

  #wrongType(index: number, dtype: DType): MercerError {
    return new MercerError(
      'DTYPE_MISMATCH',
      `${this.#parameter(index)} points to ${this.#pointers[index]?.dtype} and the tensor holds ${dtype}. Cast it, or emit the kernel for ${dtype} (${dtypeBytes(dtype)} bytes an element).`,
    );
  }

  #wrongDevice(index: number, storage: StorageBlock): MercerError {
    return new MercerError(
      'DEVICE_MISMATCH',
      `${this.#parameter(index)} lies on ${storage.device.id} and the kernel is loaded on ${this.device.id}. Move it with to(device).`,
    );
  }
}

function storageOf(argument: PointerArgument | undefined): StorageBlock | undefined {
  if (typeof argument !== 'object') return undefined;
  if (argument instanceof StorageBlock) return argument;
  const storage: unknown = 'storage' in argument ? argument.storage : undefined;
  return storage instanceof StorageBlock ? storage : undefined;
}

const isTensorMap = ({ kind }: KernelParam): boolean => kind === 'tensorMap';

const isCpu = (geometry: Geometry): geometry is CpuGeometry => Object.hasOwn(geometry, 'tasks');

function isEmpty(geometry: Geometry): boolean {
  if (isCpu(geometry)) return geometry.tasks === 0;
  return geometry.grid[0] === 0 || geometry.grid[1] === 0 || geometry.grid[2] === 0;
}

function formatGeometry(geometry: Geometry): string {
  if (isCpu(geometry)) {
    return `tasks ${geometry.tasks}, chunk ${geometry.chunk}, scratch ${geometry.scratchBytes} bytes`;
  }
  const cluster = geometry.cluster === undefined ? '' : `, cluster ${geometry.cluster.join('x')}`;
  return `grid ${geometry.grid.join('x')}, block ${geometry.block.join('x')}, shared ${geometry.sharedMemBytes} bytes${cluster}`;
}
