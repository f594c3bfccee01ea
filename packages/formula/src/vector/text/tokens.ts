import { FormulaError } from '../../formula-error.js';

/** A piece of text and where it begins, from 0. */
export interface Token {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

const PATTERN =
  /(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_][A-Za-z0-9_]*)|(?<symbol>\*\*|[<>=!]=|[-+*/|<>(),[\]=;])/y;
const SPACE = /[ \t\r\n]*/y;

/** The error for text that does not read as a formula; `at` counts from 0. */
export function syntaxError(
  text: string,
  at: number,
  problem: string,
  remedy: string,
): FormulaError {
  const from = Math.max(0, at - 12);
  const shown = `${from > 0 ? '...' : ''}${text.slice(from, at)}»${text.slice(at, at + 20)}${
    at + 20 < text.length ? '...' : ''
  }`;
  return new FormulaError(
    'SYNTAX',
    `cannot read the formula at position ${at}: ${problem}. ${remedy} Near: ${JSON.stringify(shown)}`,
  );
}

/** Splits text into tokens, an end token last. Throws `FormulaError` with code `SYNTAX`. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    PATTERN.lastIndex = at;
    const match = PATTERN.exec(text);
    if (match === null) {
      const character = String.fromCodePoint(text.codePointAt(at)!);
      throw syntaxError(
        text,
        at,
        `found ${JSON.stringify(character)}, which is no part of the language`,
        character === '^'
          ? "A power is written with '**'."
          : 'Use names, numbers and + - * / ** | < > ( ) [ ] , only.',
      );
    }
    const kind =
      match.groups!['number'] !== undefined
        ? 'number'
        : match.groups!['name'] !== undefined
          ? 'name'
          : 'symbol';
    tokens.push({ kind, text: match[0], at });
    at += match[0].length;
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

function skip(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

/** A token as a message shows it. */
export function shown(token: Token): string {
  if (token.kind === 'end') return 'the end of the text';
  return JSON.stringify(token.text.length > 40 ? `${token.text.slice(0, 37)}...` : token.text);
}
