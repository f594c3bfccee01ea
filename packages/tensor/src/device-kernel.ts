import {
  dtypeBytes,
  type CpuGeometry,
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
import { streamFor } from './stream-core.js';

type PointerParam = Extract<KernelParam, { kind: 'pointer' }>;

type Geometry = ReturnType<LaunchableKernel['geometry']>;

/** The one implementation of LoadedKernel. */
export class DeviceKernel implements LoadedKernel {
  readonly device: Device;
  readonly kernel: LaunchableKernel;
  readonly executor: CpuExecutor | undefined;
  readonly #native: NativeFunction;
  readonly #pointers: readonly PointerParam[];
  readonly #packer: ParamPacker;
  readonly #print: DebugPrinter | undefined;
  readonly #what: string;
  #last: { readonly scalars: Scalars; readonly geometry: Geometry } | undefined;

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
    this.#packer = new ParamPacker(kernel);
    this.#print = debugPrinter(debug);
    this.#what = `launch of ${kernel.name}`;
  }

  launch(stream: Stream, args: LaunchArguments): void {
    const { scalars, pointers } = args;
    const core = streamFor(this.device, stream, this.#what);
    if (pointers.length !== this.#pointers.length) throw this.#wrongCount(pointers.length);
    const storages: (StorageBlock | undefined)[] = [];
    const keepAlive: object[] = [];
    for (let i = 0; i < pointers.length; i++) {
      const storage = this.#bind(i, pointers[i]);
      storages.push(storage);
      if (storage !== undefined) keepAlive.push(storage.handle);
    }
    const geometry = this.#setScalars(scalars);
    const maps = Object.hasOwn(args, 'tensorMaps') ? args.tensorMaps : undefined;
    if (maps !== undefined) this.#packer.setTensorMaps(maps);
    if (isEmpty(geometry)) return;
    for (let i = 0; i < storages.length; i++) {
      if (this.#pointers[i]?.access === 'read') storages[i]?.beforeRead(core);
      else storages[i]?.beforeWrite(core);
    }
    core.admit();
    const profiler = activeProfiler();
    const begin = profiler?.begin(core);
    this.#native.launch(geometry, core, this.#packer.bytes, keepAlive);
    core.enqueued++;
    if (profiler !== undefined && begin !== undefined) {
      profiler.end(core, begin, this.kernel, scalars, this.executor);
    }
    for (let i = 0; i < storages.length; i++) {
      if (this.#pointers[i]?.access === 'read') storages[i]?.noteRead(core);
      else storages[i]?.noteWrite(core);
    }
    if (this.#print === undefined) return;
    const how = this.executor === undefined ? '' : `, ${this.executor}`;
    this.#print(`launch ${this.kernel.name} on ${core.label}${how}: ${formatGeometry(geometry)}`);
  }

  /** Packs the scalars, and gives the geometry that they ask for. Those that were frozen at the last launch are still there. */
  #setScalars(scalars: Scalars): Geometry {
    if (this.#last?.scalars === scalars) return this.#last.geometry;
    this.#last = undefined;
    this.#packer.setScalars(scalars);
    const geometry = this.kernel.geometry(scalars);
    if (Object.isFrozen(scalars)) this.#last = { scalars, geometry };
    return geometry;
  }

  #bind(index: number, argument: PointerArgument | undefined): StorageBlock | undefined {
    if (typeof argument === 'bigint') {
      this.#packer.setBigPointer(index, argument);
      return undefined;
    }
    const storage = storageOf(argument);
    if (storage === undefined || argument === undefined) throw this.#wrongKind(index, argument);
    storage.assertAlive();
    if (storage.device !== this.device) throw this.#wrongDevice(index, storage);
    let address = storage.address;
    if ('dtype' in argument) {
      const param = this.#pointers[index];
      if (param?.dtype !== 'byte' && param?.dtype !== argument.dtype) {
        throw this.#wrongType(index, argument.dtype);
      }
      address += argument.byteOffset;
    }
    this.#packer.setPointer(index, address);
    return storage;
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
