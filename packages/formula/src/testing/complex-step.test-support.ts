import { variables, type Expr } from '../index.js';

/** A complex number; the imaginary part carries the derivative. */
type Complex = readonly [re: number, im: number];

const STEP = 1e-100;
/** Distance from a kink below which a derivative is not compared. */
const CLEARANCE = 1e-3;

/** The derivative by a complex step, and whether the point is clear of kinks and of the limits. */
export interface StepDerivative {
  readonly value: number;
  readonly clear: boolean;
  /** Largest magnitude of any intermediate value or derivative. */
  readonly largest: number;
}

/**
 * `Im f(x + ih) / h`, exact to rounding for functions made of analytic pieces. Shares nothing with
 * the derivative table: it is plain complex arithmetic.
 */
export function complexStep(
  expr: Expr,
  data: Readonly<Record<string, number>>,
  by: string,
): StepDerivative {
  let clear = true;
  let largest = 0;
  const need = (condition: boolean): void => {
    clear &&= condition;
  };
  const away = (value: number): void => need(Math.abs(value) > CLEARANCE);
  // A varying exponent needs a positive base, even where its derivative happens to be 0.
  const dependsOn = (node: Expr | undefined): boolean =>
    node !== undefined && variables(node).includes(by);
  const visit = (node: Expr): Complex => {
    const result = value(node);
    largest = Math.max(largest, Math.abs(result[0]), Math.abs(result[1]) / STEP);
    need(Number.isFinite(result[0]) && Number.isFinite(result[1]));
    return result;
  };
  const value = (node: Expr): Complex => {
    if (node.value !== undefined) return [node.value, 0];
    if (node.name !== undefined) return [data[node.name] ?? NaN, node.name === by ? STEP : 0];
    const [x = ZERO, y = ZERO, z = ZERO] = node.args.map(visit);
    switch (node.op) {
      case 'add':
        return [x[0] + y[0], x[1] + y[1]];
      case 'sub':
        return [x[0] - y[0], x[1] - y[1]];
      case 'mul':
        return times(x, y);
      case 'div':
        away(y[0]);
        return times(x, inverse(y));
      case 'neg':
        return [-x[0], -x[1]];
      case 'abs':
        away(x[0]);
        return x[0] < 0 ? [-x[0], -x[1]] : x;
      case 'sign':
        away(x[0]);
        return [Math.sign(x[0]), 0];
      case 'sqrt':
        need(x[0] > CLEARANCE);
        return root(x);
      case 'rsqrt':
        need(x[0] > CLEARANCE);
        return inverse(root(x));
      case 'exp':
        return exponential(x);
      case 'log':
        need(x[0] > CLEARANCE);
        return logarithm(x);
      case 'tanh':
        return hyperbolicTangent(x);
      case 'call':
        // the imaginary part is tiny: its cosh is 1 and its sinh itself
        return node.fn === 'sin'
          ? [Math.sin(x[0]), Math.cos(x[0]) * x[1]]
          : [Math.cos(x[0]), -Math.sin(x[0]) * x[1]];
      case 'pow':
        away(x[0]);
        if (Number.isInteger(y[0]) && Math.abs(y[0]) <= 16 && !dependsOn(node.args[1])) {
          return power(x, y[0]);
        }
        need(x[0] > CLEARANCE);
        return exponential(times(y, logarithm(x)));
      case 'min':
        away(x[0] - y[0]);
        return x[0] < y[0] ? x : y;
      case 'max':
        away(x[0] - y[0]);
        return x[0] > y[0] ? x : y;
      case 'select':
        return x[0] === 1 ? y : z;
      default:
        away(x[0] - y[0]);
        return [compare(node.op, x[0], y[0]) ? 1 : 0, 0];
    }
  };
  const [, im] = visit(expr);
  return { value: im / STEP, clear, largest };
}

const ZERO: Complex = [0, 0];

function times(a: Complex, b: Complex): Complex {
  return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
}

function inverse(x: Complex): Complex {
  const size = x[0] * x[0] + x[1] * x[1];
  return [x[0] / size, -x[1] / size];
}

function root(x: Complex): Complex {
  const re = Math.sqrt((x[0] + Math.hypot(x[0], x[1])) / 2);
  return [re, x[1] / (2 * re)];
}

function exponential(x: Complex): Complex {
  const size = Math.exp(x[0]);
  return [size * Math.cos(x[1]), size * Math.sin(x[1])];
}

function logarithm(x: Complex): Complex {
  return [Math.log(Math.hypot(x[0], x[1])), Math.atan2(x[1], x[0])];
}

function hyperbolicTangent(x: Complex): Complex {
  const size = Math.cosh(2 * x[0]) + Math.cos(2 * x[1]);
  return [Math.sinh(2 * x[0]) / size, Math.sin(2 * x[1]) / size];
}

function power(x: Complex, n: number): Complex {
  let result: Complex = [1, 0];
  for (let i = 0; i < Math.abs(n); i++) result = times(result, x);
  return n < 0 ? inverse(result) : result;
}

function compare(op: string, a: number, b: number): boolean {
  return { lt: a < b, le: a <= b, gt: a > b, ge: a >= b, eq: a === b, ne: a !== b }[op] ?? false;
}
