import { html, type Markup, reportPage } from '../../common/html.ts';
import { printable } from '../../common/terminal.ts';
import { SYMBOLS } from '../findings.ts';
import type { Claims } from './certificate.ts';
import type { Statement } from './statement.ts';

/** `key`: id of the key that signed the certificate. */
export function certificatePage({ predicate }: Statement, claimed: Claims, key: string): string {
  const { result, muster } = predicate;
  const listed = (items: readonly string[]): Markup[] => items.map((item) => html`<li>${printable(item.trim())}</li>`);
  const rows = muster.verdicts.map(
    ({ id, level, section, outcome, reason }) => html`<tr><th scope="row"><code>${id}</code></th>
<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${outcome.replaceAll('_', ' ')}</td>
<td>${level}, section ${section}</td><td>${printable(reason ?? '')}</td></tr>`,
  );
  const main = html`<div class="banner ${result === 'FAILED' ? 'fail' : 'pass'}"><h1>${printable(claimed.headline)}</h1>
<p>${printable(claimed.about)}.</p><p>Its signature and completeness hold; signed by key ${key}.</p></div>
<h2>It claims</h2><ul>${listed(claimed.claims)}</ul>
<h2>It does not claim</h2><ul>${listed(claimed.not)}</ul>
<h2>How each check was decided</h2>
<div class="wide" tabindex="0" role="region" aria-label="Checks"><table>
<thead><tr>${['Check', 'Decision', 'Rule', 'Reason'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>
<footer>muster ${muster.version}</footer>`;
  return reportPage(claimed.headline, main, { style: new URL('../compare/comparison-page.css', import.meta.url) });
}
