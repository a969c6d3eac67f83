import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { suite } from './define.ts';
import { inOrder, makePlan } from './plan.ts';
import { runInLanes } from './rounds.ts';
import { History } from './rules.ts';
import { declared, run } from './testing/checks.ts';
import { premiseProblems } from './testing/premises.ts';
import type { Capability, Check, CheckContext, CheckResult, Sharing } from './types.ts';

describe('plan', () => {
  const frame = declared('device.events.frame', { needs: ['drive'], section: '6.1' });
  const all = suite<object>('device', [[frame, declared('device.events.heartbeat', { slow: true })]]);
  const none = new Set<Capability>();

  it('refuses an unknown section, and names the known ones', () => {
    expect(() => makePlan(all, { capabilities: none, sections: ['42'] })).toThrow('6.1, 6.2');
  });

  it('lists the checks it leaves out, each with the reason', () => {
    const plan = makePlan(all, { capabilities: none, fast: true });
    expect(plan.checks.map(({ skip }) => skip).join('\n')).toMatch(/drive.*\n.*--fast/);
    expect(plan.narrowedBy).toEqual(['--fast']);
  });

  it('keeps a check that waits only beside others in a fast run', () => {
    const beside = suite<object>('device', [[declared('device.events.long-lived.beside', { slow: 'beside' })]]);
    expect(makePlan(beside, { capabilities: none, fast: true }).narrowedBy).toEqual([]);
  });

  it('names --read-only as the reason for leaving out checks that write', () => {
    const writing = declared('platform.group.tree', { needs: ['write'], writes: true });
    const platform = makePlan(suite<object>('platform', [[writing]]), { capabilities: none, readOnly: true });
    expect(platform.checks.map(({ skip }) => skip)).toEqual([expect.stringContaining('--read-only')]);
    expect(platform).toMatchObject({ narrowedBy: [], profile: { name: 'read-only' } });
    const system = makePlan(suite<object>('system', [[writing]]), { capabilities: none, readOnly: true });
    expect(system.narrowedBy).toEqual(['--read-only']);
  });

  it('selects checks by patterns and sections', () => {
    const ids = (options: object): string[] =>
      makePlan(all, { capabilities: none, ...options }).checks.map(({ check }) => check.id);
    expect(ids({ only: ['*heartbeat'] })).toEqual(['device.events.heartbeat']);
    expect(ids({ only: ['device.events'] })).toHaveLength(2);
    expect(ids({ sections: ['6'] })).toHaveLength(2);
    expect(ids({ sections: ['6.2'] })).toEqual(['device.events.heartbeat']);
  });
});

const broken = async (context: CheckContext): Promise<void> => context.must(false, { expected: 'one', actual: 'two' });

it('premises block direct and indirect dependents of a failed essential check, which they name', async () => {
  const started: string[] = [];
  const rests = (id: string, premise: string): Check<object> =>
    declared(id, { premises: [premise] }, async () => void started.push(id));
  const report = await run([
    rests('test.third', 'test.second'),
    rests('test.second', 'test.first'),
    declared('test.first', { essential: true }, broken),
    rests('test.other', 'test.fine'),
    declared('test.fine'),
  ]);
  expect(started).toEqual(['test.other']);
  expect(report.checks).toMatchObject([
    { id: 'test.third', outcome: 'blocked', blocked_by: 'test.first', reason: 'blocked by test.first' },
    { id: 'test.second', outcome: 'blocked', blocked_by: 'test.first' },
    { id: 'test.first', outcome: 'fail' },
    { id: 'test.other', outcome: 'pass' },
    { id: 'test.fine', outcome: 'pass' },
  ]);
  expect(report.exit_code).toBe(1);
});

it('premises that fail mark all dependents as following, unless readers allow for a deviation', async () => {
  const following: string[] = [];
  const noted = (id: string, premise: string) =>
    declared(id, { premises: [premise] }, async (t) => void (t.follows && following.push(id)));
  const deviation = { name: 'odd', allowance: 'it is left out' };
  await run([
    declared('test.fails', {}, broken),
    declared('test.deviates', { deviation }, broken),
    declared('test.fine'),
    noted('test.direct', 'test.fails'),
    noted('test.indirect', 'test.direct'),
    noted('test.allowing', 'test.deviates'),
    noted('test.other', 'test.fine'),
  ]);
  expect(following).toEqual(['test.direct', 'test.indirect']);
});

