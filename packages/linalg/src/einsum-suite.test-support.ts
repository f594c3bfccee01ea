import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { einsum, type LinalgDType } from './index.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

/** A number generator of its own for each test. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

const EXTENTS: Readonly<Record<string, number>> = { i: 2, j: 3, k: 4, l: 5, m: 1, n: 0 };

/** Numbers in rows, with the letter of each axis. */
interface Plain {
  readonly letters: string;
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

/** The sum over all letters, by one loop for each: what the subscripts mean. */
function plainEinsum(operands: readonly Plain[], output: string): number[] {
  const letters = [...new Set(Array.from(operands.map((one) => one.letters).join('') + output))];
  const extentOf = (letter: string): number =>
    Math.max(
      ...operands.flatMap((one) =>
        Array.from(one.letters).flatMap((own, at) => (own === letter ? [one.shape[at] ?? 1] : [])),
      ),
    );
  const inOrder = [...Array.from(output), ...letters.filter((one) => !output.includes(one))];
  const results: number[] = [];
  const at = new Map<string, number>();
  const visit = (depth: number): number => {
    if (depth === inOrder.length) {
      return operands.reduce((product, { letters: own, shape, values }) => {
        const place = Array.from(own).reduce((sum, letter, axis) => {
          const extent = shape[axis] ?? 1;
          return sum * extent + (extent === 1 ? 0 : (at.get(letter) ?? 0));
        }, 0);
        return product * (values[place] ?? NaN);
      }, 1);
    }
    const letter = inOrder[depth] ?? '';
    let sum = 0;
    for (let value = 0; value < extentOf(letter); value++) {
      at.set(letter, value);
      const below = visit(depth + 1);
      if (depth < output.length) {
        if (depth === output.length - 1) results.push(below);
      } else sum += below;
    }
    return sum;
  };
  const whole = visit(0);
  return output.length === 0 ? [whole] : results;
}

/** Subscripts with letters for the dots, where the text has dots. */
const CASES: readonly (
  readonly [subscripts: string] | readonly [subscripts: string, letters: string]
)[] = [
  ['ij,jk->ik'],
  ['ij,jk'],
  ['ij,kj->ki'],
  ['ji,jk->ik'],
  ['lij,ljk->lik'],
  ['ijl,jkl->kli'],
  ['i,i->'],
  ['i,j->ij'],
  ['ij,ij->ij'],
  ['ij,ij->j'],
  ['ij->ji'],
  ['ij->'],
  ['ij'],
  ['ji'],
  ['ii'],
  ['ii->i'],
  ['iji->j'],
  ['iij,jk->ik'],
  ['ijk,l->kl'],
  ['ij,jk,kl->il'],
  ['ij,jk,kl,il->'],
  ['i,j,k->kij'],
  ['ijk,ilm,jmk->li'],
  ['im,mk->ik'],
  ['in,nk->ik'],
  ['nj,jk->nk'],
  ['ij , jk -> ik', 'ij,jk->ik'],
  ['...j,j...->...', 'aj,ja->a'],
  ['...ij,...jk->...ik', 'aij,ajk->aik'],
  ['i...,i...->...', 'iab,iab->ab'],
  ['...', 'ab->ab'],
  ['i...', 'iab->abi'],
  ['...,...', 'ab,ab->ab'],
  [',ij->ij'],
];
const OF_DOTS: Readonly<Record<string, number>> = { a: 2, b: 3 };

/** `einsum` against loops, on a device. */
export function describeEinsum(device: () => Device): void {
  describe('einsum', () => {
    const dtypes = ['float64', 'float32'] as const;
    describe.each(dtypes)('in %s', (dtype: LinalgDType) => {
      it.each(CASES.map(([text, letters = implicit(text)]) => ({ text, letters })))(
        '$text',
        async ({ text, letters }) => {
          const [inputs = '', output = ''] = letters.split('->');
          const random = randomFrom(7 + text.length);
          const plain = inputs.split(',').map((own): Plain => {
            const shape = Array.from(own, (letter) => EXTENTS[letter] ?? OF_DOTS[letter] ?? 1);
            const count = shape.reduce((a, b) => a * b, 1);
            return {
              letters: own,
              shape,
              values: Float64Array.from({ length: count }, () => Math.fround(random() - 0.5)),
            };
          });
          for (const layout of ['rows', 'columns'] as const) {
            const operands = await Promise.all(
              plain.map((one) => placed(one, dtype, layout, device())),
            );
            const found = await einsum(text, operands);
            expect(found.dtype).toBe(dtype);
            expect(found.isContiguous).toBe(true);
            expect(found.shape).toEqual(
              Array.from(output, (letter) => EXTENTS[letter] ?? OF_DOTS[letter] ?? 1),
            );
            const wanted = plainEinsum(plain, output);
            const magnitudes = plainEinsum(
              plain.map((one) => ({ ...one, values: one.values.map(Math.abs) })),
              output,
            );
            const unit = dtype === 'float64' ? 2 ** -53 : 2 ** -24;
            const got = Array.from((await found.toTypedArray()) as Float64Array);
            expect(got).toHaveLength(wanted.length);
            for (const [at, want] of wanted.entries()) {
              expect(Math.abs((got[at] ?? NaN) - want)).toBeLessThanOrEqual(
                64 * unit * (magnitudes[at] ?? 0),
              );
            }
          }
        },
      );
    });

    it('broadcasts the axes of dots', async () => {
      const where = { device: device() };
      const a = await tensor([[[1, 2]], [[3, 4]]], where); // (2, 1, 2)
      const b = await tensor(
        [
          [1, 10],
          [2, 20],
          [3, 30],
        ],
        where,
      ); // (3, 2)
      const found = await einsum('...k,...k->...', [a, b]);
      expect(await found.toNested()).toEqual([
        [21, 42, 63],
        [43, 86, 129],
      ]);
      // an axis of dots that only one operand has more than once, beside a product of matrices
      const c = await tensor(
        [
          [
            [1, 2],
            [3, 4],
          ],
        ],
        where,
      ); // (1, 2, 2)
      const d = await tensor(
        [
          [
            [1, 0],
            [0, 1],
          ],
          [
            [2, 0],
            [0, 2],
          ],
        ],
        where,
      );
      expect(await einsum('...ij,...jk->...ik', [c, d]).toNested()).toEqual([
        [
          [1, 2],
          [3, 4],
        ],
        [
          [2, 4],
          [6, 8],
        ],
      ]);
    });

    it('multiplies two operands whose axes of dots are shorter than those of the third', async () => {
      const where = { device: device() };
      const a = await tensor([1, 2], where);
      const b = await tensor([[3], [4]], where); // (2, 1): i and one axis of dots
      const c = await tensor([[5, 6, 7], [8, 9, 10]], where); // prettier-ignore
      const outer = await einsum('i,j...,k...->kj...', [a, b, c]);
      expect(await outer.toNested()).toEqual([
        [[45, 54, 63], [60, 72, 84]],
        [[72, 81, 90], [96, 108, 120]],
      ]); // prettier-ignore
      const found = await einsum('i,i...,...->...', [a, b, await tensor([1, 10, 100], where)]);
      expect(await found.toNested()).toEqual([11, 110, 1100]);
    });

    it('broadcasts more axes of dots than routines have batch axes', async () => {
      const where = { device: device() };
      const [ofA, ofB] = [[2, 1, 2, 1, 2, 1, 2], [1, 2, 1, 2, 2, 2, 1]] as const; // prettier-ignore
      const a = await tensor(
        Float32Array.from({ length: 32 }, (_, at) => at + 1),
        { ...where, shape: [...ofA, 2] },
      );
      const b = await tensor(
        Float32Array.from({ length: 32 }, (_, at) => 32 - at),
        { ...where, shape: [...ofB, 2] },
      );
      const wanted = await a.mul(b).sum(-1).toTypedArray();
      const [inFront, behind] = [
        await einsum('...i,...i->...', [a, b]),
        await einsum('i,...i,...i->i...', [await tensor([1, 0], where), a, b]),
      ];
      expect(inFront.shape).toEqual([2, 2, 2, 2, 2, 2, 2]);
      expect(await inFront.toTypedArray()).toEqual(wanted);
      const first = await a
        .mul(b)
        .slice(null, null, null, null, null, null, null, 0)
        .toTypedArray();
      expect((await behind.toTypedArray()).slice(0, 128)).toEqual(first);
    });

    it('writes into what is given, whatever its strides are, prepared or not', async () => {
      const where = { device: device() };
      const [a, b] = [
        await tensor(
          [
            [1, 2],
            [3, 4],
          ],
          where,
        ),
        await tensor(
          [
            [5, 6, 7],
            [8, 9, 10],
          ],
          where,
        ),
      ];
      const [left, right] = [
        [await a.clone(), await b.clone()] as const,
        [a.transpose(), b] as const,
      ];
      for (const [subscripts, operands, wanted] of [
        [
          'ij,jk->ik',
          left,
          [
            [21, 24, 27],
            [47, 54, 61],
          ],
        ],
        [
          'ji,jk->ik',
          right,
          [
            [21, 24, 27],
            [47, 54, 61],
          ],
        ],
        [
          'ij,ik->ik',
          [a, b],
          [
            [15, 18, 21],
            [56, 63, 70],
          ],
        ],
        ['ij->j', [a], [4, 6]],
      ] as const) {
        const prepared = await einsum.prepare(subscripts, operands);
        const shape = [wanted.length, ...(Array.isArray(wanted[0]) ? [wanted[0].length] : [])];
        const out = empty(shape, where);
        expect(await einsum(subscripts, operands, { out })).toBe(out);
        expect(await out.toNested()).toEqual(wanted);
        await out.fill(0);
        expect(prepared(operands, { out })).toBe(out);
        expect(await out.toNested()).toEqual(wanted);
        expect(await prepared(operands).toNested()).toEqual(wanted);
        const turned = empty([...shape].reverse(), where).transpose();
        expect(await einsum(subscripts, operands, { out: turned })).toBe(turned);
        expect(await turned.toNested()).toEqual(wanted);
      }
    });

    it('tells its launches, and refuses outputs that do not go with it', async () => {
      const where = { device: device() };
      const a = await tensor(
        [
          [1, 2],
          [3, 4],
        ],
        where,
      );
      const lines: string[] = [];
      await einsum('ij,ij->ij', [a, a], { debug: (line: string) => lines.push(line) });
      expect(lines.join()).toMatch(/launch/);
      const call = (out: unknown) => einsum('ij,jk->ik', [a, a], { out } as never);
      await expect(call(a)).rejects.toMatchObject({ code: 'OVERLAP' });
      await expect(call(empty([2, 3], where))).rejects.toThrow(/^einsum: out is .*\[2, 3\]/);
      await expect(call(empty([2, 2], { ...where, dtype: 'float64' }))).rejects.toMatchObject({
        code: 'DTYPE_MISMATCH',
      });
      await expect(call(3)).rejects.toThrow(/^einsum: out/);
      await expect(einsum('ij,jk', [a, a], { into: a } as never)).rejects.toThrow(
        "einsum: there is no option 'into'",
      );
    });

    it('takes more batch axes than routines do', async () => {
      const where = { device: device() };
      const shape = [2, 1, 2, 1, 2, 1, 2];
      const a = await tensor(
        Float32Array.from({ length: 48 }, (_, at) => at),
        { ...where, shape: [...shape, 1, 3] },
      );
      const [all] = [await einsum('...ij,...kj->...ik', [a, a])];
      expect(all.shape).toEqual([...shape, 1, 1]);
      const squares = Array.from({ length: 16 }, (_, at) =>
        [0, 1, 2].reduce((sum, k) => sum + (3 * at + k) ** 2, 0),
      );
      expect([...(await all.toTypedArray())]).toEqual(squares);
    });

    it('leaves its operands and gives memory of its own, keeping nothing else', async () => {
      const where = { device: device() };
      const a = await tensor(
        [
          [1, 2],
          [3, 4],
        ],
        where,
      );
      const before = undisposedBytes(device());
      const copy = await einsum('ij->ij', [a]);
      const product = await einsum('ij,kj,kl->il', [a, a.view(), a.transpose()]);
      expect(undisposedBytes(device())).toBe(before + copy.bytes + product.bytes);
      await a.fill(0);
      expect(await copy.toNested()).toEqual([
        [1, 2],
        [3, 4],
      ]);
      copy.dispose();
      product.dispose();
      expect(undisposedBytes(device())).toBe(before);
    });
  });
}

/** The result of subscripts without one: letters that come once, in alphabetical order. */
function implicit(subscripts: string): string {
  if (subscripts.includes('->')) return subscripts;
  const letters = Array.from(subscripts.replaceAll(',', ''));
  const once = letters.filter((one) => letters.indexOf(one) === letters.lastIndexOf(one));
  return `${subscripts}->${once.sort().join('')}`;
}

/** Row-major, or with the axes in memory the other way round. */
async function placed(
  { shape, values }: Plain,
  dtype: LinalgDType,
  layout: 'rows' | 'columns',
  device: Device,
): Promise<Tensor<LinalgDType>> {
  const x = await tensor(values, { shape, dtype, device });
  const turned = shape.map((_, axis) => shape.length - 1 - axis);
  return layout === 'rows' ? x : (await x.permute(turned).contiguous()).permute(turned);
}
