/** Report as one HTML file, which loads no other file and is readable without its script. */

import type { Mark, MarkKind } from '../client/timeline.ts';
import { html, type Markup, NOTHING, reportPage } from '../common/html.ts';
import { cutTo, printable } from '../common/terminal.ts';
import { readableDuration, ticks } from '../common/units.ts';
import { sectionTitle } from '../contract/sentences.ts';
import { summaryOf } from '../runner/results.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { exchangesOf } from './exchanges.ts';
import {
  AT_ONCE,
  allowanceIn,
  BY_WEIGHT,
  blockedOtherwise,
  byReason,
  bySection,
  checksIn,
  counterexample,
  counts,
  differencesIn,
  type FindingGroup,
  findingsOf,
  followersIn,
  howOften,
  NOT_AS_DECLARED,
  OUTCOME_WORDS,
  plural,
  type SectionGroup,
  SYMBOLS,
  sawInWords,
  scriptLines,
  sentence,
  tally,
  tryLine,
  worst,
} from './findings.ts';
import type { DocumentFormat } from './format.ts';
import { headlineOf, isUndriven, showsCoverage, toneOf } from './verdict.ts';

const MOST_STREAMS = 8;

const WORDS: Record<MarkKind, string> = {
  drive: 'driven',
  restart: 'stopped or started',
  request: 'request',
  stream: 'stream open',
  frame: 'event',
  heartbeat: 'comment',
  sent: 'bytes sent',
  cut: 'cut by the check',
  end: 'ended by the target',
  printed: 'printed by the client',
};

interface Lane {
  name: string;
  marks: Mark[];
}

/** Lanes of marks, and a list of them for screen readers; empty for fewer than two marks. */
export function timelineOf(marks: readonly Mark[]): Markup {
  if (marks.length < 2) return NOTHING;
  const from = Math.min(...marks.map(({ at_ms }) => at_ms));
  const to = Math.max(from + 1, ...marks.map(({ at_ms, until_ms }) => until_ms ?? at_ms));
  const place = (ms: number): string => `${Number((((ms - from) / (to - from)) * 100).toFixed(2))}%`;
  const { lanes, left } = lanesOf(marks);
  const kinds = [...new Set(marks.map(({ kind }) => kind))];
  const about =
    `${marks.length} marks over ${readableDuration(to - from)}: ` +
    `${kinds.map((kind) => `${marks.filter((mark) => mark.kind === kind).length} × ${WORDS[kind]}`).join(', ')}`;
  const which = left > 0 ? ` (the last ${MOST_STREAMS} of ${left + MOST_STREAMS} streams)` : '';
  const track = (shown: Markup[]): Markup => html`<div class="track">${shown}</div>`;
  const lane = ({ name, marks: own }: Lane): Markup => {
    const shown = own.map((mark) => {
      const until = mark.until_ms ?? (mark.kind === 'stream' ? to : mark.at_ms);
      const at = `left:${place(mark.at_ms)};right:calc(100% - ${place(until)})`;
      return html`<i class="${mark.kind}" style="${at}" title="${described(mark)}"></i>`;
    });
    return html`<div class="lane"><span title="${name}">${name}</span>${track(shown)}</div>`;
  };
  const scale = ticks(0, to - from, 6).map(
    (ms) => html`<b style="left:${place(from + ms)}">${readableDuration(ms)}</b>`,
  );
  const line = (mark: Mark): Markup => {
    const stream = mark.stream === undefined ? NOTHING : html`<span class="soft">stream ${mark.stream}</span> `;
    return html`<li><time>${readableDuration(mark.at_ms - from)}</time> ${stream}${described(mark)}</li>`;
  };
  const list = html`<ol class="marks">${marks.map(line)}</ol>`;
  return html`<figure class="timeline"><figcaption class="soft">What happened, over time${which}</figcaption>
<div class="lanes" role="img" aria-label="${about}">${lanes.map(lane)}
<div class="lane scale"><span></span>${track(scale)}</div></div>
<ul class="key">${kinds.map((kind) => html`<li><i class="${kind}"></i>${WORDS[kind]}</li>`)}</ul>
${folded(`The same as a list of ${marks.length} lines`, list)}</figure>
`;
}

