import { printable } from '@mercer/core/npy';
import type { Colors } from './color.js';
import { safeLines } from './safe-text.js';

const MAX_CAUSES = 5;
const MAX_TEXT = 4000;

/**
 * One readable block for standard error: the message, its code, what caused it where that says more, and how to see more.
 * The stack is added for `debug` only.
 */
export function errorBlock(error: unknown, colors: Colors, debug: boolean): string {
  const lines = [`${colors.red(colors.bold('error:'))} ${indent(messageOf(error))}`];
  const code = codeOf(error);
  if (code !== undefined) lines.push(colors.dim(`  code: ${code}`));
  const causes = causesOf(error);
  let said = messageOf(error);
  for (const cause of causes) {
    const text = messageOf(cause);
    if (!said.includes(text)) lines.push(colors.dim(`  caused by: ${indent(text)}`));
    said = text;
  }
  if (debug) {
    lines.push(stackOf(error));
    for (const cause of causes) lines.push('caused by:', stackOf(cause));
  }
  return lines.join('\n') + '\n';
}

/** The exit status of an error: its own `exitCode` when it has one, else 1. */
export function exitCodeOf(error: unknown): number {
  const code = (error as { exitCode?: unknown } | null)?.exitCode;
  return typeof code === 'number' && code > 0 ? code : 1;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return safeLines(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} ...` : text);
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' || typeof code === 'number' ? printable(String(code)) : undefined;
}

/** The chain of causes, of bounded length: an error may name itself. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  let next = error;
  while (next instanceof Error && causes.length < MAX_CAUSES) {
    next = next.cause;
    if (next === undefined || next === null) break;
    causes.push(next);
  }
  return causes;
}

/** Lines of the message after its first are indented, so that no text in it looks like a line of ours. */
function stackOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return safeLines(text).replace(/\n(?! {4}at )/g, '\n  ');
}

function indent(text: string): string {
  return text.trimEnd().replaceAll('\n', '\n  ');
}
