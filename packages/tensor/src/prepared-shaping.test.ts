import { describe, expect, it } from 'vitest';
import {
  device,
  empty,
  pad,
  sort,
  take,
  tensor,
  tile,
  topK,
  concat,
  type Tensor,
} from './index.js';
import { preparedShapingSuite } from './testing/prepared-shaping-suite.test-support.js';
import { said } from './testing/what-happens.test-support.js';

const where = { device: 'cpu' } as const;

describe('on the CPU', () => {
  preparedShapingSuite(() => device('cpu'));
});

describe('prepared calls of operations that move and sort elements', () => {
  it('refuse with values and a remedy', async () => {
    using x = await tensor([[3, 1, 2]], where);
    const sorted = await sort.prepare(x);
    const framed = await pad.prepare(x, 1);
    const top = await topK.prepare(x, 2);
    const short = empty([1, 1], { dtype: 'int32', ...where });
    const cases: Readonly<Record<string, () => unknown>> = {
      'indices of the host': () => take.prepare(x, [0] as never, 1),
      'an option that is fixed': () => sorted(x, { descending: true } as never),
      'an option that is none': () => sort.prepare(x, 0, { ascending: true } as never),
      'sort of nothing': () => sort.prepare(undefined as never),
      'pad of nothing': () => framed(undefined as never),
      'tile of a fraction': () => tile.prepare(x, 1.5),
      'concat of nothing': () => concat.prepare([]),
      'topK of too many': () => topK.prepare(x, 4),
      'topK into other indices': () => top(x, { out: { indices: short } }),
      'topK into x': () => topK(x, 2, 1, { out: { values: x.slice(null, [0, 2]) } }),
      'topK into something': () => topK(x, 2, 1, { out: { value: x } as never }),
    };
    const messages: Record<string, string> = {};
    for (const [name, call] of Object.entries(cases)) messages[name] = await said(call);
    expect(messages).toMatchInlineSnapshot(`
      {
        "an option that is fixed": "INVALID_ARGUMENT sort: there is no option 'descending'. The options are stream, out.",
        "an option that is none": "INVALID_ARGUMENT sort.prepare: there is no option 'ascending'. Did you mean 'descending'? The options are stream, out, signal, debug, descending.",
        "concat of nothing": "INVALID_ARGUMENT concat: the array of tensors is empty. Pass at least one.",
        "indices of the host": "INVALID_ARGUMENT take: the indices: expected a tensor, got an array of 1. Make one with tensor(data).",
        "pad of nothing": "INVALID_ARGUMENT pad: x: expected a tensor, got undefined. Make one with tensor(data).",
        "sort of nothing": "INVALID_ARGUMENT sort: x: expected a tensor, got undefined. Make one with tensor(data).",
        "tile of a fraction": "INVALID_ARGUMENT tile: 1.5 repetitions. Pass counts of 0 or more, one for each of the last axes.",
        "topK into other indices": "SHAPE_MISMATCH topK: indices: out is int32 [1, 1] tensor #n on cpu and the result has shape [1, 2]. Allocate it with that shape.",
        "topK into something": "INVALID_ARGUMENT topK: out: there is no option 'value'. Did you mean 'values'? The options are values, indices.",
        "topK into x": "OVERLAP topK: values: the output float32 [1, 2] tensor #n on cpu shares memory with the input float32 [1, 3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "topK of too many": "INVALID_ARGUMENT topK: k is 4 for axis 1 of float32 [1, 3] tensor #n on cpu. Pass an integer from 0 to 3.",
      }
    `);
    expect(await x.toNested()).toEqual([[3, 1, 2]]);
  });

  it('topK writes nothing where one of its results is refused', async () => {
    using x = await tensor([[3, 1, 2]], where);
    using indices = await tensor(Int32Array.of(7, 7), { shape: [1, 2], ...where });
    using values: Tensor = empty([1, 2], { dtype: 'float64', ...where });
    const out = { indices, values } as never;
    await expect(topK(x, 2, 1, { out })).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
    const top = await topK.prepare(x, 2);
    expect(() => top(x, { out })).toThrow(expect.objectContaining({ code: 'DTYPE_MISMATCH' }));
    expect(await indices.toNested()).toEqual([[7, 7]]);
  });

  it('topK takes results that lie otherwise than x', async () => {
    using x = await tensor([[3, 1, 2], [7, 9, 8]], where); // prettier-ignore
    using all = empty([2, 9], { dtype: 'int32', ...where });
    for (const k of [2, 3]) {
      const out = { indices: all.slice(null, [0, 3 * k, 3]) };
      const top = await topK.prepare(x, k, 1, { out });
      const ordinary = await x.topK(k);
      for (const given of [{ out }, undefined]) {
        const { values, indices } = top(x, given);
        expect(await values.toNested()).toEqual(await ordinary.values.toNested());
        expect(await indices.toNested()).toEqual(await ordinary.indices.toNested());
      }
    }
  });
});
