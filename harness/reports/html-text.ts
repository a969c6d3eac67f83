/** Markup from text: whatever is put in is escaped, unless it is markup already. */

export interface Markup {
  readonly markup: string;
}

type Part = string | number | Markup | readonly Markup[] | undefined;

const isMarkup = (part: unknown): part is Markup => typeof part === 'object' && part !== null && 'markup' in part;

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const render = (part: Part): string => {
  if (part === undefined) return '';
  if (isMarkup(part)) return part.markup;
  return typeof part === 'object' ? part.map(render).join('') : escaped(String(part));
};

/** Tagged template: html`<p>${text}</p>`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return { markup: strings.map((text, index) => text + render(parts[index])).join('') };
}

/** Text that is known to be safe where it is put: own style sheets and scripts. */
export const raw = (markup: string): Markup => ({ markup });
export const NOTHING: Markup = { markup: '' };
