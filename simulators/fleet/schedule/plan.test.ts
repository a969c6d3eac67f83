import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScenario } from '../scenario/scenario-file.ts';
import { membersOf, type PlanOptions, streamsOf } from './plan.ts';

const scenario = parseScenario(
  `
name: plan
phases:
  - { do: ramp, over: 2s }
  - { do: hold, for: 3s, ping: 40/s, lists: 10/s }
  - { do: rollout, share: 30%, over: 2s, ping: 5/s, arrivals: jitter }
  - { do: storm, share: 50%, over: 1s, arrivals: constant }
  - { do: kill, share: 10%, over: 1s }
  - { do: partition, share: 20%, for: 1s }
  - { do: clock-skew, share: 20%, by: 5s }
  - { do: stop, over: 1s }
`,
  'plan.yaml',
);

/** Every action of the fleet as text, computed in `parts` parts. */
const actions = (options: PlanOptions, parts: number): string[] =>
  Array.from({ length: parts }, (_, part) => membersOf(options.robots, { index: part + 1, count: parts }))
    .flatMap((members) =>
      scenario.phases.flatMap((of, phase) =>
        streamsOf(options, phase, of, members).flatMap(({ robot, kind, moments }) => {
          const lines: string[] = [];
          for (let at = moments.next(); at !== undefined; at = moments.next())
            lines.push(`${robot} ${phase} ${kind} ${at}`);
          return lines;
        }),
      ),
    )
    .sort();

describe('the plan of a fleet', () => {
  it('is the same however the fleet is split', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 2, max: 9 }),
        (seed, robots, parts) => {
          const options = { seed, robots };
          expect(actions(options, parts)).toEqual(actions(options, 1));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('differs from seed to seed', () => {
    expect(actions({ seed: 1, robots: 20 }, 1)).not.toEqual(actions({ seed: 2, robots: 20 }, 1));
  });

  it('includes exactly the share of robots', () => {
    const kinds = (robots: number) =>
      Object.groupBy(actions({ seed: 3, robots }, 1), (line) => line.split(' ')[2] ?? '');
    const of = kinds(100);
    expect(Object.fromEntries(Object.entries(of).map(([kind, lines]) => [kind, lines?.length]))).toMatchObject({
      start: 100,
      rollout: 30,
      storm: 50,
      kill: 10,
      partition: 20,
      'clock-skew': 20,
      stop: 100,
    });
  });

  it('chooses other robots in another phase', () => {
    const robotsIn = (kind: string) =>
      actions({ seed: 3, robots: 200 }, 1)
        .filter((line) => line.split(' ')[2] === kind)
        .map((line) => line.split(' ')[0]);
    expect(robotsIn('partition')).not.toEqual(robotsIn('clock-skew'));
  });
});

describe('the parts of a fleet', () => {
  it('are disjoint and complete', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.integer({ min: 1, max: 12 }), (robots, count) => {
        const all = Array.from({ length: count }, (_, part) => membersOf(robots, { index: part + 1, count })).flat();
        expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: robots }, (_, robot) => robot));
      }),
    );
  });
});
