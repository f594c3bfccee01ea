import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import {
  arange,
  device,
  diag,
  eye,
  linspace,
  oneHot,
  tensor,
  tril,
  triu,
  zeros,
  type Pending,
  type Tensor,
} from '../index.js';
import { launches, said } from '../testing/what-happens.test-support.js';
import { creatorsSuite } from './creators-suite.test-support.js';

const where = { device: 'cpu' } as const;

describe('creators on the CPU', () => {
  creatorsSuite(() => device('cpu'));
});

describe('creators', () => {
  it('keep no memory but their results', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    const long = await x.cast('int64');
    const row = x.slice(0);
    const classes = await arange(2, { dtype: 'int32', ...where });
    const kept = await memoryKept(x.device, async () => {
      for (let k = 0; k < 20; k++) {
        const all: Pending<Tensor>[] = [
          arange(3, where),
          linspace(0, 1, 3, where),
          eye(3, where),
          diag(x),
          diag(row),
          tril(x),
          triu(long),
          oneHot(classes, 2),
        ];
        for (const one of all) (await one).dispose();
        // never computed
        const unused = tril(x);
        unused.dispose();
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    expect(kept).toEqual(NOTHING);
  });

  it('a triangle is part of the kernel of what it is taken of, and of what is made of it', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    const fills = await launches(async () => {
      const mask = await zeros([3], { ...where, dtype: 'bool' });
      await mask.slice([0, 2]).fill(1);
    });
    expect(await launches(() => x.mul(2).tril().add(1).ready())).toBe(fills + 1);
  });

  it('a triangle reads the elements that a tensor had when it was made', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 4],
      ],
      where,
    );
    const lower = tril(x);
    const long = tril(await x.cast('float16'));
    await x.fill(9);
    expect(await lower.toNested()).toEqual([
      [1, 0],
      [3, 4],
    ]);
    expect(await long.toNested()).toEqual([
      [1, 0],
      [3, 4],
    ]);
  });

  it('refuse what they cannot make, with values and a remedy', async () => {
    const x = await tensor([1, 2], where);
    const cube = await zeros([2, 2, 2], where);
    const cases: Readonly<Record<string, () => unknown>> = {
      'no start': () => arange(undefined as never),
      'a text': () => arange('5' as never, 7),
      'an infinite stop': () => arange(Infinity),
      'a step of 0': () => arange(0, 1, 0),
      'a step that is NaN': () => arange(0, 1, NaN),
      'too many': () => arange(1e300),
      'another dtype': () => arange(3, { dtype: 'float8' as never }),
      'options that are none': () => arange(3, { dtypes: 'int32' } as never),
      'no count': () => linspace(0, 1, undefined as never),
      'half a count': () => linspace(0, 1, 1.5),
      'a stop that is a text': () => linspace(0, '1' as never, 3),
      'an endpoint that is a number': () => linspace(0, 1, 3, { endpoint: 0 as never }),
      'negative rows': () => eye(-1),
      'half columns': () => eye(2, { columns: 0.5 }),
      'a shape for rows': () => eye([2, 2] as never),
      'diag of a cube': () => diag(cube),
      'diag of a number': () => diag(1 as never),
      'half an offset': () => diag(x, 0.5),
      'options for an offset': () => diag(x, where as never),
      'tril of a vector': () => tril(x),
      'triu of a pending vector': () => triu(zeros([2], where)),
      'tril of a chain of vectors': () => x.add(1).tril(),
      'triu of an array': () => triu([[1]] as never),
      'an offset that is a text': () => x.triu('1' as never),
      'no classes': () => oneHot(x as never, 0),
      'classes of floats': () => oneHot(x as never, 2),
      'classes of nothing': () => oneHot([1] as never, 2),
    };
    const messages: Record<string, string> = {};
    for (const [name, work] of Object.entries(cases)) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "a shape for rows": "INVALID_ARGUMENT eye: the rows are an array of 2. Pass a count of 0 or more.",
        "a step of 0": "INVALID_ARGUMENT arange: the step from 0 to 1 is 0. Pass another, or linspace() for a number of elements.",
        "a step that is NaN": "INVALID_ARGUMENT arange: the step is NaN. Pass a finite number.",
        "a stop that is a text": "INVALID_ARGUMENT linspace: the stop is "1". Pass a finite number.",
        "a text": "INVALID_ARGUMENT arange: the first number is "5". Pass a finite number.",
        "an endpoint that is a number": "INVALID_ARGUMENT linspace: endpoint is 0. Pass true or false.",
        "an infinite stop": "INVALID_ARGUMENT arange: the stop is Infinity. Pass a finite number.",
        "an offset that is a text": "INVALID_ARGUMENT triu: the offset is "1". Pass an integer: 0 for the main diagonal, 1 for the one above, -1 for the one below.",
        "another dtype": "INVALID_ARGUMENT arange: "float8" is not a dtype. Use float64, float32, float16, bfloat16, int64, int32, uint8 or bool.",
        "classes of floats": "DTYPE_MISMATCH oneHot: the indices are float32 [2] tensor #n on cpu. Pass int64, int32 or uint8; cast('int32') converts.",
        "classes of nothing": "INVALID_ARGUMENT oneHot: the indices: expected a tensor, got an array of 1. Make one with tensor(data).",
        "diag of a cube": "SHAPE_MISMATCH diag: x is float32 [2, 2, 2] tensor #n on cpu, of rank 3. Pass a vector, or a matrix; take one of several with slice().",
        "diag of a number": "INVALID_ARGUMENT diag: x: expected a tensor, got 1. Make one with tensor(data).",
        "half a count": "INVALID_ARGUMENT linspace: the count is 1.5. Pass how many numbers from 0 to 1, from 0 to 2^32.",
        "half an offset": "INVALID_ARGUMENT diag: the offset is 0.5. Pass an integer: 0 for the main diagonal, 1 for the one above, -1 for the one below.",
        "half columns": "INVALID_ARGUMENT eye: the columns are 0.5. Pass a count of 0 or more.",
        "negative rows": "INVALID_ARGUMENT eye: the rows are -1. Pass a count of 0 or more.",
        "no classes": "INVALID_ARGUMENT oneHot: the classes are 0. Pass how many there are, 1 or more.",
        "no count": "INVALID_ARGUMENT linspace: the count is undefined. Pass how many numbers from 0 to 1, from 0 to 2^32.",
        "no start": "INVALID_ARGUMENT arange: the first number is undefined. Pass a finite number.",
        "options for an offset": "INVALID_ARGUMENT diag: the offset is an object. Pass an integer: 0 for the main diagonal, 1 for the one above, -1 for the one below.",
        "options that are none": "INVALID_ARGUMENT arange: there is no option 'dtypes'. Did you mean 'dtype'? The options are stream, device, dtype, signal.",
        "too many": "INVALID_ARGUMENT arange: 1e+300 elements from 0 to 1e+300 in steps of 1. Use at most 2^32.",
        "tril of a chain of vectors": "SHAPE_MISMATCH tril: x is add (float32 [2], not computed yet), of rank 1. Pass a matrix, or several, with rows and columns as the last axes.",
        "tril of a vector": "SHAPE_MISMATCH tril: x is float32 [2] tensor #n on cpu, of rank 1. Pass a matrix, or several, with rows and columns as the last axes.",
        "triu of a pending vector": "SHAPE_MISMATCH triu: x is float32 [2] tensor #n on cpu, of rank 1. Pass a matrix, or several, with rows and columns as the last axes.",
        "triu of an array": "INVALID_ARGUMENT triu: x: expected a tensor, got an array of 1. Make one with tensor(data).",
      }
    `);
  });
});
