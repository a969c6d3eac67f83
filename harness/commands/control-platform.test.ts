/** An agent in a process of its own, which speaks nothing but its uplink, is enrolled, driven through deployments and certified. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { deviceSuite } from '../../suites/device/index.ts';
import { seal } from '../certificate/dsse.ts';
import { generateKey, readPrivateKey, readPublicKey } from '../certificate/keys.ts';
import { statementOf } from '../certificate/statement.ts';
import { suitesDigest } from '../certificate/suites-digest.ts';
import { verifyCertificate } from '../certificate/verify.ts';
import { makePlan } from '../check/plan.ts';
import { runSuite } from '../check/run.ts';
import { Redactor } from '../client/redact.ts';
import { judgedDevice } from './check-device.ts';
import { openEnrolledDevice } from './control-platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-enrolled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(import.meta.dirname, '../../fixtures/targets/enrolled-agent.yaml');

test('an unmodified agent is certified over its uplink alone', async () => {
  const redactor = new Redactor();
  const said: string[] = [];
  const env = { ...process.env, AGENT_DIR: folder };
  const announce = (text: string): void => void said.push(text);
  await using target = await openEnrolledDevice({ redactor, target: file, env }, { redactor, announce });
  expect(target.unreachable).toBeUndefined();
  expect(said.join()).toMatch(/MUSTER_PLATFORM_URL=http:.*\n.*MUSTER_MQTT_URL=mqtt:.*\n.*MUSTER_TOKEN=/);
  expect([...target.capabilities]).toEqual(expect.arrayContaining(['unix', 'drive', 'restart', 'log']));
  expect(target.description.control).toBe('platform + process');

  const { capabilities, context, description } = judgedDevice(target, 10_000);
  const report = await runSuite(deviceSuite, {
    plan: makePlan(deviceSuite, { capabilities, profile: 'core' }),
    ...{ context, redactor, target: description, profile: 'core', seed: 1, version: '0.1.0' },
  });
  const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => ({ id, actual, reason }))).toEqual([]);
  expect(report.exit_code).toBe(0);
  expect(report.summary.pass).toBeGreaterThan(15);

  const key = join(folder, 'key.pem');
  generateKey(key);
  const statement = statementOf(report, suitesDigest());
  const certificate = seal(Buffer.from(JSON.stringify(statement)), readPrivateKey(key));
  const { predicate } = verifyCertificate(certificate, readPublicKey(`${key}.pub`));
  expect(predicate.failedTests).toEqual([]);
  expect(predicate.muster.control).toBe('platform + process');
});

test('an agent that never enrols is told of, with what it needs', async () => {
  const redactor = new Redactor();
  const socket = join(folder, 'alone.sock');
  const command = `exec node ${join(import.meta.dirname, '../cli.ts')} simulate device --socket ${socket} --dir ${join(folder, 'alone')} --log-level warn`;
  const options = { redactor, announce: () => {}, enrolMs: 500 };
  await using target = await openEnrolledDevice({ redactor, command, socket }, options);
  expect(target.unreachable).toMatch(/no agent enrolled in Muster's platform.*MUSTER_PLATFORM_URL/);
});
