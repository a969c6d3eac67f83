/** `muster demo`: starts a platform and a fleet, rolls out a release and checks both, in less than a minute. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { startFleet } from '../../../simulators/fleet/index.ts';
import { reportHtml } from '../../../simulators/fleet/report/report.ts';
import { type SimulatedPlatform, simulatePlatform } from '../../../simulators/platform/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { writingTo } from '../../client/errors.ts';
import { defined } from '../../common/defined.ts';
import { Display } from '../../common/display.ts';
import { ownedFolder } from '../../common/owner.ts';
import { Redactor } from '../../common/redact.ts';
import { type Output, printableJson } from '../../common/terminal.ts';
import { readableDuration } from '../../common/units.ts';
import { EXIT } from '../../common/usage.ts';
import { prepareFile, writeWhole } from '../../common/user-files.ts';
import { createReporters } from '../../reports/create.ts';
import { counts } from '../../reports/findings.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Report, Suite } from '../../runner/types.ts';
import { PATIENCE_MS } from '../../targets/fields.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { OpenedTarget } from '../../targets/opened.ts';
import { VERSION } from '../version.ts';

export { PreflightError } from '../../../simulators/fleet/run/errors.ts';

/** Bits of a robot's key; short keys are made quickly, and the demo's platform accepts 1024 bits. */
const DEMO_KEY_BITS = 1024;

interface Demo {
  robots: number;
  seed: number;
  out: string;
  uiPort: number | undefined;
  screen: DemoScreen;
  signal: AbortSignal;
}

/** Resolves with the exit code. An interrupt before the end of the checks closes everything and rejects. */
export async function runDemo(demo: Demo): Promise<number> {
  const { robots, seed, out, uiPort, screen, signal } = demo;
  for (const name of ['fleet', 'device', 'platform'])
    for (const form of ['json', 'html']) prepareFile('--out', join(out, `${name}.${form}`));
  const keys = { full: `demo_${randomBytes(12).toString('hex')}`, limited: `demo_${randomBytes(12).toString('hex')}` };
  const scratch = ownedFolder('demo');
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));
  screen.title(`Muster ${VERSION}`, 'a platform, a fleet, and a verdict on both');

  const platform = stack.use(
    await simulatePlatform({
      seed,
      // Seeded devices, enough for a deployment in every state, which the platform suite has to see.
      devices: 12,
      minKeyBits: DEMO_KEY_BITS,
      ...(uiPort !== undefined && { ui: { port: 0 } }),
      keys: [
        { key: keys.full, name: 'demo', scopes: 'all' },
        { key: keys.limited, name: 'demo without devices:read', scopes: ['releases:read'] },
      ],
    }),
  );
  signal.throwIfAborted();
  screen.done('platform', `${platform.url} · broker ${platform.mqttUrl ?? 'none'}`);
  const fleet = stack.use(await startRobots(demo, platform, keys.full));
  const { summary, missed } = await rollOut(demo, fleet);
  const early = uiPort === undefined ? await conclude(fleet, out) : undefined;

  // Checks a robot outside the fleet, because a check manipulates its robot and would spoil the fleet's result.
  const place = { socket: join(scratch, 'robot.sock'), control: join(scratch, 'control.sock') };
  stack.use(
    await simulateDevice({ dir: join(scratch, 'robot'), socket: place.socket, control: { path: place.control }, seed }),
  );
  const redactor = new Redactor();
  const both = { env: {}, redactor, patienceMs: PATIENCE_MS };
  const robot = { ...both, ...place, name: 'simulated robot' };
  const access = { url: platform.url, apiKey: keys.full, limitedKey: keys.limited };
  const served = { ...both, ...access, name: 'simulated platform' };
  const reports = [
    await check(demo, deviceSuite, () => openDeviceTarget(robot), redactor),
    await check(demo, platformSuite, () => openPlatformTarget(served), redactor),
  ];
  if (early === undefined) {
    screen.done('pages', 'the fleet and the platform stay up until Ctrl+C');
    if (!signal.aborted) await once(signal, 'abort');
  }
  const violations = early ?? (await conclude(fleet, out));
  const folder = relative(process.cwd(), out) || '.';
  screen.summary({ robots, latencies: summary, missed, violations: violations.length, reports, folder });
  if (missed.length > 0 || violations.length > 0) return EXIT.nonconformant;
  return Math.max(...reports.map((report) => report.exit_code));
}

async function conclude(fleet: Fleet, out: string): ReturnType<Fleet['verify']> {
  const violations = await fleet.verify();
  const result = await fleet.result(VERSION);
  const texts = { 'fleet.json': `${printableJson(result, 1)}\n`, 'fleet.html': reportHtml(result) };
  for (const [name, text] of Object.entries(texts))
    writingTo(`--out: ${join(out, name)}`, () => writeWhole(join(out, name), text));
  return violations;
}

type Fleet = Awaited<ReturnType<typeof startFleet>>;

