import { execFile } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { clientSuite } from '../../../suites/client/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { defined } from '../../common/defined.ts';
import { Redactor } from '../../common/redact.ts';
import { EXIT } from '../../common/usage.ts';
import { CLIENT_JOBS, type ClientPlace } from '../../contract/client.ts';
import { NAMES_BY_DIALECT, SUPPORTED_CODENAMES } from '../../contract/versions.ts';
import { makePlan, NO_TRIES, type PlanOptions } from '../../runner/plan.ts';
import { type RunOptions, runSuite } from '../../runner/run.ts';
import type { Api, Capability, Outcome, Report, Suite } from '../../runner/types.ts';
import { startsOfOneCheck } from '../../targets/client/client-run.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import { openSystemTarget } from '../../targets/open-system.ts';
import type { ClientContext, OpenedTarget } from '../../targets/opened.ts';
import { type InProcessClient, inProcess } from './clients.ts';
import type { DevicePlace, PlatformPlace, Workspace } from './simulators.ts';

type OfRun = 'seed' | 'runs' | 'maxTimeMs' | 'concurrency' | 'varied' | 'signal' | 'listeners';

export interface RunChoice extends Omit<PlanOptions, 'capabilities'>, Partial<Pick<RunOptions<never>, OfRun>> {
  patienceMs?: number;
  tries?: boolean;
  /** Runs every check, even after a failed premise. */
  alone?: boolean;
}

const SEED = 11;

export async function runDeviceSuite(
  place: DevicePlace | { command: string },
  choice: RunChoice = {},
): Promise<Report> {
  const common = commonOf(choice);
  await using target = await openDeviceTarget({ ...common, ...place });
  return await runOn(deviceSuite, target, common.redactor, choice);
}

export async function runPlatformSuite(
  place: PlatformPlace | ({ command: string } & Omit<PlatformPlace, 'url'>),
  choice: RunChoice = {},
): Promise<Report> {
  const common = commonOf(choice);
  const { readOnly = false } = choice;
  await using target = await openPlatformTarget({ ...common, ...place, readOnly });
  // Adds capabilities that a defect may hide, because their checks must run.
  const hidden = [...(readOnly ? [] : ['write' as const]), 'seed-data', ...SUPPORTED_CODENAMES] as const;
  const capabilities = new Set<Capability>([...target.capabilities, ...hidden]);
  const context: typeof target.context = (recorder, signal) => ({ ...target.context(recorder, signal), capabilities });
  const { description, unreachable } = target;
  return await runOn(platformSuite, { description, unreachable, context, capabilities }, common.redactor, choice);
}

export async function runSystemSuite(
  { platform, device: place, deviceId, links, keys }: Workspace,
  { apiVersion, url = platform.url, ...choice }: RunChoice & { apiVersion?: string; url?: string } = {},
): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const common = commonOf(choice);
  const device = stack.use(await openDeviceTarget({ ...common, ...place }));
  const at = { url, apiKey: keys.apiKey, onlineDevice: deviceId, ...defined({ apiVersion }) };
  const opened = stack.use(await openPlatformTarget({ ...common, ...at }));
  const target = openSystemTarget({ device, platform: opened, deviceId, links, close: async () => {} });
  // Ignores `unreachable`, so that a platform without answers fails checks instead of blocking them.
  return await runOn(systemSuite, { ...target, unreachable: undefined }, common.redactor, choice);
}

export async function runClientSuite(
  client: InProcessClient,
  { places = ['url', 'socket', 'discovery'], ...choice }: RunChoice & { places?: readonly ClientPlace[] } = {},
): Promise<Report> {
  const capabilities = new Set<Capability>([...CLIENT_JOBS, ...places, 'deduplicates', 'heartbeat']);
  const { redactor, patienceMs } = commonOf(choice);
  const start = inProcess(client);
  const about = { versionHeader: NAMES_BY_DIALECT.spec.versionHeader, capabilities, patienceMs };
  const target: Target<ClientContext> = {
    description: {
      kind: 'simulator',
      address: 'client',
      capabilities: [...capabilities],
      control: 'none',
      ended: true,
    },
    context: (recorder) => ({ ...about, ...startsOfOneCheck(start), recorder }),
    capabilities,
    unreachable: undefined,
  };
  // High, because client checks mostly wait.
  return await runOn(clientSuite, target, redactor, { concurrency: 40, ...choice });
}

