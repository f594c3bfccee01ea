import { LibraryNotFoundError } from '../errors.js';
import type { Addon, OpenResult } from '../native/addon.js';
import { loadAddon } from '../native/load-addon.js';
import { describeFailure, type LibraryReport } from './library-report.js';
import {
  cublasLibrary,
  cublasLtLibrary,
  cusolverLibrary,
  driverCandidates,
  ncclLibrary,
  nvrtcLibrary,
  supportedMajors,
  toolkitCandidates,
} from './search-paths.js';

const DRIVER_REMEDY =
  'Install the NVIDIA driver (nvidia-smi must work), or in a container pass the GPU through (--gpus all). ' +
  'MERCER_CUDA_DRIVER_PATH names an exact file. Without a GPU use the CPU backend.';
const NVRTC_REMEDY =
  'Install NVRTC of CUDA 12 or 13: pip install nvidia-cuda-nvrtc in an active virtual environment, or the CUDA toolkit, ' +
  'and point MERCER_CUDA_HOME at it, or name the exact file in MERCER_CUDA_NVRTC_PATH. CUDA 11 is too old.';
const CUSOLVER_REMEDY =
  'Install cuSOLVER of CUDA 12 or 13 with cuBLAS, cuSPARSE and nvJitLink: pip install nvidia-cusolver nvidia-cublas ' +
  'nvidia-cusparse nvidia-nvjitlink in an active virtual environment, or the CUDA toolkit, and point MERCER_CUDA_HOME at ' +
  'it, or name the exact file in MERCER_CUDA_CUSOLVER_PATH.';
const cublasRemedy = (variable: string): string =>
  'Install cuBLAS of CUDA 12 or 13: pip install nvidia-cublas in an active virtual environment, or the CUDA toolkit, and ' +
  `point MERCER_CUDA_HOME at it, or name the exact file in ${variable}.`;

const NCCL_REMEDY =
  'Install NCCL 2.14 or newer: pip install nvidia-nccl-cu13 (or nvidia-nccl-cu12) in an active virtual environment, or the package libnccl2 of ' +
  'the system, or name the exact file in MERCER_CUDA_NCCL_PATH. Several GPUs of one process need none: pass devices.';

let driver: LibraryReport | undefined;
let nvrtc: LibraryReport | undefined;
let cusolver: LibraryReport | undefined;
let cublasLt: LibraryReport | undefined;
let cublas: LibraryReport | undefined;
let nccl: LibraryReport | undefined;

/** Opens the driver on first use and remembers the outcome. Never throws. */
export function driverReport(): LibraryReport {
  driver ??= attempt(DRIVER_REMEDY, (addon) => {
    const result = addon.openDriver(driverCandidates(process.env));
    return [result, result.opened ? formatDriverVersion(addon.driverVersion()) : undefined];
  });
  return driver;
}

/** Opens NVRTC on first use and remembers the outcome. Never throws. */
export function nvrtcReport(): LibraryReport {
  nvrtc ??= attempt(NVRTC_REMEDY, (addon) => {
    const result = addon.openNvrtc(toolkitCandidates(nvrtcLibrary, process.env, majors()), 0);
    if (!result.opened) return [result, undefined];
    const { major, minor } = addon.nvrtcInfo();
    return [result, `${major}.${minor}`];
  });
  return nvrtc;
}

/** Opens cuSOLVER on first use, which takes long, and remembers the outcome. Never throws. */
export function cusolverReport(): LibraryReport {
  cusolver ??= attempt(CUSOLVER_REMEDY, (addon) => {
    const result = addon.openCusolver(toolkitCandidates(cusolverLibrary, process.env, majors()));
    return [result, result.opened ? formatCusolverVersion(addon.cusolverVersion()) : undefined];
  });
  return cusolver;
}

/** Opens cuBLASLt on first use, which takes long, and remembers the outcome. Never throws. */
export function cublasLtReport(): LibraryReport {
  cublasLt ??= attempt(cublasRemedy(cublasLtLibrary.variable), (addon) => {
    const result = addon.openCublasLt(toolkitCandidates(cublasLtLibrary, process.env, majors()));
    return [result, result.opened ? formatCublasVersion(addon.cublasLtVersion()) : undefined];
  });
  return cublasLt;
}