async function startRobots(demo: Demo, platform: SimulatedPlatform, apiKey: string): Promise<Fleet> {
  const { robots, seed, uiPort, screen, signal } = demo;
  const { url, agentUrl, mqttUrl = '', uiUrl } = platform;
  const row = screen.row('robots', robots);
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
    platform: { url, agentUrl, mqttUrl, apiKey },
    onProgress: ({ stage: now, done }) => row.update(done, now === 'keys' ? 'making keys' : 'online'),
    ...(uiPort !== undefined && { ui: { port: uiPort, links, onServed } }),
    signal,
  });
  row.end('online, each with a socket, an event log and config files of its own');
  return fleet;
}

async function rollOut({ robots, screen, signal }: Demo, fleet: Fleet): ReturnType<Fleet['rollout']> {
  const row = screen.row('roll-out', robots);
  row.update(0, 'deploying');
  const work = fleet.rollout({ content: '{"max_speed_mps": 1.5}\n', over: '2s' });
  const interrupted = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  const done = await Promise.race([interrupted.then(() => Promise.reject(signal.reason)), work]);
  const { p50, p99 } = done.summary;
  const text = `p50 ${readableDuration(p50)} · p99 ${readableDuration(p99)}, from POST to the event on the robot`;
  row.end(text, done.latencies.length);
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
  const row = screen.row(`${suite.api} API`, plan.checks.length);
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
    ...defined({ unreachable: target.unreachable }),
    listeners: [{ onCheckEnd: ({ id }) => row.step(id) }, ...createReporters(files, { redactor, stdout, stderr, env })],
  });
  signal.throwIfAborted();
  row.verdict(report);
  return report;
}

interface Outcome {
  robots: number;
  latencies: { p50: number; p99: number };
  missed: readonly string[];
  violations: number;
  reports: readonly Report[];
  folder: string;
}

export class DemoScreen {
  readonly #display: Display;

  constructor(output: Output, env: Record<string, string | undefined>) {
    this.#display = new Display(output, { labels: 18, env });
  }

  title(name: string, text: string): void {
    const { paint } = this.#display;
    this.#display.line(`\n  ${paint('bold', name)}  ${paint('dim', text)}\n`);
  }

  line(text: string): void {
    this.#display.line(`  ${text}`);
  }

  done(label: string, text: string, { good = true, startedMs = -1 } = {}): void {
    const { paint } = this.#display;
    const took = startedMs < 0 ? '' : `  ${paint('dim', readableDuration(performance.now() - startedMs))}`;
    this.#display.row(`${good ? paint('green', '✓') : paint('red', '✗')} ${label}`, `${text}${took}`);
  }

  row(label: string, total: number) {
    const startedMs = performance.now();
    let [steps, ended] = [0, false];
    const end = (text: string, good: boolean): void => {
      ended = true;
      this.done(label, text, { good, startedMs });
    };
    /** Ignores progress after the row has ended, because a fleet reports for as long as its robots run. */
    const update = (done: number, doing: string): void => {
      if (!ended) this.#display.progress(`  ${label}`, done, total, { doing });
    };
    return {
      update,
      step: (doing: string): void => update(++steps, doing),
      end: (text: string, done = total): void => end(`${done}/${total} ${text}`, done === total),
      verdict: ({ summary, exit_code }: Report): void => end(counts(summary), exit_code === 0),
    };
  }

  summary({ robots, latencies, missed, violations, reports, folder }: Outcome): void {
    const passed = reports.reduce((sum, { summary }) => sum + summary.pass, 0);
    const failed = reports.reduce((sum, { summary }) => sum + summary.fail, 0);
    const undecided = reports.flatMap(({ checks }) => checks.filter(({ outcome }) => outcome === 'undecided'));
    const why = undecided.slice(0, 3).map(({ id, reason }) => `${id}: ${reason}`);
    if (undecided.length > why.length) why.push(`and ${undecided.length - why.length} more`);
    const good =
      failed === 0 && missed.length === 0 && violations === 0 && reports.every((report) => report.exit_code === 0);
    const { paint } = this.#display;
    const parts = [
      `${robots} robots`,
      `roll-out p50 ${readableDuration(latencies.p50)}, p99 ${readableDuration(latencies.p99)}`,
      `${passed} checks passed${failed > 0 ? `, ${failed} failed` : ''}`,
      ...(undecided.length > 0 ? [`${undecided.length} undecided: ${why.join('; ')}`] : []),
      ...(missed.length > 0 ? [`${missed.length} robots missed the roll-out: ${missed.slice(0, 3).join(', ')}`] : []),
      ...(violations > 0 ? [`${violations} stream violations`] : []),
    ];
    const verdict = paint(['bold', good ? 'green' : 'red'], good ? 'Nothing failed' : 'Something failed');
    const files = ['fleet', ...reports.map(({ api }) => api)].map((name) => `${folder}/${name}.html`);
    this.#display.line('');
    this.#display.row(verdict, parts.join('\n'));
    this.#display.row(paint('dim', 'reports'), files.join('\n'));
    this.#display.row(paint('dim', 'your own agent'), 'muster check device --socket PATH');
    this.#display.row(paint('dim', 'to develop'), 'muster simulate device --help');
    this.#display.line('');
  }
}
