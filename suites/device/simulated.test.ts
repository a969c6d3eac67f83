/** The reference device passes the suite, and a server that does nothing passes no MUST. The long tests have more of both. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FLOODS, NULL_SERVERS, type NullServerName, nullServer } from '../../simulators/defects/null.ts';
import {
  expectPassesEverything,
  passesWhereNothingHappens,
  resultsWith,
  runDeviceSuite,
  startDevice,
} from './testing/run.ts';

describe('the reference device', () => {
  it('passes the core of the suite over a unix socket', () =>
    expectPassesEverything('unix', { fast: true, profile: 'core' }));

  it('passes as a black box by the events that it retained', async () => {
    await using started = await startDevice('unix');
    const { device, address } = started;
    await device.publish(30);
    await device.deploy();
    const report = await runDeviceSuite({ ...address, fast: true });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    const passed = report.checks.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id);
    expect(passed).toEqual(
      expect.arrayContaining([
        'device.deployment.shape',
        'device.deployment.merge',
        'device.events.envelope.retained',
        'device.events.payload.deployed.retained',
        'device.events.replay.complete.retained',
        'device.events.header-cursor.retained',
        'device.events.after-wins.retained',
        'device.events.types.retained',
      ]),
    );
  });

  it('passes as a black box also when the beginning of its log is gone', async () => {
    await using started = await startDevice('unix');
    const { device, address } = started;
    await device.publish(50);
    await device.compact();
    const report = await runDeviceSuite({ ...address, fast: true, only: ['device.events.replay.complete.retained'] });
    expect(report.summary).toMatchObject({ pass: 1 });
  });
});

/** The floods take longer: the matrix has them. */
const QUIET = (Object.keys(NULL_SERVERS) as NullServerName[]).filter((name) => !FLOODS.includes(name));

it.for(QUIET)('%s passes no MUST', async (kind) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-null-'));
  try {
    const socket = join(folder, 'null.sock');
    await using _server = await nullServer(kind, { path: socket });
    const report = await runDeviceSuite({ socket, patienceMs: 300 });
    const passed = report.checks.filter(({ level, outcome }) => level === 'MUST' && outcome === 'pass');
    expect(passed.map(({ id }) => id)).toEqual([]);
    // A target that answers nothing at all is out of reach.
    expect(report.exit_code).toBe(kind === 'never-answers' ? 2 : 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('no check passes on its own where nothing happened, though control agrees to everything', async () => {
  expect(await passesWhereNothingHappens('not-found')).toEqual([]);
});
