/** In the place of store/store-session.ts: a page has no store. The interpreter compiles nothing, so nothing is to be kept but in memory. */
export class StoreSession {
  readonly path = undefined;
  readonly driver = undefined;
  readonly state = 'memory';
  readonly reason = 'a page has no store';
  readonly hasRoom = false;

  open = (): Promise<undefined> => Promise.resolve(undefined);
  read = this.open;
  write = this.open;
  close(): void {
    return undefined;
  }
}
