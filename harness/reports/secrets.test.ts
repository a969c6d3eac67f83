/** Plants a secret in every part of an exchange, a target and a check, and searches all reports for the secret. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HttpClient } from '../client/http.ts';
import { clientOf } from '../client/testing/served.ts';
import { Redactor } from '../common/redact.ts';
import { checks, requirement, suite } from '../runner/define.ts';
import { makePlan } from '../runner/plan.ts';
import { type RunOptions, runSuite } from '../runner/run.ts';
import type { CheckContext } from '../runner/types.ts';
import { Violation } from '../runner/violation.ts';
import { temporaryFolder } from '../targets/testing/places.ts';
import { createReporters, REPORT_FORMATS } from './create.ts';
import { sampleFailure, sampleReport } from './testing/samples.ts';

/** Secret whose characters HTML, XML, JSON, URLs, Markdown and shells escape in different ways. */
const SECRET = `s3cr3t/k+y="'<&>%\\|~é`;
const FORMS = [
  SECRET,
  encodeURIComponent(SECRET),
  JSON.stringify(SECRET).slice(1, -1),
  Buffer.from(SECRET).toString('base64'),
  SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  SECRET.replaceAll("'", `'\\''`),
  's3cr3t',
];

const folder = temporaryFolder();
const echo: RequestListener = (request, response) => {
  let body = '';
  request.on('data', (part: Buffer) => (body += part.toString()));
  request.on('end', () => {
    const key = String(request.headers['x-api-key']);
    response.setHeader('x-echo', encodeURIComponent(Buffer.from(key, 'latin1').toString('utf8')));
    response.setHeader('set-cookie', `session=${encodeURIComponent(SECRET)}`);
    response.setHeader('content-type', 'application/json');
    const at = /^\/at\/(\d+)/.exec(request.url ?? '')?.[1];
    if (at !== undefined) response.end(`${' '.repeat(Number(at))}${SECRET} and so on ${' '.repeat(9000)}`);
    else response.end(JSON.stringify({ url: request.url, key: SECRET, body }));
  });
};

function outputs(redactor: Redactor) {
  const said: string[] = [];
  const out = { write: (text: string) => void said.push(text) };
  const asked = REPORT_FORMATS.map((format) => `${format}=${join(folder, format)}`).concat('pretty', 'github');
  const env = { GITHUB_STEP_SUMMARY: join(folder, 'summary') };
  const reporters = createReporters(asked, { redactor, stdout: out, stderr: out, env });
  rmSync(join(folder, 'summary'), { force: true });
  const everything = (): Record<string, string> => ({
    ...Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
    said: said.join(''),
  });
  return { reporters, everything };
}

function around(text: string, form: string): string | undefined {
  const at = text.indexOf(form);
  return at === -1 ? undefined : text.slice(Math.max(0, at - 60), at + form.length + 20);
}

function expectNoSecret(texts: Record<string, string>): void {
  expect(Object.keys(texts).sort()).toEqual([...REPORT_FORMATS, 'said', 'summary'].sort());
  for (const [name, text] of Object.entries(texts)) {
    expect(text.length, `${name} is empty`).toBeGreaterThan(100);
    for (const form of FORMS) expect(around(text, form), `${name} tells a secret`).toBeUndefined();
  }
}

const check = checks<{ http: HttpClient }>();
const rule = (id: string, text: string) => requirement({ id, level: 'MUST', section: '5', since: '2026-11-21', text });

async function reported(http: HttpClient, all: ReturnType<typeof check>[], more: Partial<RunOptions<object>> = {}) {
  const redactor = new Redactor();
  redactor.add(SECRET);
  const { reporters, everything } = outputs(redactor);
  const leaky = suite('device', [all]);
  await runSuite(leaky, {
    plan: makePlan(leaky, { capabilities: new Set() }),
    target: { kind: 'url', address: 'http://127.0.0.1/', capabilities: [], control: 'none' },
    context: (recorder) => ({ http: http.with({ recorder }) }),
    redactor,
    seed: 1,
    version: '0.1.0',
    listeners: reporters,
    ...more,
  });
  return everything();
}

