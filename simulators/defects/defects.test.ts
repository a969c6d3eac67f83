/** Every defect and variant is well-formed; the matrix proves that the suites catch the defects. */
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { clientSuite } from '../../suites/client/index.ts';
import { deviceSuite } from '../../suites/device/index.ts';
import { platformSuite } from '../../suites/platform/index.ts';
import { systemSuite } from '../../suites/system/index.ts';
import type { ClientBehaviour } from '../client/behaviour.ts';
import { referenceBehaviour as clientReference } from '../client/reference.ts';
import { type DeviceBehaviour, referenceBehaviour as deviceReference } from '../device/index.ts';
import type { PlatformBehaviour } from '../platform/behaviour.ts';
import { referenceBehaviour as platformReference } from '../platform/reference.ts';
import { startPlatform } from '../platform/testing/kit.ts';
import { clientDefects, clientVariants } from './client/index.ts';
import { type Defect, findByName, type Located, type Variant } from './define.ts';
import { deviceDefect, deviceDefects, deviceVariant, deviceVariants } from './device/index.ts';
import { platformDefects, platformVariants, systemDefects } from './platform/index.ts';

const root = new URL('../../', import.meta.url);

const requirements = new Map<string, string>(
  [deviceSuite, platformSuite, systemSuite, clientSuite].flatMap(({ checks }) =>
    (checks as readonly { id: string; requirement: { id: string } }[]).flatMap(({ id, requirement }) => [
      [requirement.id, requirement.id] as const,
      [id, requirement.id] as const,
    ]),
  ),
);

const allDefects: Located<Pick<Defect<never>, 'name' | 'side' | 'summary' | 'breaks'>>[] = [
  ...deviceDefects,
  ...platformDefects,
  ...systemDefects,
  ...clientDefects,
];
const all: Located<Pick<Variant<never>, 'name' | 'side' | 'summary'>>[] = [
  ...allDefects,
  ...deviceVariants,
  ...platformVariants,
  ...clientVariants,
];