/** Opens cuBLAS on first use, which takes long, and remembers the outcome. Never throws. */
export function cublasReport(): LibraryReport {
  cublas ??= attempt(cublasRemedy(cublasLibrary.variable), (addon) => {
    const result = addon.openCublas(toolkitCandidates(cublasLibrary, process.env, majors()));
    return [result, result.opened ? formatCublasVersion(addon.cublasVersion()) : undefined];
  });
  return cublas;
}

/** Opens NCCL on first use and remembers the outcome. Never throws. */
export function ncclReport(): LibraryReport {
  nccl ??= attempt(NCCL_REMEDY, (addon) => {
    const result = addon.openNccl(toolkitCandidates(ncclLibrary, process.env, majors()));
    return [result, result.opened ? formatCublasVersion(addon.ncclVersion()) : undefined];
  });
  return nccl;
}

/** Toolkit majors in the order of preference: that of a library already open, then the driver's. */
function majors(): readonly number[] {
  const major = (report: LibraryReport | undefined): number =>
    Number.parseInt(report?.version ?? '', 10);
  // One toolkit a process where there is a choice; cuSOLVER's own major is one less.
  const open = [nvrtc, cublasLt, cublas].map(major);
  open.push(major(cusolver) + 1, major(driverReport()));
  return supportedMajors(open.find((number) => !Number.isNaN(number)));
}

/** The addon with the driver open. */
export function requireDriver(): Addon {
  const report = driverReport();
  if (!report.found) throw notFound('the CUDA driver (libcuda.so.1)', report);
  return loadAddon().addon;
}

/** The addon with NVRTC open. */
export function requireNvrtc(): Addon {
  const report = nvrtcReport();
  if (!report.found) throw notFound('NVRTC (libnvrtc.so.13 or libnvrtc.so.12)', report);
  return loadAddon().addon;
}

/** The addon with the driver and cuSOLVER open. */
export function requireCusolver(): Addon {
  requireDriver();
  const report = cusolverReport();
  if (!report.found) throw notFound('cuSOLVER (libcusolver.so.12 or libcusolver.so.11)', report);
  return loadAddon().addon;
}

/** The addon with the driver and cuBLASLt open. */
export function requireCublasLt(): Addon {
  requireDriver();
  const report = cublasLtReport();
  if (!report.found) throw notFound('cuBLASLt (libcublasLt.so.13 or libcublasLt.so.12)', report);
  return loadAddon().addon;
}

/** The addon with the driver and cuBLAS open. */
export function requireCublas(): Addon {
  requireDriver();
  const report = cublasReport();
  if (!report.found) throw notFound('cuBLAS (libcublas.so.13 or libcublas.so.12)', report);
  return loadAddon().addon;
}

/** The addon with the driver and NCCL open. */
export function requireNccl(): Addon {
  requireDriver();
  const report = ncclReport();
  if (!report.found) throw notFound('NCCL (libnccl.so.2)', report);
  return loadAddon().addon;
}

/** 12004 -> `12.0.4`. */
function formatCusolverVersion(version: number): string {
  return [Math.floor(version / 1000), Math.floor((version % 1000) / 100), version % 100].join('.');
}

/** 130101 -> `13.1.1`, of cuBLAS and of NCCL. */
function formatCublasVersion(version: number): string {
  return [Math.floor(version / 10000), Math.floor((version % 10000) / 100), version % 100].join(
    '.',
  );
}

/** 13000 -> `13.0`. */
function formatDriverVersion(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

function notFound(library: string, report: LibraryReport): LibraryNotFoundError {
  const message = describeFailure(`${library} could not be opened`, report);
  return new LibraryNotFoundError(message, library, report.attempts);
}

function attempt(
  remedy: string,
  open: (addon: Addon) => [result: OpenResult, version: string | undefined],
): LibraryReport {
  try {
    const [result, version] = open(loadAddon().addon);
    if (!result.opened) return { found: false, attempts: result.attempts, remedy };
    return {
      found: true,
      path: result.path,
      attempts: result.attempts,
      ...(version === undefined ? {} : { version }),
    };
  } catch (error) {
    if (error instanceof LibraryNotFoundError) {
      return { found: false, attempts: error.attempts, remedy: error.message };
    }
    const message = error instanceof Error ? error.message : String(error);
    return { found: false, attempts: [{ path: '(addon)', error: message }], remedy };
  }
}
