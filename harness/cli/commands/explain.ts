/** `muster explain`: explains requirements, checks, capabilities and profiles, and how the specification is covered. */
import process from 'node:process';
import { hanging, type Paint, painter, wrap } from '../../common/terminal.ts';
import { nearest, UsageError } from '../../common/usage.ts';
import { CAPABILITIES, CAPABILITY_MEANINGS, CAPABILITY_OPTIONS, type Capability } from '../../contract/capabilities.ts';
import { PROFILE_NAMES, PROFILES } from '../../contract/profiles.ts';
import { sectionTitle } from '../../contract/sections.ts';
import { deciding, SENTENCES } from '../../contract/sentences.ts';
import { countInWords } from '../../runner/results.ts';
import { APIS } from '../../runner/types.ts';
import {
  type Catalogue,
  type CataloguedCheck,
  type CataloguedRequirement,
  catalogue,
  loadSuites,
  loadWatched,
  watchOf,
} from '../catalogue.ts';
import { columns, command, OPTION } from '../options.ts';

export const explain = command({
  options: {
    id: OPTION.text(
      'Id of a requirement or check (muster list), a capability such as drive, or a profile such as full',
      { positional: true },
    ),
    coverage: OPTION.flag(
      'Each sentence of the specification, what decides it, and how many planted defects prove that',
    ),
  },
  examples: [
    ['muster explain device.events.replay.exclusive', 'one requirement and its checks'],
    ['muster explain drive', 'a capability, and how a target gets it'],
    ['muster explain driven', 'a profile, and what it holds a target to'],
    ['muster explain --coverage', 'what is decided, sentence by sentence, and what is not'],
  ],
  async run({ id, coverage }) {
    if (id === undefined && !coverage) throw new UsageError('explain: ID is missing');
    if (id !== undefined && coverage)
      throw new UsageError(`explain: --coverage is about all sentences; leave out ${id}`);
    const all = catalogue(await loadSuites(), undefined, await loadWatched());
    const paint = painter(process.stdout, process.env);
    const text =
      id === undefined
        ? coverageText(all, await brokenByDefects(), paint, columns())
        : explainText(all, id, paint, columns());
    process.stdout.write(text);
    return 0;
  },
});

export function explainText(all: Catalogue, id: string, paint: Paint, columns: number): string {
  const capability = CAPABILITIES.find((name) => name === id);
  if (capability !== undefined) return capabilityText(all, capability, paint, columns);
  if (PROFILE_NAMES.includes(id)) return profileText(all, id, paint, columns);
  const found = all.requirements.filter((entry) => idsOf(entry).includes(id));
  const below = found.length > 0 ? found : all.requirements.filter((entry) => entry.id.startsWith(`${id}.`));
  if (below.length === 0) throw new UsageError(unknown(all, id));
  if (below.length > MOST_IN_FULL) {
    return [
      ...below.map(({ level, id: each, section, text }) => {
        const head = `${level.padEnd(6)} ${paint('bold', each)}  ${paint('dim', `section ${section}`)}`;
        return `${head}\n       ${text}`;
      }),
      `\n${below.length} requirements below ${id}: name one of them to see more.\n`,
    ].join('\n');
  }
  return below.map((entry) => requirementText(entry, paint, columns)).join('\n');
}

const idsOf = ({ id, checks, watched = [] }: CataloguedRequirement): string[] =>
  [{ id }, ...checks, ...watched].map((each) => each.id);

const MOST_IN_FULL = 3;

const fieldsIn =
  (paint: Paint, columns: number) =>
  (label: string, text: string): string[] =>
    hanging(paint('dim', label), wrap(text, columns - 14), 2, 10);

const headOf = (name: string, kind: string, meaning: string, paint: Paint, columns: number): string[] => [
  `${paint('bold', name)}  ${paint('dim', kind)}`,
  '',
  ...wrap(meaning, columns - 2).map((line) => `  ${line}`),
  '',
];

