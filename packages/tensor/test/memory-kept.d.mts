interface Counted {
  synchronize(): Promise<unknown>;
  memory(): { readonly liveBytes: number; readonly liveStorages: number; readonly leaks: number };
}
interface Kept {
  readonly bytes: number;
  readonly storages: number;
  readonly leaks: number;
}
export const NOTHING: Kept;
export function memoryKept(device: Counted, work: () => unknown): Promise<Kept>;
