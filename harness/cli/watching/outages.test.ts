import { expect, test } from 'vitest';
import { Outages } from './outages.ts';

function told() {
  const state = { said: [] as string[], gone: [] as (string | null)[], now: 0 };
  const outages = new Outages({
    say: (text) => state.said.push(text),
    changed: (why) => state.gone.push(why),
    now: () => state.now,
  });
  return { state, outages };
}

test('each outage is told once, with its end, and all of them in the summary', () => {
  const { state, outages } = told();
  outages.reached();
  expect(outages.words).toEqual([]);
  for (let client = 0; client < 3; client += 1) outages.refused('ENOENT');
  state.now = 90_000;
  outages.refused('ENOENT');
  // No request came in between, so the end of the outage is unknown.
  state.now = 3_600_000;
  for (let client = 0; client < 3; client += 1) outages.reached();
  expect(state.said).toEqual([
    'the server cannot be reached: ENOENT; connections of clients are closed until it is back',
    'the server is back, after at least 1 min 30 s',
  ]);
  expect(state.gone).toEqual(['ENOENT', null]);
  outages.refused('ENOENT');
  state.now = 36_000_000;
  expect(outages.words).toEqual([
    'the server could not be reached 2 times, once for at least 1 min 30 s, and was not reached again',
  ]);
});

test('the first handshake that fails is told, and all are counted', () => {
  const { state, outages } = told();
  for (let times = 0; times < 3; times += 1) outages.handshakeFailed('TLS: tlsv1 alert unknown ca');
  expect(state.said).toEqual([
    'the TLS handshake of a client failed: TLS: tlsv1 alert unknown ca; further ones are counted in the report',
  ]);
  expect(outages.words).toEqual(['3 TLS handshakes of clients failed; the first: TLS: tlsv1 alert unknown ca']);
});

test('one that comes and goes all night does not fill the log', () => {
  const { state, outages } = told();
  for (let times = 0; times < 500; times += 1) {
    outages.refused('ECONNREFUSED');
    outages.reached();
  }
  expect(state.said).toHaveLength(39);
  expect(state.said.at(-1)).toContain('further times are in the report');
  expect(outages.words).toEqual([expect.stringContaining('500 times')]);
});
