export function nvrtcEnvironment(): Record<string, string>;
export function useNvrtc(): void;
export function nvrtcFound(): boolean;
