import {
  dot,
  plus,
  scale,
  sq,
  sum,
  type CorpusFormula,
  type Inputs,
  type Vector,
} from './corpus-formula.test-support.js';
import { MORE_FORMULAS } from './corpus-kernels.test-support.js';

const { exp, sqrt, cos, sin, log } = Math;
const mulC = ([a, b]: Vector, [c, d]: Vector): Vector => [a! * c! - b! * d!, a! * d! + b! * c!];
const expC = ([a, b]: Vector): Vector => [exp(a!) * cos(b!), exp(a!) * sin(b!)];
const divC = (a: Vector, [c, d]: Vector): Vector =>
  scale(1 / (c! ** 2 + d! ** 2), mulC(a, [c!, -d!]));

const XYB = ['x = Vi(3)', 'y = Vj(3)', 'b = Vj(1)'];
const PAXY = ['p = Pm(1)', 'a = Vj(1)', 'x = Vi(3)', 'y = Vj(3)'];
const XYP = ['X = Vi(2)', 'Y = Vj(2)', 'P = Pm(2)'];

const expSum = ({ p, a, x, y }: Inputs): Vector =>
  plus(x!, y!).map((t) => (p![0]! - a![0]!) ** 2 * exp(t));
const gauss = ({ x, y }: Inputs, g = 1): number => exp(-g * sq(x!, y!));