it('premises pass their deviation to later readers, except checks of their own requirement', async () => {
  const deviation = { name: 'cursor-repeated', allowance: 'the event of the cursor is left out' };
  const first = declared('test.first', { deviation }, broken);
  const seen: Record<string, boolean> = {};
  const reads = (id: string): Check<object> =>
    declared(id, { premises: ['test.first'] }, async (t: CheckContext) => {
      seen[id] = t.allowsFor(deviation);
      t.must(false, { expected: 'three', actual: 'four' });
    });
  const twin = { ...reads('test.first.again'), requirement: first.requirement };
  const different = async (t: CheckContext): Promise<void> => t.must(false, { expected: 'five', actual: 'six' });
  const blind = declared('test.blind', { premises: ['test.first'] }, different);
  const report = await run([first, reads('test.second'), twin, blind]);
  expect(seen).toEqual({ 'test.second': true, 'test.first.again': false });
  expect(report.checks).toMatchObject([
    { id: 'test.first', deviation },
    { id: 'test.second', allowed_for: ['cursor-repeated'], consequence_of: 'test.first' },
    { id: 'test.first.again', consequence_of: 'test.first' },
    { id: 'test.blind', outcome: 'fail' },
  ]);
  expect(report.checks.at(-1)).not.toHaveProperty('consequence_of');
  expect(report.checks.at(-1)).not.toHaveProperty('allowed_for');
});

it('premises let dependents run when they warn, are blocked, or are left out', async () => {
  const report = await run([
    declared('test.a', { premises: ['test.warns'] }),
    declared('test.b', { premises: ['test.blocked'] }),
    declared('test.c', { premises: ['test.skipped'] }),
    declared('test.warns', {}, broken, 'SHOULD'),
    declared('test.blocked', {}, async (t) => t.blocked('the set-up failed')),
    declared('test.skipped', { needs: ['drive'] }, broken),
  ]);
  expect(report.checks.slice(0, 3).map(({ outcome }) => outcome)).toEqual(['pass', 'pass', 'pass']);
});

it('premises run before their dependents in every lane, even one check at a time', async () => {
  const order: string[] = [];
  const noted = (id: string, options: Partial<Check<object>> = {}): Check<object> =>
    declared(id, options, async () => void order.push(id));
  await run(
    [
      noted('test.kills', { sharing: 'disruptive', premises: ['test.drives'] }),
      noted('test.drives', { sharing: 'exclusive', premises: ['test.reads'] }),
      noted('test.waits', { slow: true, premises: ['test.reads'] }),
      noted('test.reads.more', { premises: ['test.reads'] }),
      noted('test.reads'),
    ],
    { concurrency: 1 },
  );
  expect(order[0]).toBe('test.reads');
  expect(order.at(-1)).toBe('test.kills');
  expect(order).toHaveLength(5);
});

it('premises are reported when they are unknown, run later, or form a circle', () => {
  expect(premiseProblems([declared('test.a', { premises: ['test.nobody'] })])).toEqual([
    'test.a rests on test.nobody, which no check is called',
  ]);
  const late = [declared('test.a', { premises: ['test.b'] }), declared('test.b', { sharing: 'disruptive' })];
  expect(premiseProblems(late)).toEqual(['test.a rests on test.b, which runs in a later lane']);
  const circle = [declared('test.a', { premises: ['test.b'] }), declared('test.b', { premises: ['test.a'] })];
  expect(premiseProblems(circle)).toEqual(['premises form a circle: test.a → test.b → test.a']);
  expect(() => inOrder(circle)).toThrow('premises form a circle');
  expect(premiseProblems([declared('test.a'), declared('test.b', { premises: ['test.a'] })])).toEqual([]);
});

const orderOf = async (seed: number, options: (name: string) => Partial<Check<object>>): Promise<string> => {
  const order: string[] = [];
  const checks = [...'abcdefgh'].map((name) =>
    declared(`test.${name}`, options(name), async () => void order.push(name)),
  );
  await run(checks, { seed });
  return order.join('');
};

it('the order of a run is drawn from the seed', async () => {
  const drive = () => ({ sharing: 'exclusive' }) as const;
  const [one, same, other] = [await orderOf(1, drive), await orderOf(1, drive), await orderOf(2, drive)];
  expect(same).toBe(one);
  expect(other).not.toBe(one);
  expect([...other].toSorted().join('')).toBe('abcdefgh');
});

it.each([1, 2, 3])('a run has checks with a first or last turn at its ends, with seed %i', async (seed) => {
  const order = await orderOf(seed, (name) => ({
    sharing: name === 'c' || name === 'd' ? 'shared' : 'exclusive',
    ...(name === 'h' && { turn: 'first' as const }),
    ...(name === 'c' && { turn: 'last' as const }),
    ...(name === 'a' && { premises: ['test.c'] }),
  }));
  expect(order.replace('d', '')[0]).toBe('h');
  expect(order.slice(-2)).toBe('ca');
});

const untilAborted =
  (seen: string[]) =>
  async ({ signal }: CheckContext): Promise<void> => {
    await once(signal, 'abort');
    seen.push('aborted');
    throw new Error('aborted');
  };

