/** So many works before are looked at for edges that others imply: an edge too many is no fault. */
const MOST_LOOKED_AT = 256;

/** A stream that captures, as the order of its work sees it. */
export interface CaptureLine {
  /** A number for what work that is captured next follows: the same one while that is the same. */
  point(): number;
  /** Work that is captured next follows what is at these points, and nothing else. */
  follow(points: readonly number[]): void;
}

/** Works that touch a memory, of which later ones may have to wait for some. */
interface Uses {
  writer: number | undefined;
  /** Since the last write. */
  readers: number[];
}

/** Work that is being captured. */
interface Open {
  readonly reads: readonly object[];
  readonly writes: readonly object[];
  readonly after: readonly number[];
  /** Other work began inside of it. */
  isBehindAll: boolean;
  /** How many works have begun and not ended. */
  depth: number;
}

/**
 * What captured work has to wait for. Work that says which memory it touches follows what wrote that memory, and, if it writes, what has read it
 * since; all else may run beside it. Work that says nothing follows all before it, and is followed by all behind it.
 *
 * Between works the line stands behind everything, so that what is captured there without a word is in its order too.
 */
export class WorkOrder {
  readonly #line: CaptureLine;
  readonly #points: number[] = [];
  /** Of each work, those that it follows directly. All of them are before it. */
  readonly #after: (readonly number[])[] = [];
  readonly #uses = new Map<object, Uses>();
  /** Works that nothing follows yet. */
  #ends = new Set<number>();
  /** The last work that said nothing. */
  #floor: number | undefined;
  #here: number;
  #open: Open | undefined;

  constructor(line: CaptureLine) {
    this.#line = line;
    this.#here = line.point();
  }

  /** For each work so far, those that it follows directly, by their numbers. */
  get edges(): readonly (readonly number[])[] {
    return this.#after;
  }

  /** Work on this memory alone is captured from here to `end`. */
  begin(reads: readonly object[], writes: readonly object[]): void {
    if (this.#open !== undefined) {
      this.#open.isBehindAll = true;
      this.#open.depth++;
      this.#standBehindAll([this.#line.point()]);
      return;
    }
    this.#noticeOthers();
    const after = this.#nearest(this.#needed(reads, writes));
    this.#open = { reads, writes, after, isBehindAll: false, depth: 1 };
    this.#line.follow(after.map((work) => this.#points[work] as number));
  }

  /** What began last is captured, or failed. */
  end(): void {
    const open = this.#open;
    if (open === undefined || --open.depth > 0) return;
    this.#open = undefined;
    const { after, isBehindAll } = open;
    const work = this.#add(isBehindAll ? [...this.#ends] : after);
    if (isBehindAll) this.#raise(work);
    else this.#note(open, work);
    this.#standBehindAll([]);
    this.#here = this.#line.point();
  }

  /** What was captured since the last work is behind all before it. */
  #noticeOthers(): void {
    if (this.#line.point() !== this.#here) this.#raise(this.#add([...this.#ends]));
  }

  /** A work that ends where the line is. */
  #add(after: readonly number[]): number {
    const work = this.#points.push(this.#line.point()) - 1;
    this.#after.push(after);
    for (const one of after) this.#ends.delete(one);
    this.#ends.add(work);
    return work;
  }

  /** All later work follows this one, and through it all before. */
  #raise(work: number): void {
    this.#floor = work;
    this.#ends = new Set([work]);
    this.#uses.clear();
  }

  #needed(reads: readonly object[], writes: readonly object[]): Set<number> {
    const needed = new Set<number>();
    if (this.#floor !== undefined) needed.add(this.#floor);
    for (const memory of reads) {
      const writer = this.#uses.get(memory)?.writer;
      if (writer !== undefined) needed.add(writer);
    }
    for (const memory of writes) {
      const { writer, readers = [] } = this.#uses.get(memory) ?? {};
      if (writer !== undefined) needed.add(writer);
      for (const one of readers) needed.add(one);
    }
    return needed;
  }

  #note({ reads, writes }: Open, work: number): void {
    for (const memory of reads) {
      const uses = this.#uses.get(memory);
      if (uses === undefined) this.#uses.set(memory, { writer: undefined, readers: [work] });
      else uses.readers.push(work);
    }
    for (const memory of writes) this.#uses.set(memory, { writer: work, readers: [] });
  }

  /** Without those that others of them follow, as far as was looked. */
  #nearest(works: ReadonlySet<number>): readonly number[] {
    if (works.size < 2) return [...works];
    const least = Math.min(...works);
    const left = new Set(works);
    const seen = new Set<number>();
    const visited = [...works];
    for (let work = visited.pop(); work !== undefined; work = visited.pop()) {
      if (seen.size > MOST_LOOKED_AT) break;
      for (const one of this.#after[work] ?? []) {
        if (one < least || seen.has(one)) continue;
        seen.add(one);
        left.delete(one);
        visited.push(one);
      }
    }
    return [...left];
  }

  #standBehindAll(points: readonly number[]): void {
    const ends = [...this.#ends].map((work) => this.#points[work] as number);
    this.#line.follow([...ends, ...points]);
  }
}
