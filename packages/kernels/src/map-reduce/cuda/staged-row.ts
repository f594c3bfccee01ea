import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import { lines } from '../../emit/text.js';
import type { UsedComponent } from '../pair-statements.js';

/** How a row of the reduced side lies in shared memory: in vectors that one load takes. */
export interface StagedRow {
  /** Numbers from one row to the next. */
  readonly width: number;
  /** Loads the vectors of row `q` that have any of `components`; `suffix` ends their names. */
  readonly vectors: (components: readonly Placed[], q: string, suffix: string) => string;
  /** Declares the components, from those vectors. */
  readonly names: (components: readonly Placed[], suffix: string) => string;
}

type Placed = Pick<UsedComponent, 'name' | 'place'>;

const VECTOR_BYTES = 16;
const MEMBERS = ['x', 'y', 'z', 'w'];

/** A row of `components` numbers: padded to vectors of 16 bytes where it has more than two numbers. */
export function stagedRow(components: number, dtype: PairwiseDType): StagedRow {
  const lanes = components > 2 ? VECTOR_BYTES / dtypeBytes(dtype) : Math.max(1, components);
  const width = stagedWidth(components, dtype);
  const type = `${dtype === 'float32' ? 'float' : 'double'}${lanes}`;
  const vectorName = (v: number, suffix: string): string => `staged${v}${suffix}`;
  return {
    width,
    vectors: (used, q, suffix) => {
      const numbers = [...new Set(used.map(({ place }) => Math.floor(place / lanes)))];
      return lines(
        ...numbers.map((v) =>
          lanes === 1
            ? `const V ${vectorName(v, suffix)} = staged[${q}];`
            : `const ${type} ${vectorName(v, suffix)} = *reinterpret_cast<const ${type}*>(staged + ${q} * ${width} + ${v * lanes});`,
        ),
      );
    },
    names: (used, suffix) =>
      lines(
        ...used.map(({ name, place }) => {
          const member = lanes === 1 ? '' : `.${MEMBERS[place % lanes] ?? ''}`;
          return `const V ${name} = ${vectorName(Math.floor(place / lanes), suffix)}${member};`;
        }),
      ),
  };
}

/** Numbers from one row of `components` to the next. */
export function stagedWidth(components: number, dtype: PairwiseDType): number {
  if (components <= 2) return Math.max(1, components);
  const lanes = VECTOR_BYTES / dtypeBytes(dtype);
  return Math.ceil(components / lanes) * lanes;
}
