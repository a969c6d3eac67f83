/** `npm start`: a platform, a fleet, a roll-out and two verdicts, in less than a minute. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import { Redactor } from '../client/redact.ts';
import { createReporters } from '../reports/create.ts';
import { makePlan } from '../runner/plan.ts';
import { runSuite } from '../runner/run.ts';
import type { Report, Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import { interruptSignal, positive, seedFrom } from './check-options.ts';
import { DemoScreen, milliseconds } from './demo-screen.ts';
import { EXIT } from './exit.ts';
import { VERSION } from './version.ts';

interface Arguments {
  robots: number;
  seed?: number;
  out: string;
}

const PATIENCE_MS = 10_000;
/** Key pairs of a real agent take seconds each to make; the demo's own platform takes these. */
const DEMO_KEY_BITS = 1024;

export const demo: CommandModule<object, Arguments> = {
  builder: {
    robots: { type: 'number', default: 200, describe: 'Robots in the fleet' },
    seed: { type: 'number', describe: 'Repeats a run', defaultDescription: 'a new one' },
    out: { type: 'string', default: 'muster-report', describe: 'Folder for the reports' },
  },
  handler: async (args) => {
    const robots = positive('robots', args.robots, 'a number of robots, from 1 on');
    const seed = seedFrom(args.seed);
    const interrupt = interruptSignal();
    const screen = new DemoScreen(process.stdout, process.env);
    try {
      process.exitCode = await run(Math.round(robots), seed, resolve(args.out), screen, interrupt.signal);
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      screen.line('stopped; nothing is left running');
      process.exitCode = 130;
    } finally {
      interrupt.release();
    }
  },
};

async function run(
  robots: number,
  seed: number,
  out: string,
  screen: DemoScreen,
  signal: AbortSignal,
): Promise<number> {
  const [
    { startFleet },
    { simulatePlatform },
    { simulateDevice },
    { deviceSuite },
    { platformSuite },
    { openDeviceTarget },
    { openPlatformTarget },
  ] = await Promise.all([
    import('../../simulators/fleet/index.ts'),
    import('../../simulators/platform/index.ts'),
    import('../../simulators/device/index.ts'),
    import('../../suites/device/index.ts'),
    import('../../suites/platform/index.ts'),
    import('../targets/open-device.ts'),
    import('../targets/open-platform.ts'),
  ]);
  const redactor = new Redactor();
  const keys = { full: `demo_${randomBytes(12).toString('hex')}`, limited: `demo_${randomBytes(12).toString('hex')}` };
  const scratch = mkdtempSync(join(tmpdir(), 'muster-demo-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }));
  screen.title(`Muster ${VERSION}`, 'a platform, a fleet, and a verdict on both');

  const platform = stack.use(
    await simulatePlatform({
      seed,
      minKeyBits: DEMO_KEY_BITS,
      keys: [
        { key: keys.full, name: 'demo', scopes: 'all' },
        { key: keys.limited, name: 'demo without devices:read', scopes: ['releases:read'] },
      ],
    }),
  );
  signal.throwIfAborted();
  screen.done('platform', `${platform.url} · broker ${platform.mqttUrl ?? 'none'}`);

  const fleetProgress = screen.bar('robots', robots);
  const fleet = stack.use(
    await startFleet({
      robots,
      seed,
      workers: 1,
      keyBits: DEMO_KEY_BITS,
      platform: {
        url: platform.url,
        agentUrl: platform.agentUrl,
        mqttUrl: platform.mqttUrl ?? '',
        apiKey: keys.full,
      },
      onProgress: ({ stage, done }) => fleetProgress.update(done, stage === 'keys' ? 'making keys' : 'online'),
      signal,
    }),
  );
  fleetProgress.end('online, each with a socket, an event log and config files of its own');

  const rollout = screen.bar('roll-out', robots);
  rollout.update(0, 'deploying');
  const { latencies, missed, summary } = await until(signal, fleet.rollout({ content: '{"max_speed_mps": 1.5}\n' }));
  rollout.end(
    `p50 ${milliseconds(summary.p50)} · p99 ${milliseconds(summary.p99)}, from POST to the event on the robot`,
    latencies.length,
  );
  const violations = await fleet.verify();

  // Driving a robot through its control API would disturb the fleet's own verdict on streams, so this one stands beside it.
  const place = { socket: join(scratch, 'robot.sock'), control: join(scratch, 'control.sock') };
  stack.use(
    await simulateDevice({ dir: join(scratch, 'robot'), socket: place.socket, control: { path: place.control }, seed }),
  );
  mkdirSync(out, { recursive: true });
  const judge = async <Context>(
    name: string,
    suite: Suite<Context>,
    open: () => Promise<OpenedTarget<Context>>,
  ): Promise<Report> => {
    await using target = await open();
    const plan = makePlan(suite, { capabilities: target.capabilities, fast: true });
    const bar = screen.bar(`${name} API`, plan.checks.length);
    const report = await runSuite(suite, {
      plan,
      target: target.description,
      context: target.context,
      redactor,
      seed,
      version: VERSION,
      signal,
      arguments: [],
      ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
      listeners: [
        { onCheckEnd: ({ id }) => bar.step(id) },
        ...createReporters([`html=${join(out, `${name}.html`)}`, `json=${join(out, `${name}.json`)}`], {
          redactor,
          stdout: process.stdout,
          stderr: process.stderr,
          env: process.env,
        }),
      ],
    });
    signal.throwIfAborted();
    bar.verdict(report);
    return report;
  };
  const reports = [
    await judge('device', deviceSuite, () =>
      openDeviceTarget({ ...place, env: {}, name: 'simulated robot', redactor, patienceMs: PATIENCE_MS }),
    ),
    await judge('platform', platformSuite, () =>
      openPlatformTarget({
        url: platform.url,
        apiKey: keys.full,
        limitedKey: keys.limited,
        env: {},
        name: 'simulated platform',
        redactor,
        patienceMs: PATIENCE_MS,
      }),
    ),
  ];
  screen.summary({
    robots,
    latencies: summary,
    missed,
    violations: violations.length,
    reports,
    folder: relative(process.cwd(), out) || '.',
  });
  if (missed.length > 0 || violations.length > 0) return EXIT.nonconformant;
  return Math.max(...reports.map((report) => report.exit_code));
}

/** Rejects on an interrupt, whatever becomes of the work. */
function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
