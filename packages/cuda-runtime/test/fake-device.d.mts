export type FakeSetting =
  | 'TOTAL_BYTES'
  | 'DEVICES'
  | 'DRIVER_VERSION'
  | 'CAPABILITY'
  | 'POOLS'
  | 'PEER'
  | 'KERNEL_US'
  | 'LOOPS'
  | 'FAULT_AT'
  | 'GRAPH_LAUNCHES'
  | 'PINNED_BYTES'
  | 'PTX_TOO_NEW'
  | 'LOAD_WAITS'
  | 'COMPILE_MS'
  | 'COMPILE_RESULT'
  | 'SOLVER_US'
  | 'HOST_BYTES'
  | 'LU_ELEMENTS'
  | 'FAIL_CALL'
  | 'FAIL_STATUS'
  | 'FAIL_AFTER'
  | 'CALLS';
export function useFakeDriver(settings?: Partial<Record<FakeSetting, number>>): Promise<void>;
/** Chooses the fake cuSOLVER, cuBLASLt and cuBLAS. */
export function useFakeSolvers(): Promise<void>;
/** Chooses the fake NCCL. */
export function useFakeNccl(): Promise<void>;
export function fake(name: FakeSetting, value: number | string | undefined): void;
/** Lines "name argument ..." of what `work` made the fake libraries do. */
export function callsOf(work: () => unknown): Promise<string[]>;
/** How many captured works follow each other at most, of the last capture in lines that `callsOf` gave. */
export function longestLine(lines: readonly string[]): number;
export interface FakeCounts {
  readonly streams: number;
  readonly events: number;
  readonly buffers: number;
  readonly pinned: number;
  readonly modules: number;
  readonly graphs: number;
  readonly execs: number;
  readonly launches: number;
  readonly hostCalls: number;
  readonly trims: number;
  readonly pools: number;
  readonly contexts: number;
}
export function fakeCounts(addon: {
  deviceAttribute(index: number, attribute: number): number;
}): FakeCounts;
/** The counts once nothing changes any more. */
export function settledCounts(addon: {
  deviceAttribute(index: number, attribute: number): number;
}): Promise<FakeCounts>;
export function fakeImage(text: string): Uint8Array;
