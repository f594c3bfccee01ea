import {
  applyRule,
  isNonNegative,
  postOrder,
  type Expr,
  type RuleTable,
} from '@mercer/formula/plan';
import type { PairwiseDType } from '../dtype.js';
import { cpuLiteral } from './literals.js';
import type { CpuHelper } from './cpu-math.js';
import { expandAllFunctions } from '../math/expand-functions.js';
import { mathFunction, mathName } from '../math/math-function.js';
import { INFIX_RULES } from './infix-rules.js';
import { isUniform, emitDoubleExpression } from './double-expression.js';

/** How an expression is written. */
export interface CpuExpressionOptions {
  readonly dtype: PairwiseDType;
  /** Name of the function that is written. */
  readonly name: string;
  /** The variables that become its vector parameters, in order. */
  readonly parameters: readonly string[];
  /** C++ text of the launch scalars by the name of the variable; they are held in double. */
  readonly uniforms: Readonly<Record<string, string>>;
  /** Variables that are never below 0. */
  readonly nonNegative?: readonly string[] | undefined;
}

/** An expression as a function over vectors. */
export interface CpuExpression {
  /** The function's definition. */
  readonly text: string;
  /** A call of it with these arguments. */
  readonly call: (...args: readonly string[]) => string;
  /** Double-precision expressions of launch scalars that the function takes as vectors. */
  readonly uniforms: readonly UniformValue[];
  readonly helpers: ReadonlySet<CpuHelper>;
}

/** A value that is the same for a whole launch. */
export interface UniformValue {
  /** Name of the vector; `<name>_low` is what rounding it to the data type lost. */
  readonly name: string;
  /** C++ text of its value in double precision; it may call builtins of the mathematics library. */
  readonly value: string;
}

/**
 * Writes an expression as a host C++ function over vectors `V` (see `vectorPrelude`). Every distinct
 * node is computed once; constants have the data type; min and max keep NaN. What depends on launch
 * scalars alone, comparisons too, is computed once per launch in double precision.
 */
export function emitCpuExpression(expr: Expr, options: CpuExpressionOptions): CpuExpression {
  return emitFunction([expr], options, ([result = '']) => ({
    type: 'V',
    out: [],
    end: `  return ${result};`,
  }));
}

/** Writes several expressions as one function, whose last arguments take the values; what they share is computed once. */
export function emitCpuExpressions(
  exprs: readonly Expr[],
  options: CpuExpressionOptions,
): CpuExpression {
  return emitFunction(exprs, options, (results) => ({
    type: 'void',
    out: results.map((_, r) => `V& value${r}`),
    end: results.map((result, r) => `  value${r} = ${result};`).join('\n'),
  }));
}

function emitFunction(
  exprs: readonly Expr[],
  options: CpuExpressionOptions,
  ending: (results: readonly string[]) => {
    readonly type: string;
    readonly out: readonly string[];
    readonly end: string;
  },
): CpuExpression {
  const { name, parameters } = options;
  const { statements, uniforms, text, helpers } = writeNodes(exprs, options);
  const { type, out, end } = ending(exprs.map((expr) => text.get(expr) ?? ''));
  const lines = [...statements, end];
  const used = uniforms.filter(({ name: u }) =>
    lines.some((line) => mentions(line, u) || mentions(line, `${u}_low`)),
  );
  const vector = (p: string): string =>
    lines.some((line) => mentions(line, p)) ? `V ${p}` : `UNUSED V ${p}`;
  const all = [
    ...parameters.map(vector),
    ...out,
    ...used.flatMap((u) => [u.name, `${u.name}_low`]).map(vector),
  ];
  return {
    text: `INLINE ${type} ${name}(${all.join(', ')}) {\n${lines.join('\n')}\n}`,
    call: (...args) =>
      `${name}(${[...args, ...used.flatMap((u) => [u.name, `${u.name}_low`])].join(', ')})`,
    uniforms: used.map(({ name: u, node }) => ({
      name: u,
      value: doubleText(node, options.uniforms),
    })),
    helpers,
  };
}

/** Expressions as statements over vectors, without launch scalars. */
export interface CpuStatements {
  /** Declarations of shared subexpressions, in order. */
  readonly statements: readonly string[];
  /** The value of each expression. */
  readonly results: readonly string[];
  readonly helpers: ReadonlySet<CpuHelper>;
}

/**
 * Writes several expressions as statements over vectors; what they share is computed once. Their
 * variables are `parameters`, vectors in scope where the statements stand.
 */
export function emitCpuStatements(
  exprs: readonly Expr[],
  options: Omit<CpuExpressionOptions, 'uniforms'>,
): CpuStatements {
  const { statements, text, helpers } = writeNodes(exprs, { ...options, uniforms: {} });
  return { statements, results: exprs.map((expr) => text.get(expr) ?? ''), helpers };
}

interface WrittenNodes {
  readonly statements: readonly string[];
  readonly uniforms: readonly { readonly name: string; readonly node: Expr }[];
  readonly text: ReadonlyMap<Expr, string>;
  readonly helpers: ReadonlySet<CpuHelper>;
}

