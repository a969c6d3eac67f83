/** A table of the report. */
import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';

/** A table wider than the page scrolls by itself. A column whose name ends in # has numbers. */
export function tableOf(label: string, columns: readonly string[], rows: readonly Markup[]): Markup {
  if (rows.length === 0) return NOTHING;
  const head = columns.map(
    (name) => html`<th scope="col"${name.endsWith('#') ? html` class="n"` : NOTHING}>${name.replace(/#$/, '')}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="data"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}
