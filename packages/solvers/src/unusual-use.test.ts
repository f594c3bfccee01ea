import { getEventListeners } from 'node:events';
import { grad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { random, tensor, zeros, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryKept, NOTHING, undisposedBytes } from '../../tensor/test/memory-kept.mjs';
import {
  blockRows,
  cg,
  denseOperator,
  eigsh,
  gmres,
  kernelSolve,
  logdet,
  lsqr,
  minres,
  operator,
  pivotedCholesky,
  sparseOperator,
  type LinearOperator,
} from './index.js';

const where = { device: 'cpu', dtype: 'float64' } as const;
let matrix: Tensor<'float64'>;
let b: Tensor<'float64'>;
let square: LinearOperator<'float64'>;
let points: Tensor<'float64'>;

beforeAll(async () => {
  matrix = await tensor([[2, 1], [1, 3]], where); // prettier-ignore
  b = await tensor([1, 2], where);
  points = await tensor([[0], [1], [3]], where);
  square = denseOperator(matrix);
});

const kernelOf = (x: Tensor<'float64'>): LinearOperator<'float64'> =>
  lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();

describe('operators', () => {
  it('give a tensor of their own where a function gives what it was given', async () => {
    const identity = operator({
      ...where,
      shape: [2, 2],
      matvec: (v) => Promise.resolve(v),
      rmatvec: 'symmetric',
    });
    const columns = await tensor([[1, 2], [3, 4]], where); // prettier-ignore
    using product = await identity.matvec(columns);
    expect(product).not.toBe(columns);
    product.dispose();
    expect(await columns.toNested()).toEqual([[1, 2], [3, 4]]); // prettier-ignore
    expect(await (await cg(identity, b)).x.toNested()).toEqual([1, 2]);
  });

  it('of formulas take no columns and give no rows', async () => {
    const kernel = kernelOf(points).shift(1);
    const none = await zeros([3, 0], where);
    expect((await kernel.matvec(none)).shape).toEqual([3, 0]);
    expect((await cg(kernel, none)).x.shape).toEqual([3, 0]);
    expect((await kernel.rows([])).shape).toEqual([0, 3]);
  });

  it('in compressed rows are checked', async () => {
    const ints = (...all: number[]): Promise<Tensor<'int32'>> =>
      tensor(Int32Array.from(all), { device: 'cpu' });
    const parts = { offsets: await ints(0, 1, 2), indices: await ints(0, 1), values: b };
    await expect(sparseOperator({ ...parts, columns: -1 })).rejects.toThrow('columns is -1');
    await expect(sparseOperator({ ...parts, columns: 1 })).rejects.toThrow(
      'from 0 to 1, and there are 1',
    );
    const wrong = { ...parts, columns: 2, rows: 2 };
    await expect(sparseOperator(wrong)).rejects.toThrow('rows');
    await expect(sparseOperator({ ...parts, columns: 2, offsets: b as never })).rejects.toThrow(
      'offsets are float64',
    );
  });

  it('are refused where something else is passed', () => {
    expect(() => blockRows(square as never)).toThrow('Pass an array of them');
    const given = { ...where, shape: [2, 2], matvec: (v: Tensor) => v, parameters: matrix };
    expect(() => operator(given as never)).toThrow('Pass an array of tensors');
  });
});

describe('solves', () => {
  it('fail where an asynchronous onIteration fails', async () => {
    const onIteration = (() => Promise.reject(new Error('told'))) as () => never;
    await expect(cg(square, b, { onIteration })).rejects.toThrow('told');
  });

  it('end with their signal while a product never settles, whichever it is', async () => {
    for (const last of [1, 2, 5])
      for (const solve of [cg, minres, gmres, lsqr] as const) {
        const controller = new AbortController();
        let calls = 0;
        const never = operator({
          ...where,
          shape: [2, 2],
          matvec: async (v) => {
            if (++calls < last) return await square.matvec(v);
            setImmediate(() => {
              controller.abort(new Error('enough'));
            });
            return await new Promise<never>(() => undefined);
          },
          rmatvec: 'symmetric',
        });
        const options = { signal: controller.signal, rtol: 0 };
        await expect(solve(never, b, options)).rejects.toThrow('enough');
        expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
      }
  });

  it('dispose of what a product gives after they were aborted', async () => {
    const before = undisposedBytes(b.device);
    const controller = new AbortController();
    let settle: (() => void) | undefined;
    let calls = 0;
    const slow = operator({
      ...where,
      shape: [2, 2],
      matvec: async (v) => {
        if (++calls === 2) {
          setImmediate(() => {
            controller.abort(new Error('enough'));
          });
          await new Promise<void>((resolve) => (settle = resolve));
        }
        return await square.matvec(v);
      },
    });
    const options = { signal: controller.signal, rtol: 0 };
    await expect(cg(slow, b, options)).rejects.toThrow('enough');
    settle?.();
    await vi.waitFor(() => {
      expect(undisposedBytes(b.device)).toBe(before);
    });
  });

  it('that share a signal have one listener', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on('warning', warn);
    try {
      const { signal } = new AbortController();
      const all = Array.from({ length: 30 }, () => cg(square, b, { signal }));
      expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
      await Promise.all(all);
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      await new Promise(setImmediate);
      expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([]);
    } finally {
      process.off('warning', warn);
    }
  });

  it('say in errors what was called', async () => {
    const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp();
    await expect(kernel.solve(b)).rejects.toThrow(/^solve: b has shape/);
    const right = await tensor([1, 2, 3], where);
    await expect(kernel.solve(right, { rtol: -1 })).rejects.toThrow(/^solve: rtol is -1/);
    await expect(kernel.neg().solve(right)).rejects.toThrow(/^solve: p \. A p is/);
    await expect(kernel.solve(right, { block: 1 as never })).rejects.toThrow('solve: block is 1');
    expect((await kernel.solve(right, { block: true, alpha: 0.1 })).shape).toEqual([3]);
    await expect(logdet(square, { key: random.key(1), rtol: -1 })).rejects.toThrow(
      'logdet: rtol is -1',
    );
  });

  it('of gmres keep no more vectors than there are unknowns', async () => {
    const { x, converged } = await gmres(square, b, { restart: 1e9 });
    expect(converged).toBe(true);
    const found = await x.toNested<number[]>();
    for (const [at, one] of [0.2, 0.6].entries()) expect(found[at]).toBeCloseTo(one, 8);
  });

  it('of formulas in text have the unknown on the side that is summed', () => {
    const aliases = ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(1)'];
    expect(() => kernelSolve('Exp(-SqDist(x, y)) * b', aliases, 'b')).toThrow("Pass { axis: 'j' }");
  });
});

