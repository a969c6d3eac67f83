import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { sampleReport, sampleResult } from '../reports/testing/samples.ts';
import { muster, typed, useFleetRuns } from './testing/muster.ts';

const canMount = process.platform === 'linux' && process.getuid?.() === 0 && mounts();
const fleets = useFleetRuns();
let small: string;

function mounts(): boolean {
  using place = scratch();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', place.path]);
  return status === 0 && spawnSync('umount', [place.path]).status === 0;
}

describe.skipIf(!canMount)('a full disk', () => {
  beforeEach(() => {
    small = fleets.path('small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', small]);
    writeFileSync(join(small, 'fill'), 'x'.repeat(12_000));
  });
  afterEach(() => void execFileSync('umount', ['-l', small]));

  it('keeps a fleet from writing files, but not from printing its result', async () => {
    const phases = '  - { do: rollout, over: 200ms }\n';
    const { code, stdout, stderr } = await fleets.run(fleets.words(phases, { out: small }));
    expect(stdout).toMatch(/rollout\.ms +8 /);
    expect(stdout).toMatch(/outcome: (PASSED|INCOMPLETE)/);
    expect(stdout.indexOf('outcome: ')).toBeLessThan(stdout.indexOf('measured, and not written'));
    expect(stdout).toContain(`${join(small, 'report.html')} cannot be written (ENOSPC`);
    expect(stdout).toMatch(/exit (2|98): /);
    expect([2, 98]).toContain(code);
    for (const text of [stdout, stderr]) expect(text).not.toMatch(/^ +at /m);
    const left = readdirSync(small).filter((name) => name !== 'fill');
    expect(left.filter((name) => !['rollouts.jsonl', 'result.json'].includes(name))).toEqual([]);
    const rows = readFileSync(join(small, 'rollouts.jsonl'), 'utf8');
    expect(rows === '' || rows.endsWith('}\n')).toBe(true);
    if (left.includes('result.json')) JSON.parse(readFileSync(join(small, 'result.json'), 'utf8'));
  });

  it('under --state makes a fleet INCOMPLETE, with the disk as the reason', async () => {
    writeFileSync(join(small, 'fill-2'), 'x'.repeat(4000));
    const { code, stdout, stderr } = await fleets.run(fleets.words('', { state: small }));
    expect(code).toBe(2);
    expect(stdout).toContain('outcome: INCOMPLETE (nothing was measured)');
    expect(stdout).toMatch(/worker 1 is lost: .*ENOSPC/s);
    expect(stdout).toContain(`${small}/keys/`);
    expect(readdirSync(small, { recursive: true }).join('\n')).not.toContain('.pem');
    expect(stderr).not.toMatch(/^ +at /m);
    expect(fleets.result().outcome).toBe('INCOMPLETE');
  });

  it('keeps compare from writing reports, but does not let it compare those of an earlier run', async () => {
    writeFileSync(join(small, 'fill'), 'x'.repeat(8000));
    const old = JSON.stringify(sampleReport([sampleResult()]));
    for (const name of ['1.json', '2.json']) writeFileSync(join(small, name), old);
    const { code, stdout, stderr } = await muster(...typed`compare --out ${small} --command false --command true`);
    expect(stderr).toContain(`${join(small, '1.json')} was not written: the disk is full (ENOSPC)`);
    expect(stdout).not.toContain('COMPARED');
    expect(code).toBe(3);
  });

  it('keeps a check from writing a baseline, and is no fault of Muster', async () => {
    writeFileSync(join(small, 'fill'), 'x'.repeat(16_000));
    const [baseline, badge] = [join(small, 'known.yaml'), fleets.path('badge.svg')];
    const words = typed`check device --socket /nonexistent.sock --baseline ${baseline} --badge ${badge}`;
    const { code, stderr } = await muster(...words, '--update-baseline');
    expect(stderr).toContain(`muster: --baseline: ${baseline} was not written: the disk is full (ENOSPC)\n`);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(existsSync(badge)).toBe(true);
    expect(code).toBe(3);
  });
});
