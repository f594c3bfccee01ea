export function buildFakeDriver(): Promise<string>;
export function buildFakeNvrtc(major: number): Promise<string>;
export function buildFakeCusolver(major?: number): Promise<string>;
export function buildFakeCublasLt(major?: number): Promise<string>;
export function buildFakeNccl(version?: number): Promise<string>;
export function buildFakeCublas(major?: number): Promise<string>;
