/**
 * Text from elsewhere (a file's name, a member's name, what a header says) as one line that a terminal shows and does not obey:
 * control characters, escape sequences, line ends, direction marks and halves of surrogate pairs are written as in JSON, `\u001b`.
 * Inside of JSON the result stands for the same text.
 *
 * ```ts
 * import { printable } from '@mercer/tensor/npy';
 * console.log(printable('a\u001b[2Jb')); // a\u001b[2Jb, and the screen stays as it is
 * ```
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (letter) => {
    const short = SHORT[letter];
    return short ?? letter.split('').map(escaped).join('');
  });
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The first letters of a name from a file, in quotes. */
export function quoted(name: string): string {
  return printable(JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}...` : name));
}
