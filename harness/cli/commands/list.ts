import process from 'node:process';
import { type Paint, painter, wrap } from '../../common/terminal.ts';
import { APIS, LEVELS } from '../../runner/types.ts';
import {
  type Catalogue,
  type CataloguedRequirement,
  catalogue,
  loadSuites,
  loadWatched,
  watchOf,
} from '../catalogue.ts';
import { columns, command, OPTION } from '../options.ts';

export const list = command({
  options: {
    api: OPTION.oneOf(APIS, 'Only this suite', { positional: true }),
    level: OPTION.oneOf(LEVELS, 'Only these levels', { array: true }),
    section: OPTION.list('Only these sections of the specification'),
    requirements: OPTION.text('Requirement set of this date (YYYY-MM-DD)', { defaultText: 'the newest' }),
    json: OPTION.flag('As JSON'),
  },
  examples: [
    ['muster list device --level MUST', 'what an agent must do'],
    ['muster list --json', 'for a script'],
  ],
  async run({ api, level, section, requirements, json }) {
    const all = catalogue(await loadSuites(), requirements, await loadWatched());
    const shown = {
      ...all,
      requirements: all.requirements.filter(
        (entry) =>
          (api === undefined || entry.api === api) &&
          (level === undefined || level.includes(entry.level)) &&
          (section === undefined || section.some((at) => entry.section === at || entry.section.startsWith(`${at}.`))),
      ),
    };
    const paint = painter(process.stdout, process.env);
    process.stdout.write(json ? `${JSON.stringify(shown, null, 2)}\n` : listText(shown, paint, columns()));
    return 0;
  },
});

const TONES = { MUST: 'bold', SHOULD: 'yellow', INFO: 'dim' } as const;

export function listText({ requirements, requirements_version }: Catalogue, paint: Paint, columns: number): string {
  const groups = Map.groupBy(requirements, (entry) => `${entry.api}  ${entry.section} ${entry.title}`);
  const checks = requirements.reduce((sum, entry) => sum + entry.checks.length, 0);
  return [
    ...[...groups].flatMap(([heading, entries]) => [
      paint(['bold', 'cyan'], heading),
      ...entries.flatMap((entry) => requirementLines(entry, paint, columns)),
      '',
    ]),
    `${requirements.length} requirements, ${checks} checks · requirements of ${requirements_version} · muster ` +
      'explain ID for more',
    '',
  ].join('\n');
}

function requirementLines(entry: CataloguedRequirement, paint: Paint, columns: number): string[] {
  const [only, ...more] = entry.checks;
  const simple = more.length === 0 && only?.id === entry.id;
  const notes = simple
    ? only.needs.length === 0
      ? []
      : [`needs ${only.needs.join(', ')}`]
    : entry.checks.map(({ id, needs }) => `${id}${needs.length === 0 ? '' : ` needs ${needs.join(', ')}`}`);
  const watched = (entry.watched ?? []).map((rule) => `${rule.id} by ${watchOf(rule)}`);
  return [
    `  ${paint(TONES[entry.level], entry.level.padEnd(6))} ${entry.id}`,
    ...wrap(entry.text, columns - 9).map((line) => paint('dim', `         ${line}`)),
    ...[...notes, ...watched].flatMap((note) =>
      wrap(note, columns - 9).map((line) => paint('dim', `         ${line}`)),
    ),
  ];
}
