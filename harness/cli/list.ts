import process from 'node:process';
import type { CommandModule } from 'yargs';
import { type Paint, painter, wrap } from '../reports/style.ts';
import { APIS, type Api, LEVELS, type Level } from '../runner/types.ts';
import { type Catalogue, type CataloguedRequirement, catalogue, loadSuites } from './catalogue.ts';
import { columns } from './columns.ts';

interface Arguments {
  api?: Api;
  level?: Level[];
  section?: string[];
  json: boolean;
}

export const list: CommandModule<object, Arguments> = {
  builder: (argv) =>
    argv
      .positional('api', { choices: APIS, describe: 'Only this suite' })
      .options({
        level: { choices: LEVELS, array: true, describe: 'Only these levels' },
        section: { type: 'string', array: true, describe: 'Only these sections of the specification' },
        json: { type: 'boolean', default: false, describe: 'As JSON' },
      })
      .example('$0 list device --level MUST', 'what an agent must do')
      .example('$0 list --json', 'for a script') as never,
  handler: async ({ api, level, section, json }) => {
    const all = catalogue(await loadSuites());
    const sections = section?.map(String);
    const shown = {
      ...all,
      requirements: all.requirements.filter(
        (entry) =>
          (api === undefined || entry.api === api) &&
          (level === undefined || level.includes(entry.level)) &&
          (sections === undefined || sections.some((at) => entry.section === at || entry.section.startsWith(`${at}.`))),
      ),
    };
    process.stdout.write(
      json ? `${JSON.stringify(shown, null, 2)}\n` : listText(shown, painter(process.stdout, process.env), columns()),
    );
  },
};

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
    `${requirements.length} requirements, ${checks} checks · requirements of ${requirements_version} · muster explain ID tells more`,
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
  return [
    `  ${paint(TONES[entry.level], entry.level.padEnd(6))} ${entry.id}`,
    ...wrap(entry.text, columns - 9).map((line) => paint('dim', `         ${line}`)),
    ...notes.flatMap((note) => wrap(note, columns - 9).map((line) => paint('dim', `         ${line}`))),
  ];
}
