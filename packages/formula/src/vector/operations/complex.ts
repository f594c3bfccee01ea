import { broadcastDim, dimError, toVector } from '../check-arguments.js';
import { interleave, repeat, slice, zero } from '../nodes.js';
import type { VectorExpr, VectorOperand } from '../vector-expr.js';
import { add, div, greaterThan, lessThan, mul, neg, square, sub } from './arithmetic.js';
import { sum } from './components.js';
import { abs, atan2, cos, exp, maximum, sin, sqrt, where } from './functions.js';

// A complex vector of n numbers is a vector of 2 n: real, imaginary, real, imaginary, ...

function parts(op: string, operand: VectorOperand): readonly [re: VectorExpr, im: VectorExpr] {
  const f = toVector(op, operand);
  if (f.dim % 2 !== 0) {
    throw dimError(op, `the argument has dim ${f.dim}`, 'A complex vector has pairs: an even dim.');
  }
  return [slice(f, 0, f.dim / 2, 2), slice(f, 1, f.dim / 2, 2)];
}

/** The real parts. */
export const complexReal = (f: VectorOperand): VectorExpr => parts('ComplexReal', f)[0];
/** The imaginary parts. */
export const complexImag = (f: VectorOperand): VectorExpr => parts('ComplexImag', f)[1];

/** `f + 0i` */
export function real2Complex(f: VectorOperand): VectorExpr {
  const x = toVector('Real2Complex', f);
  return interleave(x, zero(x.dim));
}

/** `0 + f i` */
export function imag2Complex(f: VectorOperand): VectorExpr {
  const x = toVector('Imag2Complex', f);
  return interleave(zero(x.dim), x);
}

/** The complex conjugate. */
export function conj(f: VectorOperand): VectorExpr {
  const [re, im] = parts('Conj', f);
  return interleave(re, neg(im));
}

/** The squared modulus of each number. */
export function complexSquareAbs(f: VectorOperand): VectorExpr {
  const [re, im] = parts('ComplexSquareAbs', f);
  return add(square(re), square(im));
}

/** The size of the larger part of each number, or 1 where that is 0 or no finite number: squares of what is divided by it neither overflow nor vanish. */
function scaleOf([re, im]: Pair): VectorExpr {
  const larger = maximum(abs(re), abs(im));
  return where(mul(greaterThan(larger, 0), lessThan(larger, Infinity)), larger, 1);
}

/** The modulus of each number, with gradient 0 at 0. Parts are scaled by the larger one, so that their squares do not overflow. */
export function complexAbs(f: VectorOperand): VectorExpr {
  const [re, im] = parts('ComplexAbs', f);
  const scale = scaleOf([re, im]);
  return mul(scale, sqrt(add(square(div(re, scale)), square(div(im, scale)))));
}

/** The angle of each number, in (-pi, pi]; gradient 0 at 0 by convention. */
export function complexAngle(f: VectorOperand): VectorExpr {
  const [re, im] = parts('ComplexAngle', f);
  return atan2(im, re);
}

/** `e ^ f` */
export function complexExp(f: VectorOperand): VectorExpr {
  const [re, im] = parts('ComplexExp', f);
  const size = exp(re);
  return interleave(mul(size, cos(im)), mul(size, sin(im)));
}

/** `e ^ (i x)` of a real vector. */
export const complexExp1j = (x: VectorOperand): VectorExpr => interleave(cos(x), sin(x));

type Pair = readonly [re: VectorExpr, im: VectorExpr];

/** Both operands' parts, with one number repeated to the other's length. */
function both(op: string, f: VectorOperand, g: VectorOperand): readonly [Pair, Pair] {
  const [a, b] = [parts(op, f), parts(op, g)];
  broadcastDim(op, [a[0], b[0]]);
  return [a, b];
}

/** `f + g` */
export function complexAdd(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = both('ComplexAdd', f, g);
  return a[0].dim === b[0].dim ? add(f, g) : interleave(add(a[0], b[0]), add(a[1], b[1]));
}

/** `f - g` */
export function complexSubtract(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = both('ComplexSubtract', f, g);
  return a[0].dim === b[0].dim ? sub(f, g) : interleave(sub(a[0], b[0]), sub(a[1], b[1]));
}

/** `f g` */
export function complexMult(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = both('ComplexMult', f, g);
  return interleave(sub(mul(a[0], b[0]), mul(a[1], b[1])), add(mul(a[0], b[1]), mul(a[1], b[0])));
}

/** `f / g`, with `g` scaled by its larger part. */
export function complexDivide(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [a, b] = both('ComplexDivide', f, g);
  const scale = scaleOf(b);
  const [re, im] = [div(b[0], scale), div(b[1], scale)];
  const size = add(square(re), square(im));
  const over = (x: VectorExpr): VectorExpr => div(div(x, size), scale);
  return interleave(
    over(add(mul(a[0], re), mul(a[1], im))),
    over(sub(mul(a[1], re), mul(a[0], im))),
  );
}

/** A real scalar (or a real vector, number by number) times a complex vector. */
export function complexRealScal(f: VectorOperand, g: VectorOperand): VectorExpr {
  const [x, [re, im]] = [toVector('ComplexRealScal', f), parts('ComplexRealScal', g)];
  broadcastDim('ComplexRealScal', [x, re]);
  return x.dim === 1 ? mul(x, g) : interleave(mul(x, re), mul(x, im));
}

/** The sum of all numbers, dim 2. */
export function complexSum(f: VectorOperand): VectorExpr {
  const [re, im] = parts('ComplexSum', f);
  return interleave(sum(re), sum(im));
}

/** One complex number repeated to `dim` real components, `dim` even. */
export function complexSumT(f: VectorOperand, dim: number): VectorExpr {
  const [re, im] = parts('ComplexSumT', f);
  if (re.dim !== 1 || dim % 2 !== 0) {
    throw dimError(
      'ComplexSumT',
      `the argument has dim ${2 * re.dim} and the wanted dim is ${dim}`,
      'Pass one complex number, dim 2, and an even dim.',
    );
  }
  return interleave(repeat(re, dim / 2), repeat(im, dim / 2));
}
