import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { denseOperator, operator, type LinearOperator } from '../index.js';
import { CgMethod } from '../krylov/cg-method.js';
import { release } from '../krylov/columns.js';
import { GmresMethod } from '../krylov/gmres-method.js';
import {
  iterate,
  type IterateOptions,
  type KrylovMethod,
  type KrylovState,
} from '../krylov/iterate.js';
import { LeastSquaresMethod } from '../krylov/least-squares-method.js';
import { LinearSystem } from '../krylov/linear-system.js';
import { MinresMethod } from '../krylov/minres-method.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  solved,
} from './systems.test-support.js';

const N = 40;
const matrix = gaussian(pointsOf(N), 1e-4);
const milder = gaussian(pointsOf(N), 0.02);
const right = matrixOf(N, 2);

/** Batches of iterations, captured and not, whatever the device. */
export function iterateSuite(name: string, place: () => Device): void {
  describe(`iterations on ${name}`, () => {
    /** Solves with batches of some length, and gives x and the iterations of each column. */
    async function run(
      of: LinearOperator,
      options: IterateOptions,
    ): Promise<{ readonly x: number[][]; readonly counts: readonly number[] }> {
      return runBy((system) => new CgMethod(system), of, options);
    }

    async function runBy<S extends KrylovState>(
      method: (system: LinearSystem) => KrylovMethod<S>,
      of: LinearOperator,
      options: IterateOptions,
    ): Promise<{ readonly x: number[][]; readonly counts: readonly number[] }> {
      using b = await float64(right, place());
      const numbers = { rtol: 1e-9, atol: 0, maxIterations: 1000 };
      using system = await LinearSystem.of({
        ...numbers,
        operator: of,
        preconditioner: undefined,
        b,
        x0: undefined,
      });
      const { state, columns } = await iterate(method(system), options);
      const x = await nested(state.x);
      release(state);
      return { x, counts: columns.map(({ iterations }) => iterations) };
    }

    /** The matrix, with the number of products that were enqueued. */
    async function counted(
      capturable: boolean,
      of = matrix,
    ): Promise<{ readonly of: LinearOperator; readonly calls: () => number }> {
      const device = place();
      const own = denseOperator(await float64(of, device));
      let calls = 0;
      const matvec = (v: Parameters<typeof own.matvec>[0]) => {
        calls++;
        return own.matvec(v);
      };
      const form = { shape: [N, N], dtype: 'float64', device } as const;
      const made = operator({ ...form, matvec, rmatvec: 'symmetric', capturable });
      return { of: made as unknown as LinearOperator, calls: () => calls };
    }

    it('batches of ten stop each column where single iterations do', async () => {
      const { of } = await counted(false);
      const [one, ten] = [await run(of, { batch: 1 }), await run(of, { batch: 10 })];
      expect(ten.counts).toEqual(one.counts);
      expect(ten.x).toEqual(one.x);
      expect(difference(one.x, solved(matrix, right))).toBeLessThan(1e-3);
    });

    it('a batch is looked at while the next one is under way: one is enqueued in vain', async () => {
      const { of, calls } = await counted(false);
      const { counts } = await run(of, { batch: 10 });
      const batches = Math.ceil(Math.max(...counts) / 10) + 1;
      // and the true residual, every five batches and at the end
      expect(calls()).toBe(10 * batches + Math.floor(batches / 5) + 1);
    });

    it('a captured iteration is enqueued twice, and repeated with the same bits', async () => {
      const [plain, captured] = [await counted(false), await counted(true)];
      const [expected, found] = [
        await run(plain.of, { batch: 10 }),
        await run(captured.of, { batch: 10 }),
      ];
      expect(found).toEqual(expected);
      expect(Math.max(...found.counts)).toBeGreaterThan(20);
      const batches = Math.ceil(Math.max(...found.counts) / 10) + 1;
      expect(captured.calls()).toBe(2 + Math.floor(batches / 5) + 1);
    });

    describe.each<readonly [string, (system: LinearSystem) => KrylovMethod<KrylovState>]>([
      ['minres', (system) => new MinresMethod(system) as never],
      ['gmres', (system) => new GmresMethod(system, 10) as never],
      ['lsqr', (system) => new LeastSquaresMethod('lsqr', system) as never],
      ['lsmr', (system) => new LeastSquaresMethod('lsmr', system) as never],
    ])('of %s', (what, method) => {
      it('batches of ten, captured and not, stop each column where single iterations do', async () => {
        const [plain, captured] = [await counted(false, milder), await counted(true, milder)];
        const one = await runBy(method, plain.of, { batch: 1 });
        expect(await runBy(method, plain.of, { batch: 10 })).toEqual(one);
        expect(await runBy(method, captured.of, { batch: 10 })).toEqual(one);
        expect(Math.max(...one.counts)).toBeGreaterThan(20);
        // gmres is captured after a first cycle; its check is one product
        const batches = Math.ceil(Math.max(...one.counts) / 10) + 1;
        expect(captured.calls()).toBeLessThan((what === 'gmres' ? 36 : 6) + batches);
      });

      it('captures keep no memory', async () => {
        const { of } = await counted(true, milder);
        const call = async (): Promise<void> => {
          await runBy(method, of, { batch: 10 });
          await place().synchronize();
          await new Promise((resolve) => setImmediate(resolve));
        };
        await call();
        expect(await memoryKept(place(), call)).toEqual(NOTHING);
      });
    });

    describe('by default', () => {
      const isCpu = (): boolean => place().kind === 'cpu';

      it.each<readonly [string, (system: LinearSystem) => KrylovMethod<KrylovState>]>([
        ['cg', (system) => new CgMethod(system) as never],
        ['minres', (system) => new MinresMethod(system) as never],
        ['lsqr', (system) => new LeastSquaresMethod('lsqr', system) as never],
        ['lsmr', (system) => new LeastSquaresMethod('lsmr', system) as never],
      ])(
        '%s has the bits of single iterations, and calls the operator to capture it',
        async (what, method) => {
          const [plain, captured] = [await counted(false, milder), await counted(true, milder)];
          const one = await runBy(method, plain.of, { batch: 1 });
          expect(await runBy(method, captured.of, {})).toEqual(one);
          const most = Math.max(...one.counts);
          expect(most).toBeGreaterThan(20);
          // two iterations, one that is captured, and checks
          const products = what.startsWith('ls') ? 2 : 1;
          expect(captured.calls()).toBeLessThan(3 * products + 3 * (2 + Math.ceil(most / 50)));
        },
      );

      it('go on one by one on a CPU where the work cannot be captured, which a GPU refuses', async () => {
        const { of } = await counted(false);
        let calls = 0;
        const reads = operator({
          shape: [N, N],
          dtype: 'float64',
          device: place(),
          matvec: async (v) => {
            calls++;
            using most = await v.abs().max();
            return (await most.item()) < 0 ? v : await of.matvec(v);
          },
          capturable: true,
        }) as unknown as LinearOperator;
        if (!isCpu()) {
          await expect(run(reads, {})).rejects.toMatchObject({ code: 'CAPTURED' });
          return;
        }
        const { counts } = await run(reads, {});
        expect(await run(of, { batch: 1 })).toMatchObject({ counts });
        expect(calls).toBeGreaterThan(Math.max(...counts));
      });

      it('end with their signal, in the capture and in mid-solve, and keep no memory', async () => {
        const { of } = await counted(true);
        let leaveAt = Infinity;
        let calls = 0;
        let leave: (() => void) | undefined;
        const left = operator({
          shape: [N, N],
          dtype: 'float64',
          device: place(),
          matvec: (v) => {
            if (++calls === leaveAt) leave?.();
            return of.matvec(v);
          },
          capturable: true,
        }) as unknown as LinearOperator;
        const call = async (): Promise<void> => {
          // the last one is captured
          for (const at of isCpu() ? [1, 2, 3] : [1, 2]) {
            const controller = new AbortController();
            [calls, leaveAt] = [0, at];
            leave = () => {
              controller.abort(new Error('enough'));
            };
            await expect(run(left, { signal: controller.signal })).rejects.toThrow('enough');
          }
          const controller = new AbortController();
          [calls, leaveAt] = [0, isCpu() ? 3 : 2];
          leave = () => {
            setImmediate(() => {
              controller.abort(new Error('enough'));
            });
          };
          await run(left, { signal: controller.signal }).catch((error: unknown) => {
            expect((error as Error).message).toBe('enough');
          });
          await place().synchronize();
          for (let k = 0; k < 3; k++) await new Promise((resolve) => setImmediate(resolve));
        };
        await call();
        expect(await memoryKept(place(), call)).toEqual(NOTHING);
      });
    });

    it('captures keep no memory, also where the solve is aborted', async () => {
      const { of } = await counted(true);
      const call = async (): Promise<void> => {
        await run(of, { batch: 10 });
        const controller = new AbortController();
        const onIteration = ({ iterations }: { readonly iterations: number }): void => {
          if (iterations >= 20) controller.abort(new Error('enough'));
        };
        await expect(
          run(of, { batch: 10, onIteration, signal: controller.signal }),
        ).rejects.toThrow('enough');
        // what is under way holds its memory until it is enqueued
        await place().synchronize();
        await new Promise((resolve) => setImmediate(resolve));
      };
      await call();
      expect(await memoryKept(place(), call)).toEqual(NOTHING);
    });
  });
}
