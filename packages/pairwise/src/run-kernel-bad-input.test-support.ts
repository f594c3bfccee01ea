import { add, gt, select, variable } from '@mercer/formula';
import { tensor, zeros, type Device, type MercerErrorCode, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { customKernel, kernelDescriptor, kernels, precompile, runKernel } from './index.js';
import { expectCode } from './matrices.test-support.js';

type Loose = (...args: unknown[]) => Promise<Tensor>;
const run = runKernel as unknown as Loose;
const describeFields = kernelDescriptor as unknown as (fields: unknown) => unknown;
const custom = customKernel as unknown as (...args: unknown[]) => never;

/** Everything that `runKernel` refuses. */
export function describeKernelBadInput(device: () => Device): void {
  const make = (shape: number[]): Promise<Tensor<'float32'>> =>
    zeros(shape, { dtype: 'float32', device: device() });
  const refused = async (promise: Promise<unknown>, ...words: string[]): Promise<void> => {
    const message = await expectCode(promise, 'INVALID_ARGUMENT');
    for (const word of words) expect(message).toContain(word);
  };

  const thrown = (call: () => unknown): Promise<unknown> => (async () => call())();

  describe('refuses descriptors', () => {
    const diff = { innerOperator: 'diff', innerPower: 'square', outerPower: 'none' } as const;
    const product = { innerOperator: 'dot', innerPower: 'none', outerPower: 'none' } as const;

    it.each([
      [{ ...product, kernel: 'matern32' }, "innerOperator 'diff'"],
      [{ ...diff, outerPower: 'sqrt', kernel: 'cauchy' }, "outerPower 'none'"],
      [{ ...diff, innerPower: 'abs', kernel: 'rationalQuadratic' }, "innerPower 'square'"],
      [{ ...diff, kernel: 'cosine' }, "innerOperator 'dot'"],
      [{ ...product, innerPower: 'abs', kernel: 'polynomial' }, "innerPower 'none'"],
      [{ ...product, outerPower: 'square', kernel: 'sigmoid' }, "outerPower 'none'"],
      [{ ...diff, kernel: 'gauss' }, 'gaussian'],
      [{ ...diff, innerOperator: 'sum', kernel: 'none' }, 'diff, dot'],
      [{ ...diff, innerPower: 'cube', kernel: 'none' }, 'square'],
      [{ ...diff, outerPower: undefined, kernel: 'none' }, 'outerPower is undefined'],
      [{ ...diff, kernel: 'none', bandwidth: 2 }, "'bandwidth' is no part"],
      [{ ...diff, kernel: { expression: variable('d'), parameters: [] } }, 'customKernel'],
      [null, 'null'],
      ['gaussian', 'string'],
    ])('%j', async (fields, words) => {
      await refused(
        thrown(() => describeFields(fields)),
        words,
        'kernelDescriptor',
      );
      // What is no descriptor is refused by a call as well.
      await refused(run(fields, [[1]], [[1]], { device: device() }), words, 'runKernel');
    });

    it('that are custom kernels of other variables', async () => {
      const [d, c] = [variable('d'), variable('c')];
      await refused(
        thrown(() => custom(add(d, c))),
        "parameters: ['c']",
      );
      await refused(
        thrown(() => custom(d, { parameters: ['c'] })),
        '[c]',
      );
      await refused(
        thrown(() => custom(add(d, c), { parameters: ['c', 'c'] })),
        '[c, c]',
      );
      await refused(
        thrown(() => custom(gt(d, 0))),
        'select',
      );
      await refused(
        thrown(() => custom('exp(-d)')),
        '@mercer/formula',
      );
      expect(customKernel(select(gt(d, 0), d, 0)).parameters).toEqual([]);
    });

    it('and freezes those that it makes', () => {
      expect(Object.isFrozen(kernels.gaussian)).toBe(true);
      expect(() => Object.assign(kernels.gaussian, { kernel: 'none' })).toThrow(TypeError);
    });
  });

  describe('refuses options', () => {
    it.each([
      ['a parameter that is needed', kernels.gaussian, {}, 'needs bandwidth'],
      ['one of two', kernels.rationalQuadratic, { bandwidth: 1 }, 'needs alpha'],
      ['one of three', kernels.polynomial, { gamma: 1, offset: 0 }, 'needs degree'],
      ['an exponent', kernels.minkowski, {}, 'needs innerP, or p'],
      ['one exponent of two', kernels.minkowski, { innerP: 2 }, 'needs outerP, or p'],
      ['p beside an exponent', kernels.minkowski, { p: 2, innerP: 2 }, 'p and innerP were given'],
      [
        'a parameter that is not used',
        kernels.manhattan,
        { bandwidth: 1 },
        'does not use bandwidth',
      ],
      ['p where there is no power', kernels.manhattan, { p: 2 }, 'does not use p'],
      ['epsilon on a product', kernels.dot, { epsilon: 0.1 }, 'does not use epsilon'],
      [
        'parameters without a custom kernel',
        kernels.dot,
        { parameters: {} },
        'does not use parameters',
      ],
      ['an unknown option', kernels.dot, { bandwith: 1 }, "no option 'bandwith'"],
      ['bandwidth 0', kernels.gaussian, { bandwidth: 0 }, 'bandwidth is 0'],
      ['bandwidth Infinity', kernels.gaussian, { bandwidth: Infinity }, 'bandwidth is Infinity'],
      ['bandwidth as text', kernels.gaussian, { bandwidth: '2' }, 'bandwidth is the string "2"'],
      ['bandwidth null', kernels.gaussian, { bandwidth: null }, 'bandwidth is null'],
      ['a bandwidth beyond the dtype', kernels.gaussian, { bandwidth: 1e-20 }, 'beyond float32'],
      ['alpha below 0', kernels.rationalQuadratic, { bandwidth: 1, alpha: -1 }, 'alpha is -1'],
      [
        'a degree of 1.5',
        kernels.polynomial,
        { gamma: 1, offset: 0, degree: 1.5 },
        'degree is 1.5',
      ],
      [
        'a degree of -1',
        kernels.polynomial,
        { gamma: 1, offset: 0, degree: -1 },
        'an integer from 0',
      ],
      ['gamma NaN', kernels.sigmoid, { gamma: NaN, offset: 0 }, 'gamma is NaN'],
      ['p = 0', kernels.minkowski, { p: 0 }, 'p is 0'],
      ['p = NaN', kernels.minkowski, { p: NaN }, 'p is NaN'],
      [
        'innerP = Infinity',
        kernels.minkowski,
        { innerP: Infinity, outerP: 1 },
        'innerP is Infinity',
      ],
      ['epsilon below 0', kernels.manhattan, { epsilon: -1 }, 'epsilon is -1'],
      ['scale NaN', kernels.manhattan, { scale: NaN }, 'scale is NaN'],
      ['regularization NaN', kernels.manhattan, { regularization: NaN }, 'regularization is NaN'],
      [
        'an offset alone',
        kernels.manhattan,
        { regularizationOffset: [0, 1] },
        'without regularization',
      ],
      [
        'an offset of one number',
        kernels.manhattan,
        { regularization: 1, regularizationOffset: [1] },
        'regularizationOffset is [1]',
      ],
      ['symmetric with two inputs', kernels.manhattan, { symmetric: true }, 'Leave b out'],
    ])('%s', async (_, descriptor, options, words) => {
      const [x, y] = [await make([2, 3]), await make([2, 3])];
      await refused(run(descriptor, x, y, options), words, 'runKernel');
    });

    it('symmetric where the order of a and b matters', async () => {
      const signed = kernelDescriptor({
        innerOperator: 'diff',
        innerPower: 'none',
        outerPower: 'none',
        kernel: 'none',
      });
      await refused(run(signed, await make([2, 3]), undefined, { symmetric: true }), 'all pairs');
    });

    it('p = Infinity anywhere but in a norm', async () => {
      const sum = kernelDescriptor({
        innerOperator: 'diff',
        innerPower: 'pow',
        outerPower: 'none',
        kernel: 'none',
      });
      await refused(run(sum, await make([2, 3]), undefined, { p: Infinity }), 'finite p');
    });

    it('values of a custom kernel that are missing or too many', async () => {
      const [d, c] = [variable('d'), variable('c')];
      const kernel = customKernel(add(d, c), { parameters: ['c'] });
      const fields = { innerOperator: 'dot', innerPower: 'none', outerPower: 'none' } as const;
      const shifted = kernelDescriptor({ ...fields, kernel });
      const x = await make([2, 3]);
      await refused(run(shifted, x, x, {}), 'needs c');
      await refused(run(shifted, x, x, { parameters: {} }), 'needs c');
      await refused(run(shifted, x, x, { parameters: { c: 1, e: 2 } }), 'no parameter e');
      await refused(run(shifted, x, x, { parameters: { c: NaN } }), 'c is NaN');
    });
  });

  describe('refuses tensors', () => {
    it.each<[MercerErrorCode, string, number[]]>([
      ['SHAPE_MISMATCH', 'bandwidth', [2]],
      ['SHAPE_MISMATCH', 'regularization', [2]],
      ['SHAPE_MISMATCH', 'scale', [4]],
      ['SHAPE_MISMATCH', 'scale', [2, 5]],
    ])('%s: a %s of shape %j', async (code, name, shape) => {
      const x = await make([3, 2, 5]);
      const wrong = name === 'scale' && shape.length === 1 ? await make([4]) : await make(shape);
      const message = await expectCode(
        run(kernels.gaussian, x, x, { bandwidth: 1, [name]: wrong }),
        code,
      );
      expect(message).toContain(name);
    });

    it('of another dtype or device, or disposed', async () => {
      const x = await make([3, 2, 5]);
      const double = await tensor([1], { dtype: 'float64', device: device() });
      for (const name of ['bandwidth', 'scale', 'regularization', 'epsilon']) {
        const message = await expectCode(
          run(kernels.gaussian, x, x, { bandwidth: 1, [name]: double }),
          'DTYPE_MISMATCH',
        );
        expect(message).toContain(name);
      }
      const gone = await make([1]);
      gone.dispose();
      await expectCode(run(kernels.gaussian, x, x, { bandwidth: gone }), 'DISPOSED');
      await expectCode(run(kernels.cosine, gone), 'DISPOSED');
    });

    it('of other features, batches, ranks and dtypes', async () => {
      const x = await make([3, 2, 5]);
      await expectCode(run(kernels.dot, x, await make([3, 2, 4])), 'SHAPE_MISMATCH');
      await expectCode(run(kernels.dot, x, await make([2, 2, 5])), 'SHAPE_MISMATCH');
      await expectCode(run(kernels.dot, await make([5])), 'SHAPE_MISMATCH');
      const counts = await zeros([2, 2], { dtype: 'int32', device: device() });
      await expectCode(run(kernels.dot, counts), 'DTYPE_MISMATCH');
    });

    it('as an out that is wrong or shares memory, and leaves the inputs alone', async () => {
      const x = await make([4, 4]);
      await expectCode(run(kernels.dot, x, x, { out: await make([4, 5]) }), 'SHAPE_MISMATCH');
      await expectCode(run(kernels.dot, x, x, { out: x }), 'OVERLAP');
      const both = await make([5, 4]);
      const [out, bandwidth] = [both.slice([0, 4]), both.slice(3, 0)];
      await expectCode(run(kernels.gaussian, x, x, { bandwidth, out }), 'OVERLAP');
      expect([...(await both.toTypedArray())].every((v) => v === 0)).toBe(true);
    });
  });

  it('precompile refuses descriptors without what is built in', async () => {
    await refused(precompile([kernels.minkowski], { device: device() }), 'needs innerP, or p');
    await refused(precompile([kernels.polynomial], { device: device() }), 'needs degree');
    await refused(precompile([{ descriptor: kernels.dot, p: 2 }], { device: device() }), 'use p');
  });
}
