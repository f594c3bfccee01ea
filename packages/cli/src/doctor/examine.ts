import {
  cpu,
  cpuExecutor,
  cuda,
  devices,
  JitCache,
  lapack,
  type CacheStats,
  type CpuExecutorChoice,
  type CpuReport,
  type CudaReport,
  type FailedCompile,
  type LapackReport,
} from '@mercer/core';
import { describeMachine, type MachineDescription } from '../bench/machine.js';
import { adviseInstall, type Advice } from './advice.js';
import { cudaLibraries, type CudaLibraries } from './cuda-libraries.js';
import { distribution, type Distribution } from './distribution.js';
import { folderWarning } from './folder-safety.js';
import { nvidiaGpuOnBus } from './pci.js';
import { probeDevice, type Backend } from './probe-device.js';

/** Everything that the doctor found. */
export interface Examination {
  readonly machine: MachineDescription;
  readonly distribution: Distribution;
  readonly backends: readonly Backend[];
  readonly cpu: CpuReport;
  /** What runs kernels on the CPU; absent where MERCER_CPU names nothing that there is. */
  readonly executor?: CpuExecutorChoice;
  /** Why compiling fails, where the CPU is to run compiled kernels: then calls are interpreted, and preparing one fails. */
  readonly compilerTrouble?: string;
  readonly cuda: CudaReport;
  readonly cudaLibraries: CudaLibraries;
  readonly lapack: LapackReport;
  readonly gpuOnBus: boolean;
  readonly cache: CacheStats;
  /** Kernels that the compiler refused, the newest first: those that were compiled for later calls, among others, told nobody. */
  readonly failedCompiles: readonly FailedCompile[];
  readonly warnings: readonly string[];
  readonly advice: readonly Advice[];
}

/** Whether an attempt was for a native binary of the CPU, not for a compiler. */
const isBinary = ({ path }: { readonly path: string }): boolean =>
  path.startsWith('@mercer/cpu-runtime-');

/** Looks at the whole machine and computes a distance on every device that it offers. Never throws. */
export async function examine(): Promise<Examination> {
  const [cpuReport, cudaReport] = [cpu.report(), cuda.report()];
  const ids = new Set(['cpu', ...deviceIds()]);
  const backends: Backend[] = [];
  for (const id of ids) backends.push(await probeDevice(id));
  const system = distribution();
  const lapackReport = lapack.report();
  // WebAssembly calls no compiler and opens no library.
  const wasm = cpuReport.level === 'wasm128';
  const gpuOnBus = nvidiaGpuOnBus();
  const solvers = cudaLibraries();
  const { driver, nvrtc } = cudaReport;
  const libraries = [driver, nvrtc, ...Object.values(solvers), lapackReport]
    .map(({ path }) => path)
    .filter((path) => path !== undefined);
  return {
    machine: describeMachine(),
    distribution: system,
    backends,
    cpu: cpuReport,
    ...(await executor()),
    ...(cpuReport.compiler === undefined ? {} : await compilerTrouble()),
    cuda: cudaReport,
    cudaLibraries: solvers,
    lapack: lapackReport,
    gpuOnBus,
    ...(await store()),
    warnings: libraries.map(folderWarning).filter((warning) => warning !== undefined),
    advice: adviseInstall(
      {
        native: wasm && cpuReport.attempts.some(isBinary),
        compiler: !wasm && cpuReport.compiler === undefined,
        driver: !driver.found,
        nvrtc: !nvrtc.found,
        cudaLibraries: Object.values(solvers).some(({ found }) => !found),
        lapack: !wasm && !lapackReport.found,
        lapackPackage: lapackReport.packageName,
        gpuOnBus,
      },
      system.manager,
    ),
  };
}

const ANY_KERNEL =
  '#include <stdint.h>\nextern "C" void probe(const void*, int64_t, int64_t, void*) {}\n';

/** Compiles and loads a text that no cache has: kernels that are in the cache say nothing about the compiler of today. */
async function compilerTrouble(): Promise<Pick<Examination, 'compilerTrouble'>> {
  try {
    if ((await cpuExecutor()).executor === 'interpreted') return {};
    const { binary } = await cpu.compile({ source: ANY_KERNEL, level: cpu.info().level });
    cpu.loadModule(binary).function('probe', { paramBytes: 0 });
    return {};
  } catch (error) {
    return { compilerTrouble: error instanceof Error ? error.message : String(error) };
  }
}

async function executor(): Promise<Pick<Examination, 'executor'>> {
  try {
    return { executor: await cpuExecutor() };
  } catch {
    return {}; // the CPU is probed and says itself what is wrong
  }
}

function deviceIds(): string[] {
  try {
    return devices().map((device) => device.id);
  } catch {
    return []; // each device is probed below and says itself what is wrong
  }
}

async function store(): Promise<Pick<Examination, 'cache' | 'failedCompiles'>> {
  const cache = JitCache.open({ onWarning: () => undefined });
  try {
    return { cache: await cache.stats(), failedCompiles: await cache.failures() };
  } finally {
    await cache.close();
  }
}
