/** A template tag that escapes interpolated values unless they are markup already. */
import { printable } from './terminal.ts';

/** Text that is safe to write into a page as it is. */
export interface Markup {
  readonly markup: string;
}

type Part = string | number | Markup | readonly Markup[] | undefined;

/** Escapes what would be read as markup between tags, in HTML, XML and Markdown. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Escapes what would end an attribute too, whichever quotes it stands in. */
export const escapeAttribute = (text: string): string =>
  escapeText(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Template tag: html`<p title="${title}">${text}</p>`. `undefined` is left out; lists of markup are joined. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return { markup: strings.map((text, index) => text + render(parts[index])).join('') };
}

/** Trusts a text as markup: for style sheets and scripts of our own, never for what a target or a user wrote. */
export const trusted = (markup: string): Markup => ({ markup });

/** No markup at all. */
export const NOTHING: Markup = { markup: '' };

function render(part: Part): string {
  if (part === undefined) return '';
  if (isMarkup(part)) return part.markup;
  return typeof part === 'object' ? part.map(render).join('') : escapeAttribute(printable(String(part)));
}

const isMarkup = (part: unknown): part is Markup => typeof part === 'object' && part !== null && 'markup' in part;
