/** Section 9, 2026-08-17.everglades: the moments that deployments report. */
import { requirement } from '../../harness/runner/define.ts';
import { archived, deployed, some } from './support/deployments.ts';
import { act, createKit, tidy, tryDeployment } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { type Moment, momentOf } from './support/moments.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion } from './support/send.ts';

const TIMESTAMPS = requirement({
  id: 'platform.deployment.timestamps',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-08-17.everglades on, deployments report when they were queued, deployed and archived: each once it is reached, in that order.',
});
const REACHED = {
  queued: ['queued', 'deployed'],
  deployed: ['deployed', 'removing'],
  archived: ['archived'],
} as const;

const timestamps = check(
  TIMESTAMPS,
  { aspect: 'listed', needs: ['everglades'], sharing: 'exclusive' },
  async (run: Platform) => {
    const t: Platform = inVersion(run, 'everglades');
    const all = await some(t);
    for (const [moment, activities] of Object.entries(REACHED) as [keyof typeof REACHED, readonly string[]][]) {
      const past = all.filter((item) => activities.includes(String(item['activity_status'])));
      const missing = past.find((item) => typeof momentOf(item, moment) !== 'string');
      if (missing === undefined) continue;
      // Not a MUST: it may have happened before the platform recorded such moments.
      t.should(false, {
        expected: `when it was ${moment}, in a deployment whose activity_status is ${missing['activity_status']}`,
        actual: JSON.stringify(missing),
      });
    }
    for (const item of all) {
      const order = (['queued', 'deployed', 'archived'] as const).flatMap((moment) => momentOf(item, moment) ?? []);
      const sorted = order
        .map((text) => Date.parse(text))
        .every((time, index, times) => time >= (times[index - 1] ?? 0));
      // A device with a wrong clock may report a moment that is too early.
      t.should(sorted, {
        expected: 'queued, deployed and archived in that order',
        actual: `${item.id}: ${order.join(', ')}`,
      });
    }
  },
);

/** Which moments are known to lie in the past, and which not, by what a new deployment of a device that was never online is. */
const MOMENTS: Record<string, { past: Moment[]; future: Moment[] }> = {
  staged: { past: [], future: ['queued', 'deployed', 'archived'] },
  queued: { past: ['queued'], future: ['deployed', 'archived'] },
  // It may have been deployed between two looks, where devices are always in reach.
  archived: { past: ['archived'], future: [] },
};

const ownTimestamps = check(
  TIMESTAMPS,
  { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' },
  async (run: Platform) => {
    const t: Platform = inVersion(run, 'everglades');
    const made = new Set<Item>();
    const kits = [await createKit(t), await createKit(t)];
    const seen = new Map<string, Seen>();
    const look = async ({ id }: Item): Promise<void> => hold(t, await read(t, 'deployments', id), seen);
    const staged = await deployed(t, kits, made, ['staged', 'deployed']);
    await look(staged);
    await act(t, staged.id, 'deploy');
    await look(staged);
    // Replaced, it ends where it can't be archived by hand.
    const { deployment: next } = await tryDeployment(t, kits, String(staged['device_id']));
    if (next !== undefined) made.add(next);
    await look(staged);
    const unused = await archived(t, kits, made);
    await look(unused);
    const at = momentOf(await read(t, 'deployments', unused.id), 'deployed');
    t.must(unused['target_status'] !== 'staged' || typeof at !== 'string', {
      expected: `no moment at which ${unused.id} was deployed: it was staged, and nobody deployed it`,
      actual: at,
    });
    await tidy(t, [...made]);
    for (const item of made) await look(item);
  },
);

const ALL = ['queued', 'deployed', 'archived'] as const;
/** Which moments a deployment has shown. */
type Seen = Partial<Record<Moment, string>>;

function hold(t: Platform, item: Item, history: Map<string, Seen>): void {
  const activity = String(item['activity_status']);
  const { past, future } = MOMENTS[activity] ?? { past: [], future: [] };
  const early = future.find((moment) => typeof momentOf(item, moment) === 'string');
  t.must(early === undefined, {
    expected: `no moment at which it was ${early}, in a deployment that is ${activity} and was never more`,
    actual: JSON.stringify(item),
  });
  const seen = history.get(item.id) ?? {};
  const gone = ALL.find((moment) => seen[moment] !== undefined && typeof momentOf(item, moment) !== 'string');
  t.must(gone === undefined, {
    expected: `${item.id} still to report when it was ${gone}: ${gone && seen[gone]}`,
    actual: JSON.stringify(item),
  });
  const times = ALL.map((moment) => [moment, momentOf(item, moment)] as const);
  history.set(item.id, Object.fromEntries(times.filter(([, at]) => typeof at === 'string')));
  const named = ALL.some((moment) => momentOf(item, moment) !== undefined);
  const missing = past.find((moment) => typeof momentOf(item, moment) !== 'string');
  const finding = {
    expected: `the moment at which it was ${missing}, in a deployment that is ${activity}`,
    actual: JSON.stringify(item),
  };
  // Names of the fields are not shown, so that only a record which has one of them can be said to lack another.
  if (named) t.must(missing === undefined, finding);
  else t.should(missing === undefined, finding);
  const order = ALL.flatMap((moment) => momentOf(item, moment) ?? []).map((text) => Date.parse(text));
  t.must(
    order.every((time, index) => time >= (order[index - 1] ?? 0)),
    {
      expected: 'queued, deployed and archived in that order',
      actual: JSON.stringify(item),
    },
  );
}

export const deploymentTimestampChecks = [timestamps, ownTimestamps];
