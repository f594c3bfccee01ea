/** The numbers 0 to count - 1. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** `text` with every non-empty line indented by `spaces`. */
export function indent(text: string, spaces = 2): string {
  const pad = ' '.repeat(spaces);
  return text
    .split('\n')
    .map((line) => (line === '' ? line : pad + line))
    .join('\n');
}

/** `body` for every `counter` below `count`, as a loop of CUDA C++ that the compiler writes out. */
export const unrolled = (counter: string, count: number, body: string): string =>
  lines(
    '#pragma unroll',
    `for (int ${counter} = 0; ${counter} < ${count}; ++${counter}) {`,
    indent(body),
    '}',
  );

/** The non-empty parts, one after the other, one line break between them. */
export function lines(...parts: readonly (string | undefined | false)[]): string {
  return parts.filter((part): part is string => typeof part === 'string' && part !== '').join('\n');
}
