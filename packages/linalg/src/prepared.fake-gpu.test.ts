import { CudaStream } from '@mercer/cuda-runtime';
import { device, empty, type Device, type DeviceId, type Tensor } from '@mercer/tensor';
import { nativeStream } from '@mercer/tensor/cuda';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { callsOf, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { cholesky } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { kron } from './kron.js';
import { kronMatvec } from './kron-matvec.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { refineEigenbasis } from './refine-eigenbasis.js';
import { logdet } from './logdet.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { solveTriangular } from './solve-triangular.js';
import { svd } from './svd.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Operands = readonly [a: Tensor<'float32'>, b: Tensor<'float32'>, x: Tensor<'float32'>];

/** An operation on matrices, ordinary and prepared. */
interface Row {
  readonly call: (...operands: Operands) => PromiseLike<object>;
  readonly prepare: (...operands: Operands) => Promise<(...operands: Operands) => object>;
}

type Debug = (line: string) => void;

/** What prints what it loads and launches, and the kernels that it loads on a GPU. */
interface Printed {
  readonly prepare: (
    operands: Operands,
    debug: Debug | undefined,
  ) => Promise<() => PromiseLike<object> | object>;
  readonly loads: readonly string[];
}

const PACKED = [
  'pack_matrices_float32_float32',
  'unpack_matrices_float32_float32',
  'identity_matrices_float32',
  'merge_codes',
];

const PRINTED: Readonly<Record<string, Printed>> = {
  solveLU: {
    prepare: async ([a, b], debug) => {
      const prepared = await solveLU.prepare(a, b, { debug });
      return () => prepared(a, b);
    },
    loads: [
      ...PACKED,
      'copy_pieces',
      'advance_counter',
      'small_solve_lu_float32',
      'exchange_rows_float32',
    ],
  },
  eigh: {
    prepare: async ([a], debug) => {
      const prepared = await eigh.prepare(a, { debug });
      return () => prepared(a);
    },
    loads: PACKED,
  },
  svd: {
    prepare: async ([a], debug) => {
      const prepared = await svd.prepare(a, { debug });
      return () => prepared(a);
    },
    loads: PACKED,
  },
  lstsq: {
    prepare: async ([a, b], debug) => {
      const prepared = await lstsq.prepare(a, b, { debug });
      return () => prepared(a, b);
    },
    loads: [...PACKED, 'singular_reciprocals_float32', 'scale_matrices_float32'],
  },
  matrixPower: {
    prepare: async ([a], debug) => {
      const prepared = await matrixPower.prepare(a, 0.5, { debug });
      return () => prepared(a, 0.5);
    },
    loads: [...PACKED, 'eigen_powers_float32', 'scale_matrices_float32'],
  },
  'matrixPower by products': {
    prepare: async ([a], debug) => {
      const prepared = await matrixPower.prepare(a, -0.5, { method: 'newton', debug });
      return () => prepared(a, -0.5);
    },
    loads: ['mercer_fill_b32_linear', 'mercer_map', 'mercer_sum_block', 'mercer_sum_each'],
  },
};

const printing = Object.keys(PRINTED);

const pair = (
  solve: typeof solveCholesky | typeof solveLU | typeof solveTriangular,
  options: object = {},
): Row => ({
  call: (a, b) => solve(a, b, options),
  prepare: async (a, b) => {
    const prepared = await solve.prepare(a, b, options);
    return (x, y) => prepared(x, y);
  },
});

const alone = (
  operation: typeof cholesky | typeof inv | typeof logdet | typeof conditionEstimate | typeof qr,
  options: object = {},
): Row => ({
  call: (a) => operation(a, options),
  prepare: async (a) => {
    const prepared = await operation.prepare(a, options);
    return (x) => prepared(x);
  },
});

const NEWTON = { method: 'newton', steps: 2 } as const;

const ROWS: Readonly<Record<string, Row>> = {
  solveCholesky: pair(solveCholesky),
  'solveCholesky in place': pair(solveCholesky, { overwriteA: true, overwriteB: true }),
  'solveCholesky refined': pair(solveCholesky, { refine: 2 }),
  solveLU: pair(solveLU),
  'solveLU refined': pair(solveLU, { refine: 1 }),
  solveTriangular: pair(solveTriangular, { transpose: true }),
  cholesky: alone(cholesky, { uplo: 'upper' }),
  inv: alone(inv),
  'inv by Cholesky': alone(inv, { method: 'cholesky' }),
  logdet: alone(logdet),
  conditionEstimate: alone(conditionEstimate),
  qr: alone(qr),
  matmul: {
    call: (a, b) => matmul(a, b),
    prepare: async (a, b) => {
      const prepared = await matmul.prepare(a, b);
      return (x, y) => prepared(x, y);
    },
  },
  'matmul in parts': {
    call: (a, b) => matmul(a, b, { precision: 'tf32x3' }),
    prepare: async (a, b) => {
      const prepared = await matmul.prepare(a, b, { precision: 'tf32x3' });
      return (x, y) => prepared(x, y);
    },
  },
  kron: {
    call: (a, b) => kron(a, b),
    prepare: async (a, b) => {
      const prepared = await kron.prepare(a, b);
      return (x, y) => prepared(x, y);
    },
  },
  kronMatvec: {
    call: (a, b, x) => kronMatvec(a, b, x),
    prepare: async (a, b, x) => kronMatvec.prepare(a, b, x),
  },
};

/** Those that compute maps of all matrices. */
const WITH_MAPS: Readonly<Record<string, Row>> = {
  'matrixPower by products': {
    call: (a) => matrixPower(a, -0.5, NEWTON),
    prepare: async (a) => {
      const prepared = await matrixPower.prepare(a, -0.5, NEWTON);
      return (x) => prepared(x, -0.5);
    },
  },
  refineEigenbasis: {
    call: (a) => refineEigenbasis(a, a),
    prepare: async (a) => {
      const prepared = await refineEigenbasis.prepare(a, a);
      return (x) => prepared(x, x);
    },
  },
};

const withMaps = Object.keys(WITH_MAPS);

const names = [...Object.keys(ROWS), ...withMaps];

function operands(name: string, n: number, count: number): Operands {
  // Each has a device of its own, on which nothing is loaded before.
  return operandsOn(device(`cuda:${names.indexOf(name)}`), n, count);
}

function operandsOn(gpu: Device, n: number, count: number): Operands {
  const columns = 2;
  return [
    empty([count, n, n], { device: gpu }),
    empty([count, n, columns], { device: gpu }),
    empty([count, n * columns], { device: gpu }),
  ];
}

const live = (id: DeviceId): number => undisposedBytes(device(id));

function release(results: object): void {
  const list = 'dispose' in results ? [results] : Object.values(results);
  for (const value of list) (value as Tensor).dispose();
}

/** What the driver and the libraries were asked for, without addresses and sizes of memory. */
async function askedBy(name: string, work: () => PromiseLike<object> | object): Promise<string[]> {
  const lines = await callsOf(async () => {
    release(await work());
    await device(`cuda:${names.indexOf(name)}`).synchronize();
  });
  return lines.map((line) => line.split(' ')[0] ?? '');
}

/** Small systems, several streams, a batched call, and matrices of which each is the launch of a graph. */
const SIZES = [
  [16, 3],
  [128, 3],
  [128, 20],
  [520, 40],
  [1030, 1],
] as const;

/** Rows that are whole packs of elements, short and long ones that are not. */
const SMALL = [
  [8, 2],
  [7, 3],
  [33, 2],
] as const;

beforeAll(async () => {
  await useFakeDriver({ DEVICES: names.length + printing.length, TOTAL_BYTES: 2 ** 33 });
  await useFakeSolvers();
});
afterEach(() => vi.restoreAllMocks());

describe.skipIf(!nvrtcFound())(
  'on GPUs behind the fake driver (skipped only without NVRTC)',
  () => {
    it.each(Object.keys(ROWS))(
      'a prepared %s enqueues at once what a call does, of any size',
      async (name) => {
        const { call, prepare } = ROWS[name] as Row;
        const examples = operands(name, 4, 1);
        const prepared = await prepare(...examples);
        for (const one of examples) one.dispose();
        for (const [n, count] of SIZES) {
          if (name === 'kron' && n > 16) continue;
          const given = operands(name, n, count);
          const before = live(`cuda:${names.indexOf(name)}`);
          // First of all: what it needs was prepared, and not by a call.
          await askedBy(name, () => prepared(...given));
          await askedBy(name, () => call(...given));
          expect(await askedBy(name, () => prepared(...given))).toEqual(
            await askedBy(name, () => call(...given)),
          );
          expect(live(`cuda:${names.indexOf(name)}`)).toBe(before);
          for (const one of given) one.dispose();
        }
      },
    );

    it.each(withMaps)('a prepared %s enqueues the same, of any size', async (name) => {
      const { call, prepare } = WITH_MAPS[name] as Row;
      for (const [first, ...others] of [SMALL, [...SMALL].reverse()]) {
        const examples = operands(name, ...(first as readonly [number, number]));
        const prepared = await prepare(...examples);
        for (const sizes of [first, ...others]) {
          const given = operands(name, ...(sizes as readonly [number, number]));
          await askedBy(name, () => call(...given));
          expect(await askedBy(name, () => prepared(...given))).toEqual(
            await askedBy(name, () => call(...given)),
          );
          for (const one of given) one.dispose();
        }
        for (const one of examples) one.dispose();
      }
    });

    it.each(printing)(
      'a preparation of %s prints the kernels that it loads, and calls load no other',
      async (name) => {
        const { prepare, loads } = PRINTED[name] as Printed;
        const gpu = device(`cuda:${names.length + printing.indexOf(name)}`);
        const given = operandsOn(gpu, 130, 20);
        const lines: string[] = [];
        const call = await prepare(given, (line) => lines.push(line));
        const loaded = lines.flatMap((line) => / (\w+) sm_/.exec(line)?.[1] ?? []);
        expect(new Set(loaded)).toEqual(new Set(loads));
        const before = lines.length;
        release(await call());
        const launches = lines.slice(before);
        expect(launches).not.toEqual([]);
        for (const line of launches) expect(line).toMatch(/^launch /);
        const quiet = await prepare(given, undefined);
        const load = vi.spyOn(gpu, 'load');
        release(await quiet());
        expect(load).not.toHaveBeenCalled();
        for (const one of given) one.dispose();
      },
    );

    it('prepared solves of medium systems go to as many streams as those of calls', async () => {
      const [a, b] = operands('solveLU', 520, 40);
      const prepared = await solveLU.prepare(a, b);
      const used = async (work: () => PromiseLike<object> | object): Promise<number> => {
        const lines = await callsOf(async () => {
          release(await work());
          await a.device.synchronize();
        });
        return lines.filter((line) => /^(cuGraphLaunch|graphLaunch)/i.test(line)).length;
      };
      expect(await used(() => prepared(a, b))).toBe(await used(() => solveLU(a, b)));
      expect(nativeStream(a.device.defaultStream).capturing).toBe(false);
      a.dispose();
      b.dispose();
    });

    it.each([
      ['solveCholesky', solveCholesky, /potrfBatched/],
      ['solveLU', solveLU, /getrfBatched/],
    ] as const)(
      '%s launches nothing behind addresses that were not copied, prepared or not',
      async (name, solve, launched) => {
        const [a, b] = operands(name, 128, 20);
        const prepared = await solve.prepare(a, b);
        const refused = new Error('refused');
        const before = live(a.device.id);
        const calls = [() => solve(a, b), async () => Promise.resolve(prepared(a, b))];
        for (const call of calls) {
          const lines = await callsOf(async () => {
            release(await call());
            await a.device.synchronize();
          });
          expect(lines.filter((line) => launched.test(line))).not.toEqual([]);
        }
        vi.spyOn(CudaStream.prototype, 'copyToDevice').mockRejectedValue(refused);
        vi.spyOn(CudaStream.prototype, 'copyToDeviceSync').mockImplementation(() => {
          throw refused;
        });
        for (const call of calls) {
          const lines = await callsOf(async () => {
            await expect(call()).rejects.toBe(refused);
            await a.device.synchronize();
          });
          expect(lines.filter((line) => launched.test(line))).toEqual([]);
        }
        expect(live(a.device.id)).toBe(before);
        a.dispose();
        b.dispose();
      },
    );

    it('a prepared eigh gives a promise, as the library waits', async () => {
      const a = empty([2, 130, 130], { device: device('cuda:0') });
      const before = live('cuda:0');
      const prepared = await eigh.prepare(a);
      const found = prepared(a);
      expect(found).toBeInstanceOf(Promise);
      release(await found);
      expect(live('cuda:0')).toBe(before);
      a.dispose();
    });
  },
);