describe('gradients', () => {
  it('of eigenvectors leave nothing to the garbage collector', async () => {
    const right = await tensor([1, -1, 2], where);
    const energy = async (x: Tensor<'float64'>): Promise<Tensor> => {
      const { values, vectors } = await eigsh(kernelOf(x), { k: 1, key: random.key(3) });
      using first = values;
      using all = vectors;
      using column = all.reshape([3]);
      using along = await column.mul(right).sum();
      using square = await along.square();
      using total = await first.sum();
      return await square.add(total);
    };
    const call = async (): Promise<void> => {
      (await grad(energy)(points)).dispose();
    };
    await call();
    expect(await memoryKept(points.device, call)).toEqual(NOTHING);
  });

  it('hold cotangents to the relative tolerance of the solve, whatever atol is', async () => {
    const small = async (right: Tensor<'float64'>) =>
      (await cg(square, right, { rtol: 0, atol: 1e-8 })).x.sum().mul(1e-12);
    const found = await (await grad(small)(b)).toNested<number[]>();
    for (const [at, one] of [0.4e-12, 0.2e-12].entries())
      expect(Math.abs((found[at] ?? NaN) / one - 1)).toBeLessThan(1e-6);
  });

  it('go past a pivotedCholesky of the variables', async () => {
    const right = await tensor([1, 2, 3], where);
    const solved = async (x: Tensor<'float64'>, with_: boolean) => {
      const kernel = kernelOf(x);
      const preconditioner = with_
        ? await pivotedCholesky(kernel, { rank: 2, shift: 0.1 })
        : undefined;
      const { x: found } = await cg(kernel.shift(0.1), right, { preconditioner, rtol: 1e-12 });
      return found.sum();
    };
    const [one, other] = await Promise.all(
      [true, false].map(async (with_) =>
        (await grad((x: Tensor<'float64'>) => solved(x, with_))(points)).toNested<number[][]>(),
      ),
    );
    for (const [at, [value = NaN]] of (one ?? []).entries())
      expect(value).toBeCloseTo(other?.[at]?.[0] ?? NaN, 6);
  });
});
