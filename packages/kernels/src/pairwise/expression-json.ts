import {
  arityOf,
  build,
  call,
  constant,
  fold,
  OPS,
  variable,
  type CallNode,
  type Expr,
  type MathOp,
  type RealExpr,
  type RuleTable,
} from '@mercer/formula';

/**
 * An expression as plain data: a number, a variable's name, or an operation and its arguments.
 * A function is ['call', its name, its fixed numbers, its arguments]. Numbers that JSON does not have are ['const', 'Infinity'], ['const', '-Infinity'], ['const', 'NaN'].
 */
export type ExpressionJson = number | string | ExpressionTuple;

/** The operation's name, then its arguments. */
export interface ExpressionTuple extends ReadonlyArray<ExpressionJson> {
  readonly 0: string;
}

const nested =
  (op: string) =>
  (args: readonly ExpressionJson[]): ExpressionJson => [op, ...args];

const JSON_RULES = {
  ...Object.fromEntries(OPS.map((op) => [op, nested(op)])),
  const: (_: unknown, { value }: { value: number }) =>
    Number.isFinite(value) && !Object.is(value, -0) ? value : ['const', literal(value)],
  var: (_: unknown, { name }: { name: string }) => name,
  call: (args: readonly ExpressionJson[], { fn, attributes }: CallNode) => [
    'call',
    fn,
    ...attributes,
    ...args,
  ],
} as unknown as RuleTable<ExpressionJson>;

/** `expr` as plain data. */
export function toJson(expr: Expr): ExpressionJson {
  return fold(JSON_RULES, expr);
}

/** The expression that {@link toJson} wrote. */
export function fromJson(json: ExpressionJson): Expr {
  if (typeof json === 'number') return constant(json);
  if (typeof json === 'string') return variable(json);
  const [op, ...args] = json;
  if (op === 'const') return constant(Number(args[0]));
  if (op === 'call') {
    const [fn, ...rest] = args;
    const numbers = arityOf(fn as MathOp)[1];
    const operands = rest.slice(numbers).map((arg) => fromJson(arg) as RealExpr);
    return call(fn as MathOp, operands, rest.slice(0, numbers).map(Number));
  }
  return build(op as Parameters<typeof build>[0], args.map(fromJson));
}

function literal(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}
