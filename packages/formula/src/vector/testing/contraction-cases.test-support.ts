import type { OperationCase } from './operation-case.test-support.js';

type Vector = readonly number[];

/** Every index of a shape, in row-major order. */
function indices(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (known, size) => known.flatMap((at) => Array.from({ length: size }, (_, k) => [...at, k])),
    [[]],
  );
}

/** `sum` over equal letters, as numpy.einsum writes it. */
function einsum(
  letters: readonly [string, string, string],
  shapes: readonly [readonly number[], readonly number[]],
  a: Vector,
  b: Vector,
): Vector {
  const sizes = new Map<string, number>();
  for (const side of [0, 1] as const) {
    for (const [k, letter] of Array.from(letters[side]).entries())
      sizes.set(letter, shapes[side][k]!);
  }
  const all = [...sizes.keys()];
  const flat = (word: string, values: ReadonlyMap<string, number>): number =>
    Array.from(word).reduce((at, letter) => at * sizes.get(letter)! + values.get(letter)!, 0);
  const size = Array.from(letters[2]).reduce((p, letter) => p * sizes.get(letter)!, 1);
  const out = new Array<number>(size).fill(0);
  for (const at of indices(all.map((letter) => sizes.get(letter)!))) {
    const values = new Map(all.map((letter, k) => [letter, at[k]!]));
    out[flat(letters[2], values)]! += a[flat(letters[0], values)]! * b[flat(letters[1], values)]!;
  }
  return out;
}

const product = (shape: readonly number[]): number => shape.reduce((p, n) => p * n, 1);

function contraction(
  text: string,
  letters: string,
  shapeA: readonly number[],
  shapeB: readonly number[],
): OperationCase {
  const [inputs, out] = letters.split('->') as [string, string];
  const [a, b] = inputs.split(',') as [string, string];
  return {
    text,
    inputs: [
      [product(shapeA), -2, 2],
      [product(shapeB), -2, 2],
    ],
    oracle: (x, y) => einsum([a, b, out], [shapeA, shapeB], x, y),
  };
}

/** Products of matrices and tensors. */
export const CONTRACTION_CASES: readonly OperationCase[] = [
  contraction('MatVecMult(a, b)', 'np,p->n', [3, 2], [2]),
  contraction('VecMatMult(a, b)', 'n,np->p', [3], [3, 2]),
  contraction('TensorProd(a, b)', 'k,l->kl', [3], [2]),
  contraction(
    'TensorDot(a, b, [2, 3], [2, 2], [], [], [2, 0, 3, 1])',
    'ij,kl->jlik',
    [2, 3],
    [2, 2],
  ),
  contraction('TensorDot(a, b, [4, 7], [7], [1], [0])', 'ij,j->i', [4, 7], [7]),
  contraction('TensorDot(a, b, [2, 3], [3, 2], [0, 1], [1, 0])', 'ij,ji->', [2, 3], [3, 2]),
  // Kept axes b, d of a and g, i, k of b go to the places 4, 3, 2, 0, 1.
  contraction(
    'TensorDot(a, b, Ind(2, 3, 2, 2, 4), Ind(2, 4, 2, 3, 2, 3), Ind(4, 0, 2), Ind(1, 4, 2), Ind(4, 3, 2, 0, 1))',
    'abcde,fecgah->ghfdb',
    [2, 3, 2, 2, 4],
    [2, 4, 2, 3, 2, 3],
  ),
  contraction('Kron(a, b, [2, 3], [2, 2])', 'ij,kl->ikjl', [2, 3], [2, 2]),
  contraction(
    'Kron(a, b, [3, 2, 1, 2], [1, 2, 2, 3])',
    'abcd,efgh->aebfcgdh',
    [3, 2, 1, 2],
    [1, 2, 2, 3],
  ),
];
