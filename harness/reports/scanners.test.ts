/** Tests reports for code scanning (SARIF), for older CI (TAP) and for tools that resend requests (HAR). */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { harFormat } from './har.ts';
import { sarifFormat } from './sarif.ts';
import { tapFormat } from './tap.ts';
import { sampleExchange, sampleFailure, sampleReport, sampleResult } from './testing/samples.ts';

test('SARIF: alerts are the problems of a run, with fingerprints stable across runs', () => {
  const documentOf = (change: object) => JSON.parse(sarifFormat.document(sampleReport(undefined, change))).runs[0];
  const run = documentOf({});
  const { rules } = run.tool.driver;
  interface Result {
    level: string;
    properties: { outcome: string };
    locations: object[];
    partialFingerprints: object;
  }
  const told = run.results.map(({ properties, level }: Result) => `${properties.outcome} ${level}`);
  expect(new Set(told)).toEqual(new Set(['fail error', 'warn warning']));
  for (const { ruleId, ruleIndex } of run.results) expect(rules[ruleIndex].id).toBe(ruleId);
  const failed = run.results.find(({ level }: { level: string }) => level === 'error');
  expect(failed.message.text).toContain('the first event has id 7');
  expect(failed).toMatchObject({ webRequest: { method: 'GET' }, webResponse: { statusCode: 200 } });
  const notified = run.invocations[0].toolExecutionNotifications.map(({ level }: { level: string }) => level);
  expect(notified.toSorted()).toEqual(['error', 'warning']);
  const succeeds = (change: object) => documentOf(change).invocations[0].executionSuccessful;
  expect([1, 2].map((exit_code) => succeeds({ exit_code, complete: false }))).toEqual([true, false]);

  const { target } = sampleReport();
  const elsewhere = documentOf({ target: { ...target, address: 'unix:/tmp/muster-other/agent.sock' }, seed: 9 });
  const places = ({ results }: typeof run): string =>
    JSON.stringify(results.map((result: Result) => [result.locations, result.partialFingerprints]));
  expect(places(elsewhere)).toBe(places(run));
  const hashes = run.results.map((result: typeof failed) => result.partialFingerprints.primaryLocationLineHash);
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(failed.locations[0].physicalLocation.artifactLocation.uri).toBe('muster/device');
});

const RULE = 'runs.*.tool.driver.rules.*';
const PLACE = 'runs.*.results.*.locations.*.physicalLocation';
const REQUIRED = [
  ...['$schema', 'version', 'runs.*.tool.driver.name'],
  ...['id', 'shortDescription.text', 'fullDescription.text', 'help.text'].map((of) => `${RULE}.${of}`),
  ...['message.text', 'partialFingerprints.primaryLocationLineHash'].map((of) => `runs.*.results.*.${of}`),
  `${PLACE}.artifactLocation.uri`,
  ...['startLine', 'startColumn', 'endLine', 'endColumn'].map((of) => `${PLACE}.region.${of}`),
];
const valuesAt = (document: unknown, path: string): unknown[] =>
  path
    .split('.')
    .reduce<unknown[]>(
      (all, name) => all.flatMap((each) => (name === '*' ? Object.values(Object(each)) : [Object(each)[name]])),
      [document],
    );
const quoting = sampleFailure({ id: 'device.a', clause: 'c'.repeat(2000) });
const scanned = JSON.parse(sarifFormat.document(sampleReport([quoting, sampleFailure()])));

test.each(REQUIRED)('SARIF: has %s, which the code scanning of GitHub requires', (path) => {
  const values = valuesAt(scanned, path);
  expect(values).not.toEqual([]);
  for (const value of values) expect(value).toBeTruthy();
});

test('SARIF: describes a rule by its clause or its requirement, within 1024 characters', () => {
  expect(valuesAt(scanned, `${RULE}.fullDescription.text`)).toEqual(['c'.repeat(1024), quoting.requirement]);
});

test('TAP: points are parseable, and an undecided run is not ok', () => {
  const text = tapFormat.document(sampleReport());
  expect(text).toMatch(/^TAP version 13\n1\.\.12\n# NOT CONFORMANT, seed \d+\n/);
  const notOk = ['not ok 6 - device.events.replay.exclusive', 'not ok 12 - device.version.prefix'];
  expect(text.match(/^not ok .*$/gm)).toEqual(notOk);
  expect(text).toMatch(/^ok 9 - device.events.expired.410 # SKIP blocked: control: POST/m);
  expect(text).toContain('  finding: |\n');
  const blocks = [...text.matchAll(/^ {2}---\n([\s\S]*?)^ {2}\.\.\.$/gm)].map(([, block = '']) => parse(block));
  expect(blocks[0].finding).toMatch(/^requires +Replay after .*\nexpected +a first event/);

  const undecided = sampleReport([sampleResult(), sampleResult({ id: 'device.b', outcome: 'blocked', reason: 'no' })]);
  expect(tapFormat.document(undecided)).toMatch(/1\.\.3\n[\s\S]*\nnot ok 3 - the run\n/);
  const odd = sampleReport([sampleResult({ outcome: 'undecided', reason: 'one # TODO\nok 7 - more' })]);
  expect(tapFormat.document(odd)).toMatch(/ # SKIP undecided: one \\# TODO ok 7 - more\n/);
  const faulty = sampleReport([sampleResult({ outcome: 'blocked', reason: 'a bug', fault: true })]);
  expect(tapFormat.document(faulty)).toMatch(/^not ok 1 - device.events.frame\n[\s\S]*\n {4}reason +a bug\n/m);
  expect(tapFormat.document(sampleReport([sampleFailure({ actual: '\uffff' })]))).not.toContain('\uffff');
});

test('HAR: has the exchanges of findings, and none of passed checks', () => {
  const unanswered = { url: 'http://localhost/x?a=1&a=2', error: 'no answer' };
  const { status, response_headers, response_body, ...request } = sampleExchange(unanswered);
  const failed = sampleFailure({ exchanges: [sampleExchange(), request] });
  const passed = sampleResult({ id: 'device.p', exchanges: [sampleExchange()] });
  const { log } = JSON.parse(harFormat.document(sampleReport([failed, passed])));
  expect(log.pages.map(({ id }: { id: string }) => id)).toEqual([failed.id]);
  expect(log.entries).toHaveLength(2);
  const [first, second] = log.entries;
  expect(first).toMatchObject({
    pageref: failed.id,
    request: { method: 'GET', queryString: [{ name: 'after', value: '7' }] },
    response: { status: 200, content: { mimeType: 'text/event-stream', text: expect.stringContaining('id: 7') } },
  });
  expect(second.request.queryString).toEqual(['1', '2'].map((value) => ({ name: 'a', value })));
  expect(second).toMatchObject({ response: { status: 0 }, comment: 'no answer' });
});
