import fc from 'fast-check';
import { PROMISED_FORMS } from '../../../harness/client/equivalent-forms.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from '../../../harness/contract/enums.ts';
import type { Device } from '../support/check.ts';
import {
  burstIntoReplay,
  type Command,
  compactIntoBurst,
  cutAndComeBack,
  deploy,
  leave,
  type Opening,
  openExpired,
  openFuture,
  openStream,
  openZero,
  PLAIN,
  passTime,
  publishSome,
  readCurrent,
  removeCurrent,
} from './commands.ts';
import { compactAway, compactLog, killWhilePublishing, restartAgent, tearTail } from './survival.ts';

const ACCEPTS = ['text/event-stream', undefined, '*/*', 'text/event-stream;q=0.9, */*;q=0.1'] as const;
const CODINGS = [undefined, 'identity', 'gzip, deflate, br', undefined] as const;

export function sequences(t: Device): readonly { commands: readonly Command[]; isDirected: boolean }[] {
  const name = uniqueName('oracle');
  const paths = ['a', 'b/c', 'd'].map((file) => `/etc/robot/${name}/${file}.json`);
  const drawn = fc.sample(fc.array(anyCommand(paths), { minLength: 5, maxLength: 12 }), {
    seed: t.runSeed,
    numRuns: Math.ceil(25 * t.runs),
  });
  const [percent = 0] = fc.sample(fc.nat({ max: 99 }), { seed: t.runSeed, numRuns: 1 });
  const all = DIRECTED.map((commands) => commands(paths, percent / 100));
  const shuffled = fc.shuffledSubarray(all, { minLength: all.length });
  const [directed = []] = fc.sample(shuffled, { seed: t.runSeed, numRuns: 1 });
  const random = drawn.map((commands) => ({ commands, isDirected: false }));
  return [
    { commands: plain(paths), isDirected: true },
    ...directed.flatMap((commands, n) => [...random.slice(n, n + 1), { commands, isDirected: true }]),
    ...random.slice(directed.length),
  ];
}

const contents = (paths: readonly string[], version: number) =>
  paths.map((filepath) => ({ filepath, content: `{"version":${version},"name":"größe 😀"}` }));

/** Files that agents easily write wrongly: empty, non-ASCII, CRLF, long, or of one name in two folders. */
const oddFiles = (paths: readonly string[]): Command[] => {
  const folder = (paths[0] ?? '').replace(/\/[^/]*$/, '');
  const file = (name: string, content: string) => ({ filepath: `${folder}/${name}.json`, content });
  const sets = [
    [file('größe 日本', '{"a":1}')],
    [file('empty', ''), file('lines', '{\r\n"a": 1\r\n}\r\n')],
    [
      ...[1, 2].map((n) => file(`${n}/same`, `{"in":${n}}`)),
      ...[file('nest/top', '{}'), file('long', `{"text":"${'größe 日本 '.repeat(9000)}"}`)],
    ],
    [file('2/same', '{"in":3}'), file('nest/deep/low', '{"deep":1}'), file('long', '{"text":"short"}')],
  ];
  return [
    ...sets.map((config_instances) => deploy({ config_instances })),
    deploy({ config_instances: [file('retried', '{"retried":1}')], error_status: 'retrying' }),
  ];
};

const plain = (paths: readonly string[]): Command[] => [
  publishSome(5),
  openStream(PLAIN),
  openStream({ ...PLAIN, way: 'header', accept: undefined, coding: 'gzip, deflate, br' }),
  openStream({ ...PLAIN, accept: '*/*', coding: 'identity', used: true }),
  deploy({ description: 'plain größe 日本', config_instances: contents(paths, 101) }),
  readCurrent(),
  openStream({ ...PLAIN, way: 'none', accept: undefined }),
  openStream({ ...PLAIN, types: 'deployed' }),
  openStream({ ...PLAIN, way: 'both', other: 1, types: 'removed' }),
  openStream({ ...PLAIN, way: 'both', other: 'abc' }),
  publishSome(3),
  restartAgent('SIGTERM'),
  deploy({ config_instances: contents(paths, 102) }),
  removeCurrent(),
];

const state = (
  target_status: 'staged' | 'deployed',
  activity_status: 'staged' | 'deployed' | 'queued',
  error_status: 'none' | 'failed' | 'retrying',
) =>
  deploy({
    description: `${activity_status}, ${error_status}`,
    release_id: 'rls_oracle000001',
    target_status,
    activity_status,
    error_status,
  });

const [CAPITALS, REVERSED, ENCODED] = PROMISED_FORMS;
const WAYS_IN_FORMS = [
  ['after', ENCODED, REVERSED],
  ['header', CAPITALS, CAPITALS],
  ['both', ENCODED, REVERSED],
  ['none', CAPITALS, ENCODED],
] as const;
const FILTERS = ['removed', 'both', 'near', 'deployed'] as const;

