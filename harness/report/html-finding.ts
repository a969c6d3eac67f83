/** One finding as a card of the HTML report. */

import type { CheckResult } from '../check/types.ts';
import type { Recorded } from '../client/recorder.ts';
import { sectionTitle } from '../contract/sections.ts';
import { bodyLines, headline } from './exchange.ts';
import { counterexample } from './finding-text.ts';
import { SYMBOLS } from './groups.ts';
import { html, type Markup, NOTHING } from './html-text.ts';
import { printable, seconds } from './style.ts';

export function findingCard(result: CheckResult, again: string): Markup {
  const smallest = counterexample(result);
  const exchanges = result.exchanges ?? [];
  return html`<details class="finding ${result.outcome}" id="${result.id}" ${result.outcome === 'fail' ? html`open` : NOTHING}>
<summary><span class="mark">${SYMBOLS[result.outcome]}</span><b class="grow"><code>${result.id}</code></b><span class="soft">${result.level} · section ${result.section} ${sectionTitle(result.section)} · ${seconds(result.duration_ms)}</span></summary>
<div class="body"><p>${printable(result.requirement)}</p>
<dl>${row('Expected', result.expected, 'good')}${row('Actual', result.actual, 'bad')}${row('Reason', result.reason)}</dl>
${smallest === undefined ? NOTHING : html`<p class="soft">Smallest counterexample</p><pre>${printable(smallest)}</pre>`}
${result.curl === undefined ? NOTHING : html`<p class="soft">Try it</p>${copied(printable(result.curl))}`}
${exchanges.length === 0 ? NOTHING : html`<p class="soft">Exchanges</p><pre>${exchanges.map(exchange).join('\n\n')}</pre>`}
<p class="soft">Run it again</p>${copied(again)}</div></details>
`;
}

function row(label: string, text: string | undefined, tone = ''): Markup {
  return text === undefined ? NOTHING : html`<dt>${label}</dt><dd class="${tone}">${printable(text)}</dd>`;
}

const copied = (line: string): Markup =>
  html`<div class="line"><pre>${line}</pre><button class="copy" type="button">copy</button></div>`;

function exchange(recorded: Recorded): string {
  return [headline(recorded), ...bodyLines(recorded).map((line) => `  ${line}`)].join('\n');
}