function requirementText(entry: CataloguedRequirement, paint: Paint, columns: number): string {
  const needs = [...new Set(entry.checks.flatMap((check) => check.needs))];
  const field = fieldsIn(paint, columns);
  const { level, api, section, title, since } = entry;
  const kind = `${level} · ${api} · section ${section} ${title} · since ${since}`;
  const judged = api === 'client' ? 'what clients do' : 'what clients get';
  return [
    ...headOf(entry.id, kind, entry.text, paint, columns),
    ...(entry.clause === undefined ? [] : field('clause', `“${entry.clause}”`)),
    ...field('decided', DECIDED[entry.level]),
    ...entry.checks.flatMap((check, index) => field(index === 0 ? 'checks' : '', `${check.id}: ${how(check)}`)),
    ...(entry.watched ?? []).flatMap((rule, index) =>
      field(index === 0 ? 'watched' : '', `${rule.id}: a rule of ${watchOf(rule)}, which judges ${judged}`),
    ),
    ...needs.flatMap((need, index) => field(index === 0 ? 'needs' : '', `${need}: ${CAPABILITY_MEANINGS[need]}`)),
    ...[
      `muster check ${api} … --only ${entry.id}`,
      ...(entry.watched ?? []).map((rule) => `${watchOf(rule)} … --only ${rule.id}`),
    ].flatMap((line, index) => hanging(paint('dim', index === 0 ? 'try' : ''), [line], 2, 10)),
    '',
  ].join('\n');
}

const DECIDED = {
  MUST: 'stated by the specification: a violation fails the check, and the exit code is 1',
  SHOULD:
    'a convention, or good practice: a violation is a warning, and fails a run only by --fail-on, ' +
    'or by the profile full where it protects others',
  INFO: 'the specification is silent: the check records what the target does and never fails',
};

function how(check: CataloguedCheck): string {
  const drives = check.needs.flatMap((need) => WHAT_IT_DOES[need] ?? []);
  const others = check.needs.filter((need) => WHAT_IT_DOES[need] === undefined);
  const place = {
    shared: 'beside other checks',
    publishing: 'one at a time, or several where events take long',
    exclusive: 'one at a time',
    disruptive: 'last and alone',
  }[check.sharing];
  const does = [
    check.rule
      ? 'a rule, which judges what other checks ask'
      : `${drives.length === 0 ? 'only asks' : `${listed(drives)}, and asks`}, ${place}`,
    ...(others.length > 0 ? [`needs ${others.join(', ')}`] : []),
    ...(check.waits ? ['waits for seconds (--fast leaves it out)'] : []),
    ...(check.writes ? ['sends the platform more than GET (--read-only leaves it out)'] : []),
    ...(check.profiles.length > 0 ? [`part of the profiles ${listed(check.profiles)}`] : []),
    ...leastOf(check),
  ].join('; ');
  return [
    does,
    ...(check.essential ? ['When it fails, nothing that rests on it is asked'] : []),
    ...(check.premises.length === 0 ? [] : [`What it finds may follow from ${check.premises.join(', ')}`]),
  ].join('. ');
}

const leastOf = ({ least }: CataloguedCheck): string[] => {
  const told = Object.entries(least).map(([name, count]) => countInWords(name, count));
  return told.length === 0 ? [] : [`must have seen at least ${listed(told)}`];
};

const WHAT_IT_DOES: Readonly<Partial<Record<Capability, string>>> = {
  drive: 'makes deployments and events through control',
  compact: 'has the event log compacted',
  restart: 'stops and starts the agent',
  log: 'reads the event log',
  files: 'reads the config files',
};

const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

function capabilityText(all: Catalogue, name: Capability, paint: Paint, columns: number): string {
  const checks = all.requirements.flatMap((entry) => entry.checks.filter(({ needs }) => needs.includes(name)));
  const field = fieldsIn(paint, columns);
  const option = CAPABILITY_OPTIONS[name];
  return [
    ...headOf(name, 'a capability of a target', CAPABILITY_MEANINGS[name], paint, columns),
    ...(option === undefined ? [] : field('add', option)),
    ...field(
      'checks',
      checks.length === 0
        ? 'none need it'
        : `${checks.length} that need${checks.length === 1 ? 's' : ''} it: ${checks.map(({ id }) => id).join(' ')}`,
    ),
    '',
  ].join('\n');
}

