import { expect, test } from 'vitest';
import { muster, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();

test('a command that only copies the stream is no client, and fails with a timeline', async () => {
  const command = 'curl -sN "$MUSTER_DEVICE_URL/events"';
  const words = typed`check client --command ${command} --capability follow --only client.stream.dispatch --patience 2`;
  const red = await muster(...words, '--report', `json=${at('raw.json')}`, '--report', 'pretty');
  expect(red.code, red.stderr).toBe(1);
  expect(red.stdout).toMatch(/server: 200 text\/event-stream[\s\S]*client: prints id: 1/);
  const { checks } = reportIn(at('raw.json'));
  const marks = checks.flatMap(({ outcome, timeline }) => (outcome === 'fail' ? (timeline ?? []) : []));
  expect(marks.map(({ kind }) => kind).slice(0, 4)).toEqual(['restart', 'stream', 'sent', 'printed']);
  expect(marks[2]?.what).toMatch(/^"id: 1\\nevent: deployment.deployed\\ndata: /);
  expect(marks.at(-1)?.what).toMatch(/^has waited .* for a sign of the client$/);
});
