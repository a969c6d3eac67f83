/** The files of a run in its `out` folder: the result, the report, a row per roll-out, and a shard's sign of life. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RolloutRow } from '../host/host.ts';
import { REPORT_FILE, reportHtml } from '../report/report.ts';
import type { FleetResult } from '../result/result.ts';
import { RESULT_FILE, writeAlive, writeFileIn, writeResult } from '../result/shards.ts';
import type { Shard } from './options.ts';

const SIGN_MS = 2000;

/** Writes `result.json` and `report.html`, and ends a shard's sign of life. */
export function writeOutputs(out: string, result: FleetResult): void {
  writeResult(out, result);
  writeFileIn(out, REPORT_FILE, reportHtml(result));
}

export class Outputs implements Disposable {
  readonly #out: string;
  readonly #rollouts: number;
  #signing: NodeJS.Timeout | undefined;

  /** Removes the result of an earlier run, so that nobody takes it for the result of this one. */
  constructor(out: string) {
    this.#out = out;
    for (const name of [RESULT_FILE, REPORT_FILE]) rmSync(join(out, name), { force: true });
    this.#rollouts = openSync(join(out, 'rollouts.jsonl'), 'w');
  }

  /** Renews the sign of life that `muster merge --watch` looks for, until disposed. */
  signOfLife(shard: Shard, phase: () => string): void {
    let beat = 0;
    const sign = (): void => {
      beat += 1;
      writeAlive(this.#out, { shard, beat, phase: phase() });
    };
    sign();
    this.#signing = setInterval(sign, SIGN_MS);
  }

  addRollouts(rows: readonly RolloutRow[]): void {
    if (rows.length > 0) writeSync(this.#rollouts, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
  }

  finish(result: FleetResult): void {
    clearInterval(this.#signing);
    writeOutputs(this.#out, result);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#signing);
    closeSync(this.#rollouts);
  }
}
