import { packParams, type LaunchableKernel, type ScalarType, type Scalars } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { MercerError } from './mercer-error.js';

const TWO_32 = 2 ** 32;

type Write = (view: DataView, offset: number, value: number) => void;

const WRITERS: { readonly [T in ScalarType]: Write } = {
  int32: (view, offset, value) => {
    view.setInt32(offset, value, true);
  },
  int64: (view, offset, value) => {
    // Two halves instead of a BigInt: no allocation on the launch path. floor keeps the sign in the high half.
    const high = Math.floor(value / TWO_32);
    view.setUint32(offset, value - high * TWO_32, true);
    view.setInt32(offset + 4, high, true);
  },
  float32: (view, offset, value) => {
    view.setFloat32(offset, value, true);
  },
  float64: (view, offset, value) => {
    view.setFloat64(offset, value, true);
  },
};

const FITS: { readonly [T in ScalarType]: (value: number) => boolean } = {
  int32: (value) => value === (value | 0),
  int64: Number.isSafeInteger,
  float32: () => true,
  float64: () => true,
};

interface ScalarSlot {
  readonly name: string;
  readonly type: ScalarType;
  readonly offset: number;
  readonly write: Write;
  readonly fits: (value: number) => boolean;
}

/** Packs a kernel's arguments into one reused buffer, laid out like a C struct. */
export class ParamPacker {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
  readonly #view: DataView;
  readonly #scalars: readonly ScalarSlot[];
  readonly #floating: ReadonlyMap<string, ScalarSlot>;
  readonly #pointerOffsets: readonly number[];
  readonly #mapOffsets: readonly number[];
  readonly #name: string;

  constructor(kernel: LaunchableKernel) {
    const packed = packParams(kernel.params);
    this.#name = kernel.name;
    this.bytes = new Uint8Array(packed.bytes);
    this.offsets = Uint32Array.from(packed.offsets);
    this.#view = new DataView(this.bytes.buffer);
    const offsetsOf = (kind: string): number[] =>
      packed.offsets.filter((_, i) => kernel.params[i]?.kind === kind);
    this.#pointerOffsets = offsetsOf('pointer');
    this.#mapOffsets = offsetsOf('tensorMap');
    const constants = kernel.dialect === 'builtin' ? kernel.constants : undefined;
    const isConstant = (name: string): boolean =>
      constants !== undefined && Object.hasOwn(constants, name);
    const scalars = kernel.params.flatMap((param, i) =>
      param.kind === 'scalar'
        ? [
            {
              name: param.name,
              type: param.type,
              offset: packed.offsets[i] ?? 0,
              write: WRITERS[param.type],
              fits: FITS[param.type],
            },
          ]
        : [],
    );
    this.#scalars = scalars.filter(({ name }) => !isConstant(name));
    const floating = this.#scalars.filter(({ type }) => type === 'float32' || type === 'float64');
    this.#floating = new Map(floating.map((slot) => [slot.name, slot]));
    if (constants !== undefined)
      this.#write(
        scalars.filter(({ name }) => isConstant(name)),
        constants,
      );
  }

  /** Pointer number `index`, an address below 2^53. */
  setPointer(index: number, address: number): void {
    const offset = this.#pointerOffsets[index] ?? 0;
    // a remainder of numbers above 2^31 takes longer than all else here
    const high = Math.floor(address / TWO_32);
    this.#view.setUint32(offset, address - high * TWO_32, true);
    this.#view.setUint32(offset + 4, high, true);
  }

  /** Pointer number `index`, any address. */
  setBigPointer(index: number, address: bigint): void {
    this.#view.setBigUint64(this.#pointerOffsets[index] ?? 0, address, true);
  }

  /** All tensor maps, 128 bytes each. */
  setTensorMaps(maps: readonly Uint8Array[]): void {
    if (maps.length !== this.#mapOffsets.length || maps.some((map) => map.length !== 128)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `launch of ${this.#name}: ${maps.length} tensor maps given, ${this.#mapOffsets.length} of 128 bytes needed. Pass one per tensorMap parameter.`,
      );
    }
    this.#mapOffsets.forEach((offset, i) => {
      const map = maps[i];
      if (map !== undefined) this.bytes.set(map, offset);
    });
  }

  /** All scalars that are not constants of the kernel, by name. */
  setScalars(scalars: Scalars): void {
    this.#write(this.#scalars, scalars);
  }

  /** One scalar that is floating; false, with nothing done, where it is none of these. */
  setFloating(name: string, value: unknown): boolean {
    const slot = this.#floating.get(name);
    if (slot === undefined || typeof value !== 'number') return false;
    slot.write(this.#view, slot.offset, value);
    return true;
  }

  #write(slots: readonly ScalarSlot[], scalars: Scalars): void {
    for (const slot of slots) {
      const value = scalars[slot.name];
      if (typeof value !== 'number' || !slot.fits(value)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `launch of ${this.#name}: scalar '${slot.name}' is ${describeValue(value)}, which is no ${slot.type}. Pass a number of that type.`,
        );
      }
      slot.write(this.#view, slot.offset, value);
    }
  }
}
