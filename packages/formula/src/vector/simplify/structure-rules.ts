import { components, elementwise, literal, place, repeat, slice, zero } from '../nodes.js';
import { add, mul, neg } from '../operations/arithmetic.js';
import type { Kind, VectorExpr } from '../vector-expr.js';
import type { VectorRule } from './vector-rule.js';

const keep = (): undefined => undefined;
const isZero = (node: VectorExpr): boolean =>
  node.kind === 'zero' || (node.kind === 'literal' && node.value === 0);

/** Done again for one component, these cost no more than reading it. */
const CHEAP: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'neg', 'square']);

/** Simplification of every kind of node but the elementwise one. */
export const simplifyStructure: { readonly [K in Exclude<Kind, 'elementwise'>]: VectorRule<K> } = {
  literal: keep,
  zero: keep,
  variable: keep,
  index: keep,
  components: ({ combine, args: [x] }) => {
    if (x!.dim === 1 && combine !== 'argmax' && combine !== 'argmin') return x;
    return combine === 'sum' ? simplifySum(x!) : undefined;
  },
  repeat: ({ dim, args: [x] }) => (isZero(x!) ? zero(dim) : undefined),
  slice: ({ start, step, dim, args: [x] }) => {
    if (isZero(x!)) return zero(dim);
    if (x!.kind === 'repeat') return repeat(x.args[0]!, dim);
    if (x!.kind === 'slice') return slice(x.args[0]!, x.start + start * x.step, dim, step * x.step);
    if (x!.kind === 'place') return sliceOfPlace(x, start, step, dim);
    if (x!.kind === 'concat' && step === 1) return sliceOfConcat(x.args, start, dim);
    if (dim === 1 && x!.kind === 'elementwise' && CHEAP.has(x.op)) {
      const parts = x.args.map((arg) => (arg.dim === 1 ? arg : slice(arg, start, 1)));
      return elementwise(x.op, parts);
    }
    const n = x!.args.length;
    if (x!.kind === 'interleave' && step % n === 0) {
      return slice(x.args[start % n]!, Math.floor(start / n), dim, step / n);
    }
    if (x!.kind === 'interleave' && dim === 1)
      return slice(x.args[start % n]!, Math.floor(start / n), 1);
    return undefined;
  },
  place: ({ dim, args: [x] }) => (isZero(x!) ? zero(dim) : undefined),
  concat: ({ dim, args }) => (args.every(isZero) ? zero(dim) : undefined),
  interleave: ({ dim, args }) => {
    if (args.every(isZero)) return zero(dim);
    // The parts of one vector, put together again.
    const whole = args[0]!.kind === 'slice' ? args[0].args[0]! : undefined;
    const parts = args.map(
      (arg, k) =>
        arg.kind === 'slice' &&
        arg.args[0] === whole &&
        arg.start === k &&
        (arg.step === args.length || arg.dim === 1),
    );
    return whole?.dim === dim && parts.every(Boolean) ? whole : undefined;
  },
  contract: keep,
  oneHot: keep,
  gather: keep,
};

/** What a sum over components takes in front: a sign, or a finite number that is not 0. */
function simplifySum(x: VectorExpr): VectorExpr | undefined {
  if (isZero(x)) return literal(0);
  if (x.kind === 'repeat') return mul(x.dim, x.args[0]!);
  if (x.kind === 'place') return components('sum', x.args[0]!);
  if (x.kind === 'concat' || x.kind === 'interleave') {
    if (x.args.length > 4) return undefined;
    return x.args.map((arg) => components('sum', arg)).reduce((a, b) => add(a, b));
  }
  if (x.kind !== 'elementwise') return undefined;
  const [a, b] = x.args;
  if (x.op === 'neg') return neg(components('sum', a!));
  if (x.op !== 'mul' || a!.kind !== 'literal') return undefined;
  const isPlain = Number.isFinite(a.value) && a.value !== 0;
  return isPlain && b!.dim === x.dim ? mul(a, components('sum', b!)) : undefined;
}

function sliceOfPlace(
  placed: Extract<VectorExpr, { kind: 'place' }>,
  start: number,
  step: number,
  dim: number,
): VectorExpr | undefined {
  const inner = placed.args[0]!;
  if (dim === 1) {
    const at = (start - placed.start) / placed.step;
    return Number.isInteger(at) && at >= 0 && at < inner.dim ? slice(inner, at, 1) : literal(0);
  }
  if (placed.start === start && placed.step === step && inner.dim === dim) return inner;
  const last = placed.start + (inner.dim - 1) * placed.step;
  if (start > last || start + (dim - 1) * step < placed.start) return zero(dim);
  if (step !== 1 || placed.step !== 1) return undefined;
  // Both contiguous: what they share, where it falls.
  const [from, to] = [Math.max(start, placed.start), Math.min(start + dim - 1, last)];
  return place(slice(inner, from - placed.start, to - from + 1), from - start, dim);
}

function sliceOfConcat(
  args: readonly VectorExpr[],
  start: number,
  dim: number,
): VectorExpr | undefined {
  let first = 0;
  for (const arg of args) {
    if (start >= first && start + dim <= first + arg.dim) return slice(arg, start - first, dim);
    first += arg.dim;
  }
  return undefined;
}
