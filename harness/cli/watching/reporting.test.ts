import { expect, test } from 'vitest';
import { makePlan } from '../../runner/plan.ts';
import { CAPABILITIES } from '../../runner/types.ts';
import { FindingReporter, gapsIn, outageReporter, writeToStderr } from './reporting.ts';
import { watchSuite } from './suite.ts';

test('a message on standard error has control characters and line breaks escaped', () => {
  const written: string[] = [];
  writeToStderr('a\u001b[31m\n::error ::b', { write: (text: unknown) => written.push(String(text)) > 0 });
  expect(written).toEqual(['muster: a\\u001b[31m␊::error ::b\n']);
});

test('unjudged bodies are counted in words', () => {
  const gaps = (count: number): string[] => gapsIn({ lost: {}, unread: { 'too large': count } });
  expect([...gaps(1), ...gaps(2)]).toEqual(['1 body: too large', '2 bodies: too large']);
});

test('an outage is reported once with its end, and repeats only to a limit', () => {
  const said: string[] = [];
  const changes: (string | null)[] = [];
  const outages = outageReporter({
    announce: (text) => said.push(text),
    trouble: (text) => said.push(text),
    changed: (why) => changes.push(why),
  });
  outages.reached();
  for (let client = 0; client < 2; client += 1) outages.handshakeFailed('unknown ca');
  for (let times = 0; times < 500; times += 1) {
    for (let client = 0; client < 2; client += 1) outages.refused('ENOENT');
    outages.reached();
  }
  expect(said.slice(0, 3)).toEqual([
    'the TLS handshake of a client failed: unknown ca; further ones are not reported',
    'the server cannot be reached: ENOENT; connections of clients are closed until it is back',
    'the server is back',
  ]);
  expect(said).toHaveLength(41);
  expect(changes).toHaveLength(1000);
});

test.each([
  ['device.events.frame.everywhere', 0],
  ['device.events.monotonic.everywhere', 1],
])('a finding counts as a failure unless the baseline excuses it: %s', async (excused, failures) => {
  const suite = await watchSuite('device', 'unix');
  const { checks } = makePlan(suite, { capabilities: new Set(CAPABILITIES) });
  const stderr = { write: () => true } as unknown as NodeJS.WriteStream;
  const excuses = ({ id }: { id: string }): boolean => id === excused;
  const reporter = new FindingReporter({ suite, checks, verbose: false, stderr, env: {}, excuses });
  const broken = { finding: { expected: 'an id', actual: 'none' }, seen: [] };
  reporter.report('device.events.frame.everywhere', { sightings: 1, broken });
  expect(reporter.failures).toBe(failures);
});

test('a failed write to standard error throws no error', () => {
  const write = (): never => {
    throw new Error('no space');
  };
  expect(() => writeToStderr('a', { write })).not.toThrow();
});
