import type { CpuExpression } from './cpu-expression.js';

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
