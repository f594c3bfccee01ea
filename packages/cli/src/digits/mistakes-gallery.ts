import { html, type SafeHtml } from '../report/escape-html.js';
import { encodeGreyPng } from '../report/png.js';
import type { Classification } from './classification.js';
import { DIGIT_PIXELS, DIGIT_SIDE, type DigitSet } from './load-digits.js';
import type { DigitSplit } from './split-digits.js';

/** Every misclassified digit beside its nearest known image, with the votes. */
export function mistakesGallery(split: DigitSplit, classification: Classification): SafeHtml {
  const items: SafeHtml[] = [];
  for (let image = 0; image < split.test.count; image++) {
    const truth = split.test.labels[image] ?? 0;
    const answer = classification.predicted[image] ?? 0;
    if (truth === answer) continue;
    const nearest = classification.nearest[image] ?? 0;
    const { votes, k } = classification;
    const cast = [...votes.subarray(image * k, (image + 1) * k)].join(' ');
    items.push(
      html`<li>
        <div class="pair">
          <img src="${pictureUri(split.test, image)}" width="52" height="52" alt="a ${truth}" />
          <img
            src="${pictureUri(split.train, nearest)}"
            width="52"
            height="52"
            alt="its nearest known image, a ${split.train.labels[nearest] ?? 0}"
          />
        </div>
        <div>${truth}, taken for <span class="said">${answer}</span></div>
        <div class="votes">votes ${cast}</div>
      </li>`,
    );
  }
  if (items.length === 0) return html`<p>Not one mistake.</p>`;
  return html`<ul class="gallery">
    ${items}
  </ul>`;
}

/** One digit as a PNG in a data URI. */
export function pictureUri(digits: DigitSet, image: number): string {
  const start = image * DIGIT_PIXELS;
  const grey = Uint8Array.from(digits.pixels.subarray(start, start + DIGIT_PIXELS), (value) =>
    Math.round(Math.min(1, Math.max(0, value)) * 255),
  );
  return `data:image/png;base64,${encodeGreyPng(grey, DIGIT_SIDE, DIGIT_SIDE).toString('base64')}`;
}