function lanesOf(marks: readonly Mark[]): { lanes: Lane[]; left: number } {
  const client = marks.filter(({ kind, stream }) => kind === 'printed' || (kind === 'end' && stream === undefined));
  const streams = [...Map.groupBy(marks, ({ stream }) => stream)].flatMap(([number, own]) => {
    if (number === undefined) return [];
    const opened = own.find(({ kind }) => kind === 'stream');
    const [, query, id] = (opened && /\?(\S+)|with Last-Event-ID: (\S+)/.exec(opened.what)) ?? [];
    const more = id === undefined ? query : `after ${id}`;
    return [{ name: printable(more === undefined ? `stream ${number}` : `stream ${number}: ${more}`), marks: own }];
  });
  const shown = streams.slice(-MOST_STREAMS);
  const lanes: Lane[] = [
    { name: 'driven', marks: marks.filter(({ kind }) => kind === 'drive' || kind === 'restart') },
    { name: 'requests', marks: marks.filter(({ kind }) => kind === 'request') },
    ...shown,
    { name: 'client', marks: client },
  ];
  return { lanes: lanes.filter(({ marks: own }) => own.length > 0), left: streams.length - shown.length };
}

function described({ kind, what, count, at_ms, until_ms }: Mark): string {
  const times = count === undefined ? '' : `${count} × `;
  const took = until_ms === undefined || until_ms - at_ms < 1 ? '' : ` (${readableDuration(until_ms - at_ms)})`;
  return `${times}${WORDS[kind]}: ${printable(what)}${took}`;
}

export const htmlFormat: DocumentFormat = { name: 'html', document: page };

function page(report: Report): string {
  const reached = report.unreachable === undefined;
  const title = `${headlineOf(report).word}: ${report.api} ${cutTo(report.target.address, BRIEF)}`;
  const main = html`${banner(report)}
${reached ? SEARCH : NOTHING}
${findings('Failed', report, 'fail')}
${reached ? grouped('Blocked', blockedOtherwise(report.checks), 'blocked') : NOTHING}
${reached ? grouped('Undecided', report.checks, 'undecided') : NOTHING}
${declared(report)}
${grouped('Stale in the baseline', report.checks, 'fixed')}
${findings('Warned', report, 'warn')}
${
  reached
    ? html`<h2>Checks by section of the specification</h2>${chips(report)}${bySection(report.checks).map(section)}
${observed(report)}${undecided(report)}`
    : NOTHING
}${grouped('Known, excused by the baseline', report.checks, 'known')}
${grouped('Flaky: may pass or fail by the baseline', report.checks, 'flaky')}
<footer>muster ${report.muster} · requirements of ${report.requirements_version} · ${report.started_at}</footer>`;
  return reportPage(title, main, {
    style: new URL('./report-page.css', import.meta.url),
    script: new URL('./report-page.js', import.meta.url),
  });
}

function banner(report: Report): Markup {
  const headlined = headlineOf(report);
  const { target, unreachable } = report;
  const facts: Record<string, string | undefined> = {
    Target: target.address,
    Tested: [target.name, target.version].filter(Boolean).join(' '),
    Digest: target.digest,
    API: `${report.api} ${target.api_version ?? ''}`,
    Control: target.control,
    Capabilities: target.capabilities.join(', '),
    Profile: report.profile,
    Seed: String(report.seed),
    Repeated: report.repeat === undefined ? undefined : `each check run ${report.repeat} times`,
    'Left out': report.narrowed_by.join(', '),
  };
  const rows = Object.entries(facts).map(([label, text]) => row(label, text === '' ? undefined : text));
  const parts = present(report).map(
    (outcome) => html`<i class="${outcome}" style="flex:${report.summary[outcome]}"></i>`,
  );
  const bar = html`<div class="bar" role="img" aria-label="${counts(report.summary)}">${parts}</div>`;
  const reached =
    unreachable === undefined
      ? coverage(report)
      : html`<pre class="wrap">${printable(unreachable).replace(/ (?=Try: )/, '\n')}</pre>`;
  return html`<div class="banner ${toneOf(report, headlined)}"><h1>${headlined.word}</h1>
<p>${sentence(headlined.meaning)}.</p>${reached}
<p class="soft">${tally(report)} · exit ${report.exit_code} · ${readableDuration(report.duration_ms)}</p>
${unreachable === undefined ? bar : NOTHING}
<dl>${rows}</dl></div>`;
}

function coverage(report: Report): Markup {
  if (!showsCoverage(report)) return NOTHING;
  const { checks, decided: count, undecided: open } = report.coverage;
  const undriven = isUndriven(report.coverage)
    ? html`; nothing was driven (<code>muster explain drive</code>)`
    : NOTHING;
  const more = open.length === 0 ? NOTHING : html` <a href="#undecided">What was not decided, and how to decide it</a>`;
  return html`<p><b>${count} of ${checks} checks decided</b>${undriven}.${more}</p>`;
}

const present = (report: Report): Outcome[] => BY_WEIGHT.filter((outcome) => report.summary[outcome] > 0);

