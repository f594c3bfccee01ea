interface Counted {
  synchronize(): Promise<unknown>;
  memory(): { readonly liveStorages: number; readonly leaks: number };
}
interface Kept {
  readonly forgotten: number;
}
export const NOTHING: Kept;
export function memoryKept(device: Counted, work: () => unknown): Promise<Kept>;
