import { dtypeBytes } from '../../dtype.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import type { KernelParam } from '../../kernel-param.js';
import { runProgram } from '../run-program.test-support.js';
import { harnessProgram, kernelLibrary, lineOf } from './compile.test-support.js';
import { checkGeometry } from './check-geometry.test-support.js';

/** Memory of a launch; the emulated address has the remainder of `byteOffset` modulo 256. */
export type Memory =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

export interface LaunchOptions {
  /** 'shuffled': blocks, and the threads of a block, in a random order, the same every time. */
  readonly blocks?: 'in order' | 'shuffled';
  /** False runs faster and checks bounds by pages only. Default true. */
  readonly check?: boolean;
}

export interface Launch {
  readonly scalars: Readonly<Record<string, number>>;
  /** One per pointer parameter, in order; null is address 0. Views of the same bytes are one buffer. */
  readonly pointers: readonly (Memory | null)[];
  readonly options?: LaunchOptions;
}

/** Runs one launch in a process of its own and writes what the kernel wrote into the buffers. */
export function launchKernel(
  kernel: CudaKernel,
  { scalars, pointers, options = {} }: Launch,
): void {
  const { check = true, blocks = 'in order' } = options;
  const geometry = kernel.geometry(scalars);
  checkGeometry(kernel, geometry);
  const library = kernelLibrary(kernel, check);
  const head = [...geometry.grid, ...geometry.block, geometry.sharedMemBytes];
  const params = kernel.params;
  const parts = [int64s(...head, Number(check), Number(blocks === 'shuffled'), params.length)];
  const results: Memory[] = [];
  const bound = bind(kernel, pointers);
  params.forEach((param, i) => {
    if (param.kind === 'scalar') {
      parts.push(int64s(0), scalar(kernel, param, scalars[param.name]));
      return;
    }
    const memory = bound[i] ?? null;
    const same = memory === null ? -1 : bound.findIndex((other) => isSame(other, memory));
    if (memory === null) parts.push(int64s(1));
    else if (same < i) parts.push(int64s(3 + same));
    else {
      const writable = params.some((p, j) => isSame(bound[j], memory) && isWritten(p));
      parts.push(int64s(2, memory.byteLength, memory.byteOffset % 256, Number(writable)));
      parts.push(bytesOf(memory));
      if (writable) results.push(memory);
    }
  });
  const names = params.filter((p) => p.kind === 'pointer').map((p) => p.name);
  const { status, stdout, stderr } = runProgram(
    harnessProgram(),
    [library, params.map(signature).join(''), ...names],
    Buffer.concat(parts),
  );
  if (status !== 0) {
    const message = stderr || `it ended with ${status}`;
    throw new Error(`kernel ${kernel.entry}: ${explain(kernel, library, message)}`);
  }
  let at = 0;
  for (const memory of results) {
    bytesOf(memory).set(stdout.subarray(at, at + memory.byteLength));
    at += memory.byteLength;
  }
}

/** The memory of each parameter; checks the count and the width of the elements. */
function bind(
  kernel: CudaKernel,
  pointers: readonly (Memory | null)[],
): readonly (Memory | null | undefined)[] {
  const wanted = kernel.params.filter((param) => param.kind === 'pointer');
  if (wanted.length !== pointers.length) {
    throw new TypeError(
      `kernel ${kernel.entry} has the pointers ${wanted.map((p) => p.name).join(', ')}, but ${pointers.length} were given`,
    );
  }
  let next = 0;
  return kernel.params.map((param) => {
    if (param.kind !== 'pointer') return undefined;
    const memory = pointers[next++] ?? null;
    if (memory === null || param.dtype === 'byte') return memory;
    if (memory.BYTES_PER_ELEMENT !== dtypeBytes(param.dtype)) {
      throw new TypeError(
        `kernel ${kernel.entry}: ${param.name} is ${param.dtype}, but was given a ${memory.constructor.name}`,
      );
    }
    return memory;
  });
}

const int64s = (...values: readonly number[]): Uint8Array =>
  new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);

const bytesOf = (memory: Memory): Uint8Array =>
  new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);

const isWritten = (param: KernelParam): boolean =>
  param.kind === 'pointer' && param.access !== 'read';

function isSame(x: Memory | null | undefined, y: Memory): boolean {
  return x?.buffer === y.buffer && x.byteOffset === y.byteOffset && x.byteLength === y.byteLength;
}

/** Kind and size of a parameter, as the harness reads them off the entry: 'c8' is a pointer to const. */
function signature(param: KernelParam): string {
  if (param.kind === 'pointer') return param.access === 'read' ? 'c8' : 'p8';
  if (param.kind === 'tensorMap') throw new TypeError('the emulator has no tensor maps');
  return `${param.type.startsWith('int') ? 'i' : 'f'}${param.type.endsWith('32') ? '4' : '8'}`;
}

function scalar(
  kernel: CudaKernel,
  param: Extract<KernelParam, { kind: 'scalar' }>,
  value: number | undefined,
): Uint8Array {
  if (value === undefined) {
    throw new TypeError(`kernel ${kernel.entry}: no value for the scalar ${param.name}`);
  }
  const view = new DataView(new ArrayBuffer(8));
  if (param.type === 'float64') view.setFloat64(0, value, true);
  else if (param.type === 'float32') view.setFloat32(0, value, true);
  else if (param.type === 'int32') view.setInt32(0, value, true);
  else view.setBigInt64(0, BigInt(value), true);
  return new Uint8Array(view.buffer);
}

/** A message of the harness with the line of the text that it speaks of. */
function explain({ source }: CudaKernel, library: string, message: string): string {
  const [, text = message, kind, place = ''] = /^([\s\S]*)@(line|code) (\d+)$/.exec(message) ?? [];
  const line = kind === 'line' ? Number(place) : kind === 'code' ? lineOf(library, place) : 0;
  if (line === undefined || line === 0) return text;
  return `${text}, in line ${line}: ${source.split('\n')[line - 1]?.trim() ?? ''}`;
}
