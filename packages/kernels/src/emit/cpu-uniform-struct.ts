import type { CpuExpression } from './cpu-expression.js';

/**
 * Texts around the values of expressions that are the same for all elements: the members of the struct
 * that keeps them as vectors, and the statements that fill a struct `u`. What a value loses when it is
 * rounded to the data type is kept beside it.
 */
export function uniformStruct(expressions: readonly CpuExpression[]): {
  readonly members: string;
  readonly values: string;
} {
  const all = expressions.flatMap((expression) => expression.uniforms);
  return {
    members: all.map(({ name }) => `  V ${name}, ${name}_low;\n`).join(''),
    values: all
      .map(
        ({ name, value }) => `  const double ${name} = ${value};
  u.${name} = splat((T)${name});
  u.${name}_low = splat((T)(${name} - (double)(T)${name}));
`,
      )
      .join(''),
  };
}
