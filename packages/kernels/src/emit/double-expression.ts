import { applyRule, postOrder, type Expr, type RuleTable, variables } from '@mercer/formula/plan';
import { infixRules } from './infix-rules.js';

/**
 * Whether an expression reads launch scalars and nothing else, and calls no function: what is computed
 * once a launch is written with the C library's functions, which has not all of ours.
 */
export function isUniform(node: Expr, isLaunchScalar: (name: string) => boolean): boolean {
  const names = variables(node);
  return (
    names.length > 0 &&
    names.every(isLaunchScalar) &&
    !postOrder(node).some(({ op }) => op === 'call')
  );
}

/** How a dialect of C++ writes scalars in double precision. */
export interface DoubleDialect {
  readonly literal: (value: number) => string;
  readonly variable: (name: string) => string;
  /** The name of a function of the C mathematics library: `exp` is `__builtin_exp` on the host. */
  readonly mathFunction: (name: string) => string;
}

/**
 * An expression of launch scalars as one C++ expression in double precision; a comparison gives a
 * `bool`. It is meant for what is computed once a launch, so it calls the mathematics library; what
 * every operation means is what `evaluate` says. A subexpression that occurs twice is written once,
 * so the text grows with the number of distinct nodes.
 */
export function emitDoubleExpression(expr: Expr, dialect: DoubleDialect): string {
  const rules = ruleTable(dialect);
  const order = postOrder(expr);
  const uses = new Map<Expr, number>();
  for (const { args } of order) for (const arg of args) uses.set(arg, (uses.get(arg) ?? 0) + 1);
  const locals: string[] = [];
  const text = new Map<Expr, string>();
  for (const node of order) {
    const value = applyRule(
      rules,
      node,
      node.args.map((arg) => text.get(arg) ?? ''),
    );
    if (node.args.length === 0 || (uses.get(node) ?? 0) < 2) {
      text.set(node, value);
      continue;
    }
    const local = `w${locals.length}`;
    locals.push(`const auto ${local} = ${value};`);
    text.set(node, local);
  }
  const result = text.get(expr) ?? '';
  return locals.length === 0 ? result : `[&] { ${locals.join(' ')} return ${result}; }()`;
}

const PARENTHESISED = infixRules((a, symbol, b) => `(${a} ${symbol} ${b})`);

function ruleTable({ literal, variable, mathFunction }: DoubleDialect): RuleTable<string> {
  const call =
    (name: string) =>
    (args: readonly string[]): string =>
      `${mathFunction(name)}(${args.join(', ')})`;
  // A function without a name, so that an argument is written once and evaluated once.
  const inline =
    (parameters: string, value: string) =>
    (args: readonly string[]): string =>
      `[](${parameters}) { return ${value}; }(${args.join(', ')})`;
  return {
    const: (_, { value }) => literal(value),
    var: (_, { name }) => variable(name),
    ...PARENTHESISED,
    neg: ([x]) => `(-${x})`,
    abs: call('fabs'),
    sign: inline('double x', 'x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x'),
    sqrt: call('sqrt'),
    rsqrt: inline('double x', `x == 0.0 ? 0.0 : 1.0 / ${mathFunction('sqrt')}(x)`),
    pow: call('pow'),
    exp: call('exp'),
    log: call('log'),
    tanh: call('tanh'),
    // A comparison with NaN is false, so the second argument's NaN is taken as it is.
    min: inline('double x, double y', 'x < y || x != x ? x : y'),
    max: inline('double x, double y', 'x > y || x != x ? x : y'),
    select: ([condition, a, b]) => `(${condition} ? ${a} : ${b})`,
    call: (_, { fn }) => {
      throw new RangeError(
        `cannot emit '${fn}' of launch scalars: what is computed once a launch calls no function. ` +
          `Let isUniform decide what is.`,
      );
    },
  };
}
