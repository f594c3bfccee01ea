import { gzipSync } from 'node:zlib';

/** A column of a Parquet file; null where there is no value. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly values: readonly (number | bigint | string | null)[];
}

/** Physical types by their numbers in the format. */
const TYPES = { INT32: 1, INT64: 2, FLOAT: 4, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
const [I32, I64, BINARY, LIST, STRUCT] = [5, 6, 8, 9, 12];

const varint = (value: bigint): number[] => {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
};

type Field = readonly [id: number, type: number, bytes: readonly number[]];
const i32 = (id: number, value: number): Field => [id, I32, varint(2n * BigInt(value))];
const i64 = (id: number, value: number): Field => [id, I64, varint(2n * BigInt(value))];
const bytesOf = (text: string): number[] => {
  const bytes = [...Buffer.from(text)];
  return [...varint(BigInt(bytes.length)), ...bytes];
};
const list = (id: number, type: number, items: readonly (readonly number[])[]): Field => [
  id,
  LIST,
  [(items.length << 4) | type, ...items.flat()],
];
/** A struct of Thrift's compact protocol. */
function struct(...fields: readonly Field[]): number[] {
  let before = 0;
  const written = fields.flatMap(([id, type, bytes]) => {
    const head = ((id - before) << 4) | type;
    before = id;
    return [head, ...bytes];
  });
  return [...written, 0];
}

function valueBytes(type: keyof typeof TYPES, value: number | bigint | string): Buffer {
  if (typeof value === 'string') {
    const text = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return Buffer.concat([length, text]);
  }
  const bytes = Buffer.alloc(type === 'INT32' || type === 'FLOAT' ? 4 : 8);
  if (typeof value === 'bigint') bytes.writeBigInt64LE(value);
  else if (type === 'INT32') bytes.writeInt32LE(value);
  else if (type === 'FLOAT') bytes.writeFloatLE(value);
  else bytes.writeDoubleLE(value);
  return bytes;
}

/** Which values are there, a run for each, and those values. */
function pageOf({ type, values }: ParquetColumn): Buffer {
  const levels = Buffer.from(values.flatMap((value) => [2, value === null ? 0 : 1]));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(levels.length);
  const present = values.flatMap((value) => (value === null ? [] : [valueBytes(type, value)]));
  return Buffer.concat([length, levels, ...present]);
}

/** A Parquet file with a row group for each list of columns, each page compressed by gzip where asked. */
export function parquetFile(
  groups: readonly (readonly ParquetColumn[])[],
  isCompressed = false,
): Buffer {
  const parts: Buffer[] = [Buffer.from('PAR1')];
  const size = (): number => parts.reduce((sum, part) => sum + part.length, 0);
  const rowGroups = groups.map((columns) => {
    const chunks = columns.map((column) => {
      const [offset, count, page] = [size(), column.values.length, pageOf(column)];
      const stored = isCompressed ? gzipSync(page) : page;
      const header = struct(i32(1, 0), i32(2, page.length), i32(3, stored.length), [
        5,
        STRUCT,
        struct(i32(1, count), i32(2, 0), i32(3, 3), i32(4, 3)),
      ]);
      parts.push(Buffer.from(header), stored);
      const meta = struct(
        i32(1, TYPES[column.type]),
        list(2, I32, [[0]]),
        list(3, BINARY, [bytesOf(column.name)]),
        i32(4, isCompressed ? 2 : 0),
        i64(5, count),
        i64(6, header.length + page.length),
        i64(7, header.length + stored.length),
        i64(9, offset),
      );
      return struct(i64(2, offset), [3, STRUCT, meta]);
    });
    const rows = columns[0]?.values.length ?? 0;
    return struct(list(1, STRUCT, chunks), i64(2, 0), i64(3, rows));
  });
  const [first = []] = groups;
  const root = struct([4, BINARY, bytesOf('root')], i32(5, first.length));
  const elements = first.map(({ name, type }) =>
    struct(i32(1, TYPES[type]), i32(3, 1), [4, BINARY, bytesOf(name)]),
  );
  const rows = groups.reduce((sum, [column]) => sum + (column?.values.length ?? 0), 0);
  const footer = Buffer.from(
    struct(
      i32(1, 1),
      list(2, STRUCT, [root, ...elements]),
      i64(3, rows),
      list(4, STRUCT, rowGroups),
    ),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([...parts, footer, length, Buffer.from('PAR1')]);
}
