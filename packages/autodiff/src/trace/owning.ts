import { Recording } from './recording.js';

/** A trace that only owns what is computed: rules run on its values, and what they make between is disposed with it. */
export class Owning extends Recording {
  protected override recordsOf(): readonly unknown[] {
    return [];
  }
}