const commonOf = ({ patienceMs = 10_000 }: RunChoice) => ({ env: {}, redactor: new Redactor(), patienceMs });

type Target<Context> = Pick<OpenedTarget<Context>, 'description' | 'context' | 'capabilities' | 'unreachable'>;

function runOn<Context>(
  suite: Suite<Context>,
  target: Target<Context>,
  redactor: Redactor,
  { runs, maxTimeMs, concurrency, signal, listeners, ...choice }: RunChoice,
): Promise<Report> {
  const { seed = SEED, alone = false, tries = false, varied = false, ...planOptions } = choice;
  const plan = makePlan(suite, { ...planOptions, capabilities: target.capabilities });
  const withoutPremises = () => plan.checks.map((each) => ({ ...each, check: { ...each.check, premises: [] } }));
  return runSuite(suite, {
    plan: alone ? { ...plan, checks: withoutPremises() } : plan,
    target: target.description,
    context: target.context,
    redactor,
    seed,
    version: 'matrix',
    varied,
    ...(tries ? {} : { tries: NO_TRIES }),
    ...defined({ runs, maxTimeMs, concurrency, signal, listeners, unreachable: target.unreachable }),
  });
}

export const resultsWith = (report: Report, ...outcomes: Outcome[]): string[] =>
  report.checks
    .filter(({ outcome }) => outcomes.includes(outcome))
    .map(({ id, outcome, expected, actual, reason, counterexample, observations }) => {
      const what = reason ?? `expected ${expected}; actual: ${actual}`;
      const example = counterexample === undefined ? '' : `; counterexample ${String(counterexample)}`;
      return `${id} ${outcome}: ${what}${example}${outcome === 'warn' ? ` ${observations?.join(' | ')}` : ''}`;
    });

// Starved: a command with few descriptors, a small heap or a full disk, against a correct target.

interface Starved {
  api: Extract<Api, 'device' | 'platform'>;
  name: string;
  limit?: string;
  node?: readonly string[];
  words?: readonly string[];
  reason?: RegExp;
  codes: readonly number[];
}

const descriptors = (api: Starved['api'], count: number): Starved => ({
  api,
  name: `${count}-descriptors`,
  limit: `ulimit -n ${count}`,
  reason: /raise `ulimit -n`/,
  codes: [EXIT.incomplete],
});

export const STARVED: readonly Starved[] = [
  descriptors('device', 24),
  descriptors('device', 32),
  { ...descriptors('device', 48), codes: [EXIT.conformant, EXIT.incomplete] },
  descriptors('platform', 24),
  { ...descriptors('platform', 44), codes: [EXIT.conformant, EXIT.incomplete] },
  {
    api: 'device',
    name: 'small-heap',
    node: ['--max-old-space-size=64'],
    codes: [EXIT.conformant],
  },
  {
    api: 'device',
    name: 'full-disk',
    words: ['--report', 'html=/dev/full'],
    codes: [EXIT.harness],
  },
];

const CLI = fileURLToPath(new URL('../../cli/launch.cjs', import.meta.url));

async function check({ api, limit = ':', node = [], words = [], codes }: Starved, place: string[]): Promise<Report> {
  const drawn = ['--fast', '--seed', String(SEED)];
  const command = [process.execPath, ...node, CLI, 'check', api, ...place, ...drawn, '--report', 'json', ...words];
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const options = { timeout: 300_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
    execFile('/bin/sh', ['-c', `${limit}; exec "$@"`, 'sh', ...command], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout: out, stderr: err }),
    );
  });
  if (!codes.some((due) => due === code))
    throw new Error(
      `ended with ${code} instead of ${codes.join(' or ')}: ${stderr.slice(-2000) || stdout.slice(-2000)}`,
    );
  return JSON.parse(stdout) as Report;
}

export async function runStarved(starved: Starved): Promise<Report> {
  const server = new Worker(new URL('target-thread.ts', import.meta.url), { workerData: starved.api });
  const ended = once(server, 'exit');
  try {
    const [options] = (await once(server, 'message')) as [string[]];
    return await check(starved, options);
  } finally {
    server.postMessage('end');
    await ended;
  }
}
