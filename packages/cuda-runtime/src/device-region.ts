import type { OptionNames } from '@mercer/options';
import type { DeviceBuffer } from './device-buffer.js';
import { handleOf } from './native/owned.js';
import type { BufferHandle } from './native/handles.js';
import { readOptions } from './read-options.js';

/** Device memory from a byte offset of a buffer on. A call throws `OUT_OF_RANGE` if it does not reach. */
export interface DeviceRegion {
  readonly buffer: DeviceBuffer;
  /** Default 0. */
  readonly byteOffset?: number;
}

/** A matrix in column-major order. */
export interface DeviceMatrix extends DeviceRegion {
  /** Elements from one column to the next, at least the number of rows and 1. */
  readonly leadingDimension: number;
}

/** Memory that a call may use until it is done. */
export interface DeviceWorkspace extends DeviceRegion {
  /** Default: up to the end of the buffer. */
  readonly bytes?: number;
}

const REGION: OptionNames<DeviceRegion> = { buffer: true, byteOffset: true };
const MATRIX: OptionNames<DeviceMatrix> = { ...REGION, leadingDimension: true };
const WORKSPACE: OptionNames<DeviceWorkspace> = { ...REGION, bytes: true };

/** A region as the addon takes it. */
export function regionOf(region: DeviceRegion): [buffer: BufferHandle, offset: number] {
  return placeOf(readOptions('a region of device memory', region, REGION));
}

/** The same for one that may be left out. */
export function optionalRegionOf(
  region: DeviceRegion | undefined,
): [buffer: BufferHandle, offset: number] | [undefined, 0] {
  return region === undefined ? [undefined, 0] : regionOf(region);
}

/** A matrix as the addon takes it. */
export function matrixOf(
  matrix: DeviceMatrix,
): [buffer: BufferHandle, offset: number, leading: number] {
  const read = readOptions('a matrix in device memory', matrix, MATRIX);
  return [...placeOf(read), read.leadingDimension];
}

/** The same for one that may be left out. */
export function optionalMatrixOf(
  matrix: DeviceMatrix | undefined,
): [buffer: BufferHandle, offset: number, leading: number] | [undefined, 0, leading: 1] {
  return matrix === undefined ? [undefined, 0, 1] : matrixOf(matrix);
}

/** A workspace as the addon takes it. */
export function workspaceOf(
  workspace: DeviceWorkspace | undefined,
): [buffer: BufferHandle, offset: number, bytes: number] | [undefined, 0, bytes: number] {
  if (workspace === undefined) return [undefined, 0, 0];
  const read = readOptions('a workspace in device memory', workspace, WORKSPACE);
  const [buffer, offset] = placeOf(read);
  return [buffer, offset, read.bytes ?? Math.max(0, read.buffer.bytes - offset)];
}

/** A place that was read. */
function placeOf(region: DeviceRegion): [buffer: BufferHandle, offset: number] {
  return [handleOf(region.buffer, 'DeviceBuffer'), region.byteOffset ?? 0];
}
