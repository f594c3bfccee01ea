import fc from 'fast-check';
import {
  build,
  call,
  constant,
  OPS,
  postOrder,
  variable,
  type BoolExpr,
  type Expr,
  type Op,
  type RealExpr,
} from '../plan.js';

/** Names that the random expressions use. */
export const NAMES = ['a', 'b', 'p'] as const;

/** Leaves of all kinds, special values among them. */
const anyLeaf = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NAMES).map(variable) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(0, -0, 1, -1, 2, 0.5, -0.5, 3, -2, 1.5, 4, 8, 10, Infinity, -Infinity, NaN)
      .map(constant),
  },
  {
    weight: 2,
    arbitrary: fc.double({ min: -5, max: 5, noNaN: true }).map((v) => constant(Math.fround(v))),
  },
);

/** Leaves for derivatives: mostly variables, finite positive constants. */
export const smoothLeaf = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...NAMES).map(variable) },
  { weight: 1, arbitrary: fc.constantFrom(0.25, 0.5, 1, 2, 3).map(constant) },
);

const UNARY = ['neg', 'abs', 'sign', 'sqrt', 'rsqrt', 'exp', 'log', 'tanh'] as const;
const BINARY = ['add', 'sub', 'mul', 'div', 'pow', 'min', 'max'] as const;
const COMPARE = ['lt', 'le', 'gt', 'ge', 'eq', 'ne'] as const;

const POWERS = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 1.3, -1, -2, -0.5, -1.5, -8, 9, 0.25, 0.75, 1.25, 3.75,
  -0.25, 4.25,
];

/** Random real expressions up to `depth` operations deep, every operation among them. */
export function realExpr(
  depth: number,
  leaf: fc.Arbitrary<RealExpr> = anyLeaf,
): fc.Arbitrary<RealExpr> {
  if (depth === 0) return leaf;
  const inner = realExpr(depth - 1, leaf);
  const condition = fc
    .tuple(fc.constantFrom(...COMPARE), inner, inner)
    .map(([op, a, b]): BoolExpr => build(op, [a, b]));
  return fc.oneof(
    { weight: 1, arbitrary: leaf },
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom(...UNARY), inner).map(([op, x]) => build(op, [x])),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom('sin', 'cos'), inner).map(([fn, x]) => call(fn, [x])),
    },
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.constantFrom(...BINARY), inner, inner)
        .map(([op, a, b]) => build(op, [a, b])),
    },
    // Shared arguments, which the rules for equal operands look for.
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...BINARY), inner).map(([op, a]) => build(op, [a, a])),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(inner, fc.constantFrom(...POWERS)).map(([x, y]) => build('pow', [x, y])),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(condition, inner, inner).map(([c, a, b]) => build('select', [c, a, b])),
    },
  );
}

/** How often each operation occurred; `report` prints it and gives the operations never met. */
export class OpCounts {
  readonly #counts = new Map<Op, number>(OPS.map((op) => [op, 0]));

  add(expr: Expr): void {
    for (const { op } of postOrder(expr)) this.#counts.set(op, (this.#counts.get(op) ?? 0) + 1);
  }

  report(title: string): Op[] {
    const text = [...this.#counts].map(([op, count]) => `${op} ${count}`).join(', ');
    console.log(`${title}: ${text}`);
    return [...this.#counts].flatMap(([op, count]) => (count === 0 ? [op] : []));
  }
}
