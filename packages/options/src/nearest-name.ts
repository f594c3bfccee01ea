/** The known name that is nearest by edit distance, whatever its case, if one is near. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.min(3, Math.floor(name.length / 2) + 1);
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase().slice(0, 40), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
