import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { full, gatherRows, tensor, zeros, type Tensor } from '../index.js';

const where = { device: 'cpu' } as const;

/** A function of the runtime's own: no compiler is waited for, and its second call is one like the first. */
describe('a call like one before', () => {
  let x: Tensor<'float32'>;
  let index: Tensor<'int32'>;
  let out: Tensor<'float32'>;

  beforeAll(async () => {
    index = await tensor(Int32Array.of(1, 0), where);
  });

  beforeEach(async () => {
    x = await zeros([2, 1], where);
    out = await full([2, 1], -1, where);
    (await gatherRows(x, index)).dispose();
    await gatherRows(x, index, { out });
    await out.fill(-1);
  });

  it('is launched at once', async () => {
    const rows = gatherRows(x, index, { out });
    // no turn between: what is read now is what the call has written
    const seen = out.toTypedArray();
    expect(await Promise.all([rows, seen])).toEqual([out, Float32Array.of(0, 0)]);
  });

  it('refuses at once, by a rejection', async () => {
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(gatherRows(x, index, { signal })).rejects.toThrow('given up');
    await expect(gatherRows(x, index, { outt: out } as never)).rejects.toThrow(
      "gatherRows: there is no option 'outt'. Did you mean 'out'?",
    );
    x.dispose();
    await expect(gatherRows(x, index)).rejects.toThrow('was disposed and cannot be used');
  });

  it('does not overtake a fill of what it reads', async () => {
    const filled = x.fill(7);
    const rows = gatherRows(x, index);
    await filled;
    expect(await rows.toTypedArray()).toEqual(Float32Array.of(7, 7));
  });

  it('does not overtake a copy into what it reads', async () => {
    const copied = x.copyFrom(await tensor([[3], [4]], where));
    const rows = gatherRows(x, index);
    await copied;
    expect(await rows.toTypedArray()).toEqual(Float32Array.of(4, 3));
  });

  it('does not overtake a copy of what it writes', async () => {
    const copy = out.clone();
    const rows = gatherRows(x, index, { out });
    expect(await copy.toTypedArray()).toEqual(Float32Array.of(-1, -1));
    expect(await (await rows).toTypedArray()).toEqual(Float32Array.of(0, 0));
  });

  it('does not overtake another that waits for such a copy', async () => {
    const other = await full([2, 1], -2, where);
    const filled = x.fill(7);
    const first = gatherRows(x, index, { out: other });
    const second = gatherRows(other, index);
    await Promise.all([filled, first]);
    expect(await second.toTypedArray()).toEqual(Float32Array.of(7, 7));
  });
});
