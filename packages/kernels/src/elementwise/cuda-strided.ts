import { lines, unrolled, upTo, indent } from '../emit/text.js';
import { assigned, packName } from './cuda-packs.js';
import { loadName } from './map-formula.js';
import { mapOffsets, mapResults } from './map-params.js';
import type { MapPlan } from './map-plan-types.js';
import { rowsAtOnce, THREADS } from './map-walk.js';
import { QUOTIENT, unravel } from './strided-text.js';

/** What stands before the kernel of a map that is not linear. */
export function stridedTypes({ walk, rank }: MapPlan): string {
  const isNarrow = walk?.index === 'i32';
  return lines(
    `typedef ${walk?.index ?? 'i64'} Index;`,
    rank > 2 && (isNarrow ? SHORT_QUOTIENT : QUOTIENT).trimEnd(),
  );
}

/** The quotient of numbers below 2^31, by what 2^32 - 1 holds of the divisor: at most one too small before it is mended. */
const SHORT_QUOTIENT = `FN i32 quotient(i32 a, i32 n, u32 inverse) {
  const i32 q = (i32)(((u64)(u32)a * inverse) >> 32);
  return a - q * n >= n ? q + 1 : q;
}
`;

/**
 * The body of a map with any strides. A block has rows one below the other and packs of them side by side. Where the rows of the first result are
 * whole packs in memory, a pack is elements beside each other, and each operand that lies so too is read or written as one; where they are not, a
 * row is parts of one length, and a pack is an element of each. An element that there is not is the pack's first once more.
 */
export function stridedBody(plan: MapPlan, T: string): string {
  const lanes = plan.walk?.lanes ?? 1;
  const isNarrow = plan.walk?.index === 'i32';
  const last = plan.rank - 1;
  const several = rowsAtOnce(plan);
  const results = mapResults(plan).map((one, r, all) => ({
    ...one,
    made: all.length === 1 ? 'made' : `made${r}`,
    whole: r === 0 ? 'whole' : `whole_${one.pointer}`,
  }));
  const offsets = mapOffsets(plan);
  const n = (prefix: string, i: number): string => `(Index)${prefix}${i}`;
  const inner = n('n', last);
  /** Whether packs of an operand are whole in memory. */
  const isPacked = (pointer: string, pack: string, prefix: string): string =>
    [
      `${prefix}${last} == 1`,
      last > 0 &&
        `((${upTo(last)
          .map((i) => prefix + String(i))
          .join(' | ')}) & ${lanes - 1}) == 0`,
      `(u64)${pointer} % sizeof(${pack}) == 0`,
    ]
      .filter((one) => one !== false)
      .join(' && ');
  const inputs = plan.inputs.map((input, k) => ({
    name: `x${k}`,
    pack: packName(input.dtype),
    load: loadName(input),
    stride: `s${k}_`,
    from: `from${k}`,
  }));
  const at = (offset: string, prefix: string, j = 'j'): string =>
    `${offset}[r] + x[${j}] * ${n(prefix, last)}`;
  const values = [
    ...inputs.map(({ name, load }) => `${load}(in_${name}[r].v[j])`),
    ...plan.indices.map((_, j) => `(${T})(${at(`index${j}`, `i${j}_`)})`),
  ];
  return lines(
    `  const Index rows = ${
      last === 0
        ? 1
        : upTo(last)
            .map((i) => n('n', i))
            .join(' * ')
    }, packs = (${inner} + ${lanes - 1}) / ${lanes};`,
    plan.segments === undefined ? ALONE : IN_SEGMENT,
    '  const Index begin = rowBlock * (Index)span, end = begin + (Index)span < rows ? begin + (Index)span : rows;',
    lanes > 1 &&
      lines(
        ...results.map(
          ({ dtype, pointer, stride, whole }, r) =>
            `  const bool ${whole} = ${r === 0 ? `n${last} % ${lanes} == 0` : 'whole'} && ${isPacked(pointer, packName(dtype), stride)};`,
        ),
        ...inputs.map(
          ({ name, pack, stride }) =>
            `  const bool whole_${name} = whole && ${isPacked(name, pack, stride)};`,
        ),
      ),
    `  Index x[${lanes}];`,
    indent(
      lanes === 1
        ? 'x[0] = column;'
        : unrolled(
            'j',
            lanes,
            lines(
              `const Index place = whole ? ${lanes} * column + j : column + j * packs;`,
              `x[j] = place < ${inner} ? place : column;`,
            ),
          ),
    ),
    `  if (column < packs) for (Index row = begin + y; row < end; row += ${several} * height) {`,
    `    Index ${offsets.map(({ name }) => `${name}[${several}]`).join(', ')};`,
    indent(
      unrolled(
        'r',
        several,
        lines(
          last > 0 && 'Index rest = row + r * height < end ? row + r * height : row;',
          ...offsets.map(({ name, start }) => `${name}[r] = (Index)${start};`),
          unravel(
            last,
            offsets.map((one) => ({ ...one, name: `${one.name}[r]` })),
            n,
            {
              type: 'Index',
              quotient: (i) =>
                `quotient(rest, ${n('n', i)}${isNarrow ? `, (u32)inverse${i}` : ''})`,
            },
          ).replaceAll(/^ {4}/gm, ''),
        ),
      ),
      4,
    ),
    ...inputs.map(({ name, pack, from, stride }) => {
      const each = (text: string): string => indent(unrolled('r', several, text));
      const gathered = unrolled('j', lanes, `in_${name}[r].v[j] = ${name}[${at(from, stride)}];`);
      return lines(
        `    ${pack} in_${name}[${several}];`,
        lanes === 1
          ? indent(unrolled('r', several, gathered), 4)
          : indent(
              lines(
                `if (whole_${name}) {`,
                each(
                  `in_${name}[r] = *reinterpret_cast<const ${pack}*>(${name} + (${from}[r] + x[0]));`,
                ),
                '} else {',
                each(gathered),
                '}',
              ),
              4,
            ),
      );
    }),
    indent(
      unrolled(
        'r',
        several,
        lines(
          several > 1 && 'if (row + r * height >= end) break;',
          ...results.map(({ dtype, made }) => `${packName(dtype)} ${made};`),
          unrolled(
            'j',
            lanes,
            assigned(
              results.map(({ made }) => `${made}.v[j]`),
              `value(${values.join(', ')})`,
            ),
          ),
          ...results.map(({ dtype, pointer, offset, stride, made, whole }) => {
            const scattered = unrolled(
              'j',
              lanes,
              `${pointer}[${at(offset, stride)}] = ${made}.v[j];`,
            );
            if (lanes === 1) return scattered;
            const pack = packName(dtype);
            return lines(
              `if (${whole}) *reinterpret_cast<${pack}*>(${pointer} + (${offset}[r] + x[0])) = ${made};`,
              'else {',
              indent(scattered),
              '}',
            );
          }),
        ),
      ),
      4,
    ),
    '  }',
  );
}

/** A thread's column of packs and row, and how its block is among those of a map. */
const ALONE = `  const Index height = blockDim.y, rowBlock = blockIdx.y, y = threadIdx.y;
  const Index column = (Index)blockIdx.x * blockDim.x + threadIdx.x;`;

/** The same in a segment, of `width` threads along a row. */
const IN_SEGMENT = `  const u32 wide = (u32)width, across = (u32)((packs + wide - 1) / wide);
  const Index height = ${THREADS} / wide, y = threadIdx.x / wide, rowBlock = (u32)block / across;
  const Index column = y < height ? (Index)((u32)block % across) * wide + threadIdx.x % wide : packs;`;
