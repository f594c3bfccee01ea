interface Counted {
  synchronize(): Promise<unknown>;
  memory(): { readonly liveBytes: number; readonly leakedBytes: number };
}
interface Kept {
  readonly forgotten: number;
}
export const NOTHING: Kept;
export function undisposedBytes(...devices: readonly Pick<Counted, 'memory'>[]): number;
export function memoryKept(device: Counted, work: () => unknown): Promise<Kept>;
interface Report {
  readonly liveBytes: number;
  readonly leakedBytes: number;
  readonly tensors: number;
  readonly leaks: number;
}
type Undisposed = readonly [bytes: number, tensors: number];
export function undisposed(report: Report): Undisposed;
export function settledUndisposed(report: () => Report): Promise<Undisposed>;
