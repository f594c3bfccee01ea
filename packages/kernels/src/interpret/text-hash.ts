/** Two 32-bit numbers that stand for a kernel's text: FNV-1a from two starting values. */
export function textHash(text: string): readonly [low: number, high: number] {
  return [fnv(text, 0x811c9dc5), fnv(text, 0x9747b28c)];
}

function fnv(text: string, start: number): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}
