import type { Colors } from './color.js';

const MAX_CAUSES = 5;
const MAX_TEXT = 4000;

/**
 * One readable block for standard error: the message, its code, what caused it, and how to see more.
 * The stack is added for `debug` only.
 */
export function errorBlock(error: unknown, colors: Colors, debug: boolean): string {
  const lines = [`${colors.red(colors.bold('error:'))} ${indent(messageOf(error))}`];
  const code = codeOf(error);
  if (code !== undefined) lines.push(colors.dim(`  code: ${code}`));
  let cause = causeOf(error);
  for (let i = 0; i < MAX_CAUSES && cause !== undefined; i++) {
    lines.push(colors.dim(`  caused by: ${indent(messageOf(cause))}`));
    cause = causeOf(cause);
  }
  if (debug) {
    lines.push(stackOf(error));
    for (let c = causeOf(error); c !== undefined; c = causeOf(c))
      lines.push('caused by:', stackOf(c));
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
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} ...` : text;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : undefined;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== error ? (error.cause ?? undefined) : undefined;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function indent(text: string): string {
  return text.trimEnd().replaceAll('\n', '\n  ');
}
