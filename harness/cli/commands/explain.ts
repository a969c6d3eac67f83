import process from 'node:process';
import { hanging, type Paint, painter, wrap } from '../../common/terminal.ts';
import { nearest, UsageError } from '../../common/usage.ts';
import { CAPABILITY_MEANINGS } from '../../contract/capabilities.ts';
import {
  type Catalogue,
  type CataloguedCheck,
  type CataloguedRequirement,
  catalogue,
  loadSuites,
} from '../catalogue.ts';
import { columns, command } from '../options.ts';

export const explain = command({
  options: {
    id: {
      type: 'string',
      positional: true,
      required: true,
      describe: 'Id of a requirement or check (muster list)',
    },
  },
  examples: [['muster explain device.events.replay.exclusive', 'one requirement and its checks']],
  async run({ id }) {
    const all = catalogue(await loadSuites());
    process.stdout.write(explainText(all, id, painter(process.stdout, process.env), columns()));
    return 0;
  },
});

/** Throws UsageError with the nearest id when the id is unknown. */
export function explainText(all: Catalogue, id: string, paint: Paint, columns: number): string {
  const found = all.requirements.filter((entry) => entry.id === id || entry.checks.some((check) => check.id === id));
  const below = found.length > 0 ? found : all.requirements.filter((entry) => entry.id.startsWith(`${id}.`));
  if (below.length === 0) throw new UsageError(unknown(all, id));
  if (below.length > WHOLE) {
    return [
      ...below.map(
        (entry) =>
          `${entry.level.padEnd(6)} ${paint('bold', entry.id)}  ${paint('dim', `section ${entry.section}`)}\n       ${entry.text}`,
      ),
      `\n${below.length} requirements below ${id}: name one of them to see more.\n`,
    ].join('\n');
  }
  return below.map((entry) => one(entry, paint, columns)).join('\n');
}

/** More than these are shown by name only. */
const WHOLE = 3;

function one(entry: CataloguedRequirement, paint: Paint, columns: number): string {
  const needs = [...new Set(entry.checks.flatMap((check) => check.needs))];
  const field = (label: string, lines: string[]): string[] => hanging(paint('dim', label), lines, 2, 10);
  const room = columns - 14;
  return [
    `${paint('bold', entry.id)}  ${paint('dim', `${entry.level} · ${entry.api} · section ${entry.section} ${entry.title} · since ${entry.since}`)}`,
    '',
    ...wrap(entry.text, columns - 2).map((line) => `  ${line}`),
    '',
    ...(entry.clause === undefined ? [] : field('clause', wrap(`“${entry.clause}”`, room))),
    ...field('decided', wrap(DECIDED[entry.level], room)),
    ...entry.checks.flatMap((check, index) =>
      field(index === 0 ? 'checks' : '', wrap(`${check.id}: ${how(check)}`, room)),
    ),
    ...needs.flatMap((need, index) =>
      field(index === 0 ? 'needs' : '', wrap(`${need}: ${CAPABILITY_MEANINGS[need]}`, room)),
    ),
    ...field('try', [`muster check ${entry.api} … --only ${entry.id}`]),
    '',
  ].join('\n');
}

const DECIDED = {
  MUST: 'stated by the specification: a violation fails the check, and the exit code is 1',
  SHOULD: 'a convention, or good practice: a violation is a warning and does not fail the run',
  INFO: 'the specification is silent: the check records what the target does and never fails',
};

function how(check: CataloguedCheck): string {
  return [
    {
      shared: 'beside other checks',
      exclusive: 'one at a time',
      disruptive: 'last and alone, since it stops, kills or compacts the target',
    }[check.sharing],
    ...(check.needs.length > 0 ? [`needs ${check.needs.join(', ')}`] : []),
    ...(check.waits ? ['waits for seconds (--fast leaves it out)'] : []),
    ...(check.writes ? ['writes to the platform (--read-only leaves it out)'] : []),
    ...(check.profile === 'core' ? ['part of --profile core'] : []),
  ].join('; ');
}

function unknown(all: Catalogue, id: string): string {
  const ids = all.requirements.flatMap((entry) => [entry.id, ...entry.checks.map((check) => check.id)]);
  const words = id.split('.').filter((word) => word.length > 2);
  const alike = [...new Set(ids)].filter((known) => words.some((word) => known.includes(word))).slice(0, 5);
  const near = nearest(id, ids);
  const hint =
    near !== undefined ? `; did you mean ${near}?` : alike.length > 0 ? `; there are ${alike.join(', ')}` : '';
  return `${id}: no requirement and no check has that id${hint} (\`muster list\` shows them all)`;
}
