import { join } from 'node:path';
import { expect, test } from 'vitest';
import { muster, Running } from '../../harness/cli/testing/muster.ts';
import { Changes } from '../../harness/common/waiting.ts';
import { SITUATIONS } from '../../harness/contract/situations.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { followEvents } from '../client/follow.ts';
import { referenceBehaviour } from '../client/reference.ts';
import { scratch } from '../common/testing/scratch.ts';
import { ScenarioPlayer } from './scenario-player.ts';
import { endpointsOf, transportInFolder } from './transport.ts';

const THREE = ['1', '2', '3'];
const TWO = ['1', '2'];
const SEAM = ['1001', '1002', '1003', '1004'];
const LOST = ['1001', '1002', 'gap', '1003', '1004'];

const all = (expected: readonly string[], names: string) =>
  Object.fromEntries(names.split(' ').map((name) => [name, expected]));

const EXPECTED: Record<string, readonly string[]> = {
  ...all(THREE, 'crlf cr comments fields retry byte-by-byte'),
  ...all(TWO, 'bom empty multi-line'),
  ...all(SEAM, 'ended cut duplicates heartbeats unavailable torn-id torn-id-line torn-data torn-data-line retry-after'),
  'big-ids': ['9007199254740993', '9007199254740995', '9007199254740997'],
  silent: SEAM.slice(0, 2),
  expired: LOST,
};
/** These take minutes, because the client makes 20 attempts with growing pauses. */
const TOO_LONG = ['dead', 'expired-again'];

test('every situation has an expectation here, except the two that take minutes', () => {
  expect([...Object.keys(EXPECTED), ...TOO_LONG].sort()).toEqual(Object.keys(SITUATIONS).sort());
});

test.concurrent.each(Object.entries(EXPECTED))(
  'the reference client prints the expected events for %s',
  async (name, expected) => {
    using folder = scratch();
    const over = new AbortController();
    const changes = new Changes();
    const printed: string[] = [];
    const told: string[] = [];
    const situation = SITUATIONS[name];
    if (situation === undefined) throw new Error(`no situation ${name}`);
    const endpoints = endpointsOf(transportInFolder('loopback', folder.path));
    await using player = await ScenarioPlayer.open(situation, endpoints, (_, what) => told.push(what));
    const following = followEvents({
      url: `${player.url}${DEVICE_API_PREFIX}`,
      heartbeatSeconds: 30,
      behaviour: referenceBehaviour,
      signal: over.signal,
      print: (line) => {
        const { saw, id } = JSON.parse(line) as { saw: string; id?: string };
        printed.push(id ?? saw);
        changes.announce();
      },
    });
    while (printed.length < expected.length) await changes.next(60_000);
    expect(printed).toEqual(expected);
    expect(told[0]).toBe('GET /v0.2/events');
    over.abort();
    await following;
  },
  120_000,
);

test('a request target with two slashes at its beginning is answered 404, and does not end the scenario', async () => {
  using folder = scratch();
  const told: string[] = [];
  const situation = { summary: 'Ends.', answers: [{ pieces: [': hello\n\n'], last: 'end' as const }] };
  const endpoints = endpointsOf(transportInFolder('loopback', folder.path));
  await using player = await ScenarioPlayer.open(situation, endpoints, (_, what) => told.push(what));
  for (const [path, status] of Object.entries({ '//v0.2/events': 404, '/v0.2/events': 200 })) {
    const answer = await fetch(`${player.url}${path}`);
    expect(answer.status).toBe(status);
    expect(told).toContain(`GET ${path}`);
    await answer.text();
  }
}, 60_000);

test('the command reports its scenario and socket when it is ready', async () => {
  using folder = scratch();
  const socket = join(folder.path, 'a.sock');
  await using playing = new Running(['simulate', 'device', '--socket', socket, '--scenario', 'retry-after']);
  expect(await playing.ready()).toEqual({ ready: true, scenario: 'retry-after', socket });
});

test.each([
  [['--scenario', 'list'], 0, 'torn-data '],
  [['--scenario', 'torn', '--socket', 'x'], 64, 'did you mean torn-id'],
  [['--scenario', 'cut'], 64, 'says where to serve'],
  [['--scenario', 'cut', '--socket', 'x', '--dir', 'y'], 64, '--dir: does not go with --scenario'],
  [['--scenario', 'cut', '--socket', 'x', '--ui'], 64, '--ui: does not go with --scenario'],
])(
  'the command with %j exits with code %i',
  async (words, code, said) => {
    const ended = await muster('simulate', 'device', ...words);
    expect(ended.stdout + ended.stderr).toContain(said);
    expect(ended.code).toBe(code);
  },
  120_000,
);
