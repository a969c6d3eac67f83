import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { scratch, useScratch } from '../../simulators/common/testing/scratch.ts';
import { ownedFolder, sweep } from './owner.ts';

const home = useScratch();

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
  const mine = ownedFolder('', home.path);
  const dead = leftBehind(home.path);
  expect(existsSync(join(dead, 'file'))).toBe(true);
  const name = basename(dead);
  const others = [
    name.replace(/_(\w{4})_(\w{6})$/, (_, at: string, end: string) => `_${at === 'zzzz' ? 'yyyy' : 'zzzz'}_${end}`),
    'muster-abcdef',
    'muster-report',
    'robots',
  ];
  for (const other of others) mkdirSync(join(home.path, other));
  using elsewhere = scratch();
  const linked = name.replace(/\w{6}$/, 'linked');
  symlinkSync(elsewhere.path, join(home.path, linked));
  sweep(home.path);
  expect(readdirSync(home.path).toSorted()).toEqual([...others, basename(mine), linked].toSorted());
  expect(existsSync(elsewhere.path)).toBe(true);
});

test('sweep distinguishes processes with the same id by their start time', () => {
  const own = basename(ownedFolder('x', home.path));
  const [, pid = '', start = ''] = /^muster-x-(\w+?)_(\w+?)_/.exec(own) ?? [];
  const earlier = own.replace(`${pid}_${start}_`, `${pid}_1_`).replace(/\w{6}$/, 'sooner');
  mkdirSync(join(home.path, earlier));
  sweep(home.path);
  expect(existsSync(join(home.path, own))).toBe(true);
  expect(existsSync(join(home.path, earlier))).toBe(process.platform !== 'linux');
});
