import { own } from '@mercer/options';
import type { TileProgram } from './interpret/tile-program.js';
import { type KernelParam, pointer, int64 } from './kernel-param.js';

/** A compiler option with one meaning for every toolchain that has it. */
export interface CompileOption {
  readonly name: 'fmad' | 'ftz' | 'prec-div' | 'prec-sqrt' | 'maxrregcount' | 'lineinfo';
  readonly value: boolean | number;
}

/** Values of a launch's scalar parameters by name. */
export type Scalars = Readonly<Record<string, number>>;

/** What one launch must do at least, from which its floor on a device is derived. */
export interface KernelCost {
  /** Bytes through device memory: each input read once, each output written once. */
  readonly bytes: number;
  /** Arithmetic operations; a fused multiply-add counts as two. */
  readonly flops: number;
  /** Instructions of the FP32 (or, for float64 kernels, FP64) pipe, summed over all lanes. */
  readonly issueSlots?: number;
  /** Instructions of the special-function unit, summed over all lanes. */
  readonly specialOps?: number;
}

/** Launch geometry on a GPU. */
export interface CudaGeometry {
  readonly grid: readonly [x: number, y: number, z: number];
  readonly block: readonly [x: number, y: number, z: number];
  /** Dynamic shared memory per block. */
  readonly sharedMemBytes: number;
  readonly cluster?: readonly [x: number, y: number, z: number];
}

/** How a CPU launch is cut: tasks [0, tasks) in chunks, with scratch memory per worker. */
export interface CpuGeometry {
  readonly tasks: number;
  readonly chunk: number;
  readonly scratchBytes: number;
}

interface KernelInterface {
  /** Readable name for profiles and messages. */
  readonly name: string;
  /** The `extern "C"` symbol, or the name of a built-in function. */
  readonly entry: string;
  readonly params: readonly KernelParam[];
  /** Its text may hold variables that outlive a launch: memory that no parameter points to. */
  readonly hasVariables?: true;
  /** What a launch with these scalars costs at least. */
  cost?(scalars: Scalars): KernelCost;
}

interface KernelText extends KernelInterface {
  /** Complete source text; empty for a host kernel that is a program alone. */
  readonly source: string;
  readonly options: readonly CompileOption[];
}

/** A kernel in CUDA C++; the source includes no header. */
export interface CudaKernel extends KernelText {
  readonly dialect: 'cuda';
  /** Launch geometry for these scalars. */
  geometry(scalars: Scalars): CudaGeometry;
}

/**
 * A kernel in host C++:
 * `extern "C" void entry(const void* args, int64_t begin, int64_t end, void* scratch)`,
 * with `args` the packed parameters and [begin, end) a range of the geometry's tasks.
 */
export interface CpuKernel extends KernelText {
  readonly dialect: 'cpu';
  /** The same for the interpreter; absent where only compiled text can compute it. */
  readonly program?: TileProgram | undefined;
  /** Tasks and scratch for these scalars. */
  geometry(scalars: Scalars): CpuGeometry;
}

/** The text of a kernel with all that a runtime needs to launch it. */
export type EmittedKernel = CudaKernel | CpuKernel;

/** A function that the CPU's runtime has ready, described like a kernel: nothing is compiled. */
export interface BuiltinKernel extends KernelInterface {
  readonly dialect: 'builtin';
  /** Scalar parameters that are the same in every launch. */
  readonly constants?: Scalars;
  /** Tasks for these scalars; the function itself knows its scratch. */
  geometry(scalars: Scalars): CpuGeometry;
}

/** What a device can launch. */
export type LaunchableKernel = EmittedKernel | BuiltinKernel;

/** Whether a kernel has a text. */
export const isEmitted = (kernel: LaunchableKernel): kernel is EmittedKernel =>
  kernel.dialect !== 'builtin';

/**
 * What a compiler is given of a kernel: kernels with the same content have the same binary on a device. Of a kernel that is a
 * program alone, the program.
 */
export function kernelContent(kernel: EmittedKernel): readonly (string | Uint8Array)[] {
  const { entry, options, source } = kernel;
  const text = `${entry}\n${JSON.stringify(options)}\n${source}`;
  if (source !== '' || kernel.dialect !== 'cpu' || kernel.program === undefined) return [text];
  const { words, constants } = kernel.program;
  const head = `${text}${words.length} ${constants.length}\n`;
  return [head, ...[words, constants].map(({ buffer }) => new Uint8Array(buffer))];
}

/** A launch of a program. */
export interface ProgramStep<K extends LaunchableKernel = EmittedKernel> {
  readonly kernel: K;
  /** Scalars of this launch beside those of all. */
  readonly scalars?: Scalars;
}

/** The kernels of one plan, launched in order on one stream; among them built-in functions where `K` says so. */
export interface KernelProgram<K extends LaunchableKernel = EmittedKernel> {
  readonly steps: readonly ProgramStep<K>[];
  /** Bytes of the scratch buffer bound to the parameter `workspace`; 0 if no step has one. */
  workspaceBytes(scalars: Scalars): number;
}

/** A program of kernels that need no scratch buffer. */
export const programOf = <K extends LaunchableKernel>(
  ...kernels: readonly K[]
): KernelProgram<K> => ({
  steps: kernels.map((kernel) => ({ kernel })),
  workspaceBytes: () => 0,
});

/** The parameters of a kernel with the pointer `workspace` behind them. */
export function withWorkspace(
  params: readonly KernelParam[],
  access: 'read' | 'write',
): KernelParam[] {
  return [...params, pointer('workspace', 'byte', access)];
}

/** A built-in function as its launches are cut: where nothing is said, a chunk is one task, and tasks need no scratch memory. */
interface BuiltinParts extends Pick<BuiltinKernel, 'name' | 'entry' | 'params' | 'cost'> {
  readonly tasks: (scalars: Scalars) => number;
  readonly chunk?: (scalars: Scalars) => number;
  readonly scratchBytes?: (scalars: Scalars) => number;
}

/** A built-in function whose struct ends with numbers that are the same in every launch. */
export function withConstants(parts: BuiltinParts, constants: Scalars): BuiltinKernel {
  const { name, entry, params, cost, tasks, chunk, scratchBytes } = own(
    parts,
    ...(['name', 'entry', 'params', 'cost', 'tasks', 'chunk', 'scratchBytes'] as const),
  );
  return {
    dialect: 'builtin',
    name,
    entry,
    params: [...params, ...Object.keys(constants).map(int64)],
    ...(cost && { cost }),
    constants,
    geometry: (scalars): CpuGeometry => ({
      tasks: tasks(scalars),
      chunk: chunk?.(scalars) ?? 1,
      scratchBytes: scratchBytes?.(scalars) ?? 0,
    }),
  };
}

/** A named scalar of a launch; a missing one is a mistake of the caller. */
export function scalar(scalars: Scalars, name: string): number {
  const value = scalars[name];
  if (value === undefined) throw new TypeError(`launch: scalar '${name}' is missing`);
  return value;
}
