/** Checks the published agent as `fixtures/targets/README.md` says, and expects the findings of its baseline. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBaseline } from '../../runner/baseline.ts';
import type { Report } from '../../runner/types.ts';
import { type Ended, MAIN, reportIn, typed } from '../testing/muster.ts';

const UNSHARE = 'unshare';
const FIXTURES = join(import.meta.dirname, '../../../fixtures');
const TARGET = join(FIXTURES, 'targets/miru-agent.yaml');
const EXPECTED = join(FIXTURES, 'baselines/miru-agent.yaml');

const WRITTEN = ['/etc/muster', '/muster'];
/** Own network and mounts for each run, because the agent uses fixed paths and ports. */
const OWN =
  `ip link set lo up && for folder in /run /var/lib /var/log /srv ${WRITTEN.join(' ')}; do mount -t tmpfs ` +
  'none $folder || exit; done';

function whyNot(): string | undefined {
  if (!process.env['MIRU_AGENT']) return 'MIRU_AGENT does not name it';
  if (process.getuid?.() !== 0) return 'it takes root';
  const { status } = spawnSync(UNSHARE, ['--mount', '--net', 'ip', 'link', 'set', 'lo', 'up']);
  return status === 0 ? undefined : 'no namespace can be made here';
}
const reason = whyNot();

/** Milliseconds allowed for a test; an idle machine needs ten minutes. */
const MOST_MS = 25 * 60_000;

const alone = (words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const args = ['--mount', '--net', 'sh', '-c', `${OWN}; exec "$@"`, 'sh', process.execPath, ...words];
    execFile(UNSHARE, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

async function check(api: 'device' | 'system', folder: string) {
  const file = join(folder, `${api}.json`);
  const words = typed`check ${api} --target ${TARGET} --control platform --baseline ${EXPECTED} --max-time 20m`;
  const { code, stdout, stderr } = await alone([MAIN, ...words, '--report', 'pretty', '--report', `json=${file}`]);
  try {
    return { code, report: reportIn(file) };
  } catch (error) {
    throw new Error(`no report: ${stdout}${stderr}`, { cause: error });
  }
}

const ids = ({ checks }: Report, outcome: Report['checks'][number]['outcome']): string[] =>
  checks
    .filter((each) => each.outcome === outcome && each.blocked_by === undefined)
    .map(({ id }) => id)
    .sort();

const unexpected = ({ checks }: Report) =>
  checks
    .filter(({ outcome }) => !['pass', 'known', 'not_applicable'].includes(outcome))
    .filter(({ id, outcome }) => outcome !== 'undecided' || !SLOW.includes(id))
    .map(({ id, outcome, expected, actual, reason: why }) => ({ id, outcome, expected, actual, why }));

/** Text, because Vitest shortens long arrays in its messages. */
const listed = (found: readonly unknown[]): string => found.map((each) => JSON.stringify(each)).join('\n');

const expectedRed = (api: string): string[] =>
  readBaseline(EXPECTED)
    .known.map((entry) => entry.check)
    .filter((id) => id.startsWith(`${api}.`))
    .sort();

const NAME = `the published agent${reason === undefined ? '' : ` (skipped: ${reason})`}`;

describe.skipIf(reason !== undefined)(NAME, { timeout: MOST_MS }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-real-agent-'));
  let made: string[] = [];
  beforeAll(() => {
    made = WRITTEN.flatMap((path) => mkdirSync(path, { recursive: true }) ?? []);
  });
  afterAll(() => {
    for (const path of [folder, ...made]) rmSync(path, { recursive: true, force: true });
  });

  test.concurrent('gets a whole verdict on its Device API', async () => {
    const { code, report } = await check('device', folder);
    expect(listed(unexpected(report))).toBe('');
    expect(ids(report, 'known')).toEqual(expectedRed('device'));
    // `device.deployment.shape` applies only if an earlier check has left a current deployment.
    const lacking = ids(report, 'not_applicable').filter((id) => id !== 'device.deployment.shape');
    expect(lacking.filter((id) => !SLOW.includes(id))).toEqual(LACKING.device);
    // Expects exit code 2 if a check is undecided, because the platform deploys too slowly for some checks.
    expect(code).toBe(report.profile_coverage.undecided.length > 0 ? 2 : 0);
  });

  test.concurrent('gets a whole verdict together with a platform', async () => {
    const { report } = await check('system', folder);
    expect(listed(unexpected(report).filter(({ id }) => !DEAF.includes(id)))).toBe('');
    const found = report.checks.filter(({ outcome }) => RED.has(outcome)).map(({ id }) => id);
    expect(DEAF.filter((id) => found.includes(id))).not.toEqual([]);
    expect(ids(report, 'not_applicable').filter((id) => !DEAF.includes(id))).toEqual(LACKING.system);
  });

  test.concurrent('gets no finding from a watch of its clients and its platform', async () => {
    const { code, stdout, stderr } = await alone([join(import.meta.dirname, 'testing/watched-agent.ts')]);
    expect(code, stderr).toBe(0);
    const { device, platform } = JSON.parse(stdout);
    expect([...device.found, ...platform.found]).toEqual([]);
    expect(device.watched.events).toBeGreaterThan(0);
    expect(platform.watched.exchanges).toBeGreaterThan(0);
  });
});

/** Checks that may fail, because the agent sometimes receives nothing after a lost connection. */
const DEAF: readonly string[] = [
  ...expectedRed('system'),
  'system.offline.newest',
  // A busy machine may break the first connection and so fail these checks.
  'system.ping',
  'system.ping.offline',
  'system.agreement',
];
const RED: ReadonlySet<string> = new Set(['fail', 'warn', 'known']);

/** Checks that may see too few events, because each event needs a deployment through the platform. */
const SLOW: readonly string[] = [
  'device.events.framing-safe',
  'device.events.slow-reader',
  'device.events.slow-reader.complete',
  'device.log.bounded',
];

const LACKING = {
  device: [
    'device.deployment.failed',
    'device.events.deployed-only',
    'device.events.expired.410.retained',
    'device.events.payload.deployed.error',
    'device.loopback.bearer-required',
    'device.loopback.discovery',
    'device.loopback.only',
    'device.loopback.scheme-case',
  ],
  system: ['system.failed'],
};
