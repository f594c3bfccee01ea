import { printable } from '@mercer/core/npy';

/** A colour or the end of one, as `Colors` write them. */
const COLOR = /(\u001b\[\d{1,2}m)/;

/** Lines of text that may hold text from elsewhere, such as the message of an error: nothing in them moves a terminal's cursor. */
export function safeLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** The same for lines with colours of ours in them, where colours are on. What is put into cells and lines has none of its own. */
export function safeColoredLines(text: string): string {
  return text
    .split(COLOR)
    .map((part, i) => (i % 2 === 1 ? part : safeLines(part)))
    .join('');
}
