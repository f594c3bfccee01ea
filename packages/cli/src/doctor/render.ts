import { printable } from '@mercer/core/npy';
import { formatBytes } from '../output/format.js';
import type { Output } from '../output/output.js';
import type { Examination } from './examine.js';

interface LibraryLike {
  readonly found: boolean;
  readonly path?: string;
  readonly version?: string;
  readonly attempts: readonly Attempt[];
}

interface Attempt {
  readonly path: string;
  readonly error: string;
}

/** The doctor's findings as text: devices first, then what they rest on, then what to do. */
export function renderExamination(found: Examination, output: Output, attempts: boolean): string {
  return [
    backends(found, output),
    foundations(found, output, attempts),
    store(found, output),
    warnings(found, output),
    advice(found, output),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function backends(found: Examination, output: Output): string {
  const lines = found.backends.map(({ id, name, works, error }) => {
    const mark = works ? output.colors.green('works') : output.colors.red('fails');
    const why = error === undefined ? '' : `\n    ${error.trim().replaceAll('\n', '\n    ')}`;
    return `  ${mark}  ${id}${name === undefined ? '' : `  ${name}`}${why}`;
  });
  return [output.heading('Devices'), ...lines].join('\n');
}

function foundations(found: Examination, output: Output, attempts: boolean): string {
  const { cpu, cuda, machine, distribution } = found;
  const compiler = cpu.compiler;
  const wasm = cpu.level === 'wasm128';
  const lines = [
    output.heading('Machine'),
    item('system', `${distribution.name}, ${machine.platform}, Node ${machine.node}`),
    item('processor', `${machine.cpu}, ${cpu.cores} cores, ${cpu.simd} (${cpu.level})`),
    item(
      'compiler',
      compiler === undefined ? 'none found' : `${compiler.path} (${compiler.version})`,
    ),
    ...(attempts || compiler === undefined ? attemptLines(cpu.attempts) : []),
    ...(found.executor === undefined
      ? []
      : [
          item(
            'CPU runs',
            `${found.executor.executor} kernels${wasm ? ' in WebAssembly' : ''} (${found.executor.reason})`,
          ),
        ]),
    ...(found.compilerTrouble === undefined
      ? []
      : [
          item(
            '',
            `${output.colors.red('compiling fails')}: calls are interpreted, preparing one is an error`,
          ),
          `      ${printable(found.compilerTrouble.trim().replaceAll('\n', ' '))}`,
        ]),
    ...libraryLines('LAPACK', { ...found.lapack, ...lapackVersion(found) }, attempts),
    item('NVIDIA', found.gpuOnBus ? 'a GPU is on the PCI bus' : 'no GPU seen on the PCI bus'),
    ...libraryLines('driver', cuda.driver, attempts),
    ...libraryLines('NVRTC', cuda.nvrtc, attempts),
    ...libraryLines('cuSOLVER', found.cudaLibraries.cusolver, attempts),
    ...libraryLines('cuBLASLt', found.cudaLibraries.cublasLt, attempts),
    ...libraryLines('cuBLAS', found.cudaLibraries.cublas, attempts),
  ];
  return lines.join('\n');
}

function store(found: Examination, output: Output): string {
  const { cache, failedCompiles } = found;
  const reason = cache.reason === undefined ? '' : ` (${cache.reason})`;
  return [
    output.heading('Kernel store'),
    item('state', `${cache.state}${reason}`),
    item('file', cache.path ?? 'none yet'),
    item('holds', `${cache.entries} kernels, ${formatBytes(cache.usedBytes)}`),
    ...failedCompiles.flatMap(({ names, target, message, at }) => [
      item(
        '',
        `${output.colors.red('compiling failed')}: ${names.join(', ')} for ${target}, ${when(at)}`,
      ),
      `      ${printable(message)}`,
    ]),
    ...(failedCompiles.length === 0
      ? []
      : [
          item(
            '',
            'calls of these kernels are interpreted on a CPU; mercer cache clear forgets them',
          ),
        ]),
  ].join('\n');
}

const when = (at: Date): string => at.toISOString().slice(0, 16).replace('T', ' ');

function warnings(found: Examination, { colors }: Output): string {
  return found.warnings.map((text) => `${colors.yellow('warning:')} ${text}`).join('\n');
}

function advice(found: Examination, output: Output): string {
  if (found.advice.length === 0) return '';
  const lines = found.advice.map(
    ({ text, command }) => `  ${text}\n    ${output.colors.cyan(command)}`,
  );
  return [output.heading('What to install'), ...lines].join('\n');
}

function item(name: string, text: string): string {
  return `  ${name.padEnd(10)} ${printable(text)}`;
}

function libraryLines(name: string, report: LibraryLike, attempts: boolean): string[] {
  return [item(name, library(report)), ...(attempts ? attemptLines(report.attempts) : [])];
}

function library(report: LibraryLike): string {
  if (!report.found) {
    const count = report.attempts.length;
    return `not found (${count} ${count === 1 ? 'place' : 'places'} tried; --attempts lists them)`;
  }
  return `${report.version ?? ''}  ${report.path ?? ''}`.trim();
}

const LAPACK_SOURCES = {
  MERCER_BLAS: 'named by MERCER_BLAS',
  package: 'from its npm package',
  environment: 'of the environment',
  system: "the system's",
} as const;

/** Of a BLAS and LAPACK the vendor, the width of its integers and how it was found tell more than a version. */
function lapackVersion({ lapack }: Examination): { version?: string } {
  if (!lapack.found) return {};
  const source = LAPACK_SOURCES[lapack.source ?? 'system'];
  return {
    version: `${lapack.vendor ?? ''}, ${lapack.integerBits}-bit integers, ${source}`,
  };
}

function attemptLines(tried: readonly Attempt[]): string[] {
  return tried.map(({ path, error }) => {
    const text = error.trim().replaceAll('\n', ' ');
    return `      ${printable(path)}: ${text === '' ? 'found' : text}`;
  });
}
