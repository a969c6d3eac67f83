import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Recorder } from '../client/recorder.ts';
import { Redactor } from '../common/redact.ts';
import { sampleExchange } from '../reports/testing/samples.ts';
import { declared, run } from './testing/checks.ts';
import type { CheckContext, Report } from './types.ts';

interface Target {
  name: string;
  recorder: Recorder;
  together(): Promise<void>;
}

const SHARING = ['shared', 'exclusive', 'disruptive'] as const;
const CHECKS = SHARING.map((sharing) =>
  declared(`device.${sharing}`, { sharing }, async (given: CheckContext) => {
    const t: Target & CheckContext = given as Target & CheckContext;
    await t.together();
    t.note(`seen on ${t.name}`);
    await t.property(fc.nat(), async (value) => {
      t.recorder.add(sampleExchange({ url: `http://${t.name}/${value}` }));
      const actual = `${value} of ${t.name}, secret-of-one-1 secret-of-two-1`;
      t.must(value < 10, { expected: 'less than 10', actual });
    });
  }),
);

function meetings(): (id: string) => Promise<void> {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  return (id) => {
    const first = waiting.get(id);
    if (first === undefined) waiting.set(id, Promise.withResolvers());
    first?.resolve();
    return waiting.get(id)?.promise ?? Promise.resolve();
  };
}

test('two runs at once share nothing but their checks', async () => {
  const meet = meetings();
  const runOn = (name: string): Promise<Report> => {
    const redactor = new Redactor();
    redactor.add(`secret-of-${name}-1`);
    let next = 0;
    return run(CHECKS, {
      target: { kind: 'test', address: name, capabilities: [], control: 'none' },
      context: (recorder) => {
        const sharing = SHARING[next++];
        return { name, recorder, together: () => meet(sharing ?? '') };
      },
      redactor,
      concurrency: 1,
    });
  };
  const [one, two] = await Promise.all([runOn('one'), runOn('two')]);
  for (const [report, name, masked] of [
    [one, 'one', '*** secret-of-two-1'],
    [two, 'two', 'secret-of-one-1 ***'],
  ] as const) {
    expect(report.summary.fail).toBe(SHARING.length);
    for (const result of report.checks) {
      expect(result).toMatchObject({ counterexample: '10', actual: `10 of ${name}, ${masked}` });
      expect(result.observations).toEqual([`seen on ${name}`]);
      expect(result.exchanges?.map(({ url }) => url)).toEqual([`http://${name}/10`]);
    }
  }
  const coordinates = ({ checks }: Report): unknown[] => checks.map(({ seed, path }) => [seed, path]);
  expect(coordinates(two)).toEqual(coordinates(one));
});
