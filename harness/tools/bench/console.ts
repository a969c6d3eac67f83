/** Cost of watching: the page of a fleet of 10,000 robots in a real browser, and its report. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, CDPSession } from 'playwright-core';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { serveConsole } from '../../../simulators/console/console.ts';
import { Feed } from '../../../simulators/console/feed.ts';
import type { FleetDocument, Second } from '../../../simulators/console/page/fleet/document.ts';
import { reportHtml } from '../../../simulators/fleet/report/report.ts';
import { mapRollouts } from '../../../simulators/fleet/result/rollout-map.ts';
import { resultWith } from '../../../simulators/fleet/result/testing/result.ts';
import { openBrowser } from '../../common/testing/browser.ts';
import { atMost, type Figure, inTurns, median, ofFloor } from '../measure/figure.ts';
import { cpuSecondsOfEnded } from '../measure/process.ts';
import { runFleet } from './fleet.ts';
import { arrivalServer } from './lateness.ts';

const ROBOTS = 10_000;
const MEASURED_MS = 5_000;
/** Interval at which a worker reports the states of its robots. */
const EVERY_MS = 250;
/** Robots of a roll-out over 10 seconds. */
const CHANGED_AT_ONCE = 250;
const OPENED = 5;

const VIEW = { width: 1280, height: 900 };

/** Page during a roll-out, and a report of the same size. */
export async function benchConsole(): Promise<Figure[]> {
  await using browser = await openBrowser();
  return [...(await pageOfFleet(browser)), ...(await report(browser)), await costOfWatching(browser)];
}

async function pageOfFleet(browser: Browser): Promise<Figure[]> {
  const feed = new Feed<FleetDocument>(documentOf());
  await using served = await serveConsole({ page: 'fleet', title: 'Fleet', feed, actions: {} });
  const floor = await frames(browser, 'about:blank', () => {});
  let turn = 0;
  const shown = await frames(browser, served.url, () => {
    const at = Array.from({ length: CHANGED_AT_ONCE }, (_, index) => (turn * CHANGED_AT_ONCE + index) % ROBOTS);
    feed.change({ paint: 'states', at, text: (turn % 80 < 40 ? 'u' : 'o').repeat(at.length) });
    if (turn % 4 === 0) feed.change({ append: 'seconds', items: [secondAt(600 + turn / 4)], keep: 7_200 });
    turn += 1;
  });
  const paints = await repeated(browser, served.url);
  const robots = await repeated(browser, served.url, ROBOTS_SHOWN);
  const blank = await repeated(browser, 'data:text/html,<p>empty</p>');
  return [
    ofFloor('frames of the page of 10,000 robots, beside an empty page', shown.perSecond, floor.perSecond, 0.5, '1/s'),
    atMost('processor of that page, its renderer', shown.cores, 0.5, 'cores', { floor: floor.cores }),
    atMost('first paint of the page', paints, 300, 'ms', { floor: blank }),
    atMost('the page until it shows its robots', robots, 1_000, 'ms', { floor: blank }),
  ];
}

/** Frames a second, and processor time of the renderer, while `change` is called as by a fleet. */
async function frames(browser: Browser, url: string, change: () => void) {
  await using page = await browser.newPage({ viewport: VIEW });
  await page.goto(url);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  // The page has not drawn anything at the first changes.
  change();
  const before = await taskSeconds(session);
  const timer = setInterval(change, EVERY_MS);
  const perSecond = await page.evaluate<number>(COUNT_FRAMES);
  clearInterval(timer);
  return { perSecond, cores: ((await taskSeconds(session)) - before) / (MEASURED_MS / 1000) };
}

async function taskSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
}

/** Script for the page: resolves with the frames a second. */
const COUNT_FRAMES = `new Promise((resolve) => {
  let count = 0;
  let began;
  const frame = (now) => {
    began ??= now;
    if (now - began >= ${MEASURED_MS}) resolve((1000 * count) / (now - began));
    else {
      count += 1;
      requestAnimationFrame(frame);
    }
  };
  requestAnimationFrame(frame);
})`;

/** Script for the page: resolves with the milliseconds until its first paint. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName('first-contentful-paint');
    if (paint !== undefined) resolve(paint.startTime);
  }).observe({ type: 'paint', buffered: true });
})`;

/** Script for the page: resolves with the milliseconds until it shows the robots. */
const ROBOTS_SHOWN = `new Promise((resolve) => {
  const shown = () => document.querySelector('[data-counts]') !== null;
  const look = () => (shown() ? resolve(performance.now()) : requestAnimationFrame(look));
  look();
})`;

/** Median of the milliseconds until something is painted. */
async function repeated(browser: Browser, url: string, seen = FIRST_PAINT): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < OPENED; count += 1) {
    await using page = await browser.newPage({ viewport: VIEW });
    await page.goto(url);
    times.push(await page.evaluate<number>(seen));
  }
  return median(times);
}

