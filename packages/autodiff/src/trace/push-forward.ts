import { type Tensor } from '@mercer/tensor';
import { whenKnown, type KnownValue, type Value } from '@mercer/tensor/operation';
import { noteUse, tangentsOf } from './forward.js';
import { alone, released } from './handed.js';
import { Owning } from './owning.js';
import type { Node, Reverse, Source } from './reverse.js';

/** A variable with its change. */
export interface Change {
  readonly source: Source;
  readonly tangent: Tensor;
}

/**
 * The tangents of values from those of variables: the rules of the tape, from its beginning to its end.
 *
 * @returns for each of `wanted` a tensor of its shape and dtype that is the caller's, or undefined where it depends on no change
 */
export async function pushForward(
  tape: Reverse,
  changes: readonly Change[],
  wanted: readonly (Source | undefined)[],
): Promise<readonly (Tensor | undefined)[]> {
  const owner = new Owning(tape.what);
  let given: readonly (Tensor | undefined)[];
  try {
    const tangents = new Map<Node, readonly unknown[]>();
    for (const { source, tangent } of changes)
      tangents.set(source.node, [owner.wrap(owner.own(tangent.view()))]);
    for (const node of tape.nodes) {
      const flat = node.sources.map(
        (source) => source && (tangents.get(source.node)?.[source.output] as Value | undefined),
      );
      if (node.rule === undefined || flat.every((one) => one === undefined)) continue;
      tape.signal?.throwIfAborted();
      tape.assertUnchanged(node.name, node.args);
      noteUse(flat);
      const known = await Promise.all(flat.map(whenKnown));
      const all = known.map(({ made }) => made as Value | undefined);
      const checkResult = (): void => {
        tape.assertResultUnchanged(node);
      };
      tangents.set(node, tangentsOf({ ...node, rule: node.rule, checkResult }, all, owner));
    }
    const found = wanted.map((source) => source && tangents.get(source.node)?.[source.output]);
    noteUse(found);
    const known = await Promise.all(found.map(whenKnown));
    given = await released(
      known.map(({ made }) => made as KnownValue | undefined),
      wanted.map((source) => (source?.node.outputs[source.output] ?? {}) as never),
      owner,
    );
  } finally {
    await owner.close();
    owner.dispose();
  }
  return alone(given);
}
