/** Section 9, 2026-08-17.everglades: whether deployments report when they were queued, deployed and archived. */

import { isIso8601 } from '../../harness/contract/shape.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import {
  actOn,
  archiveMade,
  createArchivedDeployment,
  createDeployment,
  createReleaseFixtures,
  listOrCreateDeployments,
  tryDeployment,
} from './support/create.ts';
import { type Item, readItem } from './support/lists.ts';
import { inVersion } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

/** The names of these fields are not shown, so any field named after one counts. */
export const TIMINGS = ['queued', 'deployed', 'archived'] as const;
export type Timing = (typeof TIMINGS)[number];

/** A field such as `auto_archived_after` is a plan, not something that happened. */
const PLAN = /(^|_)(auto|after|until|by|scheduled|due|expected|planned|not|be)(_|$)/;
const isTimestamp = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && isIso8601(value));

/** The timestamp; `null` if the field is there and empty; `undefined` if no field is named after the timing. */
export function timestampOf(record: unknown, timing: Timing, depth = 2): string | null | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const usual = (record as Readonly<Record<string, unknown>>)[`${timing}_at`];
  if (isTimestamp(usual)) return usual;
  let empty: null | undefined;
  for (const [name, value] of Object.entries(record)) {
    if (name.includes(timing) && !PLAN.test(name) && isTimestamp(value)) {
      if (value !== null) return value;
      empty = null;
    }
  }
  if (empty === null || depth === 0) return empty;
  for (const value of Object.values(record)) {
    // An expanded resource has timestamps of its own.
    if (typeof value === 'object' && value !== null && 'object' in value) continue;
    const found = timestampOf(value, timing, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The timestamps that a deployment shows, in the order in which they have to have happened. */
export const timestampsOf = (record: unknown): string[] =>
  TIMINGS.flatMap((timing) => timestampOf(record, timing) ?? []);

export const inOrder = (timestamps: readonly string[]): boolean =>
  timestamps.map((text) => Date.parse(text)).every((time, index, times) => time >= (times[index - 1] ?? 0));

const timestamps = requirement({
  id: 'platform.deployment.timestamps',
  level: 'MUST',
  clause: 'deployments report queued, deployed and archived timestamps',
  text:
    'From 2026-08-17.everglades on, deployments report when they were queued, deployed and archived: ' +
    'each once it has happened, in that order.',
});
/** The activities of a deployment for which each timing has happened. */
const ACTIVITIES_SINCE: Record<Timing, readonly string[]> = {
  queued: ['queued', 'deployed'],
  deployed: ['deployed', 'removing'],
  archived: ['archived'],
};
check(timestamps, { aspect: 'listed', needs: ['everglades'], sharing: 'exclusive' }, async (t: Platform) => {
  const deployments = await listOrCreateDeployments(inVersion(t, 'everglades'));
  for (const timing of TIMINGS) {
    const lacking = deployments
      .filter((item) => ACTIVITIES_SINCE[timing].includes(String(item['activity_status'])))
      .find((item) => typeof timestampOf(item, timing) !== 'string');
    // Only a SHOULD: it may have happened before the platform recorded such times.
    t.should(lacking === undefined, {
      expected: `when it was ${timing}, in a deployment whose activity_status is ${lacking?.['activity_status']}`,
      actual: JSON.stringify(lacking),
    });
  }
  for (const item of deployments) {
    // Only a SHOULD: a device with a wrong clock may report a time that is too early.
    t.should(inOrder(timestampsOf(item)), {
      expected: 'queued, deployed and archived in that order',
      actual: `${item.id}: ${timestampsOf(item).join(', ')}`,
    });
  }
});

check(timestamps, { needs: ['write', 'everglades'] }, async (t: Platform) => {
  const everglades = inVersion(t, 'everglades');
  const created: Item[] = [];
  const observe = timingObserver(everglades);
  const fixtures = await createReleaseFixtures(everglades);
  const deployment = await createDeployment(everglades, fixtures, { targets: ['staged', 'deployed'] });
  created.push(deployment);
  await observe(deployment);
  await actOn(everglades, deployment.id, 'deploy');
  await observe(deployment);
  // A deployment that cannot be archived by hand is archived when another one replaces it.
  const { deployment: next } = await tryDeployment(everglades, fixtures, String(deployment['device_id']));
  if (next !== undefined) created.push(next);
  await observe(deployment);
  const unused = await createArchivedDeployment(everglades, fixtures);
  created.push(unused);
  await observe(unused);
  await mustNeverBeDeployed(everglades, unused);
  await archiveMade(everglades);
  for (const item of created) await observe(item);
});

async function mustNeverBeDeployed(t: Platform, archived: Item): Promise<void> {
  const at = timestampOf(await readItem(t, 'deployments', archived.id), 'deployed');
  t.must(archived['target_status'] !== 'staged' || typeof at !== 'string', {
    expected: `no time at which ${archived.id} was deployed: it was staged, and nobody deployed it`,
    actual: at,
  });
}

/** What happens once. A device may be given the same deployment again. */
const ONCE = ['queued', 'archived'] as const;

type Times = Partial<Record<Timing, string>>;

/** Reads a deployment and holds its timestamps against its activity and against what it showed before. */
function timingObserver(t: Platform): (deployment: Item) => Promise<void> {
  const timesById = new Map<string, Times>();
  return async ({ id }) => {
    const item = await readItem(t, 'deployments', id);
    mustFitActivity(t, item);
    const before = timesById.get(id) ?? {};
    const gone = TIMINGS.find(
      (timing) => before[timing] !== undefined && typeof timestampOf(item, timing) !== 'string',
    );
    t.must(gone === undefined, {
      expected: `${id} still to report when it was ${gone}: ${gone && before[gone]}`,
      actual: JSON.stringify(item),
    });
    const times = TIMINGS.map((timing) => [timing, timestampOf(item, timing)] as const);
    const moved = ONCE.find((timing) => before[timing] !== undefined && before[timing] !== timestampOf(item, timing));
    t.should(moved === undefined, {
      expected: `${id} to be ${moved} at ${moved && before[moved]}, as it reported before`,
      actual: moved && timestampOf(item, moved),
    });
    timesById.set(id, Object.fromEntries(times.filter(([, at]) => typeof at === 'string')));
    t.must(inOrder(timestampsOf(item)), {
      expected: 'queued, deployed and archived in that order',
      actual: JSON.stringify(item),
    });
  };
}

/** What has and what has not happened to a new deployment of a device that was never online, by its activity. */
const HISTORIES: Record<string, { past: Timing[]; future: Timing[] }> = {
  staged: { past: [], future: ['queued', 'deployed', 'archived'] },
  queued: { past: ['queued'], future: ['deployed', 'archived'] },
  // Where devices can always be reached, it may have been deployed between two reads.
  archived: { past: ['archived'], future: [] },
};

function mustFitActivity(t: Platform, item: Item): void {
  const activity = String(item['activity_status']);
  const { past, future } = HISTORIES[activity] ?? { past: [], future: [] };
  const early = future.find((timing) => typeof timestampOf(item, timing) === 'string');
  t.must(early === undefined, {
    expected: `no time at which it was ${early}, in a deployment that is ${activity} and has gone no further`,
    actual: JSON.stringify(item),
  });
  const missing = past.find((timing) => typeof timestampOf(item, timing) !== 'string');
  const finding = {
    expected: `the time at which it was ${missing}, in a deployment that is ${activity}`,
    actual: JSON.stringify(item),
  };
  // The names of these fields are not shown: only a deployment that has one of them can be said to lack another.
  const hasAny = TIMINGS.some((timing) => timestampOf(item, timing) !== undefined);
  if (hasAny) t.must(missing === undefined, finding);
  else t.should(missing === undefined, finding);
}

check(...byExploring(timestamps, { aspect: 'explored' }));