test('a secret in a real request and its answer is in no report', async () => {
  const headers = { 'x-api-key': Buffer.from(SECRET).toString('latin1'), 'x-other': encodeURIComponent(SECRET) };
  const http = await clientOf(createServer(echo), { headers });
  const leaks = rule('device.leaks', `Never says ${SECRET}.`);
  const told = check(leaks, {}, async (context) => {
    const sent = { query: { key: SECRET }, headers: { 'x-extra': Buffer.from(SECRET).toString('base64') } };
    const answer = await context.http.post(`/a/${encodeURIComponent(SECRET)}`, { token: SECRET }, sent);
    context.note(`it said ${SECRET}`);
    const actual = JSON.stringify(answer.json);
    throw new Violation({ expected: `not ${SECRET}`, actual, counterexample: { SECRET } });
  });
  const blocked = check(leaks, { aspect: 'blocked' }, (context) => context.blocked(`cannot use ${SECRET}`));
  const thrown = check(leaks, { aspect: 'thrown' }, () => Promise.reject(new Error(`thrown: ${SECRET}`)));
  const address = `http://127.0.0.1/?key=${encodeURIComponent(SECRET)}`;
  const texts = await reported(http, [told, blocked, thrown], {
    target: { kind: 'url', address, capabilities: [], control: `commands ${SECRET}`, name: SECRET },
    replayCommand: ({ id }) => `muster check device --token ${SECRET} --only ${id}`,
  });
  expect(texts['json']).toContain('device.leaks');
  expectNoSecret(texts);
});

test('a secret across a cut leaves no part in any report', async () => {
  const cuts = rule('device.cuts', 'Is told in part.');
  const pieces = Array.from({ length: SECRET.length - 4 }, (_, at) => SECRET.slice(at, at + 5));
  const http = await clientOf(createServer(echo));
  for (let back = 0; back <= SECRET.length + 1; back += 1) {
    const told = check(cuts, {}, async (context: { http: HttpClient } & CheckContext) => {
      // Puts the secret across the cuts of stored bodies, curl lines, shown values and report lines.
      await context.http.post(`/at/${4096 - back}`, `${' '.repeat(2000 - back)}${SECRET}`);
      const { text } = await context.http.get(`/at/${160 - back}`);
      context.should(false, { expected: 'not to be told', actual: `${' '.repeat(200 - back)}${SECRET}` });
      context.must(false, {
        expected: 'not to be told',
        actual: `${' '.repeat(600 - back)}${SECRET}`,
        // The redactor does not recognise a cut secret of fewer than eight characters.
        ...(back < 8 ? {} : { counterexample: text.trim().slice(0, back) }),
      });
    });
    const answered = `${SECRET.slice(0, back)}… was answered`;
    const blocked = check(cuts, { aspect: 'blocked' }, (context) => context.blocked(answered));
    for (const [name, text] of Object.entries(await reported(http, [told, blocked]))) {
      expect(text, name).toContain('device.cuts');
      for (const piece of pieces) expect(around(text, piece), `${name} at ${back}`).toBeUndefined();
    }
  }
});

test('reporters mask secrets that the run left unmasked', async () => {
  const redactor = new Redactor();
  redactor.add(SECRET);
  const { reporters, everything } = outputs(redactor);
  const plant = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (_, item) =>
      typeof item === 'string' && !keep.has(item) ? `${item} ${SECRET}` : item,
    );
  const keep = new Set(['fail', 'device', 'MUST', 'http://localhost/v0.2/events?after=7', '2026-11-21T02:00:00.000Z']);
  for (const reporter of reporters) await reporter.onEnd?.(plant(sampleReport([sampleFailure()])));
  expectNoSecret(everything());
});