test('every defect and variant has a unique slug, a one-sentence summary, and a file named like a suite file', () => {
  for (const { name, summary, file } of all) {
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(summary, name).toMatch(/^[A-Z].*\.$/);
    expect(readFileSync(new URL(file, root), 'utf8'), file).toContain(`'${name}'`);
    if (file.endsWith('/slowness.ts')) continue;
    const suite = file.replace('simulators/defects', 'suites');
    expect(existsSync(new URL(suite, root)), suite).toBe(true);
  }
  const names = all.map(({ side, name }) => `${side} ${name}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every defect breaks requirements of its suite, and is declared beside one of them', () => {
  for (const { name, file, breaks } of allDefects) {
    for (const id of breaks) {
      expect(requirements.has(id), `${name} breaks ${id}`).toBe(true);
      expect(id.split('.')[0], name).toBe(file.split('/')[2]);
    }
    const suite = file.replace('simulators/defects', 'suites');
    const source = readFileSync(new URL(suite, root), 'utf8');
    const beside = breaks.some((id) => source.includes(`'${requirements.get(id)}'`));
    expect(beside, `${name} in ${file}`).toBe(true);
  }
});

const decisions = (groups: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(groups).flatMap(([group, some]) =>
      Object.entries(some).map(([name, decision]) => [`${group}.${name}`, decision]),
    ),
  );
const clientDecisions = ({ stream, jobs, ...groups }: ClientBehaviour): Record<string, unknown> =>
  decisions({ stream: stream(), ...jobs, ...groups });

/** Names of the changes with the decisions that differ from the reference. */
function differences<B>(
  all: readonly Variant<B>[],
  reference: B,
  decisionsOf: (behaviour: B) => Record<string, unknown>,
): [name: string, different: string[]][] {
  const before = decisionsOf(reference);
  return all.map(({ side, name, behaviour }) => {
    const made = decisionsOf(behaviour(reference));
    return [`${side} ${name}`, Object.keys(made).filter((decision) => made[decision] !== before[decision])];
  });
}

test('every change differs from the reference in one to three decisions', () => {
  // Every call of `stream` returns the same object, so that the test can compare decisions.
  const clientStream = clientReference.stream();
  const client = { ...clientReference, stream: () => clientStream };
  const platformChanges = [...platformDefects, ...systemDefects, ...platformVariants];
  for (const [name, different] of [
    ...differences([...deviceDefects, ...deviceVariants], deviceReference, decisions),
    ...differences(platformChanges, platformReference, (behaviour) => ({ ...behaviour })),
    ...differences([...clientDefects, ...clientVariants], client, clientDecisions),
  ]) {
    expect([1, 2, 3], `${name}: ${different.join(', ')}`).toContain(different.length);
  }
});

test('a defect keeps separate state for each simulator', () => {
  const { behaviour } = deviceDefect('subscribers-take-turns');
  const [one, other] = [behaviour(deviceReference), behaviour(deviceReference)];
  const live = new Set([{ waiting: 1 }, { waiting: 2 }]);
  const next = (device: DeviceBehaviour): number[] => [...device.stream.recipients(live)].map(({ waiting }) => waiting);
  expect([next(one), next(one), next(other), next(one)]).toEqual([[1], [2], [1], [1]]);
});

describe('a change does all that its summary says:', () => {
  const device = (name: string): DeviceBehaviour => deviceVariant(name).behaviour(deviceReference);
  const platform = (name: string): PlatformBehaviour =>
    findByName('variant of the platform', platformVariants, name).behaviour(platformReference);

  test('errors-without-body sends no byte and no type', async () => {
    await using on = await startPlatform({ behaviour: platform('errors-without-body') });
    const { status, text, headers } = await on.get('/devices/none');
    expect([status, text, headers.get('content-type')]).toEqual([404, '', null]);
  });

  test('release-of-a-commit refuses a body that is no object', async () => {
    await using on = await startPlatform({ behaviour: platform('release-of-a-commit') });
    expect((await on.post('/releases', 'null')).status).toBe(400);
  });

  test('order-depends-on-limit rotates a list of any limit, but none with order_by', () => {
    const { page, order } = platform('order-depends-on-limit');
    const first = (limit: number) =>
      page({ limit, offset: 0, total: () => 50 }, (start, count) =>
        Array.from({ length: count }, (_, at) => start + at),
      )[0];
    expect([first(3), first(7), first(20)]).toEqual([3, 7, 20]);
    order([{ field: 'created_at', descending: false }]);
    expect(first(3)).toBe(0);
  });

  test('tokens-limited frees the tokens that have expired', () => {
    const { answer } = platform('tokens-limited');
    const ask = (expires_at: string) =>
      answer?.('createProvisioningToken', { status: 200, body: { expires_at } }).status;
    const past = Array.from({ length: 6 }, () => ask('2020-01-01T00:00:00Z'));
    const valid = Array.from({ length: 5 }, () => ask('2999-01-01T00:00:00Z'));
    expect([past, valid]).toEqual([
      [200, 200, 200, 200, 200, 200],
      [200, 200, 200, 200, 409],
    ]);
  });

  test('times-in-seconds leaves no fraction in the payload', () => {
    const time = '2026-01-01T00:00:00.123Z';
    const { data } = device('times-in-seconds').deployments.event({ type: 'x.y', data: { deployed_at: time } });
    expect(data).toEqual({ deployed_at: '2026-01-01T00:00:00Z' });
  });

  test('future-cursor-refused answers 400 beyond the newest event, and 410 to an old cursor', () => {
    const { stream, http } = device('future-cursor-refused');
    const refused = (cursor: number) => {
      const after = stream.resolveCursor(cursor, { earliest: 5, latest: 9 });
      return after === 'expired'
        ? http.refusal({ status: 410, code: 'cursor_expired', message: '' }, {} as IncomingMessage).status
        : after;
    };
    expect([refused(10), refused(3), refused(9)]).toEqual([400, 410, 9]);
  });
});
