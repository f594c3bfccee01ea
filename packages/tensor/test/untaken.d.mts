export function untaken(work: () => Promise<unknown>): Promise<unknown[]>;
