/** Counts lines and files of TypeScript in each folder, and their growth since an earlier commit. */
import { execFileSync } from 'node:child_process';

const KINDS = ['product', 'checks', 'tests'] as const;
type Kind = (typeof KINDS)[number];
type Size = Record<Kind, { lines: number; files: number }>;

/** Maximum number of seconds between the first and the newest commit of one change. */
const CHANGE_SECONDS = 4 * 3600;

const git = (...words: string[]): string =>
  execFileSync('git', words, { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'ignore'] });

function lastOnMain(): string | undefined {
  const newest = Number(git('log', '-1', '--format=%ct'));
  return git('rev-list', '-1', `--before=${newest - CHANGE_SECONDS}`, 'HEAD').trim() || undefined;
}

const kindOf = (path: string): Kind => {
  if (/\.test\.ts$|\/testing\//.test(path)) return 'tests';
  return /^suites\/(?!.*\/(support|models)\/)/.test(path) ? 'checks' : 'product';
};

const empty = (): Size => ({
  product: { lines: 0, files: 0 },
  checks: { lines: 0, files: 0 },
  tests: { lines: 0, files: 0 },
});

function sizesAt(commit: string): Map<string, Size> {
  const emptyTree = git('hash-object', '-t', 'tree', '/dev/null').trim();
  const sizes = new Map<string, Size>();
  for (const row of git('diff', '--numstat', '--no-renames', emptyTree, commit, '--', '*.ts').trim().split('\n')) {
    const [lines = '0', , path = ''] = row.split('\t');
    const folder = path.split('/').slice(0, -1).slice(0, 2).join('/');
    for (const place of [folder, 'all']) {
      const size = sizes.get(place) ?? empty();
      size[kindOf(path)].lines += Number(lines);
      size[kindOf(path)].files += 1;
      sizes.set(place, size);
    }
  }
  return sizes;
}

const signed = (difference: number): string => (difference >= 0 ? `+${difference}` : `−${-difference}`);

function cell(now: Size, before: Size | undefined, kind: Kind): string {
  const { lines, files } = now[kind];
  const [added, made] = before === undefined ? [0, 0] : [lines - before[kind].lines, files - before[kind].files];
  if (lines === 0 && added === 0) return '';
  const change = added === 0 && made === 0 ? '' : ` (${signed(added)}${made === 0 ? '' : `, ${signed(made)}`})`;
  return `${lines} / ${files}${change}`;
}

export function codeSizeTable(): string[] {
  const base = lastOnMain();
  const [now, before] = [sizesAt('HEAD'), base === undefined ? undefined : sizesAt(base)];
  const folders = [...new Set([...now.keys(), ...(before?.keys() ?? [])])].filter((name) => name !== 'all').toSorted();
  const row = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(24)}${cells.map((text) => text.padEnd(28)).join('')}`.trimEnd();
  return [
    row(base === undefined ? 'lines / files' : `since ${base.slice(0, 8)}`, KINDS),
    ...[...folders, 'all'].map((name) =>
      row(
        name,
        KINDS.map((kind) => cell(now.get(name) ?? empty(), before && (before.get(name) ?? empty()), kind)),
      ),
    ),
  ];
}
