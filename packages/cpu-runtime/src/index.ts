export { lapack, type Lapack, type LapackReport } from './lapack/lapack.js';
export { cpu, type Cpu, type CpuMemory } from './cpu.js';
export { CpuEvent } from './cpu-event.js';
export { CpuGraph } from './cpu-graph.js';
export { CpuFunction, CpuModule, type LaunchGeometry } from './cpu-module.js';
export { CpuStream } from './cpu-stream.js';
export type { BuiltinOptions } from './builtin.js';
export type { InterpretOptions, TileProgram } from './interpret.js';
export { compilerRemedy } from './compiler/find-compiler.js';
export { HostBuffer, type HostBytes } from './host-buffer.js';
export type { CpuInfo, CpuReport } from './report.js';
export { hostCompileOptions, type CpuLevel } from './compiler/compile-options.js';
export type { CompileRequest, CompileResult } from './compiler/compile.js';
export type { CompilerInfo } from './compiler/find-compiler.js';
export {
  AddonNotFoundError,
  CompileError,
  CompilerNotFoundError,
  CpuRuntimeError,
  LapackNotFoundError,
  OutOfMemoryError,
  type Attempt,
  type CpuErrorCode,
} from './errors.js';
export { rawBinding } from './addon.js';
export { loadAddon, platformPackage } from './load-addon.js';
export type { RawBinding } from './raw-binding.js';
