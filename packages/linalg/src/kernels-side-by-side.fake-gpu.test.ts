import { nvrtc } from '@mercer/cuda-runtime';
import { configureJitCache, device, empty, type Device, type Tensor } from '@mercer/tensor';
import { askAhead } from '@mercer/tensor/operation';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cholesky } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { logdet } from './logdet.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { solveTriangular } from './solve-triangular.js';
import { svd } from './svd.js';

const hasNvrtc = nvrtcFound();

/* The fake driver runs no kernels: nothing is said of values here. */

let [compiling, most] = [0, 0];

beforeAll(async () => {
  await useFakeDriver({ DEVICES: CALLS.length + 1, TOTAL_BYTES: 2 ** 30 });
  await useFakeSolvers();
  configureJitCache({ mode: 'off', bundles: [] });
  const compile = nvrtc.compile.bind(nvrtc);
  vi.spyOn(nvrtc, 'compile').mockImplementation(async (request) => {
    most = Math.max(most, ++compiling);
    try {
      return await compile(request);
    } finally {
      compiling--;
    }
  });
});

type Debug = { readonly debug: (line: string) => void };
type Call = (a: Tensor<'float32'>, b: Tensor<'float32'>, o: Debug) => Promise<unknown>;

/** Matrices that are too large for the kernel of small systems. */
const N = 300;

const CALLS: readonly (readonly [string, Call])[] = [
  ['solveCholesky', (a, b, o) => solveCholesky(a, b, o)],
  ['solveCholesky refined', (a, b, o) => solveCholesky(a, b, { ...o, refine: 1 })],
  ['solveLU', (a, b, o) => solveLU(a, b, o)],
  ['solveLU refined', (a, b, o) => solveLU(a, b, { ...o, refine: 1 })],
  ['solveTriangular', (a, b, o) => solveTriangular(a, b, o)],
  ['cholesky', (a, _, o) => cholesky(a, o)],
  ['inv', (a, _, o) => inv(a, o)],
  ['logdet', (a, _, o) => logdet(a, o)],
  ['conditionEstimate', (a, _, o) => conditionEstimate(a, o)],
  ['qr', (a, _, o) => qr(a, o)],
  ['svd', (a, _, o) => svd(a, o)],
  ['eigh', (a, _, o) => eigh(a, o)],
  ['lstsq', (a, b, o) => lstsq(a, b, o)],
  ['matrixPower', (a, _, o) => matrixPower(a, -0.5, o)],
  ['matmul tf32x3', (a, b, o) => matmul(a, b, { ...o, precision: 'tf32x3' })],
];

describe.skipIf(!hasNvrtc)('kernels of one call (skipped only without NVRTC)', () => {
  /** On a GPU of its own, which has loaded nothing. */
  const operands = (gpu: Device): [Tensor<'float32'>, Tensor<'float32'>] => [
    empty([N, N], { dtype: 'float32', device: gpu }),
    empty([N, 2], { dtype: 'float32', device: gpu }),
  ];

  it('are compiled side by side', async () => {
    most = 0;
    await solveLU(...operands(device('cuda:0')));
    expect(most).toBe(3);
  });

  it.each(CALLS.map(([name, call], n) => [name, n + 1, call] as const))(
    '%s loads what it launches, all of it before its first launch',
    async (_, index, call) => {
      const lines: string[] = [];
      const debug = (line: string): void => void lines.push(line);
      await call(...operands(device(`cuda:${index}`)), { debug });
      const loads = lines.filter((line) => /^(hit|miss) /.test(line));
      const launches = lines.filter((line) => line.startsWith('launch '));
      const names = new Set(launches.map((line) => line.replace(/ on cuda.*/, '')));
      expect(loads.map((line) => line.split(' ')[1])).toHaveLength(names.size);
      const first = lines.findIndex((line) => line.startsWith('launch '));
      expect(lines.slice(first).filter((line) => !line.startsWith('launch '))).toEqual([]);
    },
  );

  it('are no reason to call a library, where kernels are only asked for', async () => {
    const call = (): Promise<unknown> => solveCholesky(...operands(device('cuda:0')));
    const calls = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
      const lines = await callsOf(work);
      return lines.filter((line) => /potrf|potrs|trsm/i.test(line));
    };
    expect(await calls(() => askAhead(device('cuda:0'), 'solveCholesky', call))).toEqual([]);
    expect(await calls(call)).not.toEqual([]);
  });
});
