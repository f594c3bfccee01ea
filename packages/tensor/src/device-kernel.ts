import {
  dtypeBytes,
  type CpuGeometry,
  type CudaGeometry,
  type DType,
  type LaunchableKernel,
  type KernelParam,
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
import { streamFor, type StreamCore } from './stream-core.js';

type PointerParam = Extract<KernelParam, { kind: 'pointer' }>;

/** The one implementation of LoadedKernel. */
export class DeviceKernel implements LoadedKernel {
  readonly device: Device;
  readonly kernel: LaunchableKernel;
  readonly executor: CpuExecutor | undefined;
  readonly #native: NativeFunction;
  readonly #pointers: readonly PointerParam[];
  readonly #packer: ParamPacker;
  readonly #print: DebugPrinter | undefined;

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
  }

  launch(stream: Stream, args: LaunchArguments): void {
    const { scalars, pointers } = args;
    const core = streamFor(this.device, stream, `launch of ${this.kernel.name}`);
    if (pointers.length !== this.#pointers.length) throw this.#wrongCount(pointers.length);
    const keepAlive: object[] = [];
    for (let i = 0; i < pointers.length; i++) this.#bind(i, pointers[i], keepAlive);
    this.#packer.setScalars(scalars);
    const maps = Object.hasOwn(args, 'tensorMaps') ? args.tensorMaps : undefined;
    if (maps !== undefined) this.#packer.setTensorMaps(maps);
    const geometry = this.kernel.geometry(scalars);
    if (isEmpty(geometry)) return;
    for (let i = 0; i < pointers.length; i++) this.#before(i, pointers[i], core);
    core.admit();
    const profiler = activeProfiler();
    const begin = profiler?.begin(core);
    this.#native.launch(geometry, core, this.#packer.bytes, keepAlive);
    core.enqueued++;
    if (profiler !== undefined && begin !== undefined) {
      profiler.end(core, begin, this.kernel, scalars, this.executor);
    }
    for (let i = 0; i < pointers.length; i++) this.#after(i, pointers[i], core);
    const how = this.executor === undefined ? '' : `, ${this.executor}`;
    this.#print?.(`launch ${this.kernel.name} on ${core.label}${how}: ${formatGeometry(geometry)}`);
  }

  #bind(index: number, argument: PointerArgument | undefined, keepAlive: object[]): void {
    if (typeof argument === 'bigint') {
      this.#packer.setBigPointer(index, argument);
      return;
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
    keepAlive.push(storage.handle);
  }

  #before(index: number, argument: PointerArgument | undefined, stream: StreamCore): void {
    const storage = storageOf(argument);
    if (this.#pointers[index]?.access === 'read') storage?.beforeRead(stream);
    else storage?.beforeWrite(stream);
  }

  #after(index: number, argument: PointerArgument | undefined, stream: StreamCore): void {
    const storage = storageOf(argument);
    if (this.#pointers[index]?.access === 'read') storage?.noteRead(stream);
    else storage?.noteWrite(stream);
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

const isCpu = (geometry: CpuGeometry | CudaGeometry): geometry is CpuGeometry =>
  Object.hasOwn(geometry, 'tasks');

function isEmpty(geometry: CpuGeometry | CudaGeometry): boolean {
  if (isCpu(geometry)) return geometry.tasks === 0;
  return geometry.grid[0] === 0 || geometry.grid[1] === 0 || geometry.grid[2] === 0;
}

function formatGeometry(geometry: CpuGeometry | CudaGeometry): string {
  if (isCpu(geometry)) {
    return `tasks ${geometry.tasks}, chunk ${geometry.chunk}, scratch ${geometry.scratchBytes} bytes`;
  }
  const cluster = geometry.cluster === undefined ? '' : `, cluster ${geometry.cluster.join('x')}`;
  return `grid ${geometry.grid.join('x')}, block ${geometry.block.join('x')}, shared ${geometry.sharedMemBytes} bytes${cluster}`;
}
