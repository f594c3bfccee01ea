import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { withTemporaryFolder } from '../files/with-temporary-folder.js';
import { isLinear, isReduction, isSolver, type Cell } from './cells.js';
import { packageRoot } from '../package-root.js';
import { operationOf } from './operations/operations.js';
import type { Spread } from './statistics.js';

/** Another library's time for one cell, or why it has none. */
export type PeerCell = Cell & PeerMeasurement;

interface PeerMeasurement {
  readonly peer: string;
  readonly ms?: Spread;
  /** In the units of the cells' own errors. */
  readonly maxErrorInUnits?: number;
  /** Of iterative solutions, where they are known: products with the operator, and the norm of b - A x by that of b. */
  readonly iterations?: number;
  readonly residual?: number;
  readonly error?: string;
}

/** How long a peer took to compile its ready-made kernels into an empty cache. */
export interface PeerCompilation {
  readonly peer: string;
  readonly descriptors: number;
  readonly ms: number;
}

/** What the peers' process said. */
export interface PeerReport {
  readonly found: boolean;
  /** Why something is missing, when it is. */
  readonly reason?: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly cells: readonly PeerCell[];
  readonly compilation?: PeerCompilation;
}

export interface PeerOptions {
  readonly python: string;
  readonly device: 'cpu' | `cuda:${number}`;
  readonly maxSecondsPerCell: number;
  /** No cell is begun so many seconds after the first; without it all are measured. */
  readonly maxSeconds?: number | undefined;
  /** Cores that the libraries may use on a CPU; theirs to choose without it. */
  readonly threads?: number;
  /** A folder that holds the Python package `kermac`, when that peer is wanted. */
  readonly kermacPath?: string;
  /** A checkout of KeOps, with its folders keopscore and pykeops, where it is not installed. */
  readonly keopsPath?: string;
  /** Also time how long a peer takes to compile its ready-made kernels. */
  readonly compilation?: boolean;
  readonly onProgress?: (done: number) => void;
  readonly script?: string;
}

const SCRIPT = fileURLToPath(new URL('peers/peers.py', packageRoot));

/** The Python that is asked when none is named: MERCER_PYTHON, else the first python3 on the path. */
export function defaultPython(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = env['MERCER_PYTHON'] ?? '';
  if (named !== '') return named;
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'python3'))
    .find((path) => existsSync(path));
}

/**
 * Times the peers on the same cells, operands and device in a process of their own.
 * A peer that is not installed, or fails, is reported and never thrown.
 */
export async function runPeers(cells: readonly Cell[], options: PeerOptions): Promise<PeerReport> {
  return withTemporaryFolder('mercer-peers-', async (folder) => {
    // A peer's own cache of compiled kernels starts empty and touches nobody's, unless one is named.
    const env = {
      KEOPS_CACHE_FOLDER: join(folder, 'keops'),
      ...process.env,
      ...threadSettings(options.threads),
      XDG_CACHE_HOME: join(folder, 'cache'),
    };
    const child = spawn(options.python, [options.script ?? SCRIPT], { stdio: 'pipe', env });
    try {
      return await new PeerSession(child, folder, options).run(cells);
    } finally {
      child.kill();
    }
  });
}

/** OpenMP, and the BLAS libraries that numpy and torch come with. */
function threadSettings(threads: number | undefined): NodeJS.ProcessEnv {
  if (threads === undefined) return {};
  const names = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'];
  return Object.fromEntries(names.map((name) => [name, String(threads)]));
}

interface PeerLine {
  readonly versions?: Record<string, string>;
  readonly missing?: string;
  readonly ready?: boolean;
  readonly cell?: Omit<PeerCell, 'p'> & { readonly p?: number | 'inf' };
  readonly compilation?: PeerCompilation;
}

