/** Plays one situation until a signal ends it: the body of `muster simulate device --scenario`. */

import process from 'node:process';
import { defined } from '../../../harness/common/defined.ts';
import type { Situation } from '../../../harness/contract/situations/situations.ts';
import { asStartError } from '../start-error.ts';
import { endpointsOf, type TransportOptions } from '../transport/index.ts';
import { ScenarioPlayer } from './player.ts';

/** Prints the ready line, then to standard error what client and server do. Rejects with StartError. */
export async function runScenario(name: string, situation: Situation, where: TransportOptions): Promise<number> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  const started = performance.now();
  const tell = (who: string, what: string): void => {
    process.stderr.write(`${((performance.now() - started) / 1000).toFixed(3)} s  ${who}: ${what}\n`);
  };
  const endpoints = endpointsOf(where);
  await using player = await asStartError(
    endpoints[0]?.option ?? 'socket',
    ScenarioPlayer.open(situation, endpoints, tell),
  );
  const addresses = Object.assign({}, ...endpoints.map(({ address }) => address));
  const ready = { ready: true, scenario: name, ...addresses, ...defined({ url: player.url }) };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  await stopped;
  return 0;
}
