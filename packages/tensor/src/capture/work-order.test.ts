import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WorkOrder, type CaptureLine } from './work-order.js';

/** A capture whose nodes follow what a driver's would. */
class Graph implements CaptureLine {
  /** Of each node, those that it follows. */
  readonly nodes: (readonly number[])[] = [];
  #ends: readonly number[] = [];
  readonly #points: (readonly number[])[] = [];

  add(): void {
    this.nodes.push(this.#ends);
    this.#ends = [this.nodes.length - 1];
  }

  point(): number {
    const last = this.#points.at(-1);
    if (last?.join() === this.#ends.join()) return this.#points.length - 1;
    return this.#points.push(this.#ends) - 1;
  }

  follow(points: readonly number[]): void {
    this.#ends = [...new Set(points.flatMap((point) => this.#points[point] ?? []))].sort(
      (one, other) => one - other,
    );
  }

  /** Nodes that the end of the capture follows, itself or through others. */
  get joined(): ReadonlySet<number> {
    return new Set([...this.#ends, ...this.nodes.flat()]);
  }

  /** Whether a node comes before another in every order. */
  isBefore(one: number, other: number): boolean {
    const after = this.nodes[other] ?? [];
    return after.includes(one) || after.some((next) => next > one && this.isBefore(one, next));
  }
}

/** Work of `nodes` nodes on memories by number; undefined says nothing. */
interface Work {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  readonly isSaid: boolean;
  readonly nodes: number;
}

const MEMORIES = Array.from({ length: 5 }, (_, at) => ({ at }));
const memories = fc.uniqueArray(fc.nat(MEMORIES.length - 1), { maxLength: 3 });
const program = fc.array(
  fc.record({
    reads: memories,
    writes: memories,
    isSaid: fc.integer({ min: 0, max: 9 }).map((draw) => draw > 0),
    nodes: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 24 },
);

/** The first and last node of each work. */
function captured(works: readonly Work[]): { graph: Graph; spans: readonly [number, number][] } {
  const graph = new Graph();
  const order = new WorkOrder(graph);
  const spans = works.map(({ reads, writes, isSaid, nodes }): [number, number] => {
    const first = graph.nodes.length;
    const handles = [reads, writes].map((all) => all.map((at) => MEMORIES[at] as object));
    if (isSaid) order.begin(handles[0] ?? [], handles[1] ?? []);
    for (let k = 0; k < nodes; k++) graph.add();
    if (isSaid) order.end();
    return [first, graph.nodes.length - 1];
  });
  return { graph, spans };
}

const meet = (some: readonly number[], others: readonly number[]): boolean =>
  some.some((one) => others.includes(one));

const conflict = (one: Work, other: Work): boolean =>
  !one.isSaid ||
  !other.isSaid ||
  meet(one.writes, [...other.reads, ...other.writes]) ||
  meet(one.reads, other.writes);

const simple = (reads: readonly number[], writes: readonly number[]): Work => ({
  reads,
  writes,
  isSaid: true,
  nodes: 1,
});

describe('the order of captured work', () => {
  it('puts each work behind those that it conflicts with, and the end behind all', () => {
    fc.assert(
      fc.property(program, (works) => {
        const { graph, spans } = captured(works);
        expect(graph.joined.size).toBe(graph.nodes.length);
        works.forEach((later, j) => {
          works.slice(0, j).forEach((earlier, i) => {
            const [, from] = spans[i] as [number, number];
            const [to] = spans[j] as [number, number];
            if (earlier.nodes === 0 || later.nodes === 0 || !conflict(earlier, later)) return;
            expect(graph.isBefore(from, to)).toBe(true);
          });
        });
      }),
      { numRuns: 1000 },
    );
  });

  it('puts no work behind another without a reason, and names each reason once', () => {
    fc.assert(
      fc.property(
        program.map((works) => works.map((work) => ({ ...work, isSaid: true, nodes: 1 }))),
        (works) => {
          const { graph } = captured(works);
          graph.nodes.forEach((after, j) => {
            for (const i of after) {
              expect(conflict(works[i] as Work, works[j] as Work)).toBe(true);
              expect(after.some((one) => one !== i && graph.isBefore(i, one))).toBe(false);
            }
          });
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('leaves readers beside each other, between the writes before and behind', () => {
    const { graph } = captured([
      simple([], [0]),
      simple([0], [1]),
      simple([0], [2]),
      simple([3], [4]),
      simple([], [0]),
    ]);
    expect(graph.nodes).toEqual([[], [0], [0], [], [1, 2]]);
  });

  it('looks back so far and no further: an edge too many is no fault', () => {
    const graph = new Graph();
    const order = new WorkOrder(graph);
    const work = (reads: object[], writes: object[]): void => {
      order.begin(reads, writes);
      graph.add();
      order.end();
    };
    const [weights, state] = [{}, {}];
    work([], [weights]);
    for (let step = 0; step < 600; step++) work([weights, state], [state]);
    expect(order.edges[200]).toEqual([199]);
    // the first work itself, and one for each length that is looked back
    const direct = order.edges.flatMap((after, at) => (after.includes(0) ? [at] : []));
    expect(direct).toHaveLength(3);
  });

  it('keeps work that says nothing behind all before it and before all behind it', () => {
    const said = simple([], [0]);
    const { graph } = captured([
      said,
      simple([], [1]),
      { ...said, isSaid: false },
      simple([], [2]),
    ]);
    expect(graph.nodes).toEqual([[], [], [0, 1], [2]]);
  });

  it('takes work that begins inside of other work as one that says nothing', () => {
    const graph = new Graph();
    const order = new WorkOrder(graph);
    const [a, b, c] = MEMORIES as [object, object, object];
    order.begin([], [a]);
    graph.add();
    order.end();
    order.begin([], [b]);
    graph.add();
    order.begin([], [c]);
    graph.add();
    order.end();
    graph.add();
    order.end();
    order.begin([], [a]);
    graph.add();
    order.end();
    expect(graph.nodes).toEqual([[], [], [0, 1], [2], [3]]);
    expect(order.edges).toEqual([[], [0], [1]]);
  });

  it('keeps what a failed work had captured', () => {
    const graph = new Graph();
    const order = new WorkOrder(graph);
    order.begin([], [MEMORIES[0] as object]);
    order.end();
    order.begin([], [MEMORIES[1] as object]);
    graph.add();
    order.end();
    expect(graph.joined).toEqual(new Set([0]));
  });
});
