/** The report as one HTML file. It loads nothing, and can be read without its script. */

import { readableDuration } from '../common/durations.ts';
import { html, type Markup, NOTHING, trusted } from '../common/html.ts';
import { printable } from '../common/terminal.ts';
import { summarise } from '../runner/summary.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import type { DocumentFormat } from './format.ts';
import {
  AT_ONCE,
  BY_WEIGHT,
  byReason,
  bySection,
  counts,
  OUTCOME_WORDS,
  type SectionGroup,
  SYMBOLS,
  verdict,
  worst,
} from './groups.ts';
import { findingCard } from './html-finding.ts';
import { SCRIPT, STYLE } from './html-style.ts';

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** `--report html`. */
export const htmlFormat: DocumentFormat = { name: 'html', document: page };

function page(report: Report): string {
  const { word } = verdict(report);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><title>${word}: ${report.api} ${report.target.address}</title>
<style>${trusted(STYLE)}</style></head><body><main>
${banner(report)}
${findings('Failed', report, 'fail')}
${grouped('Blocked', report, 'blocked')}${grouped('Stale in the baseline', report, 'fixed')}
${findings('Warned', report, 'warn')}
<h2>Checks by section of the specification</h2>${chips(report)}${bySection(report.checks).map(section)}
${observed(report)}${grouped('Not applicable', report, 'not_applicable')}${grouped('Known, excused by the baseline', report, 'known')}
<footer>muster ${report.muster} · requirements of ${report.requirements_version} · ${report.started_at}</footer>
</main><script>${trusted(SCRIPT)}</script></body></html>
`.markup;
}

function banner(report: Report): Markup {
  const { word, good, meaning } = verdict(report);
  const { target } = report;
  const row = (label: string, text: string | undefined): Markup =>
    text === undefined || text === '' ? NOTHING : html`<dt>${label}</dt><dd>${printable(text)}</dd>`;
  return html`<div class="banner ${good ? 'pass' : 'fail'}"><h1>${word}</h1><p>${sentence(meaning)}.</p><p class="soft">${counts(report.summary)} · exit ${report.exit_code} · ${readableDuration(report.duration_ms)}</p>
<div class="bar" role="img" aria-label="${counts(report.summary)}">${present(report).map((outcome) => html`<i class="${outcome}" style="flex:${report.summary[outcome]}"></i>`)}</div>
<dl>${row('Target', target.address)}${row('Tested', [target.name, target.version].filter(Boolean).join(' '))}${row('Digest', target.digest)}${row('API', `${report.api} ${target.api_version ?? ''}`)}${row('Control', target.control)}${row('Capabilities', target.capabilities.join(', '))}${row('Profile', report.profile)}${row('Seed', String(report.seed))}${row('Left out', report.narrowed_by.join(', '))}</dl></div>`;
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const present = (report: Report): Outcome[] => BY_WEIGHT.filter((outcome) => report.summary[outcome] > 0);

function chips(report: Report): Markup {
  return html`<div class="chips">${present(report).map(
    (outcome) =>
      html`<button class="chip ${outcome}" type="button" aria-pressed="false" data-outcome="${outcome}"><b>${SYMBOLS[outcome]}</b> ${report.summary[outcome]} ${OUTCOME_WORDS[outcome]}</button>`,
  )}</div>`;
}

function findings(heading: string, report: Report, outcome: 'fail' | 'warn'): Markup {
  const found = report.checks.filter((check) => check.outcome === outcome);
  if (found.length === 0) return NOTHING;
  const whole = outcome === 'warn' ? 0 : found.length <= AT_ONCE ? found.length : 1;
  const more = found.length > 1 ? html` <button class="all" type="button" hidden>open all</button>` : NOTHING;
  return html`<section><h2>${heading} (${found.length})${more}</h2>${found.map((result, index) => findingCard(result, index < whole))}</section>`;
}

function section({ section: number, title, checks }: SectionGroup): Markup {
  const state = worst(checks);
  return html`<details class="section ${state}"><summary><span class="mark">${SYMBOLS[state]}</span><span class="grow">${number} ${title}</span><span class="soft">${counts(summarise(checks))}</span></summary><div class="body">${checks.map(check)}</div></details>
`;
}

function check(result: CheckResult): Markup {
  const detailed = result.outcome === 'fail' || result.outcome === 'warn';
  const id = html`<code>${result.id}</code>`;
  return html`<div class="check ${result.outcome}" data-outcome="${result.outcome}"><span class="mark">${SYMBOLS[result.outcome]}</span><div class="what">${detailed ? html`<a href="#${result.id}">${id}</a>` : id} <span class="soft">${result.level}</span><p>${printable(result.requirement)}</p>${result.reason === undefined ? NOTHING : html`<p class="soft">${printable(result.reason)}</p>`}</div><span class="soft">${readableDuration(result.duration_ms)}</span></div>`;
}

function grouped(heading: string, report: Report, outcome: 'blocked' | 'fixed' | 'not_applicable' | 'known'): Markup {
  const groups = byReason(report.checks, outcome);
  if (groups.length === 0) return NOTHING;
  return html`<h2 class="${outcome}">${heading} (${report.summary[outcome]})</h2>${groups.map(
    ([reason, ids]) =>
      html`<p>${printable(reason)}</p><ul class="ids soft">${ids.map((id) => html`<li><code>${id}</code></li>`)}</ul>`,
  )}`;
}

function observed(report: Report): Markup {
  const noted = report.checks.filter((result) => (result.observations?.length ?? 0) > 0 && result.outcome !== 'warn');
  if (noted.length === 0) return NOTHING;
  return html`<h2>Observed, where the specification is silent</h2><dl class="observed">${noted.map(
    (result) => html`<dt><code>${result.id}</code></dt><dd>${printable((result.observations ?? []).join('; '))}</dd>`,
  )}</dl>`;
}