/** One row for each formula of KeOps' tests, tutorials, benchmarks and asserted issues. */
export const CORPUS: readonly CorpusFormula[] = [
  { source: 'generic sum, LogSumExp', text: 'Square(p-a)*Exp(x+y)', aliases: PAXY, value: expSum },
  {
    source: 'LogSumExp, softmax',
    text: 'Square(p-a)*Exp(-SqNorm2(x-y))',
    aliases: PAXY,
    value: (v) => [(v['p']![0]! - v['a']![0]!) ** 2 * gauss(v)],
  },
  {
    source: 'inline Var beside aliases',
    text: 'Square(p-Var(3,1,1))*Exp(-SqNorm2(y-x))',
    aliases: ['p=Pm(0,1)', 'x=Vi(1,3)', 'y=Vj(2,3)'],
    value: (v) => [(v['p']![0]! - v['v3']![0]!) ** 2 * gauss(v)],
  },
  {
    source: 'second gradient that vanishes',
    text: 'Grad(Grad(x + Var(1,3,1), x, Var(2,3,0)),x, Var(3,3,0))',
    aliases: ['x=Vi(0,3)'],
    value: () => [0, 0, 0],
  },
  {
    source: 'nearest neighbours, k-means',
    text: 'SqDist(x,y)',
    aliases: XYB,
    value: ({ x, y }) => [sq(x!, y!)],
  },
  {
    source: 'installation test',
    text: 'SqNorm2(x - y)',
    aliases: XYB,
    value: ({ x, y }) => [sq(x!, y!)],
  },
  {
    source: 'Gaussian convolution',
    text: 'Exp(-SqDist(x,y))*b',
    aliases: XYB,
    value: (v) => [gauss(v) * v['b']![0]!],
  },
  {
    source: 'chunks',
    text: 'Exp(-Sum(Square(x-y)))*b',
    aliases: XYB,
    value: (v) => [gauss(v) * v['b']![0]!],
  },
  {
    source: 'in place',
    text: 'Exp(-(Sum(x-y)))*b',
    aliases: XYB,
    value: ({ x, y, b }) => [exp(sum(y!) - sum(x!)) * b![0]!],
  },
  {
    source: 'CLI of formulas',
    text: 'Exp(-Sum((Var(0,3,0)-Var(1,3,1))**2))*Var(2,1,1)',
    aliases: [],
    value: ({ v0, v1, v2 }) => [exp(-sq(v0!, v1!)) * v2![0]!],
  },
  {
    source: 'inverse kernel',
    text: 'Exp(- g * SqDist(x,y)) * b',
    aliases: [...XYB, 'g = Pm(1)'],
    value: (v) => [gauss(v, v['g']![0]) * v['b']![0]!],
  },
  {
    source: 'wide right-hand side',
    text: 'Exp(-oos2*SqDist(x,y))*b',
    aliases: ['x = Vx(3)', 'y = Vy(3)', 'b = Vy(4)', 'oos2 = Pm(1)'],
    value: (v) => scale(gauss(v, v['oos2']![0]), v['b']!),
  },
  {
    source: 'advanced formula',
    text: 'Pow((X|Y),2) * ((Elem(P,0) * X) + (Elem(P,1) * Y))',
    aliases: XYP,
    value: ({ X, Y, P }) => scale(dot(X!, Y!) ** 2, plus(scale(P![0]!, X!), scale(P![1]!, Y!))),
  },
  {
    source: 'advanced formula, gallery',
    text: 'Square((X|Y)) * ((Elem(P, 0) * X) + (Elem(P, 1) * Y))',
    aliases: XYP,
    value: ({ X, Y, P }) => scale(dot(X!, Y!) ** 2, plus(scale(P![0]!, X!), scale(P![1]!, Y!))),
  },
  {
    source: 'linear combination, LogSumExp',
    text: '(Elem(P,0) * X) + (Elem(P,1) * Y)',
    aliases: ['X = Vi(1)', 'Y = Vj(1)', 'P = Pm(2)'],
    value: ({ X, Y, P }) => [P![0]! * X![0]! + P![1]! * Y![0]!],
  },
  {
    source: 'attention',
    text: 'Exp(X|Y) * B',
    aliases: ['X=Vi(4)', 'Y=Vj(4)', 'B=Vj(2)'],
    value: ({ X, Y, B }) => scale(exp(dot(X!, Y!)), B!),
  },
  ...logKernels(),
  {
    source: 'gradient of a generic sum',
    text: 'Grad(Square(p-a)*Exp(x+y), y, e)',
    aliases: [...PAXY, 'e = Vi(3)'],
    value: (v) => expSum(v).map((t, k) => t * v['e']![k]!),
  },
  {
    source: 'factorisation',
    text: 'AutoFactorize(Grad(Exp(-SqDist(x,y))*b,x,e))',
    aliases: [...XYB, 'e = Vi(1)'],
    value: (v) =>
      scale(-2 * gauss(v) * v['b']![0]! * v['e']![0]!, plus(v['x']!, scale(-1, v['y']!))),
  },
  {
    source: 'batch sum',
    text: '1 / Exp(1 + Sum((l + x*y)**2 + s))',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 'l=Pm(1)', 's=Vi(1)'],
    value: ({ x, y, l, s }) => [
      exp(-1 - sum(x!.map((t, k) => (l![0]! + t * y![k]!) ** 2 + s![0]!))),
    ],
  },
  {
    source: 'second-order gradients of a batch',
    text: 'Exp(-Sum(0.5*(l*x-y)**2/s))',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 'l=Pm(1)', 's=Pm(1)'],
    value: ({ x, y, l, s }) => [
      exp(-sum(x!.map((t, k) => (0.5 * (l![0]! * t - y![k]!) ** 2) / s![0]!))),
    ],
  },
  {
    source: 'logsumexp of a batch',
    text: '-1 / (1 + Sum(ReLU(l*x+y) * s * IntInv(9)))',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 'l=Pm(1)', 's=Pm(1)'],
    value: ({ x, y, l, s }) => [
      -1 / (1 + sum(x!.map((t, k) => (Math.max(l![0]! * t + y![k]!, 0) * s![0]!) / 9))),
    ],
  },
  {
    source: 'min and argmin of a batch',
    text: 'Cos(SqDist(x,y)**1.5 + 1) * Sin(SqDist(x,y) * (3.2 + s))',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 's=Pm(1)'],
    value: ({ x, y, s }) => [cos(sq(x!, y!) ** 1.5 + 1) * sin(sq(x!, y!) * (3.2 + s![0]!))],
  },
  {
    source: 'clamp',
    text: 'Exp(-(Sum(Clamp(x*y, -1.23, 1.54)))**2)',
    aliases: XYB,
    value: ({ x, y }) => [
      exp(-(sum(x!.map((t, k) => Math.min(Math.max(t * y![k]!, -1.23), 1.54))) ** 2)),
    ],
  },
  {
    source: 'gradient with broadcasting',
    text: 'Sum(Cos(x) - y) * b',
    aliases: ['x=Vi(3)', 'y=Vj(1)', 'b=Vj(1)'],
    value: ({ x, y, b }) => [sum(x!.map((t) => cos(t) - y![0]!)) * b![0]!],
  },
  {
    source: 'float16',
    text: 'x - y',
    aliases: ['x=Vi(1)', 'y=Vj(1)'],
    value: ({ x, y }) => [x![0]! - y![0]!],
  },
  { source: 'float16, repeated', text: 'SumT(y,1)', aliases: ['y=Vj(1)'], value: ({ y }) => y! },
  {
    source: 'sinc',
    text: 'Sinc(x)',
    aliases: ['x=Vi(1)'],
    value: ({ x }) => [sin(Math.PI * x![0]!) / (Math.PI * x![0]!)],
  },
  {
    source: 'Fourier sum',
    text: 'ComplexMult(x, ComplexExp1j(-6.283185307179586 * p * f))',
    aliases: ['x=Vi(2)', 'p=Vi(1)', 'f=Vj(1)'],
    value: ({ x, p, f }) => mulC(x!, expC([0, -2 * Math.PI * p![0]! * f![0]!])),
  },
  {
    source: 'Fourier sum without fast math',
    text: 'ComplexMult(ComplexExp1j(- nu_i | x_j),  b_j)',
    aliases: ['nu_i=Vi(3)', 'x_j=Vj(3)', 'b_j=Vj(2)'],
    value: ({ nu_i, x_j, b_j }) => mulC(expC([0, -dot(nu_i!, x_j!)]), b_j!),
  },
  {
    source: 'complex arithmetic',
    text: 'ComplexSum(ComplexAdd(ComplexAdd(ComplexMult(ComplexMult(x, y), Real2Complex(ComplexReal(y))), x), Real2Complex(ComplexReal(x))))',
    aliases: ['x=Vi(2)', 'y=Vj(2)'],
    value: ({ x, y }) => plus(plus(scale(y![0]!, mulC(x!, y!)), x!), [x![0]!, 0]),
  },
  {
    source: 'Cauchy sums',
    text: 'ComplexDivide(v, z-w)',
    aliases: ['v=Vj(2)', 'z=Vi(2)', 'w=Vj(2)'],
    value: ({ v, z, w }) => divC(v!, plus(z!, scale(-1, w!))),
  },
  {
    source: 'Vandermonde sums',
    text: 'ComplexMult(v, ComplexExp(ComplexMult(x, l)))',
    aliases: ['v=Vj(2)', 'x=Vj(2)', 'l=Vi(2)'],
    value: ({ v, x, l }) => mulC(v!, expC(mulC(x!, l!))),
  },
  {
    source: 'Vandermonde sums of angles',
    text: 'ComplexMult(v, ComplexExp1j(Mult(x, l)))',
    aliases: ['v=Vj(2)', 'x=Vj(1)', 'l=Vi(1)'],
    value: ({ v, x, l }) => mulC(v!, expC([0, x![0]! * l![0]!])),
  },
  {
    source: 'no j at all',
    text: 'Rsqrt(v)',
    aliases: ['v=Vi(2)'],
    value: ({ v }) => v!.map((t) => 1 / sqrt(t)),
  },
  {
    source: 'scaled distance, wide values',
    text: 'Exp(SqDist((x1 / s), (x2 / s)) * IntInv(-2)) * v',
    aliases: ['x1=Vi(3)', 'x2=Vj(3)', 's=Pm(1)', 'v=Vj(120)'],
    value: ({ x1, x2, s, v }) =>
      scale(exp(-0.5 * sq(scale(1 / s![0]!, x1!), scale(1 / s![0]!, x2!))), v!),
  },
  {
    source: 'weighted LogSumExp',
    text: 'Sum(V0-V1)',
    aliases: ['V0=Vi(3)', 'V1=Vj(3)'],
    value: ({ V0, V1 }) => [sum(V0!) - sum(V1!)],
  },
  {
    source: 'memory over calls',
    text: 'Sum((a-b)**2)',
    aliases: ['a=Vi(5)', 'b=Vj(5)'],
    value: ({ a, b }) => [sq(a!, b!)],
  },
  {
    source: 'Matérn 5/2',
    text: 'd = Sqrt(5.0*SqDist(x,y)); (1 + d + d**2/3) * Exp(-d)',
    aliases: XYB,
    value: ({ x, y }) => {
      const d = sqrt(5 * sq(x!, y!));
      return [(1 + d + (d * d) / 3) * exp(-d)];
    },
  },
  {
    source: 'anisotropic kernels, Gaussian mixtures',
    text: 'Exp(-WeightedSqDist(gamma, x, y)) * b',
    aliases: ['x=Vi(2)', 'y=Vj(2)', 'gamma=Vj(4)', 'b=Vj(1)'],
    value: ({ x, y, gamma, b }) => {
      const d = plus(x!, scale(-1, y!));
      return [exp(-sum(gamma!.map((g, k) => g * d[Math.floor(k / 2)]! * d[k % 2]!))) * b![0]!];
    },
  },
  {
    source: 'varifold data term of surface registration',
    text: 'Exp(-g*SqDist(x,y)) * Square((u|v)) * b',
    aliases: [...XYB, 'g=Pm(1)', 'u=Vi(3)', 'v=Vj(3)'],
    value: (v) => [gauss(v, v['g']![0]) * dot(v['u']!, v['v']!) ** 2 * v['b']![0]!],
  },
  {
    source: 'Hamiltonian of surface registration',
    text: 'Grad((Exp(-g*SqDist(x,y)) * b) | a, x, 1)',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 'b=Vj(3)', 'a=Vi(3)', 'g=Pm(1)'],
    value: (v) =>
      scale(
        -2 * v['g']![0]! * gauss(v, v['g']![0]) * dot(v['a']!, v['b']!),
        plus(v['x']!, scale(-1, v['y']!)),
      ),
  },
  {
    source: 'cosine k-means',
    text: '-(x | y)',
    aliases: XYB,
    value: ({ x, y }) => [-dot(x!, y!)],
  },
  {
    source: 'Laplacian kernel of kriging',
    text: 'Exp(-Norm2(x-y) / s) * b',
    aliases: [...XYB, 's=Pm(1)'],
    value: ({ x, y, b, s }) => [exp(-sqrt(sq(x!, y!)) / s![0]!) * b![0]!],
  },
  {
    source: 'soft dynamic time warping of two points',
    text: 'Exp(-SoftDTW_SqDist(x,y,gamma))',
    aliases: ['x=Vi(1)', 'y=Vj(2)', 'gamma=Pm(1)'],
    value: ({ x, y }) => [exp(-((x![0]! - y![0]!) ** 2 + (x![0]! - y![1]!) ** 2))],
  },
  {
    source: 'multi-scale Gaussians, lists as parameters',
    text: 'Exp(-SqDist(x,y)/Square(Elem(s,0))) + Exp(-SqDist(x,y)/Square(Elem(s,1)))',
    aliases: ['x=Vi(3)', 'y=Vj(3)', 's=Pm(2)'],
    value: ({ x, y, s }) => [exp(-sq(x!, y!) / s![0]! ** 2) + exp(-sq(x!, y!) / s![1]! ** 2)],
  },
  ...MORE_FORMULAS,
  {
    source: 'chunks over 300 features',
    text: 'Exp(-SqDist(x,y)*0.001)*b',
    aliases: ['x=Vi(300)', 'y=Vj(300)', 'b=Vj(1)'],
    value: (v) => [gauss(v, 0.001) * v['b']![0]!],
  },
];

function logKernels(): CorpusFormula[] {
  const aliases = ['X=Vi(3)', 'Y=Vj(3)', 'P=Pm(1)'];
  const kernel = (source: string, text: string, f: (s: number) => number): CorpusFormula => ({
    source,
    text,
    aliases,
    value: ({ X, Y, P }) => [f(P![0]! * sq(X!, Y!))],
  });
  return [
    kernel('log of a Gaussian', '-P*SqDist(X,Y)', (s) => -s),
    kernel('log of a Laplacian', '-Sqrt(P*SqDist(X,Y))', (s) => -sqrt(s)),
    kernel('log of a Cauchy', 'Log(Inv(1+P*SqDist(X,Y)))', (s) => -log(1 + s)),
    kernel(
      'log of an inverse multiquadric',
      'IntInv(-2)*Log(1+P*SqDist(X,Y))',
      (s) => -0.5 * log(1 + s),
    ),
  ];
}
