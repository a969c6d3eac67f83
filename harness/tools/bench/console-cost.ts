/** What the page of a fleet costs the fleet: processor time of the shipped command for the same requests, watched and not. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Browser, Page } from 'playwright-core';
import { atMost, type Figure, inScratch, median } from './figure.ts';
import { runFleet } from './fleet-command.ts';
import { cpuSecondsOfEnded } from './processor.ts';

const ROBOTS = 1000;
const RATE = 2000;
const PAIRS = 5;
const SCENARIO = `name: watched
uplink: polling
poll_every: 1h
subscribers: 0
phases:
  - { do: ramp, over: 2s }
  - { do: hold, for: 15s, lists: ${RATE}/s, arrivals: constant }
`;

/** About three minutes. */
export async function benchConsoleCost(browser: Browser): Promise<Figure> {
  const shares: number[] = [];
  const alone: number[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const seconds = await processorSeconds();
    alone.push(seconds);
    shares.push((100 * ((await processorSeconds(browser)) - seconds)) / seconds);
  }
  const all = shares.toSorted((a, b) => a - b).map((share) => share.toFixed(1));
  const figure = atMost('processor time that the page costs a fleet', median(shares), 2, '%');
  return {
    ...figure,
    goal: `${figure.goal} of ${median(alone).toFixed(1)} s (${RATE.toLocaleString('en')} requests/s, ${ROBOTS.toLocaleString('en')} robots; pairs: ${all.join(', ')} %)`,
  };
}

/** Processor seconds of the command and all of its processes, without those of the browser and of the target. */
async function processorSeconds(browser?: Browser): Promise<number> {
  return await inScratch(async (dir) => {
    const server = fork(new URL('./lateness-server.ts', import.meta.url));
    const pages: Promise<Page>[] = [];
    const watch = async (opened: Browser, url: string): Promise<Page> => {
      const page = await opened.newPage();
      await page.goto(url);
      return page;
    };
    try {
      const [{ port }] = (await once(server, 'message')) as [{ port: number }];
      const before = cpuSecondsOfEnded();
      const onPage = browser && { onPage: (url: string) => void pages.push(watch(browser, url)) };
      await runFleet(dir, { robots: ROBOTS, port, scenario: SCENARIO, ...onPage });
      return cpuSecondsOfEnded() - before;
    } finally {
      server.kill();
      for (const page of pages) await (await page).close();
    }
  });
}
