import { expect, test } from 'vitest';
import { sampleFailure } from '../reports/testing/samples.ts';
import { replayCommand } from './summary.ts';

const command = 'muster check device --socket /run/agent.sock';

test('a check runs again alone, with the seed of its run, which leads to the same counterexample', () => {
  expect(replayCommand({ command, seed: 4711 }, sampleFailure())).toBe(
    `${command} --only device.events.replay.exclusive --seed 4711`,
  );
});

test('where a JSON report is written, a failure is replayed from it', () => {
  expect(replayCommand({ command, seed: 4711, file: 'run.json' }, sampleFailure())).toBe(
    'muster replay run.json --only device.events.replay.exclusive',
  );
});