/** Hidden until the page's script runs, because the search needs the script. */
const SEARCH = html`<form class="search" role="search" hidden>
<label>Search <input type="search" placeholder="id, words of a requirement, a header, a body …"></label>
<output aria-live="polite"></output></form>`;

function undecided(report: Report): Markup {
  const { undecided: open } = report.coverage;
  if (open.length === 0) return NOTHING;
  const how = (why: string, add: string | undefined): Markup => {
    if (add !== undefined) return html`add <code>${add}</code>`;
    const option = /^left out by (--\S+)$/.exec(why)?.[1];
    return option === undefined
      ? html`<span class="soft">nothing to add</span>`
      : html`run without <code>${option}</code>`;
  };
  const rows = open.map(
    ({ checks: number, why, add }) =>
      html`<tr><td class="n">${number}</td><td>${why}</td><td>${how(why, add)}</td></tr>`,
  );
  const all = open.reduce((sum, { checks: number }) => sum + number, 0);
  return html`<h2 id="undecided">Not decided, and how to decide it (${all})</h2>
<table><thead><tr><th scope="col" class="n">checks</th><th scope="col">why</th><th scope="col">how</th></tr></thead>
<tbody>${rows}</tbody></table>${grouped('Not applicable', report.checks, 'not_applicable')}`;
}

function chips(report: Report): Markup {
  return html`<div class="chips">${present(report).map(
    (outcome) =>
      html`<button class="chip ${outcome}" type="button" aria-pressed="false"
data-outcome="${outcome}"><b>${SYMBOLS[outcome]}</b> ${report.summary[outcome]} ${OUTCOME_WORDS[outcome]}</button>`,
  )}</div>`;
}

function findings(heading: string, report: Report, outcome: 'fail' | 'warn'): Markup {
  const found = findingsOf(report, outcome);
  if (found.length === 0) return NOTHING;
  const whole = outcome === 'warn' ? 0 : found.length <= AT_ONCE ? found.length : 1;
  const more = found.length > 1 ? html` <button class="all" type="button" hidden>open all</button>` : NOTHING;
  const cards = found.map((group, index) => findingCard(group, index < whole));
  return html`<section><h2>${heading} (${found.length})${more}</h2>${cards}</section>`;
}

function declared(report: Report): Markup {
  const found = differencesIn(report);
  if (found.length === 0) return NOTHING;
  return html`<h2 class="blocked">${NOT_AS_DECLARED} (${found.length})</h2>
<ul>${found.map((text) => html`<li>${text}</li>`)}</ul>`;
}

function section({ section: number, title, checks }: SectionGroup): Markup {
  const state = worst(checks);
  return html`<details class="section ${state}"><summary><span class="mark">${SYMBOLS[state]}</span>
<span class="grow">${number} ${title}</span><span class="soft">${counts(summaryOf(checks))}</span></summary>
<div class="body">${anchor(`section-${number}`)}${checks.map(check)}</div></details>
`;
}

function check(result: CheckResult): Markup {
  const { id, outcome, clause: quoted, reason, stderr, allowed_for: allowed } = result;
  const saw = sawInWords(result);
  const code = html`<code>${id}</code>`;
  const detailed = outcome === 'fail' || outcome === 'warn';
  const rate = result.rate === undefined || detailed ? '' : `${howOften(result)} · `;
  const name = detailed ? html`<a href="#${id}">${code}</a>` : html`${anchor(id)}${code}`;
  return html`<div class="check ${outcome}" data-outcome="${outcome}"><span class="mark">${SYMBOLS[outcome]}</span>
<div class="what">${name} <span class="soft">${result.level}</span><p>${printable(result.requirement)}</p>
${quoted === undefined ? NOTHING : html`<p class="soft quoted">“${printable(quoted)}”</p>`}
${reason === undefined ? NOTHING : html`<p class="soft">${printable(reason)}</p>`}
${stderr === undefined ? NOTHING : html`<pre>${printable(stderr)}</pre>`}
${allowed === undefined ? NOTHING : html`<p class="soft">allows for ${allowed.join(', ')}</p>`}
${saw === undefined ? NOTHING : html`<p class="soft">saw ${saw}</p>`}</div>
<span class="soft">${rate}${readableDuration(result.duration_ms)}</span></div>`;
}

function grouped(heading: string, checks: readonly CheckResult[], outcome: Outcome): Markup {
  const groups = byReason(checks, outcome);
  if (groups.length === 0) return NOTHING;
  return html`<h2 class="${outcome}">${heading} (${checksIn(groups)})</h2>${groups.map(
    ([reason, ids]) => html`<p>${printable(reason)}</p>${listOf(ids)}`,
  )}`;
}

