export function codeOf(work: () => Promise<unknown>): Promise<unknown>;
