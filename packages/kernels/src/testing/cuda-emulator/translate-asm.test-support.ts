/**
 * Inline assembly as calls of C++ functions: `asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y))`
 * becomes `(ptx_max_NaN_f32((r), (x), (y)))`. An instruction that is not `declared` is an error that names it.
 */
export function translateAsm(source: string, declared: ReadonlySet<string>): string {
  let result = '';
  let done = 0;
  for (const match of source.matchAll(/(?<!\/\/.*)\basm\s*(?:volatile\s*)?\(/g)) {
    const open = match.index + match[0].length;
    const close = closing(source, open);
    const text = source.slice(open, close);
    const newlines = '\n'.repeat(text.split('\n').length - 1);
    result += source.slice(done, match.index) + statement(text, declared) + newlines;
    done = close + 1;
  }
  return result + source.slice(done);
}

/** The position of the parenthesis that closes the one before `from`. */
function closing(source: string, from: number): number {
  let depth = 1;
  for (let i = from; i < source.length; i += 1) {
    if (source[i] === '"') i = endOfString(source, i);
    else if (source[i] === '(') depth += 1;
    else if (source[i] === ')' && (depth -= 1) === 0) return i;
  }
  throw new Error(`cannot translate: the parenthesis of an asm statement is never closed`);
}

function endOfString(source: string, from: number): number {
  let i = from + 1;
  while (i < source.length && source[i] !== '"') i += source[i] === '\\' ? 2 : 1;
  return i;
}

/** Splits at a separator outside strings and parentheses. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i] as string;
    if (c === '"') i = endOfString(text, i);
    else if ('([{'.includes(c)) depth += 1;
    else if (')]}'.includes(c)) depth -= 1;
    else if (c === separator && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

function statement(text: string, declared: ReadonlySet<string>): string {
  const [literals = '', outputs = '', inputs = ''] = split(text, ':');
  const template = [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
    .map((match) => (match[1] as string).replaceAll(/\\[nt]/g, ' '))
    .join('');
  const operands = [outputs, inputs]
    .flatMap((list) => split(list, ','))
    .filter((operand) => operand !== '')
    .map((operand) => {
      const expression = /^"[^"]*"\s*(\([\s\S]*\))$/.exec(operand)?.[1];
      if (expression === undefined) throw new Error(`cannot translate the operand ${operand}`);
      return expression.replaceAll('\n', ' ');
    });
  const calls = template
    .split(';')
    .map((instruction) => instruction.trim())
    .filter((instruction) => instruction !== '')
    .map((instruction) => call(instruction, operands, declared, template));
  return calls.length === 0 ? '((void)0)' : `(${calls.join(', ')})`;
}

function call(
  instruction: string,
  operands: readonly string[],
  declared: ReadonlySet<string>,
  template: string,
): string {
  const [, opcode = '', rest = ''] = /^([a-zA-Z][\w.:]*)\s*([\s\S]*)$/.exec(instruction) ?? [];
  const name = `ptx_${opcode.replaceAll(/\.L2::\d+B/g, '').replaceAll(/[.:]/g, '_')}`;
  if (!declared.has(name)) {
    throw new Error(
      `cannot translate the inline assembly "${template.trim()}": the emulator knows no ${opcode || instruction}. ` +
        `Add it to shim-ptx.test-support.ts.`,
    );
  }
  const args = rest
    .replaceAll(/[[\]{}]/g, '')
    .split(',')
    .map((arg) => arg.trim())
    .filter((arg) => arg !== '')
    .map((arg) => argument(arg, operands, template));
  return `${name}(${args.join(', ')})`;
}

function argument(arg: string, operands: readonly string[], template: string): string {
  const index = /^%(\d+)$/.exec(arg)?.[1];
  if (index !== undefined) {
    const operand = operands[Number(index)];
    if (operand !== undefined) return operand;
  }
  const register = /^%%(\w+)(?:\.([xyz]))?$/.exec(arg);
  const known = SPECIAL_REGISTERS[register?.[1] ?? ''];
  if (known !== undefined) return register?.[2] === undefined ? known : `${known}.${register[2]}`;
  const bits = /^0[fF]([\da-fA-F]{8})$/.exec(arg)?.[1];
  if (bits !== undefined) return `__int_as_float(0x${bits})`;
  if (/^-?(0x[\da-fA-F]+|\d+)$/.test(arg)) return arg;
  throw new Error(`cannot translate "${arg}" in the inline assembly "${template.trim()}"`);
}

const SPECIAL_REGISTERS: Readonly<Record<string, string>> = {
  tid: 'threadIdx',
  ntid: 'blockDim',
  ctaid: 'blockIdx',
  nctaid: 'gridDim',
  laneid: 'emu_lane()',
};
