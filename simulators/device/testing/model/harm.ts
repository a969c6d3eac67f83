import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { type Command, idsOnDisk, type Model, type Real } from './model.ts';

/** What a crash of the machine, or a hand, does to the log while the agent is down. */
export class Harm implements Command {
  readonly kind: 'append half a line' | 'cut the last line' | 'delete the log';
  readonly fraction: number;
  constructor(kind: Harm['kind'], fraction: number) {
    this.kind = kind;
    this.fraction = fraction;
  }
  check({ up }: Readonly<Model>): boolean {
    return !up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const path = `${real.robot.dir}/events.jsonl`;
    if (!existsSync(path)) return;
    // What a kill left is only now known to be stored, and perhaps nobody has seen it.
    const stored = idsOnDisk(real);
    const text = readFileSync(path);
    if (this.kind === 'delete the log') {
      rmSync(path);
      model.events = [];
    } else if (this.kind === 'append half a line') {
      const line = `{"object":"event","id":${(stored.at(-1) ?? 0) + 1},"type":"deployment.deployed","occurred_at":"x","data":{}}`;
      appendFileSync(path, line.slice(0, 1 + Math.floor(this.fraction * (line.length - 2))));
    } else if (text.at(-1) === 10) {
      const start = text.subarray(0, -1).lastIndexOf(10) + 1;
      // A line that is gone without a trace could not be told from one that never was.
      const cut = start + 1 + Math.floor(this.fraction * (text.length - 3 - start));
      truncateSync(path, cut);
      model.events = model.events.filter((id) => id !== stored.at(-1));
    }
    model.highest = Math.max(model.highest, stored.at(-1) ?? 0);
  }
  toString(): string {
    return `${this.kind}${this.kind === 'delete the log' ? '' : ` at ${Math.round(this.fraction * 100)} %`}`;
  }
}
