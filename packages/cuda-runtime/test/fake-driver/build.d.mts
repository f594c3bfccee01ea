export function buildFakeDriver(): Promise<string>;
export function buildFakeNvrtc(major: number): Promise<string>;
