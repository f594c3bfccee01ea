import type {
  BuiltinKernel,
  CpuKernel,
  LaunchableKernel,
  KernelProgram,
} from '../emitted-kernel.js';
import { packParams } from '../kernel-param.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import { builtinLibrary, builtinSymbol } from './cpu-builtin.test-support.js';
import {
  compileKernel,
  compilers,
  interpretedLevel,
  runKernel,
  runnableLevels,
  type HarnessBuffer,
  type HostMemory,
} from './cpu-harness.test-support.js';
import { runInterpretedKernel } from './interpreted-kernel.test-support.js';

/** Scalars and buffers of a program's launches by the names of their parameters; null is address 0. */
export interface ProgramLaunch {
  readonly scalars: Readonly<Record<string, number>>;
  readonly pointers: Readonly<Record<string, HostMemory | null>>;
}

/** Runs the steps of a host program in order; buffers that a step writes are changed in place. */
export function runCpuProgram(
  program: KernelProgram<LaunchableKernel>,
  launch: ProgramLaunch,
  level: CpuLevel = runnableLevels().at(-1) ?? 'x86-64-v2',
  options?: { readonly optimized: boolean },
): void {
  const workspace = new Uint8Array(program.workspaceBytes(launch.scalars)).fill(255);
  const pointers = { workspace, ...launch.pointers };
  for (const { kernel } of program.steps) {
    if (kernel.dialect === 'builtin') {
      runCpuKernel(kernel, builtinLibrary(kernel.entry, level), { ...launch, pointers });
      continue;
    }
    if (kernel.dialect !== 'cpu') throw new TypeError(`${kernel.name} is no host kernel`);
    const library = compileKernel(compilers()[0] ?? 'c++', kernel.source, level, options);
    runCpuKernel(kernel, library, { ...launch, pointers });
  }
}

/** Runs the programs of the steps in order on the interpreter. */
export function runInterpretedProgram(
  program: KernelProgram<LaunchableKernel>,
  launch: ProgramLaunch,
  level: CpuLevel = runnableLevels().at(-1) ?? 'x86-64-v2',
): void {
  for (const { kernel } of program.steps) runInterpreted(kernel, level, launch);
}

/** Runs a compiled host kernel, or a built-in function, once; buffers that it writes are changed in place. */
export function runCpuKernel(
  kernel: CpuKernel | BuiltinKernel,
  library: string,
  launch: ProgramLaunch,
): void {
  const level = interpretedLevel(library);
  if (level !== undefined) {
    runInterpreted(kernel, level, launch);
    return;
  }
  const { params, buffers } = packLaunch(kernel, launch);
  const geometry = kernel.geometry(launch.scalars);
  const entry = kernel.dialect === 'builtin' ? builtinSymbol(kernel.entry) : kernel.entry;
  runKernel({ library, entry, params, buffers, ...geometry });
}

/** Runs the program of a host kernel, or a built-in function, once; buffers that it writes are changed in place. */
export function runInterpreted(
  kernel: LaunchableKernel,
  level: CpuLevel,
  launch: ProgramLaunch,
): void {
  if (kernel.dialect === 'cuda') throw new TypeError(`${kernel.name} is no host kernel`);
  const { params, buffers } = packLaunch(kernel, launch);
  runInterpretedKernel(kernel, level, params, buffers, kernel.geometry(launch.scalars));
}

function packLaunch(
  kernel: CpuKernel | BuiltinKernel,
  { scalars: given, pointers }: ProgramLaunch,
): { readonly params: Uint8Array; readonly buffers: readonly HarnessBuffer[] } {
  const scalars = kernel.dialect === 'builtin' ? { ...given, ...kernel.constants } : given;
  const packed = packParams(kernel.params);
  const params = new DataView(new ArrayBuffer(packed.bytes));
  const buffers: HarnessBuffer[] = [];
  kernel.params.forEach((param, i) => {
    const at = packed.offsets[i] ?? 0;
    if (param.kind === 'pointer') {
      const memory = pointers[param.name];
      if (memory === undefined) throw new TypeError(`${kernel.entry}: no pointer ${param.name}`);
      if (memory !== null) buffers.push({ at, memory, written: param.access !== 'read' });
    } else if (param.kind === 'scalar') {
      const value = scalars[param.name];
      if (value === undefined) throw new TypeError(`${kernel.entry}: no scalar ${param.name}`);
      if (param.type === 'float64') params.setFloat64(at, value, true);
      else params.setBigInt64(at, BigInt(value), true);
    }
  });
  return { params: new Uint8Array(params.buffer), buffers };
}