function profileText(all: Catalogue, name: string, paint: Paint, columns: number): string {
  const field = fieldsIn(paint, columns);
  return APIS.flatMap((api) => {
    const profile = PROFILES[api].find((each) => each.name === name);
    if (profile === undefined) return [];
    const own = all.requirements.filter((entry) => entry.api === api);
    const held = own.filter(({ checks }) => checks.some(({ profiles }) => profiles.includes(name)));
    return [
      ...headOf(`${api}: ${name}`, 'a profile', `Holds the target to ${profile.about}.`, paint, columns),
      ...field('needs', profile.has.length === 0 ? 'nothing' : profile.has.join(', ')),
      ...field('decides', `${held.length} of ${own.length} requirements: ${held.map(({ id }) => id).join(' ')}`),
      ...hanging(paint('dim', 'try'), [`muster check ${api} … --profile ${name}`], 2, 10),
      '',
    ];
  }).join('\n');
}

async function brokenByDefects(): Promise<(readonly string[])[]> {
  const [device, client, platform] = await Promise.all([
    import('../../../simulators/defects/device/index.ts'),
    import('../../../simulators/defects/client/index.ts'),
    import('../../../simulators/defects/platform/index.ts'),
  ]);
  const { platformDefects, systemDefects } = platform;
  return [device.deviceDefects, client.clientDefects, platformDefects, systemDefects]
    .flat()
    .map(({ breaks }) => breaks);
}

export function coverageText(
  { requirements, requirements_version }: Catalogue,
  defects: readonly (readonly string[])[],
  paint: Paint,
  columns: number,
): string {
  const covered = SENTENCES.map((sentence) => ({ sentence, by: deciding(sentence, requirements) }));
  const proofs = (by: readonly CataloguedRequirement[]): number => {
    const ids = new Set(by.flatMap(({ id, checks }) => [id, ...checks.map((check) => check.id)]));
    return defects.filter((breaks) => breaks.some((id) => ids.has(id))).length;
  };
  const lines = ({ sentence: { text, open = '' }, by }: (typeof covered)[number]): string[] => [
    ...wrap(text, columns - 2).map((line) => `  ${line}`),
    ...(by.length === 0
      ? wrap(`not decided: ${open}`, columns - 6).map((line) => `      ${paint('yellow', line)}`)
      : [
          ...by.map(
            ({ id, level, checks }) => `      ${paint('dim', `${level.padEnd(6)} ${id}: ${checksOf(checks)}`)}`,
          ),
          paint('dim', `      ${proofs(by) === 0 ? 'no defect' : countInWords('defects', proofs(by))} planted`),
        ]),
  ];
  const decided = covered.filter(({ by }) => by.length > 0);
  const firmly = decided.filter(({ by }) => by.some(({ level }) => level === 'MUST')).length;
  return [
    ...[...Map.groupBy(covered, ({ sentence }) => sentence.section)].flatMap(([section, group]) => [
      paint(['bold', 'cyan'], `${section} ${sectionTitle(section)}`),
      ...group.flatMap(lines),
      '',
    ]),
    `${decided.length} of ${covered.length} sentences are decided, ${firmly} by a MUST · requirements of ` +
      requirements_version,
    '',
  ].join('\n');
}

function checksOf(checks: readonly CataloguedCheck[]): string {
  const rules = checks.filter(({ rule }) => rule).length;
  const parts = [
    ...(checks.length > rules ? [countInWords('checks', checks.length - rules)] : []),
    ...(rules > 0 ? [countInWords('rules', rules)] : []),
  ];
  return parts.join(', ');
}

function unknown(all: Catalogue, id: string): string {
  const ids = all.requirements.flatMap(idsOf);
  const words = id.split('.').filter((word) => word.length > 2);
  const alike = [...new Set(ids)].filter((known) => words.some((word) => known.includes(word))).slice(0, 5);
  const near = nearest(id, ids);
  const hint =
    near !== undefined ? `; did you mean ${near}?` : alike.length > 0 ? `; there are ${alike.join(', ')}` : '';
  return `${id}: no requirement and no check has that id${hint} (\`muster list\` shows them all)`;
}
