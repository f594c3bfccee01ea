import type { Classification } from './classification.js';

/** One classification of the held-out digits: a norm on a device. */
export interface DemoRun {
  readonly device: string;
  readonly deviceName: string;
  readonly p: number;
  readonly classification: Classification;
  /** First call: generating, compiling or fetching the kernel, and running it. */
  readonly firstMs: number;
  /** The distances alone once the kernel is there, median of several calls. */
  readonly distanceMs: number;
  /** Copying the distances to the host and voting there. */
  readonly voteMs: number;
}

/** Everything that the demo measured; the report is drawn from it. */
export interface DemoResult {
  readonly command: string;
  readonly trainCount: number;
  readonly testCount: number;
  readonly pixelCount: number;
  readonly k: number;
  readonly machine: { readonly cpu: string; readonly node: string; readonly platform: string };
  readonly runs: readonly DemoRun[];
  readonly startedAt: string;
}
