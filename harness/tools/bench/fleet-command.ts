/** Runs `muster fleet` as a user does, for benches that measure the shipped command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type CostPart, costParts } from '../../../simulators/fleet/measure/costs.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';

/** The command as it is shipped, to be run with this Node. */
export const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** Options as words of a command line. */
export const wordsOf = (options: object): string[] =>
  Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);

interface FleetRun {
  robots: number;
  /** Default: as many as the command chooses. */
  workers?: number;
  /** `embedded`, or a URL; none for robots without an uplink. */
  platform?: string;
  /** A scenario in YAML. */
  scenario: string;
  /** Serves a page, whose address is given to this function. */
  onPage?(url: string): void;
}

/** Runs it against a stand-in for a platform, on this port of 127.0.0.1, with one worker. See `fleetCommand`. */
export const runFleet = (dir: string, { port, ...run }: FleetRun & { port: number }): Promise<FleetResult> =>
  fleetCommand(dir, { workers: 1, platform: `http://127.0.0.1:${port}/beta`, ...run });

/** Resolves with the result that the command left in `dir`. Rejects with what the command said when it left none. */
export async function fleetCommand(dir: string, run: FleetRun): Promise<FleetResult> {
  const { scenario, onPage, ...more } = run;
  const [file, out] = [join(dir, 'scenario.yaml'), join(dir, 'out')];
  writeFileSync(file, scenario);
  const given = { ...more, 'api-key': 'bench', scenario: file, out, state: dir };
  const words = wordsOf(given);
  if (onPage !== undefined) words.push('--ui');
  const child = spawn(process.execPath, [MAIN, 'fleet', ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  let opened = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    const [, url] = opened ? [] : (/^ui: (\S+)\n/m.exec(said) ?? []);
    if (url === undefined) return;
    opened = true;
    onPage?.(url);
  });
  await once(child, 'close');
  try {
    return JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')) as FleetResult;
  } catch (error) {
    throw new Error(`muster fleet left no result: ${said}`, { cause: error });
  }
}

/** What each part of a run took, e.g. `parent 4, workers 61, platform 38 s`. Undefined where the result does not say. */
export function partsOf({ costs }: FleetResult, of: (part: CostPart) => number, unit: string): string | undefined {
  if (costs === undefined) return undefined;
  const parts = costParts(costs).filter(([name]) => name !== 'whole');
  return `${parts.map(([name, part]) => `${name} ${of(part).toFixed(0)}`).join(', ')} ${unit}`;
}

/** Resolves when all robots are online. Rejects when the fleet ends before. */
export function untilOnline(stderr: NodeJS.ReadableStream, robots: number, ended: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    stderr.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-4000);
      if (new RegExp(`hold .*robots online ${robots}\\b`).test(text)) resolve();
    });
    void ended.then(() => reject(new Error(`the fleet ended too early: ${text}`)));
  });
}
