import { join } from 'node:path';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { agentDefects, agentVariants } from '../../../simulators/defects/agents.ts';
import { clientDefects, clientVariants } from '../../../simulators/defects/client/index.ts';
import { UNWILLING_CONTROLS, unwillingControl, willingControl } from '../../../simulators/defects/controls.ts';
import type { Defect, Located } from '../../../simulators/defects/define.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { DRIPS, FLOODS, NULL_SERVERS, type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { platformDefects, platformVariants, systemDefects } from '../../../simulators/defects/platform/index.ts';
import { dialectBehaviour } from '../../../simulators/device/dialect.ts';
import type { PlatformBehaviour } from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { EXIT } from '../../common/usage.ts';
import { SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import type { Api, Report } from '../../runner/types.ts';
import { NULL_CLIENTS, referenceWith } from '../subjects/clients.ts';
import {
  type RunChoice,
  runClientSuite,
  runDeviceSuite,
  runPlatformSuite,
  runStarved,
  runSystemSuite,
  STARVED,
} from '../subjects/run.ts';
import { behavioursWith, type Changes, startRobot, startWorkspace } from '../subjects/simulators.ts';

export const SUBJECT_KINDS = ['reference', 'defect', 'variant', 'null', 'unwilling', 'starved'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export interface Subject extends Partial<Pick<Defect<unknown>, 'breaks' | 'tells' | 'rate' | 'beside' | 'seldom'>> {
  api: Api;
  kind: SubjectKind;
  name: string;
  file?: string;
  reason?: RegExp;
  /** Ids of checks that may be not applicable or undecided on a reference; absent: all may. */
  notApplicable?: RegExp;
  /** Ids of checks that must not pass on a null server, which implements no API; absent: all. */
  proves?: RegExp;
  /** Runs each check without its premises; even SHOULD checks must then not pass on a null server. */
  alone?: boolean;
  slow?: boolean;
  together?: { changes: Changes; run: RunWith };
  /** Variants of a bundle, or both defects of a pair. */
  members?: readonly Subject[];
  run(choice: RunChoice): Promise<Report>;
}

type RunWith = (changes: Changes, choice: RunChoice) => Promise<Report>;
/** Short, because a null server never sends the expected data. */
const NULL_PATIENCE_MS = 1000;
/** Short, because every step of shrinking waits again. */
const DEFECT_PATIENCE_MS: Readonly<Partial<Record<Api, number>>> = {
  device: 4000,
  /** Shorter, because the system suite waits four times as long for an effect. */
  system: 2500,
  /** At least 3 s, because the client runs in this process and is slow on a busy machine. */
  client: 3000,
};

/** Null servers of the matrix; leaves out servers that send single bytes, because a suite takes minutes on them. */
const NULL_NAMES = (Object.keys(NULL_SERVERS) as NullServerName[]).filter((name) => !DRIPS.includes(name));
const QUIET = NULL_NAMES.filter((name) => !FLOODS.includes(name));

type Declared = Located<Omit<Defect<unknown>, 'behaviour' | 'effects' | 'breaks'>> &
  Partial<Pick<Defect<unknown>, 'breaks'>>;

const RUN_WITH: Record<Api, RunWith> = {
  device: (changes, choice) =>
    runOnRobot({ behaviour: behavioursWith(changes).device, transport: changes.transport }, choice),
  platform: (changes, choice) => runOnPlatform({ behaviour: behavioursWith(changes).platform }, choice),
  system: (changes, choice) => runOnSystem(behavioursWith(changes), choice),
  client: (changes, choice) => runClientSuite(clientWith(changes), choice),
};

const clientWith = (changes: Changes) => referenceWith(() => behavioursWith(changes).client);

function transportOf({ name, breaks = [] }: Pick<Subject, 'name' | 'breaks'>): Changes['transport'] {
  const isOf = (part: string): boolean => breaks.some((id) => id.startsWith(`device.${part}.`));
  if (name === 'unauthorized-is-403' || isOf('loopback')) return 'loopback';
  return isOf('socket') ? 'unix' : undefined;
}

const changesBy = (change: Declared): Changes =>
  ({ [change.side]: [change], ...defined({ transport: transportOf(change) }) }) as Changes;

const nameOf = ({ name, side }: Declared, prefixed: boolean): string => (prefixed ? `${side} ${name}` : name);

const defective = (api: Api, defects: readonly Declared[], prefixed = false): Subject[] =>
  defects.map((defect) => {
    const patient = defined({ patienceMs: DEFECT_PATIENCE_MS[api] });
    const run: RunWith = (changes, choice) => RUN_WITH[api](changes, { ...patient, ...choice });
    const changes = changesBy(defect);
    return {
      api,
      kind: 'defect',
      name: nameOf(defect, prefixed),
      file: defect.file,
      ...defined({ breaks: defect.breaks, tells: defect.tells }),
      ...defined({ rate: defect.rate, beside: defect.beside, seldom: defect.seldom }),
      together: { changes, run },
      run: (choice) => run(changes, choice),
    };
  });

export const variantSubject = (api: Api, name: string, changes: Changes, run: RunWith): Subject => ({
  api,
  kind: 'variant',
  name,
  together: { changes, run },
  run: (choice) => run(changes, choice),
});

const variants = (api: Api, all: readonly Declared[], prefixed = false): Subject[] =>
  all.map((variant) => ({
    ...variantSubject(api, nameOf(variant, prefixed), changesBy(variant), RUN_WITH[api]),
    // Slow streams do not slow the system suite, which waits for deployments.
    slow: api !== 'system' && /\/slowness\.ts$/.test(variant.file),
  }));

const named = <N extends string>(
  api: Api,
  kind: SubjectKind,
  names: readonly N[],
  about: (name: N) => Omit<Subject, 'api' | 'kind' | 'name'> & { name?: string },
): Subject[] => names.map((name) => ({ api, kind, name, ...about(name) }));

const nulls = (
  api: Api,
  names: readonly NullServerName[],
  run: (name: NullServerName, choice: RunChoice) => Promise<Report>,
): Subject[] =>
  named(api, 'null', names, (name) => ({
    run: (choice) => run(name, { patienceMs: NULL_PATIENCE_MS, ...choice }),
  }));

const LONG_LOG = 100_000;

const NOTHING = /^$/;

const lackedBut = ({ source }: RegExp): RegExp =>
  new RegExp(`\\.retained$|slow-reader(\\.complete)?$|^device\\.deployment\\.shape$|${source}`);

const LACKED_ON_ROBOTS = {
  'unix socket': lackedBut(/^device\.(loopback\.|socket\.permissions$|.*after-wins\.zero$)/),
  loopback: lackedBut(/^device\.(socket\.|loopback\.only$|.*after-wins\.zero$)/),
  'before its first event': lackedBut(/^device\.(loopback\.|socket\.permissions$)/),
} as const;

async function runOnRobot(options: Parameters<typeof startRobot>[0], choice: RunChoice): Promise<Report> {
  await using robot = await startRobot(options);
  return await runDeviceSuite(robot.place, choice);
}

/** `willing` adds a control API that accepts all requests without effect. */
async function runDeviceNull(name: NullServerName, willing: boolean, choice: RunChoice): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const server = stack.use(await nullServer(name, { path: join(path, 'null.sock') }));
  const place = { socket: server.address };
  if (!willing) return await runDeviceSuite(place, choice);
  const control = stack.use(await willingControl({ path: join(path, 'control.sock') }, path));
  return await runDeviceSuite({ ...place, control: control.address }, choice);
}

/** Checks that must not pass on a server that answers every request with an endless event stream. */
const NOT_OF_STREAMS = /^device\.(?!socket\.permissions$|events\.content-type\.any$)/;

const deviceSubjects = (): Subject[] => [
  ...named('device', 'reference', Object.keys(LACKED_ON_ROBOTS) as (keyof typeof LACKED_ON_ROBOTS)[], (name) => ({
    notApplicable: LACKED_ON_ROBOTS[name],
    run: (choice) =>
      runOnRobot({ transport: name === 'loopback' ? name : 'unix', fresh: name === 'before its first event' }, choice),
  })),
  ...defective('device', deviceDefects),
  ...variants('device', deviceVariants),
  ...named('device', 'variant', ['dialect-miru'], () => ({
    run: (choice) => runOnRobot({ behaviour: dialectBehaviour('miru') }, choice),
  })),
  ...named('device', 'variant', ['retains-100000'], () => ({
    // Section 8 of the specification (limits) does not limit the size of an event log.
    run: (choice) => runOnRobot({ retain: LONG_LOG, past: 1.2 * LONG_LOG }, choice),
  })),
  ...nulls('device', NULL_NAMES, (name, choice) => runDeviceNull(name, false, choice)).map((subject) =>
    subject.name.startsWith('floods-') ? { ...subject, proves: NOT_OF_STREAMS } : subject,
  ),
  ...named('device', 'null', QUIET, (name) => ({
    name: `${name}-willing`,
    run: (choice) => runDeviceNull(name, true, { patienceMs: NULL_PATIENCE_MS, ...choice }),
  })),
  ...named('device', 'null', QUIET, (name) => ({
    name: `${name}-alone`,
    alone: true,
    run: (choice) => runDeviceNull(name, true, { ...choice, fast: true, alone: true, patienceMs: 200 }),
  })),
  ...UNWILLING_CONTROLS.map(
    (unwilling): Subject => ({
      api: 'device',
      kind: 'unwilling',
      file: 'simulators/defects/controls.ts',
      ...unwilling,
      run: async (choice) => {
        await using stack = new AsyncDisposableStack();
        const { path } = stack.use(scratch());
        const { place } = stack.use(await startRobot());
        const front = { path: join(path, 'front.sock') };
        const { address: control } = stack.use(await unwillingControl(unwilling, place.control ?? '', front));
        // Ends the run after 150 s, because a faulty control API may delay some checks, but not all.
        const patient = { ...defined({ patienceMs: DEFECT_PATIENCE_MS.device }), maxTimeMs: 150_000 };
        return await runDeviceSuite({ ...place, control }, { ...choice, ...patient, fast: true });
      },
    }),
  ),
];

async function runOnPlatform(
  { behaviour, apiVersion }: { behaviour?: PlatformBehaviour; apiVersion?: string },
  choice: RunChoice,
): Promise<Report> {
  await using workspace = await startWorkspace(defined({ platform: behaviour }));
  return await runPlatformSuite({ ...(await workspace.place()), ...defined({ apiVersion }) }, choice);
}

/** Checks that must not pass on a server that answers every request with an empty list. */
const NOT_OF_LISTS =
  /auth|walk|has-more|ping\.(?!limit$)|deployment|group|slug|provisioning|clamp.(high|low|offset|huge)/;

const platformSubjects = (): Subject[] => [
  ...named('platform', 'reference', SUPPORTED_VERSIONS, (apiVersion) => ({
    notApplicable: NOTHING,
    run: (choice) => runOnPlatform({ apiVersion }, choice),
  })),
  ...defective('platform', platformDefects),
  ...variants('platform', platformVariants),
  ...named('platform', 'unwilling', ['devices-of-a-megabyte'], () => ({
    reason: /a body larger than 16 MiB/,
    run: (choice) => {
      const { platform } = behavioursWith({});
      const notes = 'x'.repeat(2 ** 20);
      const resource: PlatformBehaviour['resource'] = (kind, shown, version) => ({
        ...(platform.resource?.(kind, shown, version) ?? shown),
        ...(kind === 'device' && { notes }),
      });
      return runOnPlatform({ behaviour: { ...platform, resource } }, choice);
    },
  })),
  ...nulls('platform', NULL_NAMES, async (name, choice) => {
    await using server = await nullServer(name, { port: 0 });
    const devices = { onlineDevice: 'dvc_online', offlineDevice: 'dvc_offline' };
    const keys = { apiKey: 'key_0123456789', limitedKey: 'key_limited_0123456789' };
    return await runPlatformSuite({ url: `${server.address}/beta`, ...keys, ...devices }, choice);
  }).map((subject) => (subject.name === 'empty-list' ? { ...subject, proves: NOT_OF_LISTS } : subject)),
];

const DISTURBING: Readonly<Partial<Record<Declared['side'], readonly string[]>>> = {
  platform: [
    ...['created-201', 'fields-beyond-the-published', 'drift-when-deployed', 'timestamps-with-offset', 'by-id'],
    ...['ping-timeout-504', 'parent-id-informational'],
  ],
  device: [
    ...['byte-by-byte', 'extra-fields', 'ids-with-gaps', 'line-ends-cr', 'replay-without-cursor', 'silent-at-open'],
    ...['times-with-offset', 'removed-never-sent', 'removed-with-status'],
  ],
};

async function runOnSystem(
  behaviour: Parameters<typeof startWorkspace>[0],
  choice: Parameters<typeof runSystemSuite>[1],
): Promise<Report> {
  await using workspace = await startWorkspace(behaviour);
  return await runSystemSuite(workspace, choice);
}

const systemSubjects = (): Subject[] => [
  ...named('system', 'reference', SUPPORTED_VERSIONS, (apiVersion) => ({
    notApplicable: NOTHING,
    run: (choice) => runOnSystem({}, { ...choice, apiVersion }),
  })),
  ...defective('system', systemDefects),
  ...defective('system', agentDefects, true),
  ...variants('system', agentVariants, true),
  ...variants(
    'system',
    [...platformVariants, ...deviceVariants].filter(({ name, side }) => DISTURBING[side]?.includes(name)),
    true,
  ),
  ...nulls('system', NULL_NAMES, async (name, choice) => {
    await using server = await nullServer(name, { port: 0 });
    return await runOnSystem({}, { ...choice, url: `${server.address}/beta` });
  }),
];

const clientSubjects = (): Subject[] => [
  ...named('client', 'reference', ['url', 'socket', 'discovery'], (place) => ({
    run: (choice) => runClientSuite(clientWith({}), { ...choice, places: [place] }),
  })),
  ...defective('client', clientDefects),
  ...variants('client', clientVariants),
  ...NULL_CLIENTS.map(
    ({ name, run }): Subject => ({
      api: 'client',
      kind: 'null',
      name,
      run: (choice) => runClientSuite(run, { patienceMs: NULL_PATIENCE_MS, ...choice }),
    }),
  ),
];

export const allSubjects = (): Subject[] => [
  ...deviceSubjects(),
  ...platformSubjects(),
  ...systemSubjects(),
  ...clientSubjects(),
  ...STARVED.map(
    (starved): Subject => ({
      api: starved.api,
      kind: 'starved',
      name: starved.name,
      ...defined({ reason: starved.codes.includes(EXIT.conformant) ? undefined : starved.reason }),
      run: () => runStarved(starved),
    }),
  ),
];
