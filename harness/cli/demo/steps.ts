/** What `muster demo` does: a platform, a fleet, a roll-out and two verdicts, in less than a minute. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { startFleet } from '../../../simulators/fleet/index.ts';
import { reportHtml } from '../../../simulators/fleet/report/report.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../../simulators/platform/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { readableDuration } from '../../common/durations.ts';
import { printableJson } from '../../common/terminal.ts';
import { EXIT } from '../../common/usage.ts';
import { writeWhole } from '../../common/user-files.ts';
import { createReporters } from '../../reports/create.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Report, Suite } from '../../runner/types.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { OpenedTarget } from '../../targets/opened.ts';
import { PATIENCE_MS } from '../../targets/options.ts';
import { VERSION } from '../version.ts';
import type { DemoScreen } from './screen.ts';

export { PreflightError } from '../../../simulators/fleet/run/readiness.ts';

/** Key pairs of a real agent take seconds each to make; the demo's own platform accepts these. */
const DEMO_KEY_BITS = 1024;

interface Demo {
  robots: number;
  seed: number;
  /** Folder for the reports. */
  out: string;
  /** Port of the fleet's page, 0 for any; undefined: no pages. */
  uiPort: number | undefined;
  screen: DemoScreen;
  signal: AbortSignal;
}

interface Keys {
  full: string;
  limited: string;
}

/** Resolves with the exit code. Rejects with the signal's reason on an interrupt, once everything is closed. */
export async function runDemo(demo: Demo): Promise<number> {
  const { robots, seed, out, screen, signal } = demo;
  const keys = { full: `demo_${randomBytes(12).toString('hex')}`, limited: `demo_${randomBytes(12).toString('hex')}` };
  const scratch = mkdtempSync(join(tmpdir(), 'muster-demo-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));
  screen.title(`Muster ${VERSION}`, 'a platform, a fleet, and a verdict on both');

  const platform = stack.use(await startPlatform(keys, demo));
  signal.throwIfAborted();
  screen.done('platform', `${platform.url} · broker ${platform.mqttUrl ?? 'none'}`);
  const fleet = stack.use(await startRobots(demo, platform, keys));
  const { summary, missed } = await rollOut(demo, fleet);
  mkdirSync(out, { recursive: true });
  const early = demo.uiPort === undefined ? await conclude(fleet, out) : undefined;

  // Driving a robot of the fleet would disturb the fleet's own verdict on streams, so another one is checked.
  const place = { socket: join(scratch, 'robot.sock'), control: join(scratch, 'control.sock') };
  stack.use(
    await simulateDevice({ dir: join(scratch, 'robot'), socket: place.socket, control: { path: place.control }, seed }),
  );
  const redactor = new Redactor();
  const device = { ...place, env: {}, name: 'simulated robot', redactor, patienceMs: PATIENCE_MS };
  const { url } = platform;
  const named = {
    url,
    apiKey: keys.full,
    limitedKey: keys.limited,
    env: {},
    name: 'simulated platform',
    redactor,
    patienceMs: PATIENCE_MS,
  };
  const reports = [
    await check(demo, deviceSuite, () => openDeviceTarget(device), redactor),
    await check(demo, platformSuite, () => openPlatformTarget(named), redactor),
  ];
  if (early === undefined) await untilInterrupted(demo);
  const violations = early ?? (await conclude(fleet, out));
  const folder = relative(process.cwd(), out) || '.';
  screen.summary({ robots, latencies: summary, missed, violations: violations.length, reports, folder });
  if (missed.length > 0 || violations.length > 0) return EXIT.nonconformant;
  return Math.max(...reports.map((report) => report.exit_code));
}

const startPlatform = (keys: Keys, { seed, uiPort }: Demo): Promise<SimulatedPlatform> =>
  simulatePlatform({
    seed,
    minKeyBits: DEMO_KEY_BITS,
    ...(uiPort !== undefined && { ui: { port: 0 } }),
    keys: [
      { key: keys.full, name: 'demo', scopes: 'all' },
      { key: keys.limited, name: 'demo without devices:read', scopes: ['releases:read'] },
    ],
  });

/** Writes the report of the fleet; resolves with the violations on its streams. */
async function conclude(fleet: Fleet, out: string): ReturnType<Fleet['verify']> {
  const violations = await fleet.verify();
  const result = await fleet.result(VERSION);
  writeWhole(join(out, 'fleet.json'), `${printableJson(result, 1)}\n`);
  writeWhole(join(out, 'fleet.html'), reportHtml(result));
  return violations;
}

type Fleet = Awaited<ReturnType<typeof startFleet>>;

async function startRobots(
  { robots, seed, uiPort, screen, signal }: Demo,
  platform: SimulatedPlatform,
  keys: Keys,
): Promise<Fleet> {
  const stage = screen.stage('robots', robots);
  const { url, agentUrl, mqttUrl = '', uiUrl } = platform;
  const links = uiUrl === undefined ? [] : [{ label: 'the platform', url: uiUrl }];
  const onServed = (page: string): void => {
    screen.line(`ui: ${page}`);
    for (const { label, url } of links) screen.line(`    ${url} (${label})`);
  };
  const fleet = await startFleet({
    robots,
    seed,
    workers: 1,
    keyBits: DEMO_KEY_BITS,
    platform: { url, agentUrl, mqttUrl, apiKey: keys.full },
    onProgress: ({ stage: now, done }) => stage.update(done, now === 'keys' ? 'making keys' : 'online'),
    ...(uiPort !== undefined && { ui: { port: uiPort, links, onServed } }),
    signal,
  });
  stage.end('online, each with a socket, an event log and config files of its own');
  return fleet;
}

async function rollOut({ robots, screen, signal }: Demo, fleet: Fleet): ReturnType<Fleet['rollout']> {
  const stage = screen.stage('roll-out', robots);
  stage.update(0, 'deploying');
  const done = await until(signal, fleet.rollout({ content: '{"max_speed_mps": 1.5}\n', over: '2s' }));
  const { p50, p99 } = done.summary;
  const text = `p50 ${readableDuration(p50)} · p99 ${readableDuration(p99)}, from POST to the event on the robot`;
  stage.end(text, done.latencies.length);
  return done;
}

async function check<Context>(
  { seed, out, screen, signal }: Demo,
  suite: Suite<Context>,
  open: () => Promise<OpenedTarget<Context>>,
  redactor: Redactor,
): Promise<Report> {
  await using target = await open();
  const plan = makePlan(suite, { capabilities: target.capabilities, fast: true });
  const stage = screen.stage(`${suite.api} API`, plan.checks.length);
  const files = ['html', 'json'].map((format) => `${format}=${join(out, `${suite.api}.${format}`)}`);
  const { stdout, stderr, env } = process;
  const report = await runSuite(suite, {
    plan,
    target: target.description,
    context: target.context,
    redactor,
    seed,
    version: VERSION,
    signal,
    arguments: [],
    ...defined({ unreachable: target.unreachable }),
    listeners: [
      { onCheckEnd: ({ id }) => stage.step(id) },
      ...createReporters(files, { redactor, stdout, stderr, env }),
    ],
  });
  signal.throwIfAborted();
  stage.verdict(report);
  return report;
}

/** The fleet and the platform stay as they are, so that somebody can look at them and drive them. */
async function untilInterrupted({ screen, signal }: Demo): Promise<void> {
  screen.done('pages', 'the fleet and the platform stay up until Ctrl+C');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** Rejects on an interrupt, even if the work never ends. */
function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
