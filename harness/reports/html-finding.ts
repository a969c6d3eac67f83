/** One finding as a card of the HTML report. */

import type { Recorded } from '../client/recorder.ts';
import { readableDuration } from '../common/durations.ts';
import { html, type Markup, NOTHING } from '../common/html.ts';
import { cutTo, printable } from '../common/terminal.ts';
import { sectionTitle } from '../contract/sections.ts';
import type { CheckResult } from '../runner/types.ts';
import { bodyLines, counterexample, headline, tryLine } from './finding-text.ts';
import { SYMBOLS } from './groups.ts';

/** Characters of a counterexample that needs no block of its own, and of the line that a closed card shows. */
const SHORT = 120;
const BRIEF = 120;

/** `open`: shown at length at once, otherwise as one line until it is clicked. */
export function findingCard(result: CheckResult, open: boolean): Markup {
  const smallest = counterexample(result);
  const short = smallest !== undefined && smallest.length <= SHORT && !smallest.includes('\n');
  const exchanges = result.exchanges ?? [];
  const line = tryLine(result);
  const again = result.replay_command;
  return html`<details class="finding ${result.outcome}" id="${result.id}" ${open ? html`open` : NOTHING}>
<summary><span class="mark">${SYMBOLS[result.outcome]}</span><b class="grow"><code>${breakable(result.id)}</code></b><span class="soft">${result.level} · section ${result.section} ${sectionTitle(result.section)} · ${readableDuration(result.duration_ms)}</span><span class="brief">${cutTo(printable(result.actual ?? result.reason ?? ''), BRIEF)}</span></summary>
<div class="body"><p>${printable(result.requirement)}</p>
<dl>${row('Expected', result.expected, 'good')}${row('Actual', result.actual, 'bad')}${row('Reason', result.reason)}${short ? html`<dt>Smallest</dt><dd><code>${printable(smallest)}</code></dd>` : NOTHING}</dl>
${smallest === undefined || short ? NOTHING : html`<p class="soft">Smallest counterexample</p><pre>${printable(smallest)}</pre>`}
${line === undefined ? NOTHING : html`<p class="soft">Try it</p>${copied(line)}`}
${exchanges.length === 0 ? NOTHING : html`<p class="soft">Exchanges</p><pre>${exchanges.map(exchange).join('\n\n')}</pre>`}
${again === undefined ? NOTHING : html`<p class="soft">Run it again</p>${copied(again)}`}</div></details>
`;
}

/** Lets a narrow screen break an id between its words. */
const breakable = (id: string): Markup =>
  html`${id.split('.').map((word, at) => (at === 0 ? html`${word}` : html`.<wbr>${word}`))}`;

function row(label: string, text: string | undefined, tone = ''): Markup {
  return text === undefined ? NOTHING : html`<dt>${label}</dt><dd class="${tone}">${printable(text)}</dd>`;
}

const copied = (line: string): Markup =>
  html`<div class="line"><pre>${line}</pre><button class="copy" type="button">copy</button></div>`;

function exchange(recorded: Recorded): string {
  return [headline(recorded), ...bodyLines(recorded).map((line) => `  ${line}`)].join('\n');
}
