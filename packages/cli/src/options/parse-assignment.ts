import { InvalidArgumentError } from 'commander';

/** A name on the command line and what it is given. */
export interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** Reads `name=value` and adds it to those read before, for an option that is given once for each name. */
export function parseAssignment(text: string, before: readonly Assignment[] = []): Assignment[] {
  const [, name, value] = /^\s*(\w+)\s*=\s*(\S.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError(
      `a name and a value such as x=x.npy are needed and it is '${text}'`,
    );
  }
  if (before.some((other) => other.name === name)) {
    throw new InvalidArgumentError(`'${name}' is given twice`);
  }
  return [...before, { name, value }];
}

/** Adds a text to those read before, for an option that is given more than once. */
export function collectText(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
