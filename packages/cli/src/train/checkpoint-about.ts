import type { CheckpointHeader } from '@mercer/core';
import { printable } from '@mercer/core/npy';
import { CliError } from '../cli-error.js';
import { MODEL_NAMES, type ModelName } from './models.js';
import { OPTIMISER_NAMES, type OptimiserName } from './optimisers.js';

/** What decides a run, on one device bit for bit. */
export interface RunSettings {
  readonly model: ModelName;
  readonly optimizer: OptimiserName;
  readonly learningRate: number;
  /** Images of a step. */
  readonly batch: number;
  readonly seed: number;
  /** When the run ends. */
  readonly steps: number;
}

/** A point of a curve of losses. */
export interface CurvePoint {
  readonly step: number;
  readonly seconds: number;
  /** The mean over the steps since the point before. */
  readonly loss: number;
}

/** What a checkpoint says of the run that it is of. */
export interface About extends RunSettings {
  readonly program: typeof PROGRAM;
  readonly seconds: number;
  readonly curve: readonly (readonly [step: number, seconds: number, loss: number])[];
}

const PROGRAM = 'mercer train digits';

export const aboutOf = (
  settings: RunSettings,
  seconds: number,
  curve: readonly CurvePoint[],
): Readonly<Record<keyof About, unknown>> => ({
  program: PROGRAM,
  ...settings,
  seconds,
  curve: curve.map((point) => [point.step, point.seconds, point.loss]),
});

/** What a checkpoint says of its run. @throws CliError BAD_CHECKPOINT for one of another program, or one that was changed */
export function readAbout({ about }: CheckpointHeader, path: string): About {
  const { program, model, optimizer, learningRate, batch, seed, steps, seconds, curve } =
    about as Readonly<Record<keyof About, unknown>>;
  const whole = (value: unknown, least: number): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least;
  const isRight =
    program === PROGRAM &&
    MODEL_NAMES.some((name) => name === model) &&
    OPTIMISER_NAMES.some((name) => name === optimizer) &&
    isNonNegative(learningRate) &&
    whole(batch, 1) &&
    whole(seed, 0) &&
    whole(steps, 1) &&
    isNonNegative(seconds) &&
    Array.isArray(curve) &&
    curve.every(
      (point) => Array.isArray(point) && point.length === 3 && point.every(isNonNegative),
    );
  if (isRight) return about as unknown as About;
  throw new CliError(
    'BAD_CHECKPOINT',
    `Cannot resume '${printable(path)}': it is a checkpoint, and not one of ${PROGRAM}. Name a file that --checkpoint or Ctrl-C wrote.`,
  );
}

const isNonNegative = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