/** Every distinct node of the expressions: its text, and a statement where it has arguments. */
function writeNodes(originals: readonly Expr[], given: CpuExpressionOptions): WrittenNodes {
  const options = { nonNegative: undefined, ...given };
  const exprs = expandAllFunctions(originals);
  const { dtype, name } = options;
  const helpers = new Set<CpuHelper>();
  const statements: string[] = [];
  const uniforms: { readonly name: string; readonly node: Expr }[] = [];
  const text = new Map<Expr, string>();
  const launched = Object.keys(options.uniforms).length > 0;
  const low = (node: Expr): string => lowPart(node, uniforms, text, dtype);
  const rules = ruleTable({ ...options, helpers, low });
  for (const node of postOrder(...exprs)) {
    if (launched && isUniform(node, (name) => Object.hasOwn(options.uniforms, name))) {
      const value = `${name}_u${uniforms.length}`;
      uniforms.push({ name: value, node });
      text.set(node, node.type === 'bool' ? `(${value} != splat(0))` : value);
      continue;
    }
    const args = node.args.map((arg) => text.get(arg) ?? '');
    const value = applyRule(rules, node, args);
    if (node.args.length === 0) {
      text.set(node, value);
      continue;
    }
    const local = `t${statements.length}`;
    statements.push(`  const ${node.type === 'bool' ? 'I' : 'V'} ${local} = ${value};`);
    text.set(node, local);
  }
  originals.forEach((original, n) => {
    text.set(original, text.get(exprs[n] ?? original) ?? '');
  });
  return { statements, uniforms, text, helpers };
}

const mentions = (line: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(line);

interface RuleContext extends CpuExpressionOptions {
  readonly helpers: Set<CpuHelper>;
  /** What the exponent of a power lost to rounding, as text. */
  readonly low: (power: Expr) => string;
}

function ruleTable(context: RuleContext): RuleTable<string> {
  const { dtype, helpers } = context;
  const call =
    (helper: CpuHelper, name: string) =>
    (args: readonly string[]): string => {
      helpers.add(helper);
      return `${name}(${args.join(', ')})`;
    };
  return {
    const: (_, { value }) => `splat(${cpuLiteral(value, dtype)})`,
    var: (_, { name }) => {
      if (context.parameters.includes(name)) return name;
      throw new RangeError(
        `cannot emit '${name}': the function '${context.name}' has no such variable. ` +
          `Use ${context.parameters.join(', ')}.`,
      );
    },
    ...INFIX_RULES,
    neg: ([x]) => `-${x}`,
    abs: call('abs', 'abs_v'),
    sign: call('sign', 'sign_v'),
    sqrt: call('sqrt', 'sqrt_v'),
    rsqrt: call('rsqrt', 'rsqrt_v'),
    pow: ([x, y], node) =>
      isNonNegative(node.args[0], context.nonNegative)
        ? call('powNonNegative', 'pow_nonnegative')([x, y, context.low(node)])
        : call('powAny', 'pow_any')([x, y]),
    exp: call('exp', 'exp_v'),
    log: call('log', 'log_v'),
    tanh: call('tanh', 'tanh_v'),
    min: call('min', 'min_v'),
    max: call('max', 'max_v'),
    select: call('blend', 'blend_v'),
    call: (args, node) => call(mathFunction(node), mathName(node))(args),
  };
}

/** What the exponent of a power loses when it is rounded to the data type. */
function lowPart(
  power: Expr,
  uniforms: readonly { readonly name: string }[],
  text: ReadonlyMap<Expr, string>,
  dtype: PairwiseDType,
): string {
  const exponent = power.args[1];
  if (exponent?.value !== undefined && dtype === 'float32' && Number.isFinite(exponent.value)) {
    return `splat(${cpuLiteral(exponent.value - Math.fround(exponent.value), dtype)})`;
  }
  const name = exponent === undefined ? undefined : text.get(exponent);
  return uniforms.some((u) => u.name === name) ? `${name ?? ''}_low` : 'splat(0)';
}

/** C++ text of a uniform expression in double precision; a comparison is 1 or 0. */
function doubleText(node: Expr, uniforms: Readonly<Record<string, string>>): string {
  const text = emitDoubleExpression(node, {
    literal: (value) => cpuLiteral(value, 'float64'),
    variable: (name) => uniforms[name] ?? '',
    mathFunction: (name) => `__builtin_${name}`,
  });
  return node.type === 'bool' ? `(${text} ? 1.0 : 0.0)` : text;
}

/**
 * The struct that keeps values of expressions that depend on the launch's scalars alone, as vectors, and `set_uniforms`, which fills it from
 * these scalars. What a value loses when it is rounded to the data type is kept beside it.
 */
export function uniformsText(
  expressions: readonly CpuExpression[],
  scalars: readonly string[],
): string {
  const all = expressions.flatMap(({ uniforms }) => uniforms);
  const members = all.map(({ name }) => `  V ${name}, ${name}_low;\n`).join('');
  const values = all.map(
    ({ name, value }) => `  const double ${name} = ${value};
  u.${name} = splat((T)${name});
  u.${name}_low = splat((T)(${name} - (double)(T)${name}));
`,
  );
  const [first = '', ...others] = scalars;
  const unused = [first, 'u', ...others].map((name) => `  (void)${name};\n`);
  return `// values that depend on launch scalars alone
struct Uniforms {
${members}};
INLINE void set_uniforms(Uniforms& u, ${scalars.map((name) => `double ${name}`).join(', ')}) {
${unused.join('')}${values.join('')}}`;
}

/** Local copies of the values that an expression's function takes. */
export const uniformLocals = ({ uniforms }: CpuExpression): string =>
  uniforms
    .map(({ name }) => `  const V ${name} = u.${name}, ${name}_low = u.${name}_low;\n`)
    .join('');
