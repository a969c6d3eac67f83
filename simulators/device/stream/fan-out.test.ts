import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { referenceBehaviour } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';
import { FanOut, type StreamSubscriber, type View } from './fan-out.ts';
import type { TypeFilter } from './protocol.ts';

interface Recorder extends StreamSubscriber {
  text: string;
}

function subscriber(view: View): Recorder {
  const none = () => {};
  const recorder: Recorder = {
    view,
    session: undefined,
    waiting: 0,
    text: '',
    checkLag: none,
    end: none,
    drop: none,
    deliver: (bytes) => {
      recorder.text += bytes.toString();
    },
  };
  return recorder;
}

const event = (id: number, type: string): StoredEvent => ({ id, type, json: '{}' });
const framed = (events: readonly StoredEvent[]): string => events.map(referenceBehaviour.stream.frame).join('');

/** Names that a key made by joining texts could confuse. */
const name = fc.constantFrom('*', '', 'a', 'b', 'a,b', 'true', 'null', '["a"]', '"', 'a b');
const filter: fc.Arbitrary<TypeFilter> = fc.option(
  fc.array(name, { maxLength: 3 }).map((names) => new Set(names)),
  { nil: undefined },
);

describe('the fan-out', () => {
  test('gives every subscriber exactly the events that its filter lets through, whoever came or went before', () => {
    const steps = fc.array(
      fc.oneof(fc.record({ come: filter }), fc.record({ go: fc.nat(9) }), fc.record({ type: name })),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const fanOut = new FanOut(referenceBehaviour.stream);
        const here: { recorder: Recorder; filter: TypeFilter; due: StoredEvent[] }[] = [];
        for (const [index, step] of all.entries()) {
          if ('come' in step) {
            const recorder = subscriber(fanOut.view(step.come, false));
            fanOut.enrol(recorder);
            fanOut.add(recorder);
            here.push({ recorder, filter: step.come, due: [] });
          } else if ('go' in step) {
            const [gone] = here.splice(step.go % Math.max(1, here.length), 1);
            if (gone) fanOut.forget(gone.recorder);
          } else {
            const published = event(index + 1, step.type);
            fanOut.publish([published]);
            for (const one of here) if (one.filter?.has(step.type) ?? true) one.due.push(published);
          }
        }
        for (const { recorder, due } of here) expect(recorder.text).toBe(framed(due));
      }),
      { numRuns: 500 },
    );
  });

  test('shares a view as long as someone uses it, and keeps none after that', () => {
    const fanOut = new FanOut(referenceBehaviour.stream);
    const view = () => fanOut.view(new Set(['b', 'a']), true);
    const stays = subscriber(fanOut.view(undefined, true));
    const first = subscriber(view());
    fanOut.enrol(stays);
    fanOut.enrol(first);
    const other = subscriber(view());
    fanOut.enrol(other);
    expect(other.view).toBe(first.view);
    fanOut.forget(first);
    fanOut.forget(first);
    expect(view()).toBe(other.view);
    fanOut.forget(other);
    expect(view()).not.toBe(other.view);
  });
});
