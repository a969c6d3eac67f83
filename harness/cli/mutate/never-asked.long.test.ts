/**
 * What is told as never asked cannot show: whatever it changes, the tests pass on it. A rule that is too narrow would
 * hide a survivor, or a defect that is killed.
 */
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { type Found, type MutateOptions, mutate } from '../../mutate/run.ts';
import type { World } from '../../mutate/subject.ts';
import type { Suite } from '../../runner/types.ts';
import { deviceWorld } from './device.ts';
import { platformWorld } from './platform.ts';
import { requirementsOf } from './subjects.ts';

const FOLDER = join(import.meta.dirname, '../../../fixtures/mutate');
const requirements = (suite: unknown) => requirementsOf([suite as Suite<never>]);
const SILENT: MutateOptions['listener'] = { onSecrets() {}, onBegin() {}, onResult() {} };

const run = (world: World, line: string): Promise<Found> =>
  mutate(world, {
    line,
    jobs: 2,
    // Far more than they take, so that a busy machine kills nothing.
    testTimeoutMs: 120_000,
    firstTimeoutMs: 120_000,
    signal: new AbortController().signal,
    first: new Set(),
    choose: (subjects) => [...subjects],
    listener: SILENT,
  });

/** The same world, in which everything may show. */
const sighted = (world: World, subjects: World['subjects']): World => ({
  subjects,
  async faithful() {
    const server = await world.faithful();
    return { ...server, traffic: { asked: server.traffic.asked, unseen: () => undefined } };
  },
});

test.each<[name: string, holes: string, world: () => World | Promise<World>]>([
  [
    'device-tests.mjs',
    'heartbeat',
    () => deviceWorld({ heartbeatMs: 200, seed: 7, dialect: 'spec' }, requirements(deviceSuite)),
  ],
  [
    'platform-tests.mjs',
    '',
    () =>
      platformWorld(
        { seed: 7, devices: 30, seedFile: undefined, dialect: 'spec' },
        requirements(platformSuite),
        undefined,
      ),
  ],
])(
  'of %s',
  async (name, holes, made) => {
    const world = await made();
    const line = `LEAVE_OUT=${holes} '${process.execPath}' '${join(FOLDER, name)}'`;
    const quick = await run({ ...world, subjects: world.subjects.slice(0, 1) }, line);
    const unseen = world.subjects.filter((subject) => quick.traffic.unseen(subject) !== undefined);
    expect(unseen.length).toBeGreaterThan(30);
    const { subjects } = await run(sighted(world, unseen), line);
    const shown = subjects.filter(({ state }) => state !== 'survived' && state !== 'accepted');
    expect(shown.map(({ name: which, state, how }) => `${state} ${which}: ${how}`)).toEqual([]);
  },
  300_000,
);
