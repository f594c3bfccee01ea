import {
  dot,
  plus,
  scale,
  sq,
  sum,
  type CorpusFormula,
  type Vector,
} from './corpus-formula.test-support.js';

const { exp, sqrt, log } = Math;
const XYB = ['x = Vi(3)', 'y = Vj(3)', 'b = Vj(1)'];

/** Place of an entry of a row-major tensor. */
const placeIn = (shape: Vector, indices: Vector): number =>
  shape.reduce((place, extent, axis) => place * extent + indices[axis]!, 0);

/** All indices of a tensor, in their order. */
const allOf = (shape: Vector): readonly Vector[] =>
  shape.reduce<readonly Vector[]>(
    (rows, extent) => rows.flatMap((row) => Array.from({ length: extent }, (_, k) => [...row, k])),
    [[]],
  );

/** A Kronecker product, axis by axis. */
function kronecker(f: Vector, g: Vector, shapeF: Vector, shapeG: Vector): Vector {
  const shape = shapeF.map((extent, axis) => extent * shapeG[axis]!);
  return allOf(shape).map(
    (at) =>
      f[
        placeIn(
          shapeF,
          at.map((k, axis) => Math.floor(k / shapeG[axis]!)),
        )
      ]! *
      g[
        placeIn(
          shapeG,
          at.map((k, axis) => k % shapeG[axis]!),
        )
      ]!,
  );
}

/** Kernels and their gradients, mixtures, and contractions of KeOps' tests and benchmarks. */
export const MORE_FORMULAS: readonly CorpusFormula[] = [
  ...radialKernels(),
  {
    source: 'Gaussian kernel of kriging',
    text: 'Exp(-SqDist(x,y) / (2 * Square(s))) * b',
    aliases: [...XYB, 's=Pm(1)'],
    value: (v) => [exp((-0.5 * sq(v['x']!, v['y']!)) / v['s']![0]! ** 2) * v['b']![0]!],
  },
  {
    source: 'log-likelihood of a Gaussian mixture',
    text: 'Log(w) + 0.5 * Log(d) - 0.5 * WeightedSqDist(gamma, x, y)',
    aliases: ['x=Vi(2)', 'y=Vj(2)', 'gamma=Vj(4)', 'd=Vj(1)', 'w=Vj(1)'],
    value: ({ x, y, gamma, d, w }) => {
      const e = plus(x!, scale(-1, y!));
      const s = sum(gamma!.map((g, k) => g * e[Math.floor(k / 2)]! * e[k % 2]!));
      return [log(w![0]!) + 0.5 * log(d![0]!) - 0.5 * s];
    },
  },
  {
    source: 'largest inner product of 99',
    text: 'x | y',
    aliases: ['x=Vi(99)', 'y=Vj(99)'],
    value: ({ x, y }) => [dot(x!, y!)],
  },
  {
    source: 'convolution of surfaces',
    text: 'd = x - y; Exp(-SqNorm2(d) * Square(2 - (n|m))) * f',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 'n=Vi(3)', 'm=Vj(3)', 'f=Vj(4)'],
    value: ({ x, y, n, m, f }) => scale(exp(-sq(x!, y!) * (2 - dot(n!, m!)) ** 2), f!),
  },
  {
    source: 'Kronecker products',
    text: 'Kron(f, g, [3, 2, 1, 2], [1, 2, 2, 3])',
    aliases: ['f=Vi(12)', 'g=Vj(12)'],
    value: ({ f, g }) => kronecker(f!, g!, [3, 2, 1, 2], [1, 2, 2, 3]),
  },
  {
    source: 'Kronecker products of matrices',
    text: 'Kron(f, g, Ind(2, 3), Ind(2, 2))',
    aliases: ['f=Vi(6)', 'g=Vj(4)'],
    value: ({ f, g }) => kronecker(f!, g!, [2, 3], [2, 2]),
  },
  {
    source: 'contraction with a permutation',
    text: 'TensorDot(f, g, Ind(2, 3, 2, 2, 4), Ind(2, 4, 2, 3, 2, 3), Ind(4, 0, 2), Ind(1, 4, 2), Ind(4, 3, 2, 0, 1))',
    aliases: ['f=Vi(96)', 'g=Vj(288)'],
    value: ({ f, g }) =>
      // Kept axes f1, f3, g0, g3, g5 at places 4, 3, 2, 0, 1.
      allOf([3, 3, 2, 2, 3]).map(([g3, g5, g0, f3, f1]) =>
        sum(
          allOf([4, 2, 2]).map(
            ([a, b, c]) =>
              f![placeIn([2, 3, 2, 2, 4], [b!, f1!, c!, f3!, a!])]! *
              g![placeIn([2, 4, 2, 3, 2, 3], [g0!, a!, c!, g3!, b!, g5!])]!,
          ),
        ),
      ),
  },
  {
    source: 'contraction of parameters',
    text: 'TensorDot(a, v, Ind(4, 7), Ind(7), Ind(1), Ind(0))',
    aliases: ['a=Pm(28)', 'v=Pm(7)'],
    value: ({ a, v }) => [0, 1, 2, 3].map((row) => dot(a!.slice(7 * row, 7 * row + 7), v!)),
  },
];

/** The kernels of the benchmark of radial kernels, and their gradients. */
function radialKernels(): CorpusFormula[] {
  type Slope = (s: number) => number;
  const kernels: readonly (readonly [name: string, text: string, f: Slope, slope: Slope])[] = [
    [
      'Laplacian',
      'Exp(-Sqrt(SqDist(x,y)))',
      (s) => exp(-sqrt(s)),
      (s) => -exp(-sqrt(s)) / (2 * sqrt(s)),
    ],
    ['Cauchy', 'Inv(IntCst(1)+SqDist(x,y))', (s) => 1 / (1 + s), (s) => -1 / (1 + s) ** 2],
    [
      'inverse multiquadric',
      'Inv(Sqrt(IntCst(1)+SqDist(x,y)))',
      (s) => 1 / sqrt(1 + s),
      (s) => -0.5 / (1 + s) ** 1.5,
    ],
  ];
  return kernels.flatMap(([name, text, f, slope]) => [
    {
      source: `${name} kernel`,
      text: `${text} * b`,
      aliases: XYB,
      value: ({ x, y, b }) => [f(sq(x!, y!)) * b![0]!],
    },
    {
      source: `gradient of the ${name} kernel`,
      text: `Grad(${text} * b, x, e)`,
      aliases: [...XYB, 'e=Vi(1)'],
      value: ({ x, y, b, e }) =>
        scale(2 * slope(sq(x!, y!)) * b![0]! * e![0]!, plus(x!, scale(-1, y!))),
    },
  ]);
}
