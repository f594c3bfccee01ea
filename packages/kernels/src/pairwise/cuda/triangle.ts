/** The tiles of a square output that reach its diagonal or what lies below it. */
export interface Triangle {
  /** One a multiple of the other. */
  readonly tileRows: number;
  readonly tileColumns: number;
  /** Rows of tiles that are walked together, column by column. */
  readonly groupRows: number;
}

/** Tiles of an output, or of its half where it is symmetric. */
export const tilesOf = (
  rows: number,
  columns: number,
  tile: Pick<Triangle, 'tileRows' | 'tileColumns'>,
  symmetric = false,
): number =>
  symmetric
    ? triangleTiles(rows, tile)
    : Math.ceil(rows / tile.tileRows) * Math.ceil(columns / tile.tileColumns);

/** How many tiles `count` rows have on the diagonal and below it. */
export function triangleTiles(
  count: number,
  { tileRows, tileColumns }: Pick<Triangle, 'tileRows' | 'tileColumns'>,
): number {
  if (count === 0) return 0;
  const last = Math.floor((count - 1) / tileRows);
  const inLast = Math.floor(((last + 1) * tileRows - 1) / tileColumns) + 1;
  return before(last, tileRows, tileColumns) + Math.min(inLast, Math.ceil(count / tileColumns));
}

function before(rows: number, tileRows: number, tileColumns: number): number {
  const perRow = Math.max(1, tileRows / tileColumns);
  const rowsPerStep = Math.max(1, tileColumns / tileRows);
  const whole = Math.floor(rows / rowsPerStep);
  const rest = rows - whole * rowsPerStep;
  return perRow * ((rowsPerStep * whole * (whole + 1)) / 2 + rest * (whole + 1));
}

/**
 * Functions that number those tiles. The rows of tiles are cut into groups; a tile's group is found by
 * bisection over the count of tiles in front of it, so that no root is taken. In a group the columns
 * that all its rows have are walked column by column, so that operands stay in the L2 cache; what is
 * left next to the diagonal follows row by row.
 */
export function triangleFunctions({ tileRows, tileColumns, groupRows }: Triangle): string {
  const [rows, columns, group] = [tileRows, tileColumns, groupRows].map(String) as [
    string,
    string,
    string,
  ];
  const perRow = Math.max(1, tileRows / tileColumns);
  const rowsPerStep = Math.max(1, tileColumns / tileRows);
  return `// tiles that reach the diagonal or what lies below it: in one row of tiles, and in all rows before it
__device__ __forceinline__ unsigned long long tiles_in(unsigned long long row) {
  return (row * ${rows} + ${tileRows - 1}) / ${columns} + 1;
}
__device__ __forceinline__ unsigned long long tiles_before(unsigned long long row) {
  const unsigned long long whole = row / ${rowsPerStep}, rest = row % ${rowsPerStep};
  return ${perRow} * (${rowsPerStep} * whole * (whole + 1) / 2 + rest * (whole + 1));
}
__device__ __forceinline__ unsigned long long tiles_of(unsigned long long count) {
  const unsigned long long last = (count - 1) / ${rows};
  return tiles_before(last) + min(tiles_in(last), (count + ${tileColumns - 1}) / ${columns});
}
struct Tile { unsigned long long row, column; };
__device__ __forceinline__ Tile tile_at(unsigned long long index, unsigned long long rowTiles) {
  unsigned long long group = 0, end = (rowTiles + ${groupRows - 1}) / ${group};
  while (end - group > 1) {
    const unsigned long long middle = (group + end) / 2;
    if (tiles_before(middle * ${group}) <= index) group = middle; else end = middle;
  }
  unsigned long long row = group * ${group};
  index -= tiles_before(row);
${
  groupRows === 1
    ? '  return {row, index};'
    : `  // the number within a group is short: a grid has less than 2^31 blocks
  const unsigned groupRows = (unsigned)min(rowTiles - row, ${group}ull), whole = (unsigned)tiles_in(row);
  unsigned left = (unsigned)index;
  if (left < groupRows * whole) return {row + left % groupRows, left / groupRows};
  left -= groupRows * whole;
  for (++row; left >= (unsigned)tiles_in(row) - whole; ++row) left -= (unsigned)tiles_in(row) - whole;
  return {row, whole + left};`
}
}`;
}
