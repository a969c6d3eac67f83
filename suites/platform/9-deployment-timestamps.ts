/** Section 9, 2026-08-17.everglades: the moments that deployments report. */
import { requirement } from '../../harness/check/define.ts';
import { archived, deployed, some } from './support/deployments.ts';
import { act, createKit, tidy } from './support/kit.ts';
import type { Item } from './support/lists.ts';
import { type Moment, momentOf } from './support/moments.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion } from './support/send.ts';

const TIMESTAMPS = requirement(
  'platform.deployment.timestamps',
  'MUST',
  '9',
  'From 2026-08-17.everglades on, deployments report when they were queued, deployed and archived: each once it is reached, in that order.',
);
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
  archived: { past: ['archived'], future: ['deployed'] },
};

const ownTimestamps = check(
  TIMESTAMPS,
  { needs: ['write', 'everglades'], writes: true, sharing: 'exclusive' },
  async (run: Platform) => {
    const t: Platform = inVersion(run, 'everglades');
    const made = new Set<Item>();
    const kits = [await createKit(t), await createKit(t)];
    const staged = await deployed(t, kits, made, ['staged', 'deployed']);
    hold(t, await read(t, 'deployments', staged.id));
    await act(t, staged.id, 'deploy');
    hold(t, await read(t, 'deployments', staged.id));
    const { id } = await archived(t, kits, made);
    hold(t, await read(t, 'deployments', id));
    await tidy(t, [...made]);
    for (const item of made) hold(t, await read(t, 'deployments', item.id));
  },
);

function hold(t: Platform, item: Item): void {
  const activity = String(item['activity_status']);
  const { past, future } = MOMENTS[activity] ?? { past: [], future: [] };
  const early = future.find((moment) => typeof momentOf(item, moment) === 'string');
  t.must(early === undefined, {
    expected: `no moment at which it was ${early}, in a deployment that is ${activity} and was never more`,
    actual: JSON.stringify(item),
  });
  const all = ['queued', 'deployed', 'archived'] as const;
  const named = all.some((moment) => momentOf(item, moment) !== undefined);
  const missing = past.find((moment) => typeof momentOf(item, moment) !== 'string');
  const finding = {
    expected: `the moment at which it was ${missing}, in a deployment that is ${activity}`,
    actual: JSON.stringify(item),
  };
  // Names of the fields are not shown, so that only a record which has one of them can be said to lack another.
  if (named) t.must(missing === undefined, finding);
  else t.should(missing === undefined, finding);
  const times = all.flatMap((moment) => momentOf(item, moment) ?? []).map((text) => Date.parse(text));
  t.must(
    times.every((time, index) => time >= (times[index - 1] ?? 0)),
    {
      expected: 'queued, deployed and archived in that order',
      actual: JSON.stringify(item),
    },
  );
}

export const deploymentTimestampChecks = [timestamps, ownTimestamps];