it('the end of a run comes at --max-time: running checks are aborted, and undecided ones are blocked', async () => {
  const seen: string[] = [];
  const report = await run(
    [
      declared('test.fine'),
      declared('test.hangs', { sharing: 'exclusive' }, untilAborted(seen)),
      declared('test.hangs.too', { sharing: 'exclusive' }, untilAborted(seen)),
      // Hangs at the end of the run, because a check gets half of its time.
      declared('test.hangs.last', { sharing: 'exclusive' }, untilAborted(seen)),
      declared('test.late', { sharing: 'disruptive' }),
    ],
    { maxTimeMs: 2000 },
  );
  const why = 'not decided within 2 s; --max-time gives the run more';
  expect(report.checks.map(({ outcome }) => outcome)).toEqual(['pass', ...Array(4).fill('blocked')]);
  expect(report.checks.at(-1)?.reason).toBe(why);
  expect(report.exit_code).toBe(2);
  expect(new Set(seen)).toEqual(new Set(['aborted']));
});

it('the end of a run comes after N failed MUSTs with --bail, without counting excused ones', async () => {
  const checks = ['a', 'b', 'c', 'd'].map((name) =>
    declared(`test.${name}`, { sharing: 'exclusive', turn: name === 'd' ? 'last' : 'first' }, broken),
  );
  const report = await run(checks, { bail: 2, excuses: ({ id }) => id === 'test.a' });
  expect(report.checks.map(({ outcome }) => outcome)).toEqual(['fail', 'fail', 'fail', 'blocked']);
  expect(report.checks.at(-1)?.reason).toBe('not run to its end: --bail 2');
  expect(report.exit_code).toBe(1);
});

it.each([{ bail: 1 }, { signal: AbortSignal.abort() }])(
  'the end of a run hides no broken rule: %j',
  async (options) => {
    const seen = { sightings: 1, broken: { finding: { expected: 'one', actual: 'two' }, seen: [] } };
    const rule: Check<object> = { ...declared('test.rule'), rule: () => () => {} };
    const history = History.withOutcomes({ 'test.rule': seen });
    const { checks } = await run([declared('test.first', {}, broken), rule], { history, ...options });
    expect(checks.at(-1)).toMatchObject({ outcome: 'fail', expected: 'one', actual: 'two' });
  },
);

it('the end of a run leaves no timed-out check running beside the next one', async () => {
  const order: string[] = [];
  const slowToStop: Check<object>['run'] = async ({ signal }: CheckContext) => {
    await once(signal, 'abort');
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    order.push('stopped');
  };
  const checks = [
    declared('test.hangs', { sharing: 'exclusive', turn: 'first' }, slowToStop),
    declared('test.next', { sharing: 'exclusive' }, async () => void order.push('next')),
  ];
  const report = await run(checks, { maxTimeMs: 2000 });
  expect(order).toEqual(['stopped', 'next']);
  expect(report.checks[0]?.reason).toBe('did not end within 1 s');
});

it('the end of a run stops a property from trying further inputs', async () => {
  const isOver: boolean[] = [];
  const endless: Check<object>['run'] = (t: CheckContext) => {
    const attempt = async (): Promise<void> => {
      isOver.push(t.signal.aborted);
      await new Promise(setImmediate);
    };
    return t.property(fc.nat(), attempt, { runs: 10_000_000 });
  };
  const report = await run([declared('test.endless', {}, endless)], { maxTimeMs: 300 });
  expect(report.checks[0]?.outcome).toBe('blocked');
  expect(new Set(isOver)).toEqual(new Set([false]));
});

it('listeners that throw change no result, stop no other listener, and reject the run', async () => {
  const told: string[] = [];
  const boom = (): never => {
    throw new Error('planted');
  };
  const throwing = { onStart: boom, onCheckStart: boom, onCheckEnd: boom };
  const good = {
    onCheckEnd: ({ id, outcome }: { id: string; outcome: string }) => void told.push(`${id} ${outcome}`),
    onEnd: () => void told.push('report'),
  };
  const full = { onEnd: () => Promise.reject(new Error('disk full')) };
  await expect(run([declared('test.fine')], { listeners: [full, good] })).rejects.toThrow('disk full');
  await expect(run([declared('test.fine')], { listeners: [throwing, good] })).rejects.toThrow(
    'planted; Error: planted; Error: planted',
  );
  expect(told).toEqual(['test.fine pass', 'report', 'test.fine pass', 'report']);
});

it.each([
  ['one by one', false, ['one', 'one ends', 'alone', 'alone ends', 'other', 'other ends']],
  ['together', true, ['one', 'other', 'one ends', 'other ends', 'alone', 'alone ends']],
])('publishing checks run %s when publishing together is %s', async (_, together, order) => {
  const steps: string[] = [];
  const named = (name: string, sharing: Sharing): Check<object> =>
    declared(`test.${name}`, { sharing }, async () => {});
  const checks = [named('one', 'publishing'), named('alone', 'exclusive'), named('other', 'publishing')];
  const runOne = async ({ id }: Check<object>): Promise<CheckResult> => {
    steps.push(id.slice('test.'.length));
    await new Promise(setImmediate);
    steps.push(`${id.slice('test.'.length)} ends`);
    return {} as CheckResult;
  };
  await runInLanes(checks, 1, runOne, { publishesTogether: () => together, others: Promise.resolve() });
  expect(steps).toEqual(order);
});
