/** Writes HAR 1.2 with a page for each finding; every time is the run's start, because exchanges record no time. */
import { harEntry } from '../client/har-entry.ts';
import { printableJson } from '../common/terminal.ts';
import type { Report } from '../runner/types.ts';
import type { DocumentFormat } from './format.ts';

export const harFormat: DocumentFormat = {
  name: 'har',
  document: (report) => `${printableJson(documentOf(report), 2)}\n`,
};

function documentOf(report: Report): object {
  const found = report.checks.filter(({ exchanges = [], outcome }) => exchanges.length > 0 && outcome !== 'pass');
  const startedDateTime = new Date(Date.parse(report.started_at)).toISOString();
  const pages = found.map(({ id, outcome, actual, reason }) => ({
    id,
    title: `${id}: ${outcome}: ${actual ?? reason ?? ''}`,
    startedDateTime,
    pageTimings: {},
  }));
  const entries = found.flatMap(({ id, exchanges = [] }) =>
    exchanges.map((exchange) => ({ pageref: id, startedDateTime, ...harEntry(exchange) })),
  );
  const creator = { name: 'muster', version: report.muster };
  const comment = 'the exchanges of each finding; their times are that of the run';
  return { log: { version: '1.2', creator, pages, entries, comment } };
}