class PeerSession {
  private versions: Record<string, string> = {};
  private readonly reasons: string[] = [];
  private readonly cells: PeerCell[] = [];
  private compilation: PeerCompilation | undefined;
  private errorText = '';
  /** Why the process ended before its time, once it has ended. */
  private readonly closed: Promise<string | undefined>;
  private readonly lines: Interface;

  constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly folder: string,
    private readonly options: PeerOptions,
  ) {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errorText = (this.errorText + text).slice(-2000);
    });
    this.lines = createInterface({ input: child.stdout });
    this.closed = new Promise((resolve) => {
      child.on('error', (cause) => {
        this.lines.close(); // it never started: no line will come
        resolve(cause.message);
      });
      child.on('close', (status) =>
        resolve(status === 0 ? undefined : `exit status ${status ?? 'none'}`),
      );
    });
    child.stdin.on('error', () => undefined); // a child that died is reported by its exit
  }

  async run(cells: readonly Cell[]): Promise<PeerReport> {
    const { device, maxSecondsPerCell, kermacPath, keopsPath, compilation = false } = this.options;
    this.send({
      device,
      maxSecondsPerCell,
      compilation,
      kermacPath: kermacPath ?? null,
      keopsPath: keopsPath ?? null,
      linear: cells.some(isLinear), // numpy is asked for these alone
      reductions: cells.some((cell) => isReduction(cell) || isSolver(cell)), // KeOps for these
      systems: cells.some(isSolver), // and GPyTorch
    });
    const { maxSeconds = Infinity } = this.options;
    let end = Infinity;
    let next = 0;
    for await (const text of this.lines) {
      const line = parseLine(text);
      this.take(line);
      if (line.ready !== true) continue;
      this.options.onProgress?.(next);
      if (next === 0) end = performance.now() + maxSeconds * 1e3;
      const cell = performance.now() < end ? cells[next] : undefined;
      if (cell === undefined) {
        this.child.stdin.end();
        continue;
      }
      next++;
      await this.sendCell(cell);
    }
    if (next < cells.length && performance.now() >= end) {
      this.reasons.push(`${next} of ${cells.length} cells in ${maxSeconds} s`);
    }
    const failure = await this.closed;
    if (failure !== undefined) this.reasons.push([failure, this.errorText.trim()].join(': '));
    return {
      found: Object.keys(this.versions).length > 0,
      ...(this.reasons.length > 0 ? { reason: this.reasons.join('; ') } : {}),
      versions: this.versions,
      cells: this.cells,
      ...(this.compilation === undefined ? {} : { compilation: this.compilation }),
    };
  }

  /** The operands travel as raw files: both sides measure and check the same numbers. */
  private async sendCell(cell: Cell): Promise<void> {
    const operation = operationOf(cell);
    const data = operation.makeData(operation.dataSet ?? 'normal', cell);
    const operands: Record<string, { path: string; shape: readonly number[] }> = {};
    for (const [i, { name, shape }] of operation.operands(cell).entries()) {
      const path = join(this.folder, `${name}.bin`);
      await writeFile(path, data[i] ?? new Float32Array(0));
      operands[name] = { path, shape };
    }
    const parameters = operation.parameters?.(cell) ?? {};
    const p = 'p' in cell ? { p: cell.p === Infinity ? 'inf' : cell.p } : {};
    this.send({ ...cell, ...p, parameters, operands });
  }

  private send(message: unknown): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private take(line: PeerLine): void {
    if (line.versions !== undefined) this.versions = { ...this.versions, ...line.versions };
    if (line.missing !== undefined) this.reasons.push(line.missing);
    if (line.compilation !== undefined) this.compilation = line.compilation;
    if (line.cell === undefined) return;
    const { p, ...rest } = line.cell;
    const exponent = p === undefined ? {} : { p: p === 'inf' ? Infinity : p };
    this.cells.push({ ...rest, ...exponent } as PeerCell);
  }
}

/** Lines that are no JSON object, such as a library's chatter, say nothing. */
function parseLine(text: string): PeerLine {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