/** `share`: part of a line that a crash leaves. */
const DIRECTED: readonly ((paths: readonly string[], share: number) => Command[])[] = [
  () => [state('staged', 'staged', 'none'), restartAgent('SIGTERM'), readCurrent()],
  () => [state('deployed', 'queued', 'none'), publishSome(1)],
  () => [state('deployed', 'queued', 'retrying'), restartAgent('SIGKILL'), readCurrent()],
  () => [state('deployed', 'deployed', 'failed'), restartAgent('SIGTERM'), readCurrent()],
  () => [state('deployed', 'deployed', 'none'), restartAgent('SIGKILL'), readCurrent()],
  (paths) => [
    deploy({ config_instances: contents(paths, 201) }),
    deploy({ config_instances: contents(paths, 202) }),
    restartAgent('SIGTERM'),
    removeCurrent(),
    restartAgent('SIGTERM'),
  ],
  oddFiles,
  () => [1, 2].map((n) => deploy({ release_id: 'rls_oracle000002', description: `${n} of one release` })),
  (_, share) => [publishSome(3), tearTail(share), tearTail(0.97), tearTail(1), restartAgent('SIGTERM')],
  // Kills three times, because a kill may come too late, once all events are stored, e.g. on a busy machine.
  () => [publishSome(2), ...Array<Command>(3).fill(killWhilePublishing(400))],
  () => [
    publishSome(20),
    compactAway(),
    openExpired(2, 'both'),
    openExpired(3, 'after'),
    openExpired(6, 'header'),
    ...(['after', 'header'] as const).map((way) => openExpired(2, way, ['deployment.deployed'])),
    ...[32n, 53n, 64n].flatMap((bits) => (['after', 'header'] as const).map((way) => openFuture(2n ** bits, way))),
    publishSome(2),
    restartAgent('SIGTERM'),
    openExpired(3, 'after'),
    openExpired(2, 'header'),
  ],
  () => [publishSome(9), openZero()],
  () => [
    ...[0, 1, 2, 3].map((back) =>
      openStream({ ...PLAIN, back, way: back % 2 === 0 ? 'none' : 'header', used: back > 1 }),
    ),
    ...[0, 0].map(leave),
    publishSome(2),
    leave(0),
    publishSome(2),
    ...Array<Command>(2).fill(openStream({ ...PLAIN, types: 'both' })),
    leave(1),
    publishSome(2),
  ],
  () =>
    DEPLOYMENT_ERROR_STATUSES.flatMap((error_status) =>
      DEPLOYMENT_ACTIVITY_STATUSES.map((activity_status) => deploy({ activity_status, error_status })),
    ),
  () => [publishSome(10), burstIntoReplay(60, 4), burstIntoReplay(30, 6, 4, 0), publishSome(1)],
  () => [
    publishSome(12),
    ...WAYS_IN_FORMS.flatMap(([way, form, filtered], n) => [
      openStream({ ...PLAIN, back: 6, way, accept: ACCEPTS[n], coding: CODINGS[n], used: n % 2 === 0, form }),
      openStream({ ...PLAIN, back: 9, way, accept: ACCEPTS[3 - n], types: FILTERS[n] ?? 'near', form: filtered }),
    ]),
    publishSome(6),
  ],
  () => [
    deploy({}),
    openStream({ ...PLAIN, types: 'unknown' }),
    ...[0, 1].map((n) => openStream({ ...PLAIN, way: 'none', accept: ACCEPTS[n], coding: CODINGS[2 * n] })),
    openStream({ ...PLAIN, way: 'none', types: 'removed' }),
    passTime(),
    deploy({ description: 'later' }),
    publishSome(3),
  ],
  () => [publishSome(12), ...[0, 150, 333, 700, 1400].map((bytes) => cutAndComeBack(8, bytes))],
  () => [
    publishSome(12),
    compactLog(),
    compactLog({ isLast: true }),
    restartAgent('SIGTERM', 'restarts after a compaction'),
  ],
  () => [compactIntoBurst(), publishSome(150), restartAgent('SIGTERM', 'restarts of a long log')],
];

const anyDeployment = (paths: readonly string[]): fc.Arbitrary<ControlDeployment> => {
  const version = fc.integer({ min: 100, max: 999 }).map((n) => `{"version":${n}}`);
  return fc.record(
    {
      description: fc.oneof(
        fc.constantFrom('', 'a & b < c', 'größe 😀 日本', 'two\nlines', '\u2028', '99', '100'),
        fc.stringMatching(/^[a-z ]{1,20}$/),
      ),
      release_id: fc.stringMatching(/^rls_[a-z0-9]{12}$/),
      target_status: fc.constantFrom(...DEPLOYMENT_TARGET_STATUSES),
      activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
      error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
      config_instances: fc
        .subarray([...paths])
        .chain((chosen) => fc.tuple(...chosen.map((filepath) => version.map((content) => ({ filepath, content }))))),
    },
    { requiredKeys: [] },
  );
};

const opening: fc.Arbitrary<Opening> = fc.record({
  back: fc.nat({ max: 20 }),
  way: fc.constantFrom('after', 'header', 'both', 'none'),
  other: fc.nat({ max: 20 }),
  types: fc.constantFrom('all', 'all', 'deployed', 'removed', 'both', 'near', 'unknown'),
  accept: fc.constantFrom(...ACCEPTS),
  coding: fc.constantFrom(...CODINGS),
  used: fc.boolean(),
  form: fc.constantFrom(undefined, ...PROMISED_FORMS),
});

function anyCommand(paths: readonly string[]): fc.Arbitrary<Command> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }).map(publishSome) },
    { weight: 6, arbitrary: opening.map(openStream) },
    { weight: 3, arbitrary: fc.nat({ max: 7 }).map(leave) },
    { weight: 2, arbitrary: fc.tuple(fc.nat({ max: 15 }), fc.nat({ max: 2500 })).map((all) => cutAndComeBack(...all)) },
    { weight: 4, arbitrary: anyDeployment(paths).map(deploy) },
    { weight: 1, arbitrary: fc.constant(removeCurrent()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 10, max: 60 }), fc.integer({ min: 1, max: 4 }))
        .map((all) => burstIntoReplay(...all)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(1n, 2n ** 32n, 2n ** 53n, 1_000_000n).map((beyond) => openFuture(beyond)),
    },
    { weight: 1, arbitrary: fc.constant(compactLog()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 2, max: 6 }), fc.constantFrom('after', 'header', 'both'))
        .map(([back, way]) => openExpired(back, way)),
    },
  );
}
