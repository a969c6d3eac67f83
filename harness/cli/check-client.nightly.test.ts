import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Ended, muster, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

const REFERENCE = `'${process.execPath}' '${join(import.meta.dirname, '../../simulators/client/main.ts')}'`;
const RAW = 'curl -sN "$MUSTER_DEVICE_URL/events"';
const check = (command: string, ...words: string[]) => muster('check', 'client', '--command', command, ...words);

test('the reference client conforms over a URL, in every report', async () => {
  const reports = ['json', 'junit', 'html', 'ctrf'].flatMap((format) => ['--report', `${format}=${at(format)}`]);
  const named = ['--name', 'reference', '--target-version', '1'];
  await muster('keygen', at('key.pem'));
  const signed = ['--certificate', at('certificate.json'), '--key', at('key.pem')];
  const { code, stdout, stderr } = await check(REFERENCE, '--report', 'pretty', ...reports, ...named, ...signed);
  expect(code, stdout + stderr).toBe(0);
  const report = reportIn(at('json'));
  expect(report.summary).toMatchObject({ fail: 0, warn: 0, blocked: 0, not_applicable: 0 });
  expect(report.complete).toBe(true);
  for (const format of ['junit', 'html', 'ctrf'])
    expect(readFileSync(at(format), 'utf8')).toContain('client.stream.bom');
  const verified = await muster('verify', at('certificate.json'), '--key', at('key.pem.pub'));
  expect(verified.stdout).toContain('reference');
  expect(verified.code).toBe(0);
});

test('the report records choices that the contract leaves to the client', async () => {
  const package_ = `'${process.execPath}' '${join(import.meta.dirname, '../../fixtures/clients/node/follow.mjs')}'`;
  const choices = async (command: string): Promise<(string | undefined)[]> => {
    const { code } = await check(command, '--only', 'client.choices.*', '--report', `json=${at('choices.json')}`);
    expect(code).toBe(0);
    const { checks } = reportIn(at('choices.json'));
    return checks.flatMap(({ observed = [] }) => observed.map(({ value }) => value));
  };
  expect(await choices(REFERENCE)).toEqual([
    ...['handed on once', 'left out', 'asks again', 'left out; asks again', 'not followed'],
  ]);
  expect(await choices(package_)).toEqual([
    ...['handed on again', 'left out', 'ends', 'left out; asks again', 'followed with the cursor'],
  ]);
});

describe('a command that is no client', () => {
  test('fails with a timeline when it only copies the stream', async () => {
    const words = typed`--capability follow --only client.stream.dispatch --patience 2`;
    const red = await check(RAW, ...words, '--report', `json=${at('raw.json')}`, '--report', 'pretty');
    expect(red.code, red.stderr).toBe(1);
    expect(red.stdout).toMatch(/server: 200 text\/event-stream[\s\S]*client: prints id: 1/);
    const { checks } = reportIn(at('raw.json'));
    const marks = checks.flatMap(({ outcome, timeline }) => (outcome === 'fail' ? (timeline ?? []) : []));
    expect(marks.map(({ kind }) => kind).slice(0, 4)).toEqual(['restart', 'stream', 'sent', 'printed']);
    expect(marks[2]?.what).toMatch(/^"id: 1\\nevent: deployment.deployed\\ndata: /);
    expect(marks.at(-1)?.what).toMatch(/^has waited .* for a sign of the client$/);
  });

  test.each([
    ['a blocked check', 'echo oh no >&2; sleep 600', 'the client never asked', 'blocked'],
    ['a finding', `echo oh no >&2; ${RAW}`, 'dispatched nothing', 'fail'],
  ])('has its standard error reported with %s when it keeps running', async (_name, command, why, outcome) => {
    const words = typed`--capability follow --only client.stream.dispatch.any --patience 1`;
    const { stdout } = await check(command, ...words, '--report', 'pretty', '--report', `json=${at('wrote.json')}`);
    expect(stdout).toContain(why);
    expect(stdout).toMatch(/wrote[^\n]*\s+oh no/);
    expect(reportIn(at('wrote.json')).checks.filter(({ stderr }) => stderr === 'oh no')).toMatchObject([{ outcome }]);
  });
});

const SOUND = `'${process.execPath}' '${join(import.meta.dirname, 'testing/client.ts')}'`;
const BROKEN = `${SOUND} text-by-piece pages-grow ping-in-ms status-by-itself deploys-twice`;
const FOUND = [
  ...['client.stream.boundaries', 'client.pages.next', 'client.ping.answer', 'client.current.status'],
  'client.deploy.shown',
];
const ONLY = ['--only', ...FOUND, 'client.stream.dispatch', 'client.current.shown', 'client.pages.items'];

let red: Ended;
beforeAll(async () => {
  const reports = ['--report', 'pretty', '--report', `json=${at('red.json')}`];
  red = await check(BROKEN, ...ONLY, '--patience', '4', ...reports);
});

test('a replay repeats all findings on the broken client, none on a sound client', async () => {
  const found = reportIn(at('red.json')).checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
  expect(new Set(found.map(({ requirement_id }) => requirement_id))).toEqual(new Set(FOUND));
  const count = found.length;
  const again = await muster('replay', at('red.json'));
  expect(again.stdout).toContain(`${count} of ${count} findings happened again`);
  expect(again.code, again.stderr).toBe(1);
  const mended = await muster('replay', at('red.json'), '--', '--command', SOUND);
  expect(mended.stdout).toContain(`0 of ${count} findings happened again`);
  expect(mended.code, mended.stderr).toBe(0);
});

test('replay --keep is refused for a client and suggests simulate device --scenario', async () => {
  expect(red.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'play a situation to it for as long as it takes: muster simulate device --scenario NAME',
  );
  const kept = await muster('replay', at('red.json'), '--keep');
  expect(kept.stderr).toMatch(/--keep: each situation starts a new client.*--scenario NAME/s);
  expect(kept.code).toBe(64);
});
