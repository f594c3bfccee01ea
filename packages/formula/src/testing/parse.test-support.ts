import {
  build,
  call,
  constant,
  isApplyOp,
  variable,
  type ApplyOp,
  type Expr,
  type MathOp,
  type RealExpr,
} from '../plan.js';

const COMPARISONS: Readonly<Record<string, ApplyOp>> = {
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '==': 'eq',
  '!=': 'ne',
};
const SUMS: Readonly<Record<string, ApplyOp>> = { '+': 'add', '-': 'sub' };
const PRODUCTS: Readonly<Record<string, ApplyOp>> = { '*': 'mul', '/': 'div' };
const TOKEN = /\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_]\w*|[<>=!]=|[-+*/^(),<>])/y;

/** Reads the printer's grammar back, by recursive descent over tokens. */
export function parse(text: string): Expr {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    tokens.push(match[1] as string);
  }
  if (tokens.join('') !== text.replaceAll(' ', '')) throw new Error(`not a formula: ${text}`);
  let at = 0;
  const take = (wanted: string): void => {
    if (tokens[at++] !== wanted) throw new Error(`expected ${wanted} at ${at - 1} of ${text}`);
  };
  const leftmost = (table: Readonly<Record<string, ApplyOp>>, next: () => Expr): Expr => {
    let left = next();
    for (let op = table[tokens[at] ?? '']; op !== undefined; op = table[tokens[at] ?? '']) {
      at++;
      left = build(op, [left, next()]);
    }
    return left;
  };
  const comparison = (): Expr => leftmost(COMPARISONS, sum);
  const sum = (): Expr => leftmost(SUMS, product);
  const product = (): Expr => leftmost(PRODUCTS, signed);
  const signed = (): Expr => {
    if (tokens[at] !== '-') return power();
    at++;
    return build('neg', [signed()]);
  };
  const power = (): Expr => {
    const base = atom();
    if (tokens[at] !== '^') return base;
    at++;
    return build('pow', [base, power()]);
  };
  const atom = (): Expr => {
    const token = tokens[at++] ?? '';
    if (token === '(') {
      const inner = comparison();
      take(')');
      return inner;
    }
    if (/^\d/.test(token)) return constant(Number(token));
    if (token === 'inf') return constant(Infinity);
    if (token === 'nan') return constant(NaN);
    if (tokens[at] !== '(') return variable(token);
    at++;
    const args = [comparison()];
    while (tokens[at] === ',') {
      at++;
      args.push(comparison());
    }
    take(')');
    return isApplyOp(token) ? build(token, args) : call(token as MathOp, args as RealExpr[]);
  };
  const result = comparison();
  if (at !== tokens.length) throw new Error(`trailing text in ${text}`);
  return result;
}
