import { type FunctionText, hornerText, doubleLiteral } from './pieces.js';

/** Below, the power series; above, Miller's recurrence. */
const SERIES_LIMIT = 2;
/** From here on, Hankel's expansion. */
const FAR = 30;
/** Where Miller's recurrence begins: J of this order is nothing beside what is wanted, for |x| < 30. */
const FIRST_ORDER = 80;
const SERIES_TERMS = 14;
const HANKEL_TERMS = 20;

/**
 * The Bessel function of the first kind of integer order. Near 0 the power series (Abramowitz and Stegun
 * 9.1.10), then Miller's backward recurrence (9.12), far out Hankel's expansion of orders 0 and 1 (9.2.5)
 * and the recurrence upwards, which is stable for orders below |x|.
 */
export function besselJText(order: number): FunctionText {
  const n = Math.abs(order);
  const [p0, q0] = hankel(0);
  const [p1, q1] = hankel(1);
  const upward =
    n < 2
      ? `Wide far = ${n === 0 ? 'first' : 'second'};`
      : `Wide before = first, far = second;
for (int k = 1; k < ${n}; k++) {
  const Wide next = (double)k * two * far - before;
  before = far;
  far = next;
}`;
  const first =
    n === 1
      ? ''
      : `const Wide first = scale * (${hornerText(p0, 'w2')} * (c + s) - w * ${hornerText(q0, 'w2')} * (s - c));\n`;
  const second =
    n === 0
      ? ''
      : `const Wide second = scale * (${hornerText(p1, 'w2')} * (s - c) + w * ${hornerText(q1, 'w2')} * (s + c));\n`;
  const sign =
    n % 2 === 0 ? '' : `value = with_sign(wide(1.0), x) * ${order < 0 ? '-value' : 'value'};`;
  return {
    needs: ['bits', 'sinCos'],
    body: `const Wide size = size_of(x), z = size * size * 0.25;
const Wide series = ${seriesFactor(n)}${hornerText(series(n), 'z')};
const Wide two = 2.0 / size;
Wide above = wide(0.0), here = wide(1e-250), total = wide(0.0)${n === 0 ? '' : ', wanted = wide(0.0)'};
for (int k = ${FIRST_ORDER}; k > 0; k--) {
  ${n === 0 ? '' : `if (k == ${n}) wanted = here;`}
  if (k % 2 == 0) total = total + 2.0 * here;
  const Wide below = (double)k * two * here - above;
  above = here;
  here = below;
}
const Wide middle = ${n === 0 ? 'here' : 'wanted'} / (total + here);
Wide s, c;
sin_cos(size, s, c);
const Wide w = 1.0 / size, w2 = w * w;
const Wide scale = 1.0 / wide_sqrt(3.141592653589793 * size);
${first}${second}${upward}
far = size == WIDE_INFINITY ? wide(0.0) : far;
Wide value = size <= ${doubleLiteral(SERIES_LIMIT)} ? series : size < ${doubleLiteral(FAR)} ? middle : far;
${sign}
return x == x ? value : x;`,
  };
}

/** (x / 2)^n / n!, of which the powers of x / 2 are products. */
function seriesFactor(n: number): string {
  return Array<string>(n).fill('(0.5 * size) * ').join('');
}

/** Coefficients of J_n(x) / (x / 2)^n in powers of x^2 / 4. */
function series(n: number): number[] {
  let term = 1;
  for (let k = 2; k <= n; k++) term /= k;
  const coefficients: number[] = [];
  for (let k = 0; k < SERIES_TERMS; k++) {
    coefficients.push(term);
    term /= -(k + 1) * (k + 1 + n);
  }
  return coefficients;
}

/** P and x Q of Hankel's expansion in powers of x^-2. */
function hankel(n: number): [p: number[], q: number[]] {
  const mu = 4 * n * n;
  const [p, q]: [number[], number[]] = [[1], []];
  let term = 1;
  for (let k = 1; k < HANKEL_TERMS; k++) {
    term *= (mu - (2 * k - 1) ** 2) / (k * 8);
    (k % 2 === 0 ? p : q).push(k % 4 < 2 ? term : -term);
  }
  return [p, q];
}
