import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownedFolder, sweep } from './owner.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-test-owner-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function leftBehind(parent: string): string {
  const module = new URL('./owner.ts', import.meta.url).href;
  const script = `import(${JSON.stringify(module)}).then(({ ownedFolder }) => {
    process.stdout.write(ownedFolder('x', process.argv[1]), () => process.kill(process.pid, 'SIGKILL'));
  })`;
  const line = `"$0" --eval "$1" "$2" || true`;
  const path = execFileSync('sh', ['-c', line, process.execPath, script, parent], { encoding: 'utf8' });
  writeFileSync(join(path, 'file'), '');
  return path;
}

test('sweep removes the folder of a killed process, and nothing else', () => {
  const mine = ownedFolder('', folder);
  const dead = leftBehind(folder);
  expect(existsSync(join(dead, 'file'))).toBe(true);
  const name = basename(dead);
  const others = [
    name.replace(/_(\w{4})_(\w{6})$/, (_, at: string, end: string) => `_${at === 'zzzz' ? 'yyyy' : 'zzzz'}_${end}`),
    'muster-abcdef',
    'muster-report',
    'robots',
  ];
  for (const other of others) mkdirSync(join(folder, other));
  const elsewhere = mkdtempSync(join(tmpdir(), 'muster-test-owner-'));
  const linked = name.replace(/\w{6}$/, 'linked');
  symlinkSync(elsewhere, join(folder, linked));
  sweep(folder);
  expect(readdirSync(folder).toSorted()).toEqual([...others, basename(mine), linked].toSorted());
  expect(existsSync(elsewhere)).toBe(true);
  rmSync(elsewhere, { recursive: true });
});

test('sweep distinguishes processes with the same id by their start time', () => {
  const own = basename(ownedFolder('x', folder));
  const [, pid = '', start = ''] = /^muster-x-(\w+?)_(\w+?)_/.exec(own) ?? [];
  const earlier = own.replace(`${pid}_${start}_`, `${pid}_1_`).replace(/\w{6}$/, 'sooner');
  mkdirSync(join(folder, earlier));
  sweep(folder);
  expect(existsSync(join(folder, own))).toBe(true);
  expect(existsSync(join(folder, earlier))).toBe(process.platform !== 'linux');
});