async function report(browser: Browser): Promise<Figure[]> {
  using home = scratch();
  const file = join(home.path, 'report.html');
  writeFileSync(file, reportHtml(largeResult()));
  return [
    atMost('report of 10,000 robots and an hour', statSync(file).size / 1_000_000, 1, 'MB'),
    atMost('first paint of that report', await repeated(browser, pathToFileURL(file).href), 1_000, 'ms'),
  ];
}

/** Result of an hour with two roll-outs, and a few robots that missed one. */
function largeResult(): ReturnType<typeof resultWith> {
  const rows = Array.from({ length: 2 * ROBOTS }, (_, number) => ({
    robot: number % ROBOTS,
    posted_ms: number * 170,
    total_ms: number % 997 === 0 ? null : 5 + ((number * 7919) % 700),
    late_ms: null,
  }));
  const series = Array.from({ length: 3_600 }, (_, second) => ({
    at_ms: second * 1000,
    phase: 'rollout',
    robots: { online: ROBOTS - (second % 7), down: second % 7 },
    rates: { rollout: 5.5 + (second % 3), 'sse.events': 5 + (second % 5), http: 20 + (second % 11) },
    p50: { 'rollout.ms': 300 + (second % 50) },
    p99: { 'rollout.ms': 650 + (second % 90), 'http.ms': 12 + (second % 9) },
    cpu: 0.4,
    rss_bytes: 1e9,
    loop_max_ms: 4 + (second % 6),
  }));
  const missed = rows
    .filter(({ total_ms }) => total_ms === null)
    .map(({ robot, posted_ms, late_ms }) => ({ name: `robot-${robot}`, posted_ms, late_ms }));
  const phases = [{ do: 'rollout', started_ms: 0, duration_ms: 3_600_000, measured: true, actions: rows.length }];
  const counters = { 'rollout.attempts': rows.length, 'rollout.missed': missed.length };
  return resultWith({
    robots: ROBOTS,
    fleet_robots: ROBOTS,
    series,
    phases,
    counters,
    rollouts: { missed, map: mapRollouts(rows, ROBOTS) },
  });
}

const secondAt = (second: number): Second => ({
  at: second * 1000,
  rates: { 'sse.events': 900 + (second % 90), rollout: 1000, http: 2000 },
  p50: { 'rollout.ms': 30 + (second % 9) },
  p99: { 'rollout.ms': 300 + (second % 90), 'schedule.lateness.ms': 2 },
  attempts: second * 1000,
  reached: second * 990,
  missed: 0,
  stallMs: 3,
});

/** State ten minutes into a run. */
function documentOf(): FleetDocument {
  return {
    title: 'bench',
    prefix: 'robot',
    states: 'o'.repeat(ROBOTS),
    phase: 'rollout',
    beginMs: 0,
    latenessLimitMs: 50,
    soFar: { verdict: 'valid', atBest: 'valid', reasons: [] },
    elapsedMs: 600_000,
    remainingMs: 60_000,
    paused: false,
    seconds: Array.from({ length: 600 }, (_, second) => secondAt(second)),
    bands: [{ label: 'rollout', from: 0 }],
    thresholds: [{ expr: 'rollout.ms.p99<5s', ok: true, value: 300 }],
    trouble: [],
    ending: null,
    links: [],
  };
}

const WATCHED_ROBOTS = 1000;
const RATE = 2000;
const PAIRS = 5;
const WATCHED = `name: watched
uplink: polling
poll_every: 1h
subscribers: 0
phases:
  - { do: ramp, over: 2s }
  - { do: hold, for: 15s, lists: ${RATE}/s, arrivals: constant }
`;

/** Takes about three minutes. */
async function costOfWatching(browser: Browser): Promise<Figure> {
  const { alone, watched } = await inTurns(PAIRS, {
    alone: () => processorSeconds(),
    watched: async () => {
      await using page = await browser.newPage();
      return await processorSeconds((url) => void page.goto(url));
    },
  });
  const shares = alone.map((seconds, pair) => (100 * ((watched[pair] ?? Number.NaN) - seconds)) / seconds);
  const all = shares.toSorted((a, b) => a - b).map((share) => share.toFixed(1));
  const load = `${RATE.toLocaleString('en')} requests/s, ${WATCHED_ROBOTS.toLocaleString('en')} robots`;
  const figure = atMost('processor time that the page costs a fleet', median(shares), 2, '%');
  return {
    ...figure,
    goal: `${figure.goal} of ${median(alone).toFixed(1)} s (${load}; pairs: ${all.join(', ')} %)`,
  };
}

/** Processor seconds of the command and its processes, without the browser and the target. */
async function processorSeconds(onPage?: (url: string) => void): Promise<number> {
  await using server = arrivalServer();
  const port = await server.call('listen', undefined);
  const before = cpuSecondsOfEnded();
  await runFleet({ robots: WATCHED_ROBOTS, port, scenario: WATCHED, ...(onPage && { onPage }) });
  return cpuSecondsOfEnded() - before;
}
