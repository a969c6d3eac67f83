/** How long checks wait for an answer, and how much they try. */
import { describe, expect, it } from 'vitest';
import { createPace, kindOfRequest, paceOf } from './pace.ts';

const PATIENCE_MS = 10_000;
const LIST = kindOfRequest('GET', '/devices');
const PING = kindOfRequest('POST', '/devices/dvc_1/ping');

describe('the wait for an answer', () => {
  it('is short for a kind of request that was left unanswered, and for no other', () => {
    const pace = createPace();
    pace.timedOut(PING);
    expect(pace.waitMs(PING, PATIENCE_MS)).toBe(1000);
    expect(pace.waitMs(LIST, PATIENCE_MS)).toBe(PATIENCE_MS);
  });

  it('is never below five times the slowest answer', () => {
    const pace = createPace();
    pace.answered(LIST, 1500);
    pace.answered(LIST, 20);
    pace.timedOut(LIST);
    expect(pace.waitMs(LIST, PATIENCE_MS)).toBe(7500);
    expect(pace.waitMs(LIST, 5000)).toBe(5000);
  });

  it('is as long as before once an answer comes', () => {
    const pace = createPace();
    pace.timedOut(LIST);
    pace.answered(LIST, 20);
    expect(pace.waitMs(LIST, PATIENCE_MS)).toBe(PATIENCE_MS);
  });
});

describe('the requests within a time', () => {
  it('follow what answers usually take', () => {
    const pace = createPace();
    for (let count = 0; count < 100; count += 1) pace.answered(LIST, 300);
    expect(pace.requestsWithin(3000)).toBe(10);
    for (let count = 0; count < 100; count += 1) pace.answered(LIST, 3000);
    expect(pace.requestsWithin(300)).toBe(1);
  });
});

it('what is learnt about one platform does not reach another', () => {
  const [one, other] = [{ origin: 'http://127.0.0.1:1' }, { origin: 'http://127.0.0.1:1' }];
  paceOf(one).timedOut(LIST);
  expect(paceOf(one).waitMs(LIST, PATIENCE_MS)).toBe(1000);
  expect(paceOf(other).waitMs(LIST, PATIENCE_MS)).toBe(PATIENCE_MS);
});

it('a kind of request is the same for every id', () => {
  expect(kindOfRequest('POST', '/devices/dvc_1/ping')).toBe(kindOfRequest('POST', '/devices/dvc_2/ping'));
  expect(kindOfRequest('GET', '/devices/dvc_1')).not.toBe(kindOfRequest('GET', '/devices'));
});
