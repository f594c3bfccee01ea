// 6. Formulas. What a kernel computes for a pair of numbers is an expression: a value that can be printed, simplified,
//    differentiated and evaluated. Equal expressions are the same object.
import { formula } from '@mercer/core';

const { abs, differentiate, evaluate, exp, mul, neg, pow, print, simplify, sub, variable } =
  formula;

const [x, y] = [variable('x'), variable('y')];
const term = pow(abs(sub(x, y)), 3);
console.log('term      ', print(term));
console.log('simplified', print(simplify(term)));

const gaussian = exp(neg(mul(sub(x, y), sub(x, y))));
const slope = simplify(differentiate(gaussian, 'x'));
console.log('gaussian  ', print(gaussian));
console.log('d/dx      ', print(slope));

const [at, step] = [{ x: 0.7, y: 0.2 }, 1e-6];
const numeric =
  (evaluate(gaussian, { ...at, x: at.x + step }) - evaluate(gaussian, { ...at, x: at.x - step })) /
  (2 * step);
console.log(`at x = ${at.x}, y = ${at.y}: ${evaluate(slope, at)}; by differences ${numeric}`);
console.log('same object:', sub(x, y) === sub(variable('x'), variable('y')));
