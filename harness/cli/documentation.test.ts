import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLATFORM_PACKAGES, packageName } from '../common/platform-packages.ts';
import { parseCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { DOCUMENTS, NAMED_COMMANDS, ROOT } from './testing/documents.ts';

const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  name: string;
  exports: Record<string, unknown>;
  scripts: Record<string, string>;
  peerDependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

const EXAMPLES = globSync(['fixtures/package/user/*', 'harness/cli/library.ts'], { cwd: ROOT });

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const SOURCES = execFileSync('git', ['ls-files', '*.ts'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(ROOT, file)));

const inDocuments = (find: (text: string) => string[]): [file: string, found: string][] =>
  DOCUMENTS.flatMap((file) => find(read(file)).map((found): [string, string] => [file, found]));

function shownCode(text: string): string[] {
  const blocks = [...text.matchAll(/```(?:sh|bash)\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  );
  const inline = [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)];
  return [...blocks, ...inline.map(([, code = '']) => code.replaceAll('\n', ' '))];
}

const commandLines = (text: string): string[] =>
  shownCode(text).filter((line) => /^(?:\w+=\S+ )*(?:npm run (?:-s )?muster -- |muster )/.test(line.trim()));

const looseOptions = (text: string): string[] =>
  shownCode(text)
    .filter((code) => code.startsWith('--'))
    .flatMap((code) => [...code.matchAll(/(?:^| )--([\w-]+)/g)].map(([, name = '']) => name));

const npmCommands = (text: string): string[] =>
  shownCode(text).flatMap((code) => [...code.matchAll(/\bnpm (?:run (?:-s )?)?([\w:-]+)/g)].map(([found]) => found));

function wordsOf(line: string): string[] {
  const command = line.trim().replace(/^.*?\bmuster (?:-- )?/, '');
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare,
  );
  const end = words.findIndex((word) => word !== undefined && ['#', '>', '>>', '|', '&'].includes(word));
  const shown = (end === -1 ? words : words.slice(0, end)).filter((word) => word !== undefined);
  return shown.flatMap((word, at) => {
    if (word !== '…') return [word];
    if (at === 1 && COMMANDS.some((entry) => entry.name === shown[0] && 'members' in entry)) return ['device'];
    return shown[at - 1]?.startsWith('--') ? ['x'] : [];
  });
}

async function expectAccepted(line: string): Promise<void> {
  const words = wordsOf(line);
  // Sentences may mention a group of commands, such as `muster check`.
  if (words.length === 1 && COMMANDS.some((entry) => entry.name === words[0] && 'members' in entry)) return;
  await parseCommandLine(words);
}

describe('the documents', () => {
  it('include the README and more than 15 commands', () => {
    expect(DOCUMENTS).toContain('README.md');
    expect(inDocuments(commandLines).length).toBeGreaterThan(15);
  });

  it.each(inDocuments(commandLines))('%s: %s is a valid command', async (_file, line) => {
    await expectAccepted(line);
  });

  it.each(inDocuments(looseOptions))('%s: --%s is an option of a command', async (_file, name) => {
    const tables = await Promise.all(NAMED_COMMANDS.map(async ([, entry]) => (await entry.load()).options));
    // `--config` and `--no-config` belong to every command.
    expect(['config', 'no-config', ...tables.flatMap((table) => Object.keys(table))]).toContain(name);
  });

  it.each(inDocuments(npmCommands))('%s: %s is a script or a command of npm', (_file, command) => {
    const [, run, name = ''] = /npm (run (?:-s )?)?(\S+)/.exec(command) ?? [];
    const own = ['ci', 'pack', 'install', 'i', 'publish', 'audit'];
    expect(run === undefined && own.includes(name) ? own : Object.keys(PACKAGE.scripts)).toContain(name);
  });

  const found = (part: RegExp) => inDocuments((text) => [...text.matchAll(part)].map(([, its = '']) => its));
  const LINK = /\]\((?!\w+:|#)([^)#\s]+)/g;
  it.each(found(LINK))('%s: the link to %s leads somewhere', (file, link) => {
    expect(existsSync(join(ROOT, dirname(file), link)), link).toBe(true);
  });

  // Skips placeholders in capitals and files that a build makes.
  const PATH = /`((?:harness|simulators|suites|fixtures)\/(?!\S*[A-Z]{3}|site\/dist)[\w./-]+)`/g;
  it.each(found(PATH))('%s: the path %s exists', (_file, path) => {
    expect(existsSync(join(ROOT, path)), path).toBe(true);
  });
});

const FEW_TERMS = 4;
const [, GLOSSARY = ''] = read('CONTRIBUTING.md').split('## Glossary');
const TERMS = [...GLOSSARY.matchAll(/^\| (\w[^|]+?) +\| (?!means)/gm)].flatMap(([, names = '']) => names.split(', '));
const uses = (text: string, term: string): boolean => new RegExp(`\\b${term}s?\\b`, 'i').test(text);

it('every document for users that has many terms of the glossary links it', () => {
  expect(TERMS).toContain('null server');
  const unlinked = DOCUMENTS.filter((file) => /^(?:README|fixtures|\.github)/.test(file)).filter((file) => {
    const text = read(file);
    return !text.includes('#glossary') && TERMS.filter((term) => uses(text, term)).length > FEW_TERMS;
  });
  expect(unlinked).toEqual([]);
});

/** Words of the first sentence, in their everyday meaning. */
const EVERYDAY = ['robot', 'check'];

it('the README uses no term before its link to the glossary, but words of every day', () => {
  const [before = '', after] = read('README.md')
    .replaceAll(/```[\s\S]*?```|`[^`]*`/g, '')
    .split(/\[[^\]]*\]\(CONTRIBUTING\.md#glossary\)/);
  expect(after).toBeDefined();
  expect(TERMS.filter((term) => !EVERYDAY.includes(term) && uses(before, term))).toEqual([]);
});

it('the packages to add for a platform are those that the tests run on', () => {
  for (const wanted of PLATFORM_PACKAGES) {
    const range = PACKAGE.peerDependencies[packageName(wanted)];
    expect(range).toBe(PACKAGE.devDependencies[packageName(wanted)]);
    expect(range).toContain(`^${wanted.split('@').at(-1)}.`);
  }
  expect(read('README.md')).toContain(`npm i -D ${PLATFORM_PACKAGES.join(' ')}`);
});

it.each([...DOCUMENTS, ...EXAMPLES])('%s imports only exports of the package', (file) => {
  const specifiers = [...read(file).matchAll(/(?:from|import) '(muster[^']*)'/g)].map(
    ([, specifier = '']) => specifier,
  );
  const exported = Object.keys(PACKAGE.exports).map((entry) => entry.replace(/^\./, PACKAGE.name));
  for (const specifier of specifiers) expect(exported).toContain(specifier);
});

it.each(NAMED_COMMANDS)('the examples in the help of %s are valid commands', async (name, entry) => {
  const { examples = [] } = await entry.load();
  expect(examples.length).toBeGreaterThan(0);
  for (const [line] of examples) {
    expect(line).toContain(`muster ${name}`);
    await expectAccepted(line);
  }
});

describe('the drawing of the architecture', () => {
  const [, drawing = ''] = read('ARCHITECTURE.md').split('```');
  const arrows = drawing.split('\n').flatMap((line) => {
    const chain = line.trim().split(' --> ');
    return chain.slice(1).map((to, at): [from: string, to: string] => [chain[at] ?? '', to]);
  });
  const reachedFrom = (room: string): string[] => [
    room,
    ...arrows.flatMap(([from, to]) => (from === room ? reachedFrom(to) : [])),
  ];
  const roomOf = (path: string): string => /^(?:harness\/)?([^/]+)\//.exec(path)?.[1] ?? '';
  const isProduct = (file: string): boolean =>
    /^(?:harness|suites|simulators|fixtures)\//.test(file) && !/\.test\.ts$|\/testing\//.test(file);
  const product = SOURCES.filter(isProduct);

  it('has every folder', () => {
    expect([...new Set(arrows.flat())].sort()).toEqual([...new Set(product.map(roomOf))].sort());
  });

  it('has an arrow for every import; the plain servers import nothing of ours', () => {
    const isAllowed = (file: string, path: string): boolean => {
      if (file.startsWith('simulators/plain/')) return path.startsWith('node:');
      return !path.startsWith('.') || reachedFrom(roomOf(file)).includes(roomOf(join(dirname(file), path)));
    };
    const wrong = product.flatMap((file) =>
      [...read(file).matchAll(/(?:^import|\bfrom|\bimport\() ?'([^']+)'/gm)].flatMap(([, path = '']) =>
        isAllowed(file, path) ? [] : [`${file} imports ${path}`],
      ),
    );
    expect(wrong).toEqual([]);
  });
});

it('every line of TypeScript fits the formatter’s width, strings and comments included', () => {
  const { formatter } = JSON.parse(read('.biome.json')) as { formatter: { lineWidth: number } };
  expect(SOURCES.length).toBeGreaterThan(500);
  const wide = SOURCES.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, at) => ([...line].length > formatter.lineWidth ? [`${file}:${at + 1}`] : [])),
  );
  expect(wide).toEqual([]);
});
