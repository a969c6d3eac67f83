import { expect, test } from 'vitest';
import { sampleFailure } from '../reports/samples.ts';
import { replayCommand } from './replay-command.ts';

const command = 'muster check device --socket /run/agent.sock';
const { path: _, ...noProperty } = sampleFailure();

test('a check runs again alone, with the seed of its run', () => {
  expect(replayCommand({ command, seed: 4711 }, noProperty)).toBe(
    `${command} --only device.events.replay.exclusive --seed 4711`,
  );
});

test('a property runs its counterexample again', () => {
  expect(replayCommand({ command, seed: 4711 }, sampleFailure())).toBe(
    `${command} --only device.events.replay.exclusive --seed 4711 --replay '{"check":"device.events.replay.exclusive","seed":-1093459,"path":"3:0:1","replay_path":"A:B"}'`,
  );
});

test('where a JSON report is written, a failure is replayed from it', () => {
  expect(replayCommand({ command, seed: 4711, file: 'run.json' }, sampleFailure())).toBe(
    'muster replay run.json --only device.events.replay.exclusive',
  );
});
