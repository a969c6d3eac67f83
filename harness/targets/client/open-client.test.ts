import { expect, onTestFinished, test } from 'vitest';
import { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { UsageError } from '../../common/usage.ts';
import { NAMES_BY_DIALECT } from '../../contract/versions.ts';
import type { ClientTargetOptions } from '../fields.ts';
import { openClientTarget } from './open-client.ts';

const open = (command: string, more: Partial<ClientTargetOptions> = {}) =>
  openClientTarget({ command, redactor: new Redactor(), ...more });

async function started(command: string, env: NodeJS.ProcessEnv = process.env, variables: Record<string, string> = {}) {
  const target = await open(command, { capability: ['follow'], env });
  onTestFinished(() => target[Symbol.asyncDispose]());
  const { start, standardError } = target.context(new Recorder(), AbortSignal.abort());
  const lines: string[] = [];
  const complaints: string[] = [];
  const { promise: complained, resolve: complain } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const complaint = (text: string) => complain(void complaints.push(text));
  const run = start({ variables }, { line: (text) => lines.push(text), complaint, ended: end });
  return { run, lines, complaints, standardError, complained, ended };
}

test('a client declares its capabilities, and unknown ones are left out', async () => {
  const said = { jobs: ['follow', 'list', 'dance'], reaches: ['socket', 'fax'], deduplicates: true, name: 'mine' };
  await using target = await open(`echo starting; echo '${JSON.stringify(said)}'; sleep 60`);
  expect([...target.capabilities]).toEqual(['follow', 'list', 'socket', 'deduplicates']);
  expect(target.unreachable).toBeUndefined();
  expect(target.description).toMatchObject({ kind: 'command', name: 'mine', ended: true });
});

test.each([
  ['true', /asked with MUSTER_JOB=describe for .*: ended with exit code 0/],
  ['echo no >&2; exit 7', /ended with exit code 7; the last lines that it wrote:\nno/],
  [`echo '{"jobs":"follow"}'`, /describes itself wrongly: \/jobs/],
  [`echo '{"jobs":["dance"]}'`, /declares no job that Muster knows: follow, current, list, ping, deploy/],
  [`echo '{"jobs":["follow"],"reaches":["telegraph"]}'`, /declares no way to a Device API/],
])('%s makes a client unreachable, with the reason', async (command, why) => {
  await using target = await open(command);
  expect(target.unreachable).toMatch(why);
});

test('a client of a Platform API alone needs no way to a Device API', async () => {
  await using target = await open(`echo '{"jobs":["list","ping"]}'`);
  expect([...target.capabilities]).toEqual(['list', 'ping']);
  expect(target.unreachable).toBeUndefined();
});

test.each(['spec', 'miru'] as const)('the version header of a client follows the dialect %s', async (dialect) => {
  await using target = await open('true', { capability: ['list'], dialect });
  const { versionHeader } = target.context(new Recorder(), AbortSignal.abort());
  expect(versionHeader).toBe(NAMES_BY_DIALECT[dialect].versionHeader);
});

test('a check holds the standard error that its client wrote before it was stopped', async () => {
  const line = 'trap "echo late >&2; exit" TERM; echo oh >&2; while :; do sleep 0.1; done';
  const { run, standardError, complained } = await started(line);
  await complained;
  await run.stop();
  expect(standardError?.().trim()).toBe('oh');
});

test('a run reports its exit code, each line of its standard error, and the end of it', async () => {
  const { run, complaints, ended } = await started('printf "first\\n%05000d\\noh" 0 >&2; exit 7');
  await ended;
  expect(complaints).toEqual(['first', '0'.repeat(5000), 'oh']);
  expect([run.code, run.diagnostics]).toEqual([7, `…${'0'.repeat(3997)}\noh`]);
});

test('a client that hangs is unreachable after its start time', async () => {
  await using target = await open('sleep 60', { startMs: 200 });
  expect(target.unreachable).toContain('has printed no such line within 200 ms');
});

test.each([
  [{ command: '' }, '--command LINE'],
  [{ command: 'x', capability: ['drive'] }, 'accepted are follow'],
])('a client target by %j is refused', async (options, said) => {
  const refused = openClientTarget({ redactor: new Redactor(), ...options });
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(said);
});

test('lines of a client arrive whole, even the last without a line end', async () => {
  const { lines, ended } = await started(`printf 'a\\303'; printf '\\251\\n\\nb'`);
  await ended;
  expect(lines).toEqual(['aé', '', 'b']);
});

test('a client gets its variables, and no variables of Muster such as keys, and no proxy', async () => {
  const proxies = { HTTP_PROXY: 'p', https_proxy: 'p', All_Proxy: 'p' };
  const env = { ...process.env, ...proxies, MUSTER_API_KEY: 'secret', NO_PROXY: 'intranet' };
  const command = 'echo "$MUSTER_API_KEY$HTTP_PROXY$https_proxy$All_Proxy $MUSTER_JOB $NO_PROXY"';
  const { lines, ended } = await started(command, env, { MUSTER_JOB: 'follow' });
  await ended;
  expect(lines).toEqual([' follow intranet,127.0.0.1,localhost']);
});
