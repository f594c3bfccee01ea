/** What stands in a hole of {@link cpp}: text, a number, or lists of lines; nothing is `''`, false or undefined. */
type Hole = string | number | false | undefined | readonly (string | false | undefined)[];

/** Where holes are: no text of a kernel has it. */
const HOLE = '\u0000';

/** The lines of a template, less what all are indented by and the empty ones at its ends. */
const templates = new WeakMap<TemplateStringsArray, readonly string[]>();

function templateLines(strings: TemplateStringsArray): readonly string[] {
  const known = templates.get(strings);
  if (known !== undefined) return known;
  const all = strings.join(HOLE).replace(/^ *\n/, '').replace(/\n *$/, '').split('\n');
  const depths = all.flatMap((line) => (line.trim() === '' ? [] : [line.search(/[^ ]/)]));
  const common = Math.min(...depths);
  const made = all.map((line) => line.slice(common));
  templates.set(strings, made);
  return made;
}

/**
 * C++ as a template that looks like it. What all lines are indented by does not count, nor do line breaks at both ends. A hole that is alone
 * on its line takes whole lines, as far in as it stands; where there are none its line is left out.
 */
export function cpp(strings: TemplateStringsArray, ...holes: readonly Hole[]): string {
  let next = 0;
  const textOf = (): string => {
    const hole = holes[next++];
    return typeof hole === 'object' ? lines(...hole) : hole === false ? '' : String(hole ?? '');
  };
  const written: string[] = [];
  for (const line of templateLines(strings)) {
    const pad = line.length - 1;
    if (line.endsWith(HOLE) && line.trim() === HOLE) {
      const text = textOf();
      if (text !== '') written.push(indent(text, pad));
    } else {
      written.push(line.replaceAll(HOLE, textOf));
    }
  }
  return written.join('\n');
}

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
