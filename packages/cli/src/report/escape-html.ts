const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes any text safe between tags and inside quoted attributes. */
export function escapeHtml(text: string | number): string {
  return String(text).replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? '');
}

/** HTML that is already safe; everything else that enters a template is escaped. */
export class SafeHtml {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

type Piece = SafeHtml | string | number | readonly (SafeHtml | string | number)[];

/** A template whose values are escaped unless they are SafeHtml; lists are joined. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): SafeHtml {
  let text = strings[0] ?? '';
  values.forEach((value, i) => {
    text += pieceText(value) + (strings[i + 1] ?? '');
  });
  return new SafeHtml(text);
}

function pieceText(piece: Piece): string {
  if (piece instanceof SafeHtml) return piece.text;
  if (typeof piece === 'object') return piece.map(pieceText).join('');
  return escapeHtml(piece);
}
