/** Whatever is done to an agent, in any order: no event is lost, repeated, reordered or renumbered. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deviceDefect } from '../defects/device/index.ts';
import { referenceBehaviour } from './behaviour.ts';
import type { DeviceOptions } from './options.ts';
import { Compact } from './testing/model/compact.ts';
import { Cut } from './testing/model/cut.ts';
import { Deploy } from './testing/model/deploy.ts';
import { Harm } from './testing/model/harm.ts';
import type { Command, Model, Real } from './testing/model/model.ts';
import { Publish } from './testing/model/publish.ts';
import { Start } from './testing/model/start.ts';
import { Kill, Stop } from './testing/model/stop.ts';
import { Subscribe } from './testing/model/subscribe.ts';
import { robot } from './testing/robot.ts';

const counts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });
const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const harm = fc.constantFrom('append half a line', 'cut the last line', 'delete the log');
const start = fc.constant(new Start());

const commands: fc.Arbitrary<Command>[] = [
  counts.map((list) => new Publish(list)),
  counts.map((list) => new Publish(list)),
  fc.boolean().map((remove) => new Deploy(remove)),
  fc.constant(new Compact()),
  fc.tuple(fc.option(fraction, { nil: undefined }), fc.boolean()).map(([at, byHeader]) => new Subscribe(at, byHeader)),
  fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 5 })).map(([which, meanwhile]) => new Cut(which, meanwhile)),
  fc.constant(new Stop()),
  fc.tuple(counts, fc.nat({ max: 6 })).map(([list, turns]) => new Kill(list, turns)),
  fc.tuple(harm, fraction).map(([kind, at]) => new Harm(kind, at)),
  start,
  start,
  start,
];

let executed = 0;
const counted = (command: Command): Command => ({
  check: (model) => command.check(model),
  run: async (model, real) => {
    executed += 1;
    await command.run(model, real);
  },
  toString: () => command.toString(),
});

const RETAIN = 40;

const property = (options: Partial<DeviceOptions>, patienceMs?: number) =>
  fc.asyncProperty(
    fc.commands(
      commands.map((one) => one.map(counted)),
      { maxCommands: 60, size: 'max' },
    ),
    async (list) => {
      await using on = await robot({ retain: RETAIN, ...options }, patienceMs);
      const real: Real = { robot: on, subscribers: [], seen: new Map() };
      const model: Model = { up: true, events: [], highest: 0, retain: RETAIN };
      await fc.asyncModelRun(() => ({ model, real }), list);
    },
  );

test.for([
  { durability: 'os', numRuns: 200, atLeast: 2_000 },
  { durability: 'sync', numRuns: 60, atLeast: 600 },
] as const)('holds with durability $durability, over thousands of commands', async (given) => {
  const { durability, numRuns, atLeast } = given;
  executed = 0;
  await fc.assert(property({ durability }), { numRuns });
  expect(executed).toBeGreaterThan(atLeast);
});

test.for([
  'replay-skips-first',
  'header-inclusive',
  'first-live-event-lost',
  'compaction-drops-newest',
  'ids-restart-at-one',
  'torn-line-glued',
  'log-emptied-at-restart',
  'log-never-compacted',
  'expired-is-live',
])('does not hold for an agent with the defect %s', async (name) => {
  const options = { durability: 'os', behaviour: deviceDefect(name).behaviour(referenceBehaviour) } as const;
  const { failed } = await fc.check(property(options, 1_000), { numRuns: 60, endOnFailure: true });
  expect(failed).toBe(true);
});
