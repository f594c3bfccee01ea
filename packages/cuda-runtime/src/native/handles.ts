declare const kind: unique symbol;
/** An opaque, type-tagged handle of the addon. */
export interface Handle<K extends string> {
  readonly [kind]: K;
}
export type DeviceHandle = Handle<'device'>;
export type StreamHandle = Handle<'stream'>;
export type EventHandle = Handle<'event'>;
export type BufferHandle = Handle<'buffer'>;
export type PinnedHandle = Handle<'pinned'>;
export type ModuleHandle = Handle<'module'>;
export type FunctionHandle = Handle<'function'>;
export type GraphHandle = Handle<'graph'>;
export type GraphExecHandle = Handle<'graphExec'>;
export type CommunicatorHandle = Handle<'communicator'>;
