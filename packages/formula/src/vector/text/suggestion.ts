import { nearestName } from '@mercer/options';

/** `Did you mean ...?` for the name that is nearest, if one is near. */
export function suggestion(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(name, known);
  return nearest === undefined ? undefined : `Did you mean ${JSON.stringify(nearest)}?`;
}
