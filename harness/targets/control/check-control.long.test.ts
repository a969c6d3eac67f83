import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { NoAnswer } from '../../client/errors.ts';
import { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { Violation } from '../../runner/violation.ts';
import { hostFiles } from '../files/target-files.ts';
import { temporaryFolder } from '../testing/places.ts';
import { url } from '../transports/index.ts';
import { CheckControl } from './check-control.ts';
import { type Control, ControlError, ControlLate, ControlRefused } from './control.ts';
import { type AgentPlace, ControlledAgent } from './controlled-agent.ts';
import { layered } from './layers.ts';
import { FakeDevice, fakeControl } from './testing/fakes.ts';

const folder = temporaryFolder();
const finding = new Violation({ expected: 'a', actual: 'b' });

type Answers = Parameters<typeof fakeControl>[0];

async function checking(answers: Answers, over = (control: Control) => control, log?: AgentPlace) {
  const device = await FakeDevice.start();
  const redactor = new Redactor();
  const connection = url.open({ address: device.origin, fields: {}, redactor, ca: undefined, caFile: undefined });
  const agent = new ControlledAgent({ connection, redactor, log });
  const { control, calls } = fakeControl(answers);
  const inner = over(control);
  onTestFinished(() => device[Symbol.asyncDispose]());
  const next = () => {
    const [recorder, limit] = [new Recorder(redactor), new AbortController()];
    return { own: new CheckControl(inner, agent, limit.signal, recorder), recorder, limit };
  };
  return { ...next(), next, agent, device, calls };
}

const seeing = (control: Control) => Object.assign(layered(control, {}), { seesDevice: true });
const failing = (error: Error) => () => {
  throw error;
};
const cannot = failing(new ControlError('no'));
const logAt = (name: string): AgentPlace => ({ path: join(folder, name), files: hostFiles });
const stops = (device: () => FakeDevice) => ({
  stop: () => void Object.assign(device(), { status: 503 }),
  start: () => void Object.assign(device(), { status: 200 }),
});

test('drives are recorded in words, with the ids that control answers', async () => {
  const made = await checking(
    {
      deploy: () => ({ id: 'd1', status: 'x' }),
      remove: () => ({ id: 'd1' }),
      publish: () => ({ first_id: 1, last_id: 2n ** 60n }),
      compact: () => ({ earliest_id: 2, latest_id: 3 }),
      ...stops(() => made.device),
    },
    (control) => layered(control, { line: ({ name }) => (name === 'stop' ? undefined : `do ${name}`) }),
  );
  const { own, recorder, calls } = made;
  expect(await own.deploy({ description: 'x' })).toMatchObject({ id: 'd1' });
  await own.remove('d1');
  await own.publish(1);
  await own.publish(2);
  await own.compact();
  await own.stop('SIGKILL');
  await own.start();
  expect(recorder.snapshot().steps.map((step) => ('drive' in step ? step.drive : undefined))).toEqual([
    { what: 'deploy {"description":"x"}', line: 'do deploy', ids: { id: 'd1' } },
    { what: 'remove d1', line: 'do remove', ids: { id: 'd1' } },
    { what: 'publish 1 event', line: 'do publish', ids: { first_id: '1', last_id: String(2n ** 60n) } },
    { what: 'publish 2 events', line: 'do publish', ids: { first_id: '1', last_id: String(2n ** 60n) } },
    { what: 'compact the event log', line: 'do compact', ids: { earliest_id: '2', latest_id: '3' } },
    { what: 'stop the agent (SIGKILL)', ids: {} },
    { what: 'start the agent', line: 'do start', ids: {} },
  ]);
  expect(calls.map(({ name }) => name).join()).toBe('deploy,remove,publish,publish,compact,stop,start');
  expect([own.kind, own.line({ name: 'start' })]).toEqual(['fake', 'do start']);
  expect(await own.info()).toEqual({ capabilities: ['drive'] });
});

test.each<[string, Error, 'blocked' | 'fail']>([
  ['failed', new ControlError('it broke'), 'blocked'],
  ['was late', new ControlLate('it hung'), 'blocked'],
  ['met no answer of a platform', new NoAnswer('a platform'), 'blocked'],
  ['was refused', new ControlRefused('not so'), 'fail'],
])('a finding is reconsidered after a call that %s', async (_, error, outcome) => {
  const { own } = await checking({ publish: failing(error) });
  const thrown = await own.publish(1).catch((failure: unknown) => failure);
  expect(thrown).toMatchObject({ code: 'MUSTER_CONTROL' });
  expect((thrown as Error).message).toContain(error.message);
  expect(await own.reconsider(finding)).toBe(outcome === 'blocked' ? thrown : finding);
  expect(await own.reconsider(error)).toBe(error);
});

test('a call with effect only on its retry is allowed until a second lie', async () => {
  const log = logAt('doubted.log');
  appendFileSync(log.path, '');
  let made = 0;
  const publish = () => {
    made += 1;
    if (made % 2 === 0) appendFileSync(log.path, `{"id":${made}}\n`);
    return { first_id: made, last_id: made };
  };
  const { own, next, agent, calls } = await checking({ publish, deploy: cannot }, undefined, log);
  agent.logTells = true;
  for (const control of [own, next().own]) {
    await control.publish(1);
    expect(await control.reconsider(finding)).toMatchObject({ name: 'ControlError' });
  }
  const before = calls.length;
  await expect(next().own.publish(1)).rejects.toThrow('the device shows no trace of it');
  expect([made, calls.length]).toEqual([4, before]);
});

test.each<[string, begins: readonly number[]]>([
  ['right where the log begins', [100]],
  ['named anew after the agent itself published an event', [101, 101]],
])('the first event of a compacted log is %s', async (name, begins) => {
  const log = logAt(`${name}.log`);
  const compact = () => {
    const made = calls.length - 1;
    const first = begins[made] ?? expect.unreachable();
    device.retained = [first, 110];
    writeFileSync(log.path, `{"id":${first}}\n{"id":110}\n`);
    return { earliest_id: 100 + made, latest_id: 110 };
  };
  const { own, agent, device, calls } = await checking({ compact }, undefined, log);
  agent.logTells = true;
  expect(await own.compact()).toMatchObject({ earliest_id: begins.at(-1) });
  expect(calls).toHaveLength(begins.length);
});

test('a fault of Muster in a call is passed on unchanged', async () => {
  const fault = new TypeError('a fault of ours');
  const { own } = await checking({ publish: failing(fault) });
  await expect(own.publish(1)).rejects.toBe(fault);
  expect(await own.reconsider(finding)).toBe(finding);
});

test('a restart clears earlier failed calls', async () => {
  const made = await checking({ publish: failing(new ControlError('cut off')), ...stops(() => made.device) });
  await expect(made.own.publish(1)).rejects.toThrow('cut off');
  await made.own.start();
  expect(await made.own.reconsider(finding)).toBe(finding);
  await expect(made.own.publish(1)).rejects.toThrow('cut off');
  await made.own.stop();
  expect(await made.own.reconsider(finding)).toBe(finding);
});

test('a log counts as evidence once it changes with a drive', async () => {
  const log = logAt('log');
  const answers = { deploy: () => ({ id: 'd1' }), remove: () => appendFileSync(log.path, 'x') };
  const made = await checking(answers, undefined, log);
  await made.own.deploy();
  expect(made.agent.logTells).toBe(false);
  await made.own.remove('d1');
  expect(made.agent.logTells).toBe(true);
});

test('control that sees the device is believed', async () => {
  const { own, calls } = await checking({ deploy: () => ({ id: 'd1' }) }, seeing);
  await own.deploy();
  expect(await own.reconsider(finding)).toBe(finding);
  expect(calls).toHaveLength(1);
});

const hangs = (_: unknown, signal?: AbortSignal) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

test.each([
  ['works through the agent', seeing],
  ['has a way of its own', undefined],
])('a stop ends pending calls of a control that %s', async (_, over) => {
  const made = await checking({ publish: hangs, ...stops(() => made.device) }, over);
  const publishing = made.own.publish(1).catch((error: unknown) => error);
  await made.own.stop();
  const message = 'control: the agent was stopped meanwhile';
  expect(await publishing).toMatchObject({ name: 'ControlRefused', message });
});

test('a check that ends rejects its calls, even answered ones, and later calls', async () => {
  const made = await checking({
    publish: hangs,
    deploy: () => {
      made.limit.abort();
      return { id: 'd1' };
    },
  });
  const calls = [made.own.publish(1), made.own.deploy()];
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect([status, String(reason)]).toEqual(['rejected', 'ControlError: control: the check is over']);
  await expect(made.own.publish(1)).rejects.toThrow('control: the check is over');
  expect([made.calls.length, made.agent.late.get('publish')]).toEqual([2, undefined]);
});

test('an agent left stopped by a check is started once for the next', async () => {
  const made = await checking({ stop: () => made.device[Symbol.asyncDispose](), start: () => made.device.listen() });
  await made.own.stop();
  for (const each of [made.next(), made.next()]) await each.own.prepare();
  expect(made.calls.map(({ name }) => name)).toEqual(['stop', 'start']);
});

test('an agent that came back by itself is not started', async () => {
  const made = await checking({ stop: () => made.device[Symbol.asyncDispose]() });
  await made.own.stop();
  await made.device.listen();
  await made.next().own.prepare();
  expect(made.calls.map(({ name }) => name)).toEqual(['stop']);
});

test.each([
  ['fails', new ControlError('no'), 'stop,start,start'],
  ['is late', new ControlLate('no'), 'stop,start'],
])('a start that %s is repeated for the next check only when quick', async (_, error, all) => {
  const made = await checking({ stop: () => made.device[Symbol.asyncDispose](), start: failing(error) });
  await made.own.stop();
  await expect(made.own.start()).rejects.toThrow('no');
  await expect(made.next().own.prepare()).rejects.toThrow('the agent was not started again: no');
  expect(made.calls.map(({ name }) => name).join()).toBe(all);
});

test('a call after a late call is limited, and counts as late beyond that', async () => {
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => limit.signal);
  onTestFinished(() => timeout.mockRestore());
  let first = true;
  const { own, calls } = await checking({
    publish: (_, signal) => {
      if (first) throw new ControlLate('it hung');
      const hanging = hangs(_, signal);
      limit.abort();
      return hanging;
    },
  });
  await expect(own.publish(1)).rejects.toThrow('it hung');
  first = false;
  const publishing = own.publish(1).catch((error: unknown) => error);
  const message = 'control publish: no answer in time, after one that came too late';
  expect(await publishing).toMatchObject({ name: 'ControlLate', message });
  await expect(own.publish(1)).rejects.toThrow('not called again, as it did not answer the last 2 times');
  expect(calls).toHaveLength(2);
});
