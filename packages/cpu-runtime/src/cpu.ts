import { describeValue } from '@mercer/options';
import { maxThreads, rawBinding } from './addon.js';
import { builtin, type BuiltinOptions } from './builtin.js';
import { compile, type CompileRequest, type CompileResult } from './compiler/compile.js';
import { findCompiler, type CompilerInfo } from './compiler/find-compiler.js';
import { CpuModule, type CpuFunction } from './cpu-module.js';
import { CpuStream } from './cpu-stream.js';
import { CpuRuntimeError } from './errors.js';
import { allocateHost, assertStable, type HostBuffer } from './host-buffer.js';
import { interpret, type InterpretOptions, type TileProgram } from './interpret.js';
import { cpuInfo, cpuReport, type CpuInfo, type CpuReport } from './report.js';

/** Host memory alive in the process, all environments together. */
export interface CpuMemory {
  readonly liveBytes: number;
  readonly liveBuffers: number;
}

/** Compiled host kernels on the process's one thread pool. Nothing is opened before the first call. */
export interface Cpu {
  /** Cores, SIMD level, caches, compiler. Never throws. */
  report(): CpuReport;
  /** The part of the report that needs no compiler. */
  info(): CpuInfo;
  findCompiler(): Promise<CompilerInfo>;
  compile(request: CompileRequest): Promise<CompileResult>;
  /**
   * Loads what {@link Cpu.compile} made, through memory, not through a file.
   *
   * @throws CpuRuntimeError `LOAD_FAILED`, or `FLOAT_CONTROL_CHANGED` for an image that switches denormals off
   */
  loadModule(image: Uint8Array): CpuModule;
  /**
   * Makes a program for the prebuilt interpreter ready to launch; no compiler is needed.
   *
   * @throws CpuRuntimeError `INVALID_ARGUMENT` for a program that is malformed
   */
  interpret(program: TileProgram, options: InterpretOptions): CpuFunction;
  /**
   * A built-in function, launched like a compiled kernel: a kernel without a formula, such as 'copy', or a routine of linear algebra,
   * such as 'solve_cholesky_float32', with one task for each matrix of a batch. Its `paramBytes` is the size of the packed
   * parameters, whose layout is that of native/kernels and native/linalg of the source.
   *
   * @throws LapackNotFoundError for a routine that needs one
   * @throws CpuRuntimeError `SYMBOL_NOT_FOUND` for a name that there is not, `UNSUPPORTED_CPU`
   */
  builtin(name: string, options?: BuiltinOptions): CpuFunction;
  createStream(): CpuStream;
  /** The stream that work goes to when nobody names one. */
  readonly defaultStream: CpuStream;
  /** Zeroed memory, 64-byte aligned. @throws OutOfMemoryError */
  allocate(bytes: number): HostBuffer;
  /** Where a view's bytes are. They do not move, but keep the view alive while a kernel uses the address. */
  addressOf(view: ArrayBufferView | ArrayBuffer): bigint;
  /** Threads of the pool: MERCER_CPU_THREADS, else the cores of the report. */
  readonly threads: number;
  /** Changes the pool of the process, also while work runs. */
  setThreads(threads: number): void;
  memory(): CpuMemory;
}

let defaultStream: CpuStream | undefined;

/**
 * The CPU as a device.
 *
 * @example
 * ```ts
 * import { cpu } from '@mercer/cpu-runtime';
 *
 * const source = `
 *   #include <stdint.h>
 *   struct Args { double* x; double factor; };
 *   extern "C" void scale(const void* raw, int64_t begin, int64_t end, void*) {
 *     const Args& args = *static_cast<const Args*>(raw);
 *     for (int64_t i = begin; i < end; ++i) args.x[i] *= args.factor;
 *   }`;
 * const { binary } = await cpu.compile({ source, level: cpu.info().level });
 * const scale = cpu.loadModule(binary).function('scale', { paramBytes: 16 });
 *
 * const x = cpu.allocate(1000 * 8);
 * const values = new Float64Array(x.arrayBuffer, x.byteOffset, 1000).fill(2);
 * const params = new DataView(new ArrayBuffer(16));
 * params.setBigUint64(0, x.address, true);
 * params.setFloat64(8, 1.5, true);
 *
 * scale.launch({ tasks: 1000, chunk: 100, scratchBytes: 0 }, cpu.defaultStream, new Uint8Array(params.buffer), [x]);
 * await cpu.defaultStream.whenDone();
 * console.log(values[999]); // 3
 * ```
 */
export const cpu: Cpu = {
  report: cpuReport,
  info: cpuInfo,
  findCompiler,
  compile,
  loadModule: (image) => new CpuModule(image),
  interpret,
  builtin,
  createStream: () => new CpuStream(),
  get defaultStream() {
    defaultStream ??= new CpuStream();
    return defaultStream;
  },
  allocate: allocateHost,
  addressOf: (view) => {
    assertStable(view, 'taking the address of a view');
    return rawBinding().addressOfView(view);
  },
  get threads() {
    return rawBinding().threads();
  },
  setThreads: (threads) => {
    if (!Number.isInteger(threads) || threads < 1 || threads > maxThreads) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        `setting the number of threads failed: ${describeValue(threads)} is not an integer from 1 to ${maxThreads}.`,
      );
    }
    rawBinding().setThreads(threads);
  },
  memory: () => {
    const { liveBytes, liveBuffers } = rawBinding().stats();
    return { liveBytes, liveBuffers };
  },
};
