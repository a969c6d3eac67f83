import process from 'node:process';
import { hanging, type Paint, painter, wrap } from '../../common/terminal.ts';
import { nearest, UsageError } from '../../common/usage.ts';
import { CAPABILITIES, CAPABILITY_MEANINGS, CAPABILITY_OPTIONS, type Capability } from '../../contract/capabilities.ts';
import { PROFILE_NAMES, PROFILES } from '../../contract/profiles.ts';
import { deciding, SENTENCES, sectionTitle } from '../../contract/sentences.ts';
import { countInWords } from '../../runner/results.ts';
import { APIS, LEVELS } from '../../runner/types.ts';
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
      ...entries.flatMap((entry) => {
        const isOne = entry.checks.length === 1 && entry.checks[0]?.id === entry.id;
        const notes = entry.checks.map(({ id, needs }) =>
          [...(isOne ? [] : [id]), ...(needs.length === 0 ? [] : ['needs', needs.join(', ')])].join(' '),
        );
        const watched = (entry.watched ?? []).map((rule) => `${rule.id} by ${watchOf(rule)}`);
        return [
          `  ${paint(TONES[entry.level], entry.level.padEnd(6))} ${entry.id}`,
          ...[entry.text, ...notes, ...watched]
            .filter((text) => text !== '')
            .flatMap((text) => wrap(text, columns - 9).map((line) => paint('dim', `         ${line}`))),
        ];
      }),
      '',
    ]),
    `${requirements.length} requirements, ${checks} checks · requirements of ${requirements_version} · muster ` +
      'explain ID for more',
    '',
  ].join('\n');
}

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
    if (id !== undefined) {
      process.stdout.write(explainText(all, id, paint, columns()));
      return 0;
    }
    const [{ deviceDefects }, { clientDefects }, { platformDefects, systemDefects }] = await Promise.all([
      import('../../../simulators/defects/device/index.ts'),
      import('../../../simulators/defects/client/index.ts'),
      import('../../../simulators/defects/platform/index.ts'),
    ]);
    const defects = [deviceDefects, clientDefects, platformDefects, systemDefects].flat().map(({ breaks }) => breaks);
    process.stdout.write(coverageText(all, defects, paint, columns()));
    return 0;
  },
});

type Field = readonly [label: string, ...texts: string[]];
type Explained = { name: string; kind: string; meaning: string; fields: readonly Field[] };

export function explainText(all: Catalogue, id: string, paint: Paint, columns: number): string {
  const fieldLines = ([label, ...texts]: Field): string[] =>
    texts.flatMap((text, index) =>
      hanging(paint('dim', index === 0 ? label : ''), label === 'try' ? [text] : wrap(text, columns - 14), 2, 10),
    );
  const textOf = ({ name, kind, meaning, fields }: Explained): string =>
    [
      `${paint('bold', name)}  ${paint('dim', kind)}`,
      '',
      ...wrap(meaning, columns - 2).map((line) => `  ${line}`),
      '',
      ...fields.flatMap(fieldLines),
      '',
    ].join('\n');
  const capability = CAPABILITIES.find((name) => name === id);
  if (capability !== undefined) return textOf(capabilityEntry(all, capability));
  if (PROFILE_NAMES.includes(id)) return profileEntries(all, id).map(textOf).join('\n');
  const found = all.requirements.filter((entry) => idsOf(entry).includes(id));
  const below = found.length > 0 ? found : all.requirements.filter((entry) => entry.id.startsWith(`${id}.`));
  if (below.length === 0) {
    const ids = all.requirements.flatMap(idsOf);
    const words = id.split('.').filter((word) => word.length > 2);
    const alike = [...new Set(ids)].filter((known) => words.some((word) => known.includes(word))).slice(0, 5);
    const near = nearest(id, ids);
    const hint =
      near !== undefined ? `; did you mean ${near}?` : alike.length > 0 ? `; there are ${alike.join(', ')}` : '';
    throw new UsageError(`${id}: no requirement and no check has that id${hint} (\`muster list\` shows them all)`);
  }
  if (below.length > 3)
    return [
      ...below.map(({ level, id: each, section, text }) => {
        const head = `${level.padEnd(6)} ${paint('bold', each)}  ${paint('dim', `section ${section}`)}`;
        return `${head}\n       ${text}`;
      }),
      `\n${below.length} requirements below ${id}: name one of them to see more.\n`,
    ].join('\n');
  return below.map((entry) => textOf(requirementEntry(entry))).join('\n');
}