function observed(report: Report): Markup {
  const noted = report.checks.filter((result) => (result.observations?.length ?? 0) > 0 && result.outcome !== 'warn');
  if (noted.length === 0) return NOTHING;
  return html`<h2>Observed, where the specification is silent</h2><dl class="observed">${noted.map(
    (result) => html`<dt><code>${result.id}</code></dt><dd>${printable((result.observations ?? []).join('; '))}</dd>`,
  )}</dl>`;
}

const BRIEF = 120;

function findingCard({ lead: result, consequences, blocked }: FindingGroup, open: boolean): Markup {
  const smallest = counterexample(result);
  const short = smallest !== undefined && smallest.length <= 120 && !smallest.includes('\n');
  const exchanges = exchangesOf(result).map(({ headline, lines }) => [headline, ...lines].join('\n  '));
  const script = scriptLines(result);
  const where = `section ${result.section} ${sectionTitle(result.section)}`;
  const breakable = result.id.split('.').map((word, at) => (at === 0 ? html`${word}` : html`.<wbr>${word}`));
  const cards = consequences.map((lead) => findingCard({ lead, consequences: [], blocked: [] }, false));
  const followers = part(followersIn(consequences), cards.length === 0 ? undefined : html`${cards}`);
  const why = `${plural(blocked.length, 'check')} not run because of it`;
  const held = part(why, blocked.length === 0 ? undefined : listOf(blocked.map(({ id }) => id)));
  return html`<details class="finding ${result.outcome}" data-id="${result.id}" ${open ? html`open` : NOTHING}>
<summary><span class="mark">${SYMBOLS[result.outcome]}</span><b class="grow"><code>${breakable}</code></b>
<span class="soft">${result.level} · ${where} · ${readableDuration(result.duration_ms)}</span>
<span class="brief">${cutTo(printable(result.actual ?? result.reason ?? ''), BRIEF)}</span></summary>
<div class="body">${anchor(result.id)}<p>${printable(result.requirement)}</p>${clause(result)}
<dl>${row('Expected', result.expected, 'good')}${row('Actual', result.actual, 'bad')}
${row('How often', howOften(result))}${row('Reason', result.reason)}
${row('Later', allowanceIn(result))}${row('Allows for', result.allowed_for?.join(', '))}
${row('Seen by', result.seen_by?.join(', '))}
${short ? html`<dt>Smallest</dt><dd><code>${printable(smallest)}</code></dd>` : NOTHING}</dl>
${part('Smallest counterexample', short ? undefined : verbatim(smallest))}
${part('Its standard error', verbatim(result.stderr))}
${timelineOf(result.timeline ?? [])}
${part('Try it', copied(tryLine(result)))}
${script && folded(`Drive and ask again: a script of ${script.length} lines`, copied(script.join('\n')))}
${part('Exchanges', verbatim(exchanges.join('\n\n') || undefined))}
${part('Run it again', copied(result.replay_command))}
${followers}${held}</div></details>
`;
}

/** Target of a link; a browser opens the closed `details` around it, even without a script. */
const anchor = (id: string): Markup => html`<span class="anchor" id="${id}"></span>`;

function clause({ clause: quoted, section: number }: CheckResult): Markup {
  if (quoted === undefined)
    return html`<p class="soft">No sentence of the specification is quoted here; see section ${number}.</p>`;
  const link = html`<a href="#section-${number}">Section ${number} ${sectionTitle(number)}</a>`;
  return html`<blockquote>${printable(quoted)}<cite>${link}</cite></blockquote>`;
}

const listOf = (ids: readonly string[]): Markup =>
  html`<ul class="ids soft">${ids.map((id) => html`<li><code>${id}</code></li>`)}</ul>`;

const part = (title: string, body: Markup | undefined): Markup =>
  body === undefined ? NOTHING : html`<p class="soft">${title}</p>${body}`;

const folded = (title: string, body: Markup | undefined): Markup =>
  html`<details class="script"><summary>${title}</summary><div class="body">${body}</div></details>`;

const verbatim = (text: string | undefined): Markup | undefined =>
  text === undefined ? undefined : html`<pre>${text}</pre>`;

function row(label: string, text: string | undefined, tone?: string): Markup {
  if (text === undefined) return NOTHING;
  return html`<dt>${label}</dt><dd${tone === undefined ? NOTHING : html` class="${tone}"`}>${printable(text)}</dd>`;
}

const copied = (line: string | undefined): Markup | undefined =>
  line === undefined
    ? undefined
    : html`<div class="line"><pre>${line}</pre><button class="copy" type="button">copy</button></div>`;
