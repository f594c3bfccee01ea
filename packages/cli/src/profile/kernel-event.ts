import type { ProfileRecord } from '@mercer/core';
import { CliError } from '../cli-error.js';

/** One kernel launch as a profiled program records it. */
export type KernelEvent = Omit<ProfileRecord, 'scalars'>;

/** Reads the JSON lines that a profiled program wrote; a last line that was cut off by its death is left out. */
export function parseProfile(text: string): KernelEvent[] {
  const lines = text.split('\n');
  const cutOff = lines.pop() ?? '';
  const events = lines.filter((line) => line !== '').map(parseLine);
  if (cutOff !== '') {
    try {
      events.push(parseLine(cutOff));
    } catch {
      // Half a record of a program that was killed.
    }
  }
  return events;
}

function parseLine(line: string): KernelEvent {
  let value: Partial<KernelEvent> | null;
  try {
    value = JSON.parse(line) as Partial<KernelEvent> | null;
  } catch (cause) {
    throw badRecord(line, cause);
  }
  const { name, device, stream, startMs, durationMs } = value ?? {};
  if (
    typeof name !== 'string' ||
    typeof device !== 'string' ||
    typeof stream !== 'string' ||
    typeof startMs !== 'number' ||
    typeof durationMs !== 'number'
  ) {
    throw badRecord(line);
  }
  const cost = value?.cost;
  return { name, device, stream, startMs, durationMs, ...(cost === undefined ? {} : { cost }) };
}

function badRecord(line: string, cause?: unknown): CliError {
  return new CliError(
    'BAD_PROFILE',
    `Cannot read the profile: '${line.slice(0, 80)}' is no launch record. Use the same version of Mercer in the program and on the command line.`,
    { cause },
  );
}
