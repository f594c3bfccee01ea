/** A key that an object of a JSON text has twice, of which `JSON.parse` would keep the last. The text is valid JSON. */
export function repeatedKey(json: string): string | undefined {
  const objects: (Set<string> | undefined)[] = [];
  let text: string | undefined;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]/g)) {
    if (token === '{' || token === '[') objects.push(token === '{' ? new Set() : undefined);
    else if (token === '}' || token === ']') objects.pop();
    else if (token === ':' && text !== undefined) {
      const keys = objects.at(-1);
      const key = JSON.parse(text) as string;
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
    text = token.startsWith('"') ? token : undefined;
  }
  return undefined;
}