const idsOf = ({ id, checks, watched = [] }: CataloguedRequirement): string[] =>
  [{ id }, ...checks, ...watched].map((each) => each.id);

function requirementEntry({ id, text, clause, checks, watched = [], ...entry }: CataloguedRequirement): Explained {
  const needs = [...new Set(checks.flatMap((check) => check.needs))];
  const { level, api, section, title, since } = entry;
  const judged = api === 'client' ? 'what clients do' : 'what clients get';
  return {
    name: id,
    kind: `${level} · ${api} · section ${section} ${title} · since ${since}`,
    meaning: text,
    fields: [
      ['clause', ...(clause === undefined ? [] : [`“${clause}”`])],
      ['decided', DECIDED[level]],
      ['checks', ...checks.map((check) => `${check.id}: ${how(check)}`)],
      ['watched', ...watched.map((rule) => `${rule.id}: a rule of ${watchOf(rule)}, which judges ${judged}`)],
      ['needs', ...needs.map((need) => `${need}: ${CAPABILITY_MEANINGS[need]}`)],
      ['try', `muster check ${api} … --only ${id}`, ...watched.map((rule) => `${watchOf(rule)} … --only ${rule.id}`)],
    ],
  };
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
  const least = Object.entries(check.least).map(([name, count]) => countInWords(name, count));
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
    ...(least.length > 0 ? [`must have seen at least ${listed(least)}`] : []),
  ].join('; ');
  return [
    does,
    ...(check.essential ? ['When it fails, the checks that depend on it are blocked'] : []),
    ...(check.premises.length === 0 ? [] : [`What it finds may follow from ${check.premises.join(', ')}`]),
  ].join('. ');
}

const WHAT_IT_DOES: Readonly<Partial<Record<Capability, string>>> = {
  drive: 'makes deployments and events through control',
  compact: 'has the event log compacted',
  restart: 'stops and starts the agent',
  log: 'reads the event log',
  files: 'reads the config files',
};

const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

function capabilityEntry(all: Catalogue, name: Capability): Explained {
  const checks = all.requirements.flatMap((entry) => entry.checks.filter(({ needs }) => needs.includes(name)));
  const option = CAPABILITY_OPTIONS[name];
  const count = `${checks.length} that need${checks.length === 1 ? 's' : ''} it`;
  return {
    name,
    kind: 'a capability of a target',
    meaning: CAPABILITY_MEANINGS[name],
    fields: [
      ['add', ...(option === undefined ? [] : [option])],
      ['checks', checks.length === 0 ? 'none need it' : `${count}: ${checks.map(({ id }) => id).join(' ')}`],
    ],
  };
}

const profileEntries = (all: Catalogue, name: string): Explained[] =>
  APIS.flatMap((api): Explained[] => {
    const profile = PROFILES[api].find((each) => each.name === name);
    if (profile === undefined) return [];
    const own = all.requirements.filter((entry) => entry.api === api);
    const held = own.filter(({ checks }) => checks.some(({ profiles }) => profiles.includes(name)));
    const fields: Field[] = [
      ['needs', profile.has.length === 0 ? 'nothing' : profile.has.join(', ')],
      ['decides', `${held.length} of ${own.length} requirements: ${held.map(({ id }) => id).join(' ')}`],
      ['try', `muster check ${api} … --profile ${name}`],
    ];
    return [{ name: `${api}: ${name}`, kind: 'a profile', meaning: `Holds the target to ${profile.about}.`, fields }];
  });

export function coverageText(all: Catalogue, defects: readonly (readonly string[])[], paint: Paint, columns: number) {
  const { requirements, requirements_version } = all;
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
  const counts = Object.entries({ checks: checks.length - rules, rules }).filter(([, count]) => count > 0);
  return counts.map(([name, count]) => countInWords(name, count)).join(', ');
}
