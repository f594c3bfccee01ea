/** What a plan may know about a GPU. Sizes in bytes. */
export interface CudaLimits {
  readonly kind: 'cuda';
  /** Target of the compiler, with suffix: 'sm_90a'. */
  readonly arch: string;
  readonly computeCapability: readonly [major: number, minor: number];
  readonly multiprocessors: number;
  readonly maxThreadsPerBlock: number;
  /** Dynamic shared memory that one block may ask for. */
  readonly sharedMemPerBlockOptin: number;
  readonly sharedMemPerMultiprocessor: number;
  /** 32-bit registers of one multiprocessor. */
  readonly registersPerMultiprocessor: number;
  readonly l2Bytes: number;
  /** Bytes that the parameters of one launch may take; default 4096, which every driver takes. */
  readonly parameterBytes?: number;
}

/** What a plan may know about a CPU. Sizes in bytes. */
export interface CpuLimits {
  readonly kind: 'cpu';
  readonly level: 'x86-64-v2' | 'x86-64-v3' | 'x86-64-v4' | 'arm64' | 'wasm128';
  readonly cores: number;
  readonly l1Bytes: number;
  readonly l2Bytes: number;
  /** Kernels run as programs of the interpreter, which has no loops over components and no second steps. */
  readonly interpreted?: true;
}

/** What a plan may know about a device. */
export type DeviceLimits = CudaLimits | CpuLimits;

/** Bytes of parameters that every driver takes. */
const EVERY_DRIVER_TAKES = 4096;

/** Bytes that the parameters of one launch may take on a GPU. */
export const parameterLimit = (limits: DeviceLimits): number =>
  limits.kind === 'cuda' && Object.hasOwn(limits, 'parameterBytes')
    ? (limits.parameterBytes ?? EVERY_DRIVER_TAKES)
    : EVERY_DRIVER_TAKES;

/** Whether kernels run as programs of the interpreter. */
export const isInterpreted = (limits: DeviceLimits): boolean =>
  limits.kind === 'cpu' && Object.hasOwn(limits, 'interpreted') && limits.interpreted === true;
